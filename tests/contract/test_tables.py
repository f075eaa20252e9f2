"""The contract of tables: the same sentences hold for each technology."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.contract.samples import NOW
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.storage.tables import (
    HEADER,
    ID_BYTES_MAX,
    Change,
    DuePartition,
    Row,
    RowId,
    Table,
    TableSpec,
    TableStatus,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.contract.conftest import OpenTables

    OpenTable = Callable[[TableSpec], "Opened"]

PLAIN = TableSpec("plain", "things", "the crawl goes on without things")
ORDERED = TableSpec("ordered", "things", "the crawl goes on without things", is_ordered=True)
TIMED = TableSpec("timed", "times", "the crawl goes on without times", is_timed=True)

A, B, C = "a.test", "b.test", "ü.test"
MANY = 1000


class Opened:
    """A table without ``await``."""

    def __init__(self, runner: asyncio.Runner, table: Table) -> None:
        self._runner = runner
        self.table = table

    def get(self, *ids: tuple[str, bytes]) -> list[Row | None]:
        return self._runner.run(self.table.get([RowId(*place) for place in ids]))

    def values(self, partition: str, *ids: bytes) -> list[bytes | None]:
        return [row and row.value for row in self.get(*((partition, row_id) for row_id in ids))]

    def add(self, *rows: tuple[str, Row]) -> list[bytes | None]:
        return self._runner.run(self.table.add(rows))

    def swap(self, *rows: tuple[str, Row]) -> list[bytes | None]:
        return self._runner.run(self.table.swap(rows))

    def update(self, *changes: Change) -> list[bool]:
        return self._runner.run(self.table.update(changes))

    def put(self, partition: str, *rows: Row) -> None:
        assert self.update(Change(partition, rows)) == [True]

    def delete(self, partition: str, *ids: bytes) -> None:
        assert self.update(Change(partition, delete=ids)) == [True]

    def scan(
        self, partition: str, most: int = MANY, after: bytes = HEADER, before: bytes | None = None
    ) -> list[Row]:
        return self._runner.run(self.table.scan(partition, most, after, before))

    def ids(
        self, partition: str, most: int = MANY, after: bytes = HEADER, before: bytes | None = None
    ) -> list[bytes]:
        return [row.id for row in self.scan(partition, most, after, before)]

    def due_partitions(
        self, now: float = NOW, most: int = MANY, after: DuePartition | None = None
    ) -> list[DuePartition]:
        return self._runner.run(self.table.due_partitions(now, most, after))

    def due_rows(self, *partitions: str, now: float = NOW, most: int = MANY) -> list[list[Row]]:
        return self._runner.run(self.table.due_rows(partitions, now, most))

    def due_ids(self, partition: str, now: float = NOW, most: int = MANY) -> list[bytes]:
        [rows] = self.due_rows(partition, now=now, most=most)
        return [row.id for row in rows]

    def status(self, now: float = NOW, most: int = MANY) -> TableStatus:
        return self._runner.run(self.table.status(now, most))


@pytest.fixture
def opened(runner: asyncio.Runner, open_tables: OpenTables) -> OpenTable:
    """Opens a table, the same one for each call."""
    return lambda spec: Opened(runner, open_tables(spec).table(spec))


EVERY = pytest.mark.parametrize("spec", [PLAIN, ORDERED, TIMED], ids=lambda spec: spec.name)
ODD_IDS = [b"\0", b"\0\0", b"a", b"a\0", b"a\0b", b"\xff", b"\xff" * ID_BYTES_MAX]
ODD_PARTITIONS = ["", "\0", " \n:{}*", "a", "a\0", "\ud800", "\udfff", "\ue000", "\U0001f310"]
"""In their order."""


# -- rows --------------------------------------------------------------------------------------------------------


@EVERY
def test_a_row_is_read_as_it_was_stored(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    assert table.get((A, b"1")) == [None]
    table.put(A, Row(b"1", b"one"), Row(b"2", b"two"))
    table.put(B, Row(b"1", b"other"))
    rows = [Row(b"2", b"two"), None, Row(b"1", b"other"), Row(b"1", b"one"), Row(b"1", b"one")]
    asked = [(A, b"2"), (A, b"3"), (B, b"1"), (A, b"1"), (A, b"1")]
    assert table.get(*asked) == rows
    assert opened(spec).get(*asked) == rows


@EVERY
def test_nothing_asked_is_answered_with_nothing(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    assert table.get() == table.add() == table.swap() == table.update() == []
    assert table.update(Change(A)) == [True]
    assert table.status() == TableStatus()


@EVERY
def test_a_value_may_be_empty(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    assert table.swap((A, Row(b"1", b"")), (A, Row(HEADER, b""))) == [None, None]
    assert table.values(A, b"1", HEADER) == [b"", b""]
    assert table.add((A, Row(b"1", b"one"))) == [b""]
    assert table.update(Change(A, [Row(b"2", b"")], expected={b"1": None})) == [False]
    assert table.update(Change(A, [Row(b"2", b"")], expected={b"1": b"", b"2": None})) == [True]
    assert table.status().rows == 2


@EVERY
def test_ids_and_values_are_bytes_of_any_kind(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    table.put(A, *(Row(row_id, row_id * 2) for row_id in reversed(ODD_IDS)))
    assert table.values(A, *ODD_IDS) == [row_id * 2 for row_id in ODD_IDS]
    assert table.add(*((A, Row(row_id, b"new")) for row_id in ODD_IDS)) == [row_id * 2 for row_id in ODD_IDS]
    table.delete(A, b"a\0")
    assert table.values(A, b"a", b"a\0", b"a\0b") == [b"aa", None, b"a\0ba\0b"]


@EVERY
def test_a_partition_is_any_text(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    stored = [(partition, Row(b"1", repr(partition).encode())) for partition in ODD_PARTITIONS]
    assert table.swap(*stored) == [None] * len(stored)
    assert opened(spec).get(*((partition, b"1") for partition in ODD_PARTITIONS)) == [
        row for _, row in stored
    ]
    for partition, row in stored:
        assert table.update(Change(partition, delete=[b"1"], expected={b"1": row.value})) == [True]
    assert table.status() == TableStatus()


def test_values_may_be_long(opened: OpenTable) -> None:
    table = opened(PLAIN)
    long = bytes(range(256)) * 1024
    table.put(A, Row(b"1", long))
    assert opened(PLAIN).values(A, b"1") == [long]


@EVERY
def test_swap_stores_and_returns_what_was_there(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    assert table.swap((A, Row(b"1", b"one")), (B, Row(b"1", b"other"))) == [None, None]
    assert table.swap((A, Row(b"2", b"two")), (A, Row(b"1", b"new"))) == [None, b"one"]
    assert table.values(A, b"1", b"2") == [b"new", b"two"]


@EVERY
def test_add_changes_no_stored_row(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    assert table.add((A, Row(b"1", b"one")), (B, Row(b"1", b"other"))) == [None, None]
    assert table.add((A, Row(b"1", b"new")), (A, Row(b"2", b"two"))) == [b"one", None]
    assert table.values(A, b"1", b"2") == [b"one", b"two"]
    assert table.status().rows == 3


@EVERY
def test_each_row_of_a_call_is_a_step_of_its_own(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    rows = [(A, Row(b"1", value)) for value in (b"one", b"two", b"three")]
    assert table.add(*rows) == [None, b"one", b"one"]
    assert table.swap(*rows) == [b"one", b"one", b"two"]
    assert table.values(A, b"1") == [b"three"]
    assert table.status().rows == 1


@EVERY
def test_calls_are_carried_out_in_the_order_in_which_they_are_made(
    opened: OpenTable, runner: asyncio.Runner, spec: TableSpec
) -> None:
    table = opened(spec).table
    values = [str(number).encode() for number in range(20)]

    async def test() -> list[list[bytes | None]]:
        return await asyncio.gather(*(table.swap([(A, Row(b"1", value))]) for value in values))

    assert runner.run(test()) == [[None], *([value] for value in values[:-1])]


# -- changes -----------------------------------------------------------------------------------------------------


@EVERY
def test_a_change_puts_and_deletes(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    table.put(A, Row(b"1", b"one"), Row(b"2", b"two"))
    assert table.update(Change(A, [Row(b"3", b"three"), Row(b"2", b"new")], [b"1", b"9"])) == [True]
    assert table.values(A, b"1", b"2", b"3", b"9") == [None, b"new", b"three", None]
    assert table.status().rows == 2


@EVERY
@pytest.mark.parametrize(
    "expected",
    [
        {b"1": b"other"},
        {b"1": None},
        {b"9": b"nine"},
        {b"9": b""},
        {HEADER: b"header"},
        {b"1": b"one", b"2": b"other"},
        {b"2": b"other", b"1": b"one"},
    ],
    ids=repr,
)
def test_a_change_whose_expectation_fails_changes_nothing(
    opened: OpenTable, spec: TableSpec, expected: dict[bytes, bytes | None]
) -> None:
    table, timed = opened(spec), spec.is_timed
    table.put(A, Row(b"1", b"one", NOW if timed else None), Row(b"2", b"two"))
    put = [Row(b"3", b"three", NOW - 1 if timed else None), Row(b"1", b"new"), Row(HEADER, b"new")]
    change = Change(A, put, [b"2"], expected, NOW + 9 if timed else None)
    assert table.update(change, Change(B, [Row(b"1", b"other")])) == [False, True]
    assert table.values(A, HEADER, b"1", b"2", b"3") == [None, b"one", b"two", None]
    assert table.values(B, b"1") == [b"other"]
    assert table.status().rows == 3
    if timed:
        assert table.due_partitions() == [DuePartition(NOW, A)]


@EVERY
def test_a_change_whose_expectation_holds_is_made(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    assert table.update(Change(A, [Row(b"1", b"one")], expected={b"1": None, HEADER: None})) == [True]
    change = Change(A, [Row(b"1", b"two"), Row(HEADER, b"h")], [b"2"], {b"1": b"one", b"2": None})
    assert table.update(change) == [True]
    assert table.update(change) == [False]
    assert table.update(Change(A, delete=[HEADER], expected={HEADER: b"h", b"1": b"two"})) == [True]
    assert table.values(A, b"1", HEADER) == [b"two", None]


@EVERY
def test_changes_of_a_call_are_made_one_after_the_other(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    changes = [
        Change(A, [Row(b"1", b"one")], expected={b"1": None}),
        Change(A, [Row(b"1", b"two")], expected={b"1": None}),
        Change(A, [Row(b"1", b"three")], expected={b"1": b"one"}),
        Change(A, delete=[b"1"], expected={b"1": b"three"}),
        Change(A, [Row(b"2", b"two")], expected={b"1": None}),
        Change(B, [Row(b"1", b"other")]),
        Change(A, [Row(b"1", b"four")], expected={b"1": None, b"2": b"two"}),
    ]
    assert table.update(*changes) == [True, False, True, True, True, True, True]
    assert table.values(A, b"1", b"2") == [b"four", b"two"]
    assert table.status().rows == 3


@EVERY
def test_a_partition_without_rows_is_as_if_it_never_was(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    table.put(A, Row(HEADER, b"header"), Row(b"1", b"one"), Row(b"2", b"two"))
    table.delete(A, b"2", HEADER, b"1")
    table.delete(A, b"1")
    assert table.values(A, HEADER, b"1", b"2") == [None] * 3
    assert table.status() == opened(spec).status() == TableStatus()
    assert table.add((A, Row(b"1", b"new"))) == [None]


# -- the header --------------------------------------------------------------------------------------------------


@EVERY
def test_the_header_is_a_row_that_is_not_counted(opened: OpenTable, spec: TableSpec) -> None:
    table = opened(spec)
    assert table.add((A, Row(HEADER, b"a")), (A, Row(HEADER, b"b")), (B, Row(HEADER, b"c"))) == [
        None,
        b"a",
        None,
    ]
    assert table.swap((A, Row(HEADER, b"d"))) == [b"a"]
    assert table.get((A, HEADER), (B, HEADER), (C, HEADER)) == [Row(HEADER, b"d"), Row(HEADER, b"c"), None]
    assert table.status() == TableStatus()
    table.put(A, Row(b"1", b"one"))
    assert table.status().rows == 1
    table.delete(A, HEADER)
    assert table.status().rows == 1
    assert table.values(A, HEADER, b"1") == [None, b"one"]


def test_the_header_is_not_among_scanned_rows(opened: OpenTable) -> None:
    table = opened(ORDERED)
    table.put(A, Row(HEADER, b"header"))
    assert table.ids(A) == []
    table.put(A, Row(b"\0", b""))
    assert table.ids(A) == [b"\0"]


def test_the_header_is_never_due(opened: OpenTable) -> None:
    table = opened(TIMED)
    table.put(A, Row(HEADER, b"header"))
    assert table.due_rows(A) == [[]]
    assert table.due_partitions() == []
    table.put(A, Row(b"1", b"", NOW))
    assert table.due_ids(A) == [b"1"]
    table.delete(A, b"1")
    assert table.due_partitions() == []
    assert table.status() == TableStatus()


# -- rows in order -----------------------------------------------------------------------------------------------


def test_rows_are_scanned_in_the_order_of_their_ids(opened: OpenTable) -> None:
    table = opened(ORDERED)
    table.put(A, *(Row(row_id, row_id * 2) for row_id in reversed(ODD_IDS)))
    table.put(B, Row(b"aa", b""))
    assert table.scan(A) == opened(ORDERED).scan(A) == [Row(row_id, row_id * 2) for row_id in ODD_IDS]
    assert table.scan(C) == []


def test_a_scan_goes_on_behind_an_id_and_ends_before_one(opened: OpenTable) -> None:
    table = opened(ORDERED)
    table.put(A, *(Row(row_id, b"") for row_id in ODD_IDS))
    walked: list[bytes] = []
    while more := table.ids(A, 2, walked[-1] if walked else HEADER):
        walked += more
    assert walked == ODD_IDS
    assert table.ids(A, 0) == []
    assert table.ids(A, 1) == [b"\0"]
    assert table.ids(A, after=b"a") == [b"a\0", b"a\0b", b"\xff", b"\xff" * ID_BYTES_MAX]
    assert table.ids(A, after=b"\0\0", before=b"a\0b") == [b"a", b"a\0"]
    assert table.ids(A, 1, b"\0\0", b"a\0b") == [b"a"]
    assert table.ids(A, after=b"b", before=b"c") == []
    assert table.ids(A, after=b"a", before=b"a") == []
    assert table.ids(A, after=b"c", before=b"a") == []
    assert table.ids(A, before=HEADER) == []


def test_many_rows_are_scanned_page_by_page(opened: OpenTable) -> None:
    table = opened(ORDERED)
    ids = [number.to_bytes(2, "big") for number in range(700)]
    table.put(A, *(Row(row_id, row_id) for row_id in ids))
    assert table.ids(A, MANY) == ids
    assert table.ids(A, 300, ids[299]) == ids[300:600]
    assert table.status().rows == 700


# -- times -------------------------------------------------------------------------------------------------------


def test_a_time_is_read_as_it_was_stored(opened: OpenTable) -> None:
    table = opened(TIMED)
    times = [None, 0.0, 1e-300, 0.1 + 0.2, NOW, NOW + 0.123456789, 1e300]
    rows = [Row(str(number).encode(), b"", at) for number, at in enumerate(times)]
    table.put(A, *rows)
    assert opened(TIMED).get(*((A, row.id) for row in rows)) == rows
    assert table.due_rows(A, now=2e300) == [rows[1:]]


def test_rows_are_due_in_the_order_of_their_times_and_ids(opened: OpenTable) -> None:
    table = opened(TIMED)
    times = {b"b": NOW, b"a": NOW, b"\xff": NOW - 1, b"c": NOW + 1, b"d": -5.0, b"e": 0.0, b"f": None}
    table.put(A, *(Row(row_id, b"", at) for row_id, at in times.items()))
    table.put(B, Row(b"1", b"", NOW))
    assert table.due_ids(A) == [b"d", b"e", b"\xff", b"a", b"b"]
    assert table.due_ids(A, most=4) == [b"d", b"e", b"\xff", b"a"]
    assert table.due_ids(A, most=0) == []
    assert table.due_ids(A, NOW - 0.5) == [b"d", b"e", b"\xff"]
    assert table.due_ids(A, -1.0) == [b"d"]
    assert table.due_ids(A, 1e300) == [b"d", b"e", b"\xff", b"a", b"b", b"c"]
    assert table.due_rows(C, B, A, B, most=1) == [
        [],
        [Row(b"1", b"", NOW)],
        [Row(b"d", b"", -5.0)],
        [Row(b"1", b"", NOW)],
    ]


def test_a_partition_is_due_from_the_first_time_of_its_rows(opened: OpenTable) -> None:
    table = opened(TIMED)
    table.put(A, Row(b"1", b"", NOW + 2), Row(b"2", b"", NOW + 1), Row(b"3", b""))
    table.put(B, Row(b"1", b"", NOW))
    table.put(C, Row(b"1", b""))
    assert table.due_partitions(NOW - 1) == []
    assert table.due_partitions(NOW) == [DuePartition(NOW, B)]
    assert table.due_partitions(NOW + 1) == [DuePartition(NOW, B), DuePartition(NOW + 1, A)]
    table.swap((A, Row(b"2", b"", NOW + 3)))
    assert table.due_partitions(NOW + 9) == [DuePartition(NOW, B), DuePartition(NOW + 2, A)]
    table.delete(A, b"1")
    table.add((B, Row(b"1", b"", NOW - 9)), (B, Row(b"2", b"", NOW - 1)))
    assert table.due_partitions(NOW + 9) == [DuePartition(NOW - 1, B), DuePartition(NOW + 3, A)]
    table.swap((A, Row(b"2", b"")), (C, Row(b"1", b"", 0.0)))
    due = [DuePartition(0.0, C), DuePartition(NOW - 1, B)]
    assert table.due_partitions(NOW + 9) == opened(TIMED).due_partitions(NOW + 9) == due


def test_partitions_are_due_in_order_and_page_by_page(opened: OpenTable) -> None:
    table = opened(TIMED)
    due = [DuePartition(at, partition) for at in (0.0, NOW - 1, NOW) for partition in ODD_PARTITIONS]
    named = [DuePartition(at, f"{partition}{at}" if at else partition) for at, partition in due]
    table.swap(*((partition, Row(b"1", b"", at)) for at, partition in reversed(named)))
    named.sort()
    assert table.due_partitions() == named
    for most in (1, 4, 100):
        walked: list[DuePartition] = []
        while more := table.due_partitions(NOW, most, walked[-1] if walked else None):
            assert len(more) <= most
            walked += more
        assert walked == named
    assert table.due_partitions(NOW, 0) == []
    assert table.due_partitions(NOW, after=DuePartition(NOW - 2, "zzz")) == named[len(ODD_PARTITIONS) :]
    assert table.due_partitions(0.0) == named[: len(ODD_PARTITIONS)]


def test_a_partition_is_not_due_before_the_time_given_for_it(opened: OpenTable) -> None:
    table = opened(TIMED)
    table.update(Change(A, [Row(b"1", b"", NOW)], not_before=NOW + 5))
    assert table.due_partitions(NOW + 4) == []
    assert table.due_partitions(NOW + 5) == [DuePartition(NOW + 5, A)]
    assert table.due_ids(A, NOW) == [b"1"]
    assert table.status(NOW + 4) == TableStatus(1, 1, NOW + 5)
    table.put(A, Row(b"2", b"", NOW - 5))
    assert opened(TIMED).due_partitions(NOW + 9) == [DuePartition(NOW + 5, A)]
    table.swap((A, Row(b"3", b"", NOW - 6)))
    table.delete(A, b"1", b"2")
    table.add((A, Row(HEADER, b"header")))
    assert opened(TIMED).due_partitions(NOW + 9) == [DuePartition(NOW + 5, A)]
    table.swap((A, Row(b"3", b"", NOW + 7)))
    assert table.due_partitions(NOW + 9) == [DuePartition(NOW + 7, A)]
    table.update(Change(A, [Row(b"3", b"", NOW)], not_before=0.0))
    assert opened(TIMED).due_partitions(NOW + 9) == [DuePartition(NOW, A)]
    table.update(Change(A, not_before=NOW + 1))
    assert table.due_partitions(NOW + 9) == [DuePartition(NOW + 1, A)]


@pytest.mark.parametrize("not_before", [NOW + 1, NOW + 7])
def test_not_before_counts_for_rows_that_come_later(opened: OpenTable, not_before: float) -> None:
    table = opened(TIMED)
    table.update(Change(A, [Row(b"1", b"", NOW + 9)], not_before=NOW + 5))
    table.update(Change(A, not_before=not_before))
    assert table.due_partitions(NOW + 9) == [DuePartition(NOW + 9, A)]
    opened(TIMED).put(A, Row(b"2", b"", NOW))
    assert table.due_partitions(NOW + 9) == [DuePartition(not_before, A)]


def test_not_before_lasts_as_long_as_the_partition_has_rows(opened: OpenTable) -> None:
    table = opened(TIMED)
    table.update(Change(A, [Row(b"1", b"")], not_before=NOW + 5), Change(B, not_before=NOW + 5))
    assert table.status() == TableStatus(1)
    table.update(Change(A, [Row(HEADER, b"")], [b"1"]))
    table.update(Change(A, [Row(b"2", b"", NOW)], [HEADER]), Change(B, [Row(b"1", b"", NOW)]))
    assert table.due_partitions(NOW + 9) == [DuePartition(NOW, B), DuePartition(NOW + 5, A)]
    table.update(Change(A, delete=[b"2"]), Change(A, [Row(b"2", b"", NOW)]))
    assert table.due_partitions(NOW + 9) == [DuePartition(NOW, A), DuePartition(NOW, B)]
    table.update(Change(A, delete=[b"2"], not_before=NOW + 5))
    table.put(A, Row(b"2", b"", NOW))
    assert table.due_partitions(NOW + 9) == [DuePartition(NOW, A), DuePartition(NOW, B)]


def test_the_same_rows_stored_again_are_due_as_before(opened: OpenTable) -> None:
    table = opened(TIMED)
    table.update(Change(A, [Row(b"1", b"one", NOW)], not_before=NOW + 1))
    for _ in range(2):
        table.put(A, Row(b"1", b"one", NOW))
        assert table.due_partitions(NOW + 9) == [DuePartition(NOW + 1, A)]
        assert table.due_ids(A) == [b"1"]
        assert table.status(NOW) == TableStatus(1, 1, NOW + 1)


# -- the table as a whole ----------------------------------------------------------------------------------------


def test_the_status_counts_due_rows_up_to_a_number(opened: OpenTable) -> None:
    table = opened(TIMED)
    for number in range(10):
        resting = NOW + 9 if number % 2 else None
        rows = [Row(b"1", b"", NOW + number), Row(b"2", b"", NOW + number), Row(b"3", b""), Row(HEADER, b"")]
        table.update(Change(str(number), rows, not_before=resting))
    assert table.status(NOW - 1) == TableStatus(30, 0, NOW)
    assert table.status(NOW + 2) == TableStatus(30, 6, NOW)
    assert table.status(NOW + 20) == opened(TIMED).status(NOW + 20) == TableStatus(30, 20, NOW)
    assert table.status(NOW + 20, 7) == TableStatus(30, 7, NOW)
    assert table.status(NOW + 20, 0) == TableStatus(30, 0, NOW)


def test_tables_of_one_file_have_nothing_in_common(opened: OpenTable, open_tables: OpenTables) -> None:
    tables = open_tables(PLAIN, ORDERED)
    assert tables.table(PLAIN) is tables.table(PLAIN)
    opened(PLAIN).put(A, Row(b"1", b"plain"))
    opened(ORDERED).put(A, Row(b"2", b"ordered"))
    for table in (opened(PLAIN), opened(ORDERED)):
        assert table.status().rows == 1
    assert opened(PLAIN).values(A, b"1", b"2") == [b"plain", None]


def test_the_holder_of_a_lock_renews_it(open_tables: OpenTables, runner: asyncio.Runner) -> None:
    tables = open_tables()
    for _ in range(3):
        assert runner.run(tables.lock("work", "w1", 60.0))
    assert runner.run(tables.lock("play", "w2", 60.0))


# -- all together ------------------------------------------------------------------------------------------------

_TIMES = (-1.0, 0.0, 1e-300, NOW, NOW + 1, NOW + 1.5, 1e300)
_IDS = st.sampled_from([HEADER, b"\0", b"\0\0", b"a", b"a\0b", b"\xff" * ID_BYTES_MAX])
_VALUES = st.sampled_from([b"", b"1", b"\0\xff" * 9])
_PARTITIONS = st.sampled_from(["", A, "\ud800{}"])
_MOST = st.integers(0, 4)
_MAYBE_TIMES = st.sampled_from([None, *_TIMES])
_ROWS = st.builds(lambda row, value, at: Row(row, value, at if row else None), _IDS, _VALUES, _MAYBE_TIMES)
_PUTS = st.lists(st.tuples(_PARTITIONS, _ROWS), max_size=4)
_CHANGES = st.builds(
    lambda partition, put, delete, expected, not_before: Change(
        partition, put, list(delete - {row.id for row in put}), expected, not_before
    ),
    _PARTITIONS,
    st.lists(_ROWS, max_size=3, unique_by=lambda row: row.id),
    st.sets(_IDS, max_size=4),
    st.one_of(st.just({}), st.dictionaries(_IDS, st.one_of(st.none(), _VALUES), max_size=2)),
    _MAYBE_TIMES,
)
_DUE = st.builds(DuePartition, st.sampled_from(_TIMES), _PARTITIONS)
_ALL = TableSpec("all", "things", "the crawl goes on without things", is_timed=True, is_ordered=True)


class Machine(RuleBasedStateMachine):
    """Calls of one table, each answered as by the table in memory."""

    opened: OpenTable
    runner: asyncio.Runner
    numbers: Iterator[int]

    def __init__(self) -> None:
        super().__init__()
        self._spec = replace(_ALL, name=f"all{next(self.numbers)}")
        self._expected = Opened(self.runner, MemoryTables().table(self._spec))
        self._table = self.opened(self._spec)

    def _agree(self, ask: Callable[[Opened], object]) -> None:
        assert ask(self._table) == ask(self._expected)

    @rule(rows=_PUTS)
    def add(self, rows: list[tuple[str, Row]]) -> None:
        self._agree(lambda table: table.add(*rows))

    @rule(rows=_PUTS)
    def swap(self, rows: list[tuple[str, Row]]) -> None:
        self._agree(lambda table: table.swap(*rows))

    @rule(changes=st.lists(_CHANGES, max_size=3))
    def update(self, changes: list[Change]) -> None:
        self._agree(lambda table: table.update(*changes))

    @rule(ids=st.lists(st.tuples(_PARTITIONS, _IDS), max_size=4))
    def get(self, ids: list[tuple[str, bytes]]) -> None:
        self._agree(lambda table: table.get(*ids))

    @rule(partition=_PARTITIONS, most=_MOST, after=_IDS, before=st.one_of(st.none(), _IDS))
    def scan(self, partition: str, most: int, after: bytes, before: bytes | None) -> None:
        self._agree(lambda table: table.scan(partition, most, after, before))

    @rule(now=st.sampled_from(_TIMES), most=_MOST, after=st.one_of(st.none(), _DUE))
    def due_partitions(self, now: float, most: int, after: DuePartition | None) -> None:
        self._agree(lambda table: table.due_partitions(now, most, after))

    @rule(partitions=st.lists(_PARTITIONS, max_size=3), now=st.sampled_from(_TIMES), most=_MOST)
    def due_rows(self, partitions: list[str], now: float, most: int) -> None:
        self._agree(lambda table: table.due_rows(*partitions, now=now, most=most))

    @rule()
    def open_again(self) -> None:
        self._table = self.opened(self._spec)

    @invariant()
    def status(self) -> None:
        self._agree(lambda table: table.status(NOW + 1))


def test_all_calls_are_answered_as_in_memory(
    opened: OpenTable, open_tables: OpenTables, runner: asyncio.Runner
) -> None:
    if isinstance(open_tables(), MemoryTables):
        pytest.skip("this is the specification")
    bound = {"opened": staticmethod(opened), "runner": runner, "numbers": itertools.count()}
    run_state_machine_as_test(
        type("Played", (Machine,), bound),
        settings=settings(max_examples=15, stateful_step_count=25, deadline=None),
    )
