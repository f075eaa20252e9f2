"""What a check of a crawl's books finds: the common words of all backends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

LISTED = 1000
"""Findings of a kind that are kept; of the others only the number is."""


class Kind(StrEnum):
    """In which way something does not agree."""

    DAMAGED = "damaged"
    UNREADABLE = "unreadable"
    STRAY = "stray"
    MISPLACED = "misplaced"
    TWO_STATES = "two-states"
    DISORDER = "disorder"
    UNKNOWN = "queued-unknown"
    SETTLED = "queued-settled"
    TWICE = "queued-twice"
    NOWHERE = "queued-nowhere"
    LENGTH = "length"
    KNOWN = "known"
    LEVEL = "level"
    PLACE = "place"
    HOLDER = "holder"
    ROBOTS = "robots"
    TOTAL = "total"
    FENCE = "fence"


MEANINGS = {
    Kind.DAMAGED: "the file is damaged",
    Kind.UNREADABLE: "cannot be read",
    Kind.STRAY: "belongs to nothing that is known",
    Kind.MISPLACED: "URL is known where nobody looks for it",
    Kind.TWO_STATES: "URL is in two states",
    Kind.DISORDER: "queue is out of order",
    Kind.UNKNOWN: "URL is queued, but not known",
    Kind.SETTLED: "URL is queued, though it was done, failed or refused",
    Kind.TWICE: "URL is queued twice",
    Kind.NOWHERE: "URL is known as queued, but in no queue",
    Kind.LENGTH: "host has a wrong number of queued URLs",
    Kind.KNOWN: "host has a wrong number of known URLs",
    Kind.LEVEL: "host has a wrong level",
    Kind.PLACE: "host is not where its record says",
    Kind.HOLDER: "host is held by nobody who is known",
    Kind.ROBOTS: "answer of robots.txt and its time of expiry are not both there",
    Kind.TOTAL: "running total is wrong",
    Kind.FENCE: "number of a lease would be given again",
}
"""Each kind in words."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not agree with another."""

    kind: Kind
    subject: str
    """The URL, host or total; of a URL of which only its fingerprint is known, that."""
    detail: str = ""
    """What is there and what should be; the same in two looks if nothing changed."""
    where: str = ""
    """In which part of the storage."""

    def __str__(self) -> str:
        rest = [part for part in (self.detail, self.where) if part]
        return f"{self.subject} ({'; '.join(rest)})" if rest else self.subject


@dataclass(slots=True)
class Findings:
    """Any number of findings: all are counted, the first of each kind kept."""

    counts: Counter[Kind] = field(default_factory=Counter)
    listed: dict[Kind, list[Finding]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def add(self, finding: Finding) -> None:
        self.extend(finding.kind, (finding,), 1)

    def extend(self, kind: Kind, examples: Iterable[Finding], number: int) -> None:
        """``number`` findings of one kind, some of which are ``examples``."""
        if number:
            self.counts[kind] += number
            kept = self.listed.setdefault(kind, [])
            kept.extend(list(examples)[: LISTED - len(kept)])

    def merge(self, other: Findings) -> None:
        """Add all of ``other``."""
        for kind, number in other.counts.items():
            self.extend(kind, other.listed.get(kind, ()), number)


@dataclass(slots=True)
class Checked:
    """What a check looked at, and what came of it."""

    urls: int = 0
    """Known URLs."""
    queued: int = 0
    hosts: int = 0
    left: Findings = field(default_factory=Findings)
    """What does not agree."""
    mended: Findings = field(default_factory=Findings)
    """What did not agree before."""
    at_work: set[str] = field(default_factory=set)
    """Names of processes that changed things meanwhile. What is told was then wrong in two looks."""
    uncompared: list[str] = field(default_factory=list)
    """Parts whose totals changed while they were counted, so that they could not be compared."""
    unchecked: list[str] = field(default_factory=list)
    """What this crawl keeps no record of, in words."""

    @property
    def agrees(self) -> bool:
        return not self.left
