"""The state of a crawl and of its processes, from what they have stored and published."""

from __future__ import annotations

import pytest

from tests.rows import each_row
from webcrawl.reports.limiting import Bound, limiting
from webcrawl.reports.run_log import Run
from webcrawl.reports.standing import (
    HANGING_SECONDS,
    LOST_LEASES,
    SILENT_SECONDS,
    CrawlState,
    ProcessState,
    crawl_state,
    folder_state,
    process_state,
    situation,
)
from webcrawl.storage.contract import Counts
from webcrawl.storage.inspection import CrawlStatus, Demand, Worker

NOW = 1_700_000_000.0
BEGUN, ENDED = NOW - 100, NOW - 10
LEASE = 60.0


def worker(silent: float = 0.5, lease: float | None = LEASE, **figures: float) -> Worker:
    return Worker("w1", BEGUN, NOW - silent, figures, lease_seconds=lease)


def status(*workers: Worker, demand: Demand = Demand.RUN, is_shared: bool = True) -> CrawlStatus:
    return CrawlStatus(NOW, Counts(5, 0, 0, 0, 3), 2, list(workers), demand, is_shared)


RUN = Run(BEGUN, "broad", "w1")
DONE = Run(BEGUN, "broad", "w1", ended_at=ENDED, reason="finished")


@each_row(
    ("last", "held_at", "state"),
    [
        (None, None, CrawlState.NOT_RUNNING),
        (None, NOW, CrawlState.RUNNING),
        (RUN, NOW, CrawlState.RUNNING),
        (RUN, None, CrawlState.KILLED),
        (DONE, None, CrawlState.ENDED),
        # The process writes its report after it has recorded its end.
        (DONE, ENDED - 4, CrawlState.ENDED),
        # Another process has taken the folder, and is not on record yet.
        (DONE, ENDED + 4, CrawlState.RUNNING),
    ],
)
def test_a_folder_is_live_while_a_process_holds_it_that_has_not_ended(
    last: Run | None, held_at: float | None, state: CrawlState
) -> None:
    assert folder_state(last, held_at) is state
    assert crawl_state(status(is_shared=False), state) is state


LOST = worker(silent=LOST_LEASES * LEASE)
HUNG = worker(silent=LEASE + 1)


@each_row(
    ("found", "state"),
    [
        (status(), CrawlState.NOT_RUNNING),
        (status(LOST), CrawlState.NOT_RUNNING),
        (status(LOST, demand=Demand.PAUSE), CrawlState.NOT_RUNNING),
        (status(HUNG), CrawlState.RUNNING),
        (status(worker(), LOST), CrawlState.RUNNING),
        (status(worker(), demand=Demand.STOP), CrawlState.STOPPING),
        (status(worker(), demand=Demand.PAUSE), CrawlState.PAUSED),
        # They have not read the end of a pause.
        (status(worker(paused=1), worker(paused=1)), CrawlState.PAUSED),
        (status(worker(paused=1), worker(paused=0)), CrawlState.RUNNING),
        (status(worker(paused=1), LOST), CrawlState.PAUSED),
    ],
)
def test_a_shared_crawl_is_live_while_a_worker_is_present(found: CrawlStatus, state: CrawlState) -> None:
    assert crawl_state(found) is state


@pytest.mark.parametrize("demand", Demand)
def test_what_operators_want_of_a_crawl_counts_while_it_runs(demand: Demand) -> None:
    found = status(worker(lease=None), demand=demand, is_shared=False)
    wanted = {
        Demand.RUN: CrawlState.RUNNING,
        Demand.PAUSE: CrawlState.PAUSED,
        Demand.STOP: CrawlState.STOPPING,
    }
    assert crawl_state(found, CrawlState.RUNNING) is wanted[demand]
    assert crawl_state(found, CrawlState.ENDED) is CrawlState.ENDED


@each_row(
    ("process", "state"),
    [
        (worker(open=1, waiting=1), ProcessState.WORKING),
        (worker(waiting=1), ProcessState.IDLE),
        (worker(open=1, stalled=1), ProcessState.STALLED),
        (worker(stalled=1, paused=1), ProcessState.PAUSED),
        (worker(open=1, paused=1), ProcessState.PAUSING),
        (worker(silent=SILENT_SECONDS), ProcessState.WORKING),
        (worker(silent=SILENT_SECONDS + 1, paused=1), ProcessState.SILENT),
        (LOST, ProcessState.LOST),
        (worker(silent=4.0, lease=1.0), ProcessState.LOST),
    ],
)
def test_a_worker_of_a_shared_crawl_has_one_state(process: Worker, state: ProcessState) -> None:
    assert process_state(process, status(process)) is state


def test_the_process_of_a_folder_may_be_silent_for_longer_and_is_never_lost() -> None:
    for silent, state in ((HANGING_SECONDS, ProcessState.WORKING), (1e6, ProcessState.SILENT)):
        process = worker(silent=silent, lease=None)
        assert process_state(process, status(process, is_shared=False)) is state


@each_row(
    ("demand", "figures", "bound"),
    [
        (Demand.STOP, {"active": 2, "open": 1}, Bound.STOPPING),
        (Demand.PAUSE, {"active": 2, "open": 1}, Bound.PAUSED),
        (Demand.RUN, {"active": 2, "open": 1, "stalled": 1}, Bound.STORAGE),
        (Demand.RUN, {"active": 2, "open": 1}, Bound.POLITENESS),
    ],
)
def test_the_limit_of_a_crawl_knows_what_operators_want(
    demand: Demand, figures: dict[str, float], bound: Bound
) -> None:
    found = status(worker(open_max=32, **figures), demand=demand)
    known = situation(found, crawl_state(found))
    assert known is not None
    assert limiting(known).bound is bound


def test_a_crawl_without_figures_or_processes_has_no_limit() -> None:
    assert situation(status(worker()), CrawlState.RUNNING) is None
    assert situation(status(worker(open_max=32)), CrawlState.ENDED) is None
