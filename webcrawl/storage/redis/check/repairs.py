"""Flaws of a shard with their repairs, and how these are carried out: calls of the operations in ``lua/``, one shard
at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from webcrawl.storage.inspection import Finding, FindingKind, Findings
from webcrawl.storage.redis.check.reader import ShardReader
from webcrawl.storage.redis.server import script

REPAIRED_AT_ONCE = 50_000
"""Number of flaws of a check that are kept with their repairs; more are found again in the next check."""


class RepairStage(IntEnum):
    """The order of repairs: parts of a later stage are checked anew when those of the earlier one are right."""

    STRUCTURE = 0
    """Entries and members are where they can be found, and belong to something."""
    STATES = 1
    """Each URL is in one state."""
    HOSTS = 2
    """Records and indexes agree with the queues."""
    TOTALS = 3


@dataclass(frozen=True, slots=True)
class Repair:
    """One call of an operation in ``lua/``, which ``Repairer`` makes."""

    stage: RepairStage
    operation: str
    """``repair_key``, ``repair_known``, ``known_marks``, ``remove_entries`` or ``adjust_totals``."""
    subject: bytes
    """The politeness key, the name of a key in Redis, or of a total."""
    args: tuple[bytes | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Flaw:
    """A finding, and its repair; None if only a person can repair it."""

    finding: Finding
    repair: Repair | None = None


class Flaws:
    """The flaws of one check: all are counted, a bounded number is kept."""

    def __init__(self, where: str) -> None:
        """``where``: the shard, in words."""
        self._where = where
        self._repairs: list[Flaw] = []
        self.findings = Findings()

    def __bool__(self) -> bool:
        return bool(self.findings)

    def __iter__(self) -> Iterator[Flaw]:
        return iter(self._repairs)

    def add(self, kind: FindingKind, subject: str, detail: str = "", *repairs: Repair) -> None:
        finding = Finding(kind, subject, detail, self._where)
        self.findings.add(finding)
        if len(self._repairs) < REPAIRED_AT_ONCE:
            self._repairs += [Flaw(finding, repair) for repair in repairs] or [Flaw(finding)]


AT_ONCE = 300
"""Corrections in one call."""


class Repairer:
    """Repairs a shard. Each call is atomic; a repair that is cut off between two calls leaves less to repair."""

    def __init__(self, reader: ShardReader, now: float, delay_seconds: float) -> None:
        """``now``: by the clock of the crawl. ``delay_seconds``: of a host whose record is lost."""
        self._reader = reader
        self._now = now
        self._delay_seconds = delay_seconds

    async def repair(self, repairs: Sequence[Repair]) -> None:
        """Carry out repairs of one stage."""
        by_operation: dict[str, list[Repair]] = {}
        for repair in repairs:
            by_operation.setdefault(repair.operation, []).append(repair)
        for operation, some in by_operation.items():
            if operation == "repair_key":
                await self._repair_keys(some)
            elif operation == "repair_known":
                await self._repair_known(some)
            elif operation == "known_marks":
                await self._add_to_filters(some)
            elif operation == "remove_entries":
                await self._remove_entries(some)
            else:
                await self._adjust_totals(some)

    async def _repair_keys(self, repairs: Sequence[Repair]) -> None:
        for key, drop in _by_key(repairs).items():
            for first in range(0, max(len(drop), 1), AT_ONCE):
                args = [key, repr(self._now), repr(self._delay_seconds), *drop[first : first + AT_ONCE]]
                await self._call("repair_key", self._reader.names.fixed, args)

    async def _repair_known(self, repairs: Sequence[Repair]) -> None:
        for key, corrections in _by_key(repairs).items():
            for first in range(0, max(len(corrections), 1), AT_ONCE):
                args = [key, *corrections[first : first + AT_ONCE]]
                await self._call("repair_known", self._reader.names.fixed, args)

    async def _add_to_filters(self, repairs: Sequence[Repair]) -> None:
        marks = [bytes(mark) + b"\0" for repair in repairs for mark in repair.args if isinstance(mark, bytes)]
        for first in range(0, len(marks), AT_ONCE):
            args = [1, b"".join(marks[first : first + AT_ONCE])]
            await self._call("known_marks", self._reader.names.of_seen_test, args)

    async def _remove_entries(self, repairs: Sequence[Repair]) -> None:
        for first in range(0, len(repairs), AT_ONCE):
            some = repairs[first : first + AT_ONCE]
            keys = list(dict.fromkeys(repair.subject for repair in some))
            args: list[Any] = []
            for repair in some:
                args += (keys.index(repair.subject) + 1, *repair.args)
            await self._call("remove_entries", keys, args)

    async def _adjust_totals(self, repairs: Sequence[Repair]) -> None:
        args = [part for repair in repairs for part in (repair.subject, *repair.args)]
        await self._call("adjust_totals", [self._reader.names.totals], args)

    async def _call(self, operation: str, keys: Sequence[bytes], args: Sequence[Any]) -> None:
        # The whole text is sent: a server that started knows no script, and a worker must be the one to notice that.
        await self._reader.send(
            "EVAL", script(operation, filters=self._reader.filters).text, len(keys), *keys, *args
        )


def _by_key(repairs: Sequence[Repair]) -> dict[bytes, list[bytes | int]]:
    """Return the arguments of all repairs of each key, each argument once."""
    made: dict[bytes, dict[bytes | int, None]] = {}
    for repair in repairs:
        made.setdefault(repair.subject, {}).update(dict.fromkeys(repair.args))
    return {key: list(args) for key, args in made.items()}
