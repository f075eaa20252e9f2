"""What a check finds: faults, what was looked at, and what a crash may have left."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any

KEPT_IN_MIND = 10_000
"""Things without their counterpart of which the places are remembered until it is known whether a crash left them."""


class Fault(NamedTuple):
    """What is wrong, and where."""

    where: str
    what: str


@dataclass(slots=True)
class Totals:
    """What was looked at."""

    files: int = 0
    bytes: int = 0
    records: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    """Of the fetch logs."""
    indexed: int = 0
    """Lines of the indexes."""
    links: int = 0
    """Lines of the link logs."""
    faults: int = 0
    remarks: list[str] = field(default_factory=list)
    """What is as it may be, and worth knowing."""


class Beside(Protocol):
    """What else is kept of each fetch, and is held against the fetch log in the same look."""

    def logged(self, folder: Path, line: Mapping[str, Any]) -> None:
        """A line of the fetch log in ``folder``, in their order."""
        ...

    def faults(self, totals: Totals) -> Iterator[Fault]:
        """Everything that is wrong, once all lines were told. Raises OSError."""
        ...


class Leftovers:
    """Tells what a crash left at the end of a file from what lacks its counterpart for no such reason."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._lacking: list[tuple[str, int, str]] = []
        self.more = 0
        """How many more there are than could be remembered."""
        self.at_ends = 0
        """How many a crash may have left; known once ``lacking`` is through."""

    def has(self, path: str, place: int) -> None:
        """What is at this place of a file has its counterpart. Places grow as the file does."""
        self._last[path] = max(self._last.get(path, 0), place)

    def lacks(self, path: str, place: int, what: str) -> None:
        """It has none."""
        if len(self._lacking) < KEPT_IN_MIND:
            self._lacking.append((path, place, what))
        else:
            self.more += 1

    def lacking(self) -> Iterator[tuple[str, int, str]]:
        """Those behind which there is something that has one: file, place, what."""
        for path, place, what in self._lacking:
            if place > self._last.get(path, -1):
                self.at_ends += 1
            else:
                yield path, place, what


def told(sentences: list[str]) -> Iterator[Fault]:
    """Sentences about files, as they are collected meanwhile."""
    for sentence in sentences:
        where, _, what = sentence.partition(": ")
        yield Fault(where, what)
    sentences.clear()
