"""The runs of the processes of a crawl: when each began, and when and how it ended. The last ones are kept.

A process that is killed stores no end. What it published last stays in its slot of the time series: the end is noted
from there by the process that has the slot next, and known by readers before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from webcrawl.storage.tables import Change, Row, TableSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawl.features.timeseries.store import Latest
    from webcrawl.storage.tables import Tables

SPEC = TableSpec("runs", "series", without="the graphs have no marks of earlier runs", is_ordered=True)
"""One partition. An id is the start of a process in milliseconds, and its WORKER_NAME; the value is JSON
(``ended_at``, ``reason``), empty while it runs."""

RUNS_MAX = 200
SILENT_SECONDS = 30.0
"""A process that has published nothing for this long, and has not said that it ends, was killed."""
_PARTITION = "runs"
_NAME_BYTES_MAX = 200


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """The run of one process. Times are epoch seconds."""

    worker: str
    begun_at: float
    ended_at: float | None = None
    """The end of the run; None while it runs, and if nothing is known of its end. Of a run that was killed, its last
    sign of life."""
    reason: str | None = None
    """The close reason; None for one that was killed."""

    @property
    def row_id(self) -> bytes:
        return b"%014d %s" % (round(self.begun_at * 1000), self.worker.encode()[:_NAME_BYTES_MAX])

    def packed(self) -> bytes:
        value = {} if self.ended_at is None else {"ended_at": self.ended_at, "reason": self.reason}
        return json.dumps(value, separators=(",", ":")).encode()


class RunStore:
    """Every coroutine may raise the CrawlError of its storage."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables.table(SPEC)

    async def begin(self, run: ProcessRun) -> None:
        """Store a run that begins, and forget the oldest ones if there are too many."""
        stored = await self._table.scan(_PARTITION, 2 * RUNS_MAX)
        old = [row.id for row in stored[: max(len(stored) + 1 - RUNS_MAX, 0)]]
        await self._table.update([Change(_PARTITION, [Row(run.row_id, run.packed())], old)])

    async def end(self, run: ProcessRun) -> None:
        """Store the end of a run, unless one is stored: the first to tell knows best."""
        running = replace(run, ended_at=None, reason=None)
        expected = {run.row_id: running.packed()}
        await self._table.update([Change(_PARTITION, [Row(run.row_id, run.packed())], expected=expected)])

    async def runs(self) -> list[ProcessRun]:
        """Return the last runs, in the order in which they began."""
        rows = await self._table.scan(_PARTITION, 2 * RUNS_MAX)
        return [run for row in rows if (run := _read(row)) is not None]


def killed(latest: Latest) -> ProcessRun:
    """Return the run of a process of which only what it published last is left."""
    return ProcessRun(latest.worker, latest.begun_at, latest.at)


def with_killed(
    runs: Sequence[ProcessRun], latest: Iterable[Latest], alive: Iterable[str], now: float
) -> list[ProcessRun]:
    """Return runs with the ends of those that were killed since. ``alive``: the workers with a recent heartbeat, one
    of which may be unable to store its figures for a while."""
    working = set(alive)
    # The last run of each worker: an earlier one does not run any more.
    newest = {run.worker: run.row_id for run in runs}
    gone = {
        run.row_id: run
        for run in map(killed, (run for run in latest if now - run.at >= SILENT_SECONDS))
        if run.worker not in working or newest.get(run.worker) != run.row_id
    }
    return [gone.get(run.row_id, run) if run.ended_at is None else run for run in runs]


def _read(row: Row) -> ProcessRun | None:
    """Return a stored run; None if it cannot be read."""
    begun_at, _, worker = row.id.partition(b" ")
    try:
        value = json.loads(row.value)
        ended_at, reason = value.get("ended_at"), value.get("reason")
        return ProcessRun(
            worker.decode("utf-8", "replace"),
            int(begun_at) / 1000,
            None if ended_at is None else float(ended_at),
            None if reason is None else str(reason),
        )
    except (ValueError, TypeError, AttributeError):
        return None
