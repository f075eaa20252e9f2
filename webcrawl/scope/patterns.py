"""Regular expressions by the thousand, searched all at once (RE2), from a file with one per line; and their rules.

The rules refuse URLs that match one of the operator's expressions, or that match none of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import re2

from webcrawl.urls.lists import WrongLine, printable, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.resources.abc import Traversable

    from webcrawl.scope.scope import Candidate, LinkBatch


MEMORY_BYTES = 1 << 28
"""The memory that RE2 may use for a set: much more than thousands of expressions need."""

_NOT_OF_LINES = re.compile(r"\\[AzZ]|\(\?[a-zA-Z]*-[a-zA-Z]*m")
"""Expressions in which ``(?m)`` does not turn the ends of the text into ends of lines."""


_BEGINS = re.compile(r"(?:\\([^\w\s])|\[([^\[\]\\^-]+)\])(?![?*{])")
"""The beginning of an expression whose matches certainly begin with one of a few characters."""
_ATOM = re.compile(r"\\.|\[\]?(?:\\.|[^\]\\])*\]")
_GROUP = re.compile(r"\([^()]*\)")


class PatternsError(ValueError):
    """A file of expressions cannot be read or has wrong lines; the message names the file and each of them."""


class Pattern(NamedTuple):
    """An expression, its place in its file, and the reason in its line."""

    number: int
    text: str
    comment: str

    def __str__(self) -> str:
        return f"line {self.number}: {self.text}" + (f" ({self.comment})" if self.comment else "")


class Patterns:
    """Searches a text for all its expressions, in the time of about one of them.

    The syntax is RE2's: that of Python without look-around and back-references, so that no text takes long.
    """

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        """The expressions must be valid; ``load_patterns`` checks them.

        :raises PatternsError: all together take more memory than a set may have
        """
        self._patterns = tuple(patterns)
        self._set = self._compiled("")
        signs = [_signs(text) for _, text, _ in self._patterns]
        # RE2 releases the GIL for each search, and other threads of a crawl are waiting for it.
        self._signs = None if None in signs else frozenset("".join(filter(None, signs)))
        self._lines = (
            None
            if any(_NOT_OF_LINES.search(text) for _, text, _ in self._patterns)
            else self._compiled("(?m)")
        )

    def __len__(self) -> int:
        return len(self._patterns)

    def are_in_no_line(self, lines: str) -> bool:
        """Return True if certainly none of the expressions matches any line of a text: one search for many URLs."""
        if self._lines is None:
            return False
        if self._signs is not None and not any(map(lines.__contains__, self._signs)):
            return True
        try:
            # A match may extend beyond the end of a line, so a match is not conclusive.
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
        """Return the first expression of the file that matches ``text``."""
        try:
            matches = self._set.Match(text)
        except UnicodeEncodeError:
            # RE2 reads UTF-8, which has no lone surrogates.
            matches = self._set.Match(text.encode("utf-8", "replace").decode())
        return self._patterns[min(matches)] if matches else None


def load_patterns(path: Traversable) -> list[Pattern]:
    """Return the expressions of a list file. :raises PatternsError: with every line that is wrong"""
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
    """Return characters one of which is in every match of an expression; None if there are no such characters for
    certain.
    """
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
    """Refuses URLs that match one of the expressions."""

    def __init__(self, name: str, patterns: Patterns) -> None:
        """``name``: the name of the rule, by the purpose of the list: ``deny``, ``useless-path``."""
        self.name = name
        self._patterns = patterns

    def refuses(self, candidate: Candidate) -> str | None:
        pattern = self._patterns.first(candidate.url)
        return None if pattern is None else str(pattern)

    def refuses_none(self, links: LinkBatch) -> bool:
        return self._patterns.are_in_no_line(links.lines)


class UnlistedRule:
    """Refuses URLs that match none of the expressions."""

    name = "allow-file"

    def __init__(self, patterns: Patterns) -> None:
        self._first = patterns.first
        self._detail = f"none of {len(patterns)} expressions is found"

    def refuses(self, candidate: Candidate) -> str | None:
        return self._detail if self._first(candidate.url) is None else None
