"""Regular expressions by the thousand, all looked for at once (RE2), from a file with one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import re2

from webcrawl.urls.listfile import WrongLine, printable, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MEMORY_BYTES = 1 << 28
"""What RE2 may use for a set: much more than thousands of expressions need."""


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
        self._set = re2.Set.SearchSet(_options())
        for pattern in self._patterns:
            self._set.Add(pattern.text)
        try:
            self._set.Compile()
        except re2.error as error:
            size = f"{MEMORY_BYTES >> 20} MB"
            raise PatternsError(f"{len(self)} expressions take more than {size} together: {error}") from error

    def __len__(self) -> int:
        return len(self._patterns)

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


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY_BYTES
    return options
