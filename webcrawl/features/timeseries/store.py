"""The store of figures and time series: a slot for each process that runs at a time, whose size is bounded.

A process takes the first slot that no running process has, and continues the series in it: the number of slots is the
largest number of processes that ever ran together. The header of a slot says until when its archives reach.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.errors import StorageLost
from webcrawl.features.timeseries.archives import ARCHIVES, STEPS, BlockError, SeriesBlock, unpacked
from webcrawl.features.timeseries.reading import MAX, SHARE, Series, Slot, Window, choose_window, read_window
from webcrawl.frontier.figures import BY_NAME, FIGURES, Figure
from webcrawl.storage.tables import HEADER, Change, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webcrawl.storage.tables import Tables

SPEC = TableSpec("series", "series", without="the crawl goes on, and its graphs begin anew")
"""A partition is the number of a slot. Its header is JSON (``first``: when its series begin; ``until``: by archive,
the time of the last sample; ``worker``). The row ``latest`` is JSON (``Latest``); the row ``A:P`` is the block at
place ``P`` in the ring of archive ``A``."""

LATEST = b"latest"
SLOTS_MAX = 256
"""Processes at a time whose figures are kept; further ones publish none."""
LOCK_SECONDS = 45.0
"""Seconds that a slot stays taken by a process that does not renew it."""
_SLOTS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Latest:
    """The figures that a process published last. Times are epoch seconds by the crawl's clock."""

    worker: str
    """The WORKER_NAME of the process."""
    at: float
    begun_at: float
    host: str
    """The name of its machine."""
    process: int
    """The number of the process on that machine."""
    version: str
    """The version of webcrawl."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Counters since the start of the process, and gauges; see ``frontier.figures.FIGURES``."""

    def packed(self) -> bytes:
        return json.dumps(
            {
                "worker": self.worker,
                "at": self.at,
                "begun_at": self.begun_at,
                "host": self.host,
                "process": self.process,
                "version": self.version,
                "figures": dict(self.figures),
            },
            separators=(",", ":"),
        ).encode()


class SeriesStore:
    """Every coroutine may raise the CrawlError of its storage."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.table(SPEC)

    # -- reading -------------------------------------------------------------------------------------------

    @staticmethod
    def names() -> list[Figure]:
        """Return all figures, with units and meanings. Each but the last one has a series of its maxima, too, whose
        name ends in ``:max``."""
        return [*FIGURES, SHARE]

    async def latest(self) -> list[Latest]:
        """Return what processes published last, in the order of their start; among them those that were killed, until
        others have their slots."""
        rows = [row for row in await self._of_all_slots(LATEST) if row is not None]
        runs = [run for row in rows if (run := _latest(row.value)) is not None]
        return sorted(runs, key=lambda run: (run.begun_at, run.worker))

    async def published(self, slot: int) -> Latest | None:
        """Return what the last process in a slot published; None if it has taken that back."""
        [row] = await self._table.get([RowId(str(slot), LATEST)])
        return None if row is None else _latest(row.value)

    async def read(
        self, names: Sequence[str], from_: float | None, to: float | None, points: int, now: float
    ) -> Series:
        """Return series of these names, of all processes together: a counter's rate per second, a gauge's mean.

        ``from_``, ``to``: epoch seconds; None: the beginning of the crawl, and ``now``. ``points``: about how many
        values there are in each. A value is None if no process ran then, or that is not kept any more. ``NAME:max``
        is the largest mean of 10 seconds in each step; of several processes, the sum of those of each.

        :raises ValueError: there is no such name, or the period is empty
        """
        wrong = [name for name in names if name.removesuffix(MAX) not in BY_NAME and name != SHARE.name]
        if wrong:
            raise ValueError(f"there is no series {wrong[0]!r}")
        slots = await self._slots(now)
        window = choose_window(from_, to, points, now, slots)
        blocks = await self._blocks(window, slots)
        return read_window(names, window, slots, blocks)

    async def _slots(self, now: float) -> list[Slot]:
        return [
            slot
            for number, row in enumerate(await self._of_all_slots(HEADER))
            if row is not None and (slot := _slot(number, row.value, now)) is not None
        ]

    async def _of_all_slots(self, row_id: bytes) -> list[Row | None]:
        """Return the row of each slot; the slots that were ever used are the first ones."""
        heads: list[Row | None] = []
        while len(heads) < SLOTS_MAX:
            first = len(heads)
            some = await self._table.get(
                [RowId(str(number), row_id) for number in range(first, first + _SLOTS_AT_ONCE)]
            )
            heads += some
            if some[-1] is None:
                break
        return heads

    async def _blocks(self, window: Window, slots: Sequence[Slot]) -> dict[int, list[SeriesBlock]]:
        """Return the blocks of each slot that the window needs."""
        index, archive = window.archive, ARCHIVES[window.archive]
        numbers = range(archive.number(window.start), archive.number(window.end) + 1)[-archive.blocks :]
        ids = [
            (slot.number, number)
            for slot in slots
            for number in numbers
            if slot.first < (number + 1) * archive.step * STEPS
            and slot.until[index] > number * archive.step * STEPS
        ]
        rows = await self._table.get(
            [RowId(str(slot), _block_id(index, number % archive.blocks)) for slot, number in ids]
        )
        blocks: dict[int, list[SeriesBlock]] = {slot.number: [] for slot in slots}
        for (slot, number), row in zip(ids, rows, strict=True):
            if row is None:
                continue
            try:
                block = unpacked(row.value)
            except BlockError as error:
                raise StorageLost(f"the time series of the crawl cannot be read: {error}") from error
            # Another number: what this place in the ring had one turn before, or has now.
            if block.number == number:
                blocks[slot].append(block)
        return blocks

    # -- writing -------------------------------------------------------------------------------------------

    async def take(self, holder: str) -> int | None:
        """Return the first slot that no other process has, and keep it for ``LOCK_SECONDS``; None if all are taken.
        ``holder`` is unique."""
        for slot in range(SLOTS_MAX):
            if await self.renew(slot, holder):
                return slot
        return None

    async def renew(self, slot: int, holder: str) -> bool:
        """Keep a slot for ``LOCK_SECONDS``; return False if another process has it."""
        return await self._tables.lock(f"series/{slot}", holder, LOCK_SECONDS)

    async def recall(self, slot: int, at: float) -> tuple[Slot | None, list[SeriesBlock | None]]:
        """Return the state of a slot, and the block of each archive at the place of the time ``at``."""
        ids = [
            _block_id(index, archive.number(at) % archive.blocks) for index, archive in enumerate(ARCHIVES)
        ]
        head, *rows = await self._table.get([RowId(str(slot), row_id) for row_id in (HEADER, *ids)])
        blocks: list[SeriesBlock | None] = []
        for row in rows:
            try:
                blocks.append(None if row is None else unpacked(row.value))
            except BlockError:
                blocks.append(None)
        return None if head is None else _slot(slot, head.value, at), blocks

    async def publish(self, slot: int, latest: Latest) -> None:
        """Store what a process publishes."""
        await self._table.swap([(str(slot), Row(LATEST, latest.packed()))])

    async def retract(self, slot: int) -> None:
        """Delete what a process published: it ends."""
        await self._table.update([Change(str(slot), delete=[LATEST])])

    async def save(self, slot: Slot, rows: Sequence[tuple[int, int, bytes]]) -> None:
        """Store rows of a ``Recorder`` together with the state of its slot."""
        head = {"first": slot.first, "until": slot.until, "worker": slot.worker}
        put = [Row(HEADER, json.dumps(head, separators=(",", ":")).encode())]
        put += [Row(_block_id(index, place), value) for index, place, value in rows]
        await self._table.update([Change(str(slot.number), put)])


def _block_id(archive: int, place: int) -> bytes:
    return b"%d:%d" % (archive, place)


def _slot(number: int, stored: bytes, now: float) -> Slot | None:
    """Return the state of a slot; None if it cannot be read. Times after ``now`` are of a clock that was set."""
    try:
        value = json.loads(stored)
        until = [min(float(at), now) for at in value["until"]]
        first = min(float(value["first"]), now)
        if len(until) != len(ARCHIVES):
            return None
        return Slot(number, first, until, str(value.get("worker", "")))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _latest(stored: bytes) -> Latest | None:
    """Return what a process published; None if it is of another version."""
    try:
        value: dict[str, Any] = json.loads(stored)
        figures = {str(name): float(number) for name, number in value["figures"].items()}
        return Latest(
            str(value["worker"]),
            float(value["at"]),
            float(value["begun_at"]),
            str(value["host"]),
            int(value["process"]),
            str(value["version"]),
            figures,
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
