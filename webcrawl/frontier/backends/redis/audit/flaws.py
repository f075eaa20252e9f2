"""What is wrong in a shard, each with what would put it right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from webcrawl.frontier.backends.findings import Finding, Findings, Kind

REPAIRED_AT_ONCE = 50_000
"""Flaws of a look that are kept with their repairs; more are found again in the next look."""


class Stage(IntEnum):
    """In which order things are repaired: what comes later is looked at anew when the earlier is right."""

    STRUCTURE = 0
    """Entries and members are where they can be found, and belong to something."""
    STATES = 1
    """Each URL is in one state."""
    HOSTS = 2
    """Records and indexes say what the queues say."""
    TOTALS = 3


@dataclass(frozen=True, slots=True)
class Repair:
    """One call of an operation in ``lua/``, put together by ``mending``."""

    stage: Stage
    operation: str
    """``reckon``, ``restate``, ``strike`` or ``adjust``."""
    subject: bytes
    """The politeness key, the name of a key in Redis, or of a total."""
    args: tuple[bytes | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Flaw:
    """A finding, and what would put it right; None when only a person can."""

    finding: Finding
    repair: Repair | None = None


class Flaws:
    """The flaws of one look: all are counted, a bounded number is kept."""

    def __init__(self, where: str) -> None:
        """``where``: the shard, in words."""
        self._where = where
        self._repairs: list[Flaw] = []
        self.findings = Findings()

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __iter__(self) -> Iterator[Flaw]:
        return iter(self._repairs)

    def add(self, kind: Kind, subject: str, detail: str = "", *repairs: Repair) -> None:
        finding = Finding(kind, subject, detail, self._where)
        self.findings.add(finding)
        if len(self._repairs) < REPAIRED_AT_ONCE:
            self._repairs += [Flaw(finding, repair) for repair in repairs] or [Flaw(finding)]
