"""Regular expressions by the thousand, all looked for at once (RE2), from a file with one a line.

Does the URL look like what the operator's lists of expressions name: not wanted, useless, or wanted alone?
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import re2

from webcrawl.urls.lists import WrongLine, printable, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from webcrawl.scope.scope import Candidate, Links


MEMORY_BYTES = 1 << 28
"""What RE2 may use for a set: much more than thousands of expressions need."""

_NOT_OF_LINES = re.compile(r"\\[AzZ]|\(\?[a-zA-Z]*-[a-zA-Z]*m")
"""Where ``(?m)`` does not make the ends of a line of what would be the ends of a text."""


_BEGINS = re.compile(r"(?:\\([^\w\s])|\[([^\[\]\\^-]+)\])(?![?*{])")
"""What an expression begins with of whose finds it is plain that they begin with one of a few characters."""
_ATOM = re.compile(r"\\.|\[\]?(?:\\.|[^\]\\])*\]")
_GROUP = re.compile(r"\([^()]*\)")


class PatternsError(ValueError):
    """A file of expressions cannot be read or has wrong lines; the message names the file and each of them."""


class Pattern(NamedTuple):
    """An expression, where it stands in its file, and the reason that stands behind it."""

    number: int
    text: str
    comment: str

    def __str__(self) -> str:
        return f"line {self.number}: {self.text}" + (f" ({self.comment})" if self.comment else "")


class Patterns:
    """Finds out which of its expressions is found anywhere in a text, in the time of about one of them.

    The syntax is RE2's: that of Python without look-around and back-references, so that no text takes long.
    """

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        """The expressions must be right; ``load_patterns`` makes sure of it.

        :raises PatternsError: all together take more memory than a set may have
        """
        self._patterns = tuple(patterns)
        self._set = self._compiled("")
        signs = [_signs(text) for _, text, _ in self._patterns]
        # RE2 gives up Python's lock for each look, and other threads of a crawl are waiting for it.
        self._signs = None if None in signs else frozenset("".join(filter(None, signs)))
        self._lines = (
            None
            if any(_NOT_OF_LINES.search(text) for _, text, _ in self._patterns)
            else self._compiled("(?m)")
        )

    def __len__(self) -> int:
        return len(self._patterns)

    def are_in_no_line(self, lines: str) -> bool:
        """Whether it is plain that none of the expressions is found in any line of a text: one look at many URLs."""
        if self._lines is None:
            return False
        if self._signs is not None and not any(map(lines.__contains__, self._signs)):
            return True
        try:
            # What is found may go over the end of a line, so a find says nothing.
            return not self._lines.Match(lines)
        except UnicodeEncodeError:
            return False

    def _compiled(self, flags: str) -> re2.Set:
        compiled = re2.Set.SearchSet(_options())
        for pattern in self._patterns:
            compiled.Add(flags + pattern.text)
        try:
            compiled.Compile()
        except re2.error as error:
            size = f"{MEMORY_BYTES >> 20} MB"
            raise PatternsError(f"{len(self)} expressions take more than {size} together: {error}") from error
        return compiled

    def first(self, text: str) -> Pattern | None:
        """The first expression of the file that is found in ``text``."""
        try:
            found = self._set.Match(text)
        except UnicodeEncodeError:
            # RE2 reads UTF-8, which has no lone surrogates.
            found = self._set.Match(text.encode("utf-8", "replace").decode())
        return self._patterns[min(found)] if found else None


def load_patterns(path: Path) -> list[Pattern]:
    """The expressions of a list file. :raises PatternsError: with every line that is wrong"""
    patterns, wrong = [], []
    try:
        with path.open("rb") as stream:
            for number, text, comment in read_lines(stream):
                problem = _problem(text)
                if problem is None:
                    patterns.append(Pattern(number, text, comment))
                else:
                    reason = f"no regular expression of RE2: {problem}"
                    wrong.append(str(WrongLine(number, printable(text), reason)))
    except OSError as error:
        raise PatternsError(f"{path} cannot be read: {error.strerror or error}") from error
    if wrong:
        raise PatternsError("\n".join(f"{path}: {line}" for line in wrong))
    return patterns


def _problem(text: str) -> str | None:
    try:
        re2.compile(text, _options())
    except re2.error as error:
        reason = error.args[0] if error.args else str(error)
        return printable(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason))
    return None


def _signs(text: str) -> str | None:
    """Characters one of which is in all that an expression finds; None where that is not plain to see."""
    begins = _BEGINS.match(text)
    if begins is None:
        return None
    rest, groups = _ATOM.sub("", text), 1
    while groups:
        rest, groups = _GROUP.subn("", rest)
    return None if "|" in rest else begins[1] or begins[2]


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY_BYTES
    return options


class ListedRule:
    """Refuses URLs in which one of the expressions is found."""

    def __init__(self, name: str, patterns: Patterns) -> None:
        """``name``: what the rule is called, by what the list is for: ``deny``, ``useless-path``."""
        self.name = name
        self._patterns = patterns

    def refuses(self, candidate: Candidate) -> str | None:
        found = self._patterns.first(candidate.url)
        return None if found is None else str(found)

    def refuses_none(self, links: Links) -> bool:
        return self._patterns.are_in_no_line(links.lines)


class UnlistedRule:
    """Refuses URLs in which none of the expressions is found."""

    name = "allow-file"

    def __init__(self, patterns: Patterns) -> None:
        self._first = patterns.first
        self._detail = f"none of {len(patterns)} expressions is found"

    def refuses(self, candidate: Candidate) -> str | None:
        return self._detail if self._first(candidate.url) is None else None
