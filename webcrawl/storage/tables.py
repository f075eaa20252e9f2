"""The contract of tables: the state of a crawl beside its frontier, for example known bodies and pages to revisit.

A table is a set of partitions, for example one for each politeness key. A partition is a map from ids to values. Rows
may have a time; then the rows of a partition can be read in the order of their times, and so can the partitions.
Features write their stores on this contract, once for all technologies; the memory backend is the executable
specification, and one suite of tests (``tests/contract/test_tables.py``) holds all technologies to it.

Each change of one partition is atomic, and is kept as its table's ``durability`` says. Several processes may use one
table if the backend is shared. Every coroutine may raise StorageFull (nothing was changed), StorageAway (the storage
cannot be reached for the moment; the same call can safely be repeated if it tests what it replaces) and StorageLost
(waiting does not help).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

HEADER = b""
"""The id of a partition's header: a row for the partition as a whole. It has no time, is not counted, and is not
among the rows that ``scan`` and ``due_rows`` return."""

ID_BYTES_MAX = 255
"""Maximum length of an id."""


class Durability(StrEnum):
    """The changes of a table in a file that a crash may lose. A table in Redis is as durable as its server."""

    NONE = "none"
    """A power cut may lose anything; no write waits for the disk. A killed process loses nothing."""
    PROCESS = "process"
    """A power cut may lose the last changes."""
    POWER = "power"
    """A change that was made is on the disk."""


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table that a feature uses."""

    name: str
    """Lower-case letters and underscores; unique within the crawl."""
    file: str
    """Name of the file in the JOBDIR, without its suffix. Several tables may share one."""
    without: str
    """The effect on the crawl if the file were missing, for messages: "all pages count as new"."""
    durability: Durability = Durability.NONE
    is_timed: bool = False
    """True if rows have times. Only then may rows have ``at`` and changes ``not_before``."""
    is_ordered: bool = False
    """True if the rows of a partition can be scanned in the order of their ids."""


class RowId(NamedTuple):
    """The place of a row in a table."""

    partition: str
    id: bytes


class Row(NamedTuple):
    """A row of a partition. ``at``: its time (epoch seconds), in a timed table; None: the row is never due."""

    id: bytes
    value: bytes
    at: float | None = None


class DuePartition(NamedTuple):
    """A partition, and the time from which it is due (epoch seconds). Sorts in the order of service."""

    at: float
    partition: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one partition, made wholly or not at all. An id stands in ``put`` or in ``delete``, once."""

    partition: str
    put: Sequence[Row] = ()
    delete: Sequence[bytes] = ()
    """Ids; those that are not stored are passed over."""
    expected: Mapping[bytes, bytes | None] = field(default_factory=dict)
    """Values that must be stored, by id; None: no such row. If one differs, nothing is changed."""
    not_before: float | None = None
    """The partition is not due before this time (epoch seconds), even if a row of it is; None: as it was. It is 0 for
    a new partition, and is forgotten with the last row of the partition."""


@dataclass(frozen=True, slots=True)
class TableStatus:
    """Figures of a table."""

    rows: int = 0
    due: int = 0
    """Number of rows whose time has come, also of partitions that are not due yet; a table of many partitions may
    count only some of them."""
    next_at: float | None = None
    """The time from which the first partition is due (epoch seconds); None if no row has a time."""


class Table(Protocol):
    """A table of a crawl. Calls are carried out in the order in which they were made by this process."""

    async def get(self, ids: Sequence[RowId]) -> list[Row | None]:
        """Return the row at each place; None if there is none."""
        ...

    async def add(self, rows: Sequence[tuple[str, Row]]) -> list[bytes | None]:
        """Store each row, given with its partition, unless its id is stored already. Return the stored values before
        the call, None for each row that was added. Each row is a step of its own."""
        ...

    async def swap(self, rows: Sequence[tuple[str, Row]]) -> list[bytes | None]:
        """Store each row, given with its partition. Return the values that were stored before, None for new rows.
        Each row is a step of its own."""
        ...

    async def update(self, changes: Sequence[Change]) -> list[bool]:
        """Make each change whose expectation holds; return which were made."""
        ...

    async def scan(
        self, partition: str, most: int, after: bytes = HEADER, before: bytes | None = None
    ) -> list[Row]:
        """Return the first rows of a partition with ids after ``after`` and, unless it is None, before ``before``, in
        the order of their ids. Only for an ordered table."""
        ...

    async def due_partitions(
        self, now: float, most: int, after: DuePartition | None = None
    ) -> list[DuePartition]:
        """Return the first partitions that are due at ``now``, after ``after``, in their order. A partition is due
        from the first time among its rows, but not before its ``not_before``. Only for a timed table."""
        ...

    async def due_rows(self, partitions: Sequence[str], now: float, most: int) -> list[list[Row]]:
        """Return for each partition up to ``most`` rows whose time is ``now`` or before, in the order of their times,
        and of their ids where times are equal. Only for a timed table."""
        ...

    async def status(self, now: float, most: int) -> TableStatus:
        """Return figures of the table; due rows are counted up to ``most``."""
        ...


class Tables(Protocol):
    """All tables of a crawl. ``Backend.open`` opens those that were named by then, and ``Backend.close`` closes
    them."""

    def table(self, spec: TableSpec) -> Table:
        """Return a table, the same object for the same name. Called before the backend is opened."""
        ...

    async def lock(self, name: str, holder: str, seconds: float) -> bool:
        """Return whether ``holder`` has the lock for ``seconds`` from now: it is free, or was held by ``holder``, for
        which it is renewed. Always True if no other process can share the crawl."""
        ...
