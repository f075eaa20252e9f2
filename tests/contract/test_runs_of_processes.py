"""The runs of processes, as they are stored and as a dashboard marks them: begun, ended, killed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from webcrawl.features.timeseries.runs import RUNS_MAX, SPEC, ProcessRun, RunStore, killed, with_killed
from webcrawl.features.timeseries.store import SPEC as SERIES
from webcrawl.features.timeseries.store import Latest, SeriesStore

if TYPE_CHECKING:
    import asyncio

    from tests.contract.conftest import OpenTables

NOW = 1_700_000_000.0


def latest(worker: str, begun_at: float, at: float) -> Latest:
    return Latest(worker, at, begun_at, "machine", 7, "0.1")


def test_runs_are_kept_with_their_ends_and_the_oldest_are_forgotten(
    runner: asyncio.Runner, open_tables: OpenTables
) -> None:
    tables = open_tables(SPEC, SERIES)
    store, series = RunStore(tables), SeriesStore(tables)
    first, other = ProcessRun("w1", NOW), ProcessRun("w2 of two", NOW + 1)

    async def story() -> list[ProcessRun]:
        assert await store.runs() == []
        await store.begin(first)
        await store.begin(other)
        await store.end(replace(first, ended_at=NOW + 60, reason="finished"))
        # One that is told after the end itself knows less.
        await store.end(killed(latest("w1", NOW, NOW + 58)))
        await series.publish(1, latest("w2 of two", NOW + 1, NOW + 30))
        gone = await series.published(1)
        assert gone is not None
        await store.end(killed(gone))
        assert await series.published(0) is None
        found = await store.runs()
        for number in range(RUNS_MAX):
            await store.begin(ProcessRun("w3", NOW + 100 + number))
        return found

    ended, gone = runner.run(story())
    assert (ended.worker, ended.begun_at, ended.ended_at, ended.reason) == ("w1", NOW, NOW + 60, "finished")
    assert (gone.worker, gone.ended_at, gone.reason) == ("w2 of two", NOW + 30, None)
    # An id is the same from the process, and from what is stored.
    odd = ProcessRun("w", 1_700_000_000.123)
    assert odd.row_id == b"01700000000123 w"
    kept = runner.run(store.runs())
    assert len(kept) == RUNS_MAX
    assert {run.worker for run in kept} == {"w3"}


def test_a_run_without_an_end_was_killed_if_nothing_was_heard_of_it() -> None:
    runs = [
        ProcessRun("w1", NOW),
        ProcessRun("w2", NOW + 1),
        ProcessRun("w3", NOW + 2),
        ProcessRun("w4", NOW + 3, NOW + 9, "stopped"),
        ProcessRun("w1", NOW + 100),
    ]
    published = [
        latest("w1", NOW, NOW + 50),
        latest("w2", NOW + 1, NOW + 50),
        # It cannot store its figures, and has a heartbeat.
        latest("w3", NOW + 2, NOW + 50),
        latest("w1", NOW + 100, NOW + 199),
    ]
    found = with_killed(runs, published, ["w1", "w3"], NOW + 200)
    assert [(run.worker, run.ended_at, run.reason) for run in found] == [
        ("w1", NOW + 50, None),
        ("w2", NOW + 50, None),
        ("w3", None, None),
        ("w4", NOW + 9, "stopped"),
        ("w1", None, None),
    ]
