"""Tables in plain dictionaries, the specification of the other technologies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.storage.tables import (
    HEADER,
    ID_BYTES_MAX,
    Change,
    DuePartition,
    Row,
    RowId,
    TableSpec,
    TableStatus,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class _Partition:
    rows: dict[bytes, Row] = field(default_factory=dict)
    """Includes the header."""
    not_before: float = 0.0
    first: float | None = None
    """The first time among the rows."""
    is_changed: bool = True
    """True if rows were changed since ``first`` was computed."""

    @property
    def due_at(self) -> float | None:
        if self.is_changed:
            self.first = min((row.at for row in self.rows.values() if row.at is not None), default=None)
            self.is_changed = False
        return None if self.first is None else max(self.first, self.not_before)

    def value(self, row_id: bytes) -> bytes | None:
        row = self.rows.get(row_id)
        return None if row is None else row.value


class MemoryTable:
    """A ``Table`` that ends with its process. It asserts that rows and calls suit its spec."""

    def __init__(self, spec: TableSpec) -> None:
        self._spec = spec
        self._partitions: dict[str, _Partition] = {}

    async def get(self, ids: Sequence[RowId]) -> list[Row | None]:
        return [self._rows(partition).get(row_id) for partition, row_id in ids]

    async def add(self, rows: Sequence[tuple[str, Row]]) -> list[bytes | None]:
        return [self._put(partition, row, only_new=True) for partition, row in rows]

    async def swap(self, rows: Sequence[tuple[str, Row]]) -> list[bytes | None]:
        return [self._put(partition, row) for partition, row in rows]

    def _put(self, partition: str, row: Row, *, only_new: bool = False) -> bytes | None:
        self._check(row)
        held = self._partitions.setdefault(partition, _Partition())
        before = held.value(row.id)
        if before is None or not only_new:
            held.rows[row.id] = row
            held.is_changed = True
        return before

    async def update(self, changes: Sequence[Change]) -> list[bool]:
        return [self._update(change) for change in changes]

    def _update(self, change: Change) -> bool:
        assert self._spec.is_timed or change.not_before is None
        for row in change.put:
            self._check(row)
        held = self._partitions.get(change.partition) or _Partition()
        if any(held.value(row_id) != value for row_id, value in change.expected.items()):
            return False
        for row_id in change.delete:
            held.rows.pop(row_id, None)
        held.rows.update({row.id: row for row in change.put})
        held.is_changed = True
        if change.not_before is not None:
            held.not_before = change.not_before
        if held.rows:
            self._partitions[change.partition] = held
        else:
            self._partitions.pop(change.partition, None)
        return True

    async def scan(
        self, partition: str, most: int, after: bytes = HEADER, before: bytes | None = None
    ) -> list[Row]:
        assert self._spec.is_ordered
        rows = self._rows(partition)
        ids = sorted(row_id for row_id in rows if row_id > after and (before is None or row_id < before))
        return [rows[row_id] for row_id in ids[:most]]

    async def due_partitions(
        self, now: float, most: int, after: DuePartition | None = None
    ) -> list[DuePartition]:
        assert self._spec.is_timed
        times = ((held.due_at, name) for name, held in self._partitions.items())
        due = sorted(DuePartition(at, name) for at, name in times if at is not None and at <= now)
        return [row_id for row_id in due if after is None or row_id > after][:most]

    async def due_rows(self, partitions: Sequence[str], now: float, most: int) -> list[list[Row]]:
        assert self._spec.is_timed
        return [self._due(self._rows(partition), now)[:most] for partition in partitions]

    async def status(self, now: float, most: int) -> TableStatus:
        partitions = self._partitions.values()
        return TableStatus(
            sum(len(held.rows) - (HEADER in held.rows) for held in partitions),
            min(sum(len(self._due(held.rows, now)) for held in partitions), most),
            min((at for held in partitions if (at := held.due_at) is not None), default=None),
        )

    def _check(self, row: Row) -> None:
        assert len(row.id) <= ID_BYTES_MAX
        assert row.at is None or (self._spec.is_timed and row.id != HEADER)

    def _rows(self, partition: str) -> dict[bytes, Row]:
        held = self._partitions.get(partition)
        return {} if held is None else held.rows

    @staticmethod
    def _due(rows: dict[bytes, Row], now: float) -> list[Row]:
        due = [(row.at, row.id) for row in rows.values() if row.at is not None and row.at <= now]
        return [rows[row_id] for _, row_id in sorted(due)]


class MemoryTables:
    """The ``Tables`` of a crawl in memory."""

    def __init__(self) -> None:
        self._tables: dict[str, MemoryTable] = {}

    def table(self, spec: TableSpec) -> MemoryTable:
        return self._tables.setdefault(spec.name, MemoryTable(spec))

    async def lock(self, name: str, holder: str, seconds: float) -> bool:
        return True
