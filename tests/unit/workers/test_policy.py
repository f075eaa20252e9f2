"""The decisions of the parent of several workers: pure functions."""

from __future__ import annotations

from webcrawl.workers.policy import (
    PAUSES,
    STEADY_SECONDS,
    Restarts,
    WorkerExit,
    close_reason,
    exit_status,
    shares,
)


def test_a_limit_is_divided_among_the_workers_without_a_rest():
    wrong = []
    for total in (1, 2, 3, 7, 1000):
        for workers in (1, 2, 3, 8):
            of_each = shares(total, workers)
            if sum(of_each) != total or not all(of_each) or max(of_each) - min(of_each) > 1:
                wrong.append((total, workers, of_each))
    assert wrong == []


def test_who_is_killed_is_started_again_a_few_times():
    restarts = Restarts()
    assert [restarts.pause(1.0) for _ in range(len(PAUSES) + 1)] == [*PAUSES, None]


def test_who_ran_for_long_begins_a_new_row_of_restarts():
    restarts = Restarts()
    assert [restarts.pause(1.0), restarts.pause(1.0), restarts.pause(STEADY_SECONDS)] == [
        *PAUSES[:2],
        PAUSES[0],
    ]


def test_what_the_end_of_a_worker_means_for_the_crawl():
    cases = {
        # status, close reason: killed, ends the crawl
        (0, "finished"): (False, False),
        (0, "closespider_pagecount"): (False, False),
        (0, "closespider_timeout"): (False, True),
        (0, "stopped"): (False, True),
        (0, "enough"): (False, True),
        (0, None): (False, False),
        (1, "unanticipated_errors"): (False, True),
        (1, None): (False, True),
        (2, None): (False, True),
        (-9, None): (True, False),
        (-15, None): (True, False),
        (86, None): (True, False),
        # The server was away when it was started again.
        (2, None, True): (True, False),
        (1, None, True): (False, True),
    }
    wrong = {}
    for given, expected in cases.items():
        end = WorkerExit(*given)
        if (end.is_killed, end.ends_crawl) != expected:
            wrong[given] = (end.is_killed, end.ends_crawl)
    assert wrong == {}


def test_the_crawl_has_the_worst_status_and_the_reason_that_ended_it():
    cases = [
        ([(0, "finished"), (0, "finished")], 0, "finished"),
        ([(0, "finished"), (0, "closespider_pagecount")], 0, "closespider_pagecount"),
        ([(0, "shutdown"), (0, "shutdown")], 0, "shutdown"),
        ([(0, "shutdown"), (1, "unanticipated_errors")], 1, "unanticipated_errors"),
        ([(0, "finished"), (-9, None)], 1, "finished"),
        ([(2, None), (0, "shutdown")], 2, "shutdown"),
        ([(2, None, True), (0, "finished")], 1, "finished"),
        ([(0, None)], 0, "shutdown"),
    ]
    wrong = []
    for given, status, reason in cases:
        ends = [WorkerExit(*end) for end in given]
        if (exit_status(ends), close_reason(ends)) != (status, reason):
            wrong.append((given, exit_status(ends), close_reason(ends)))
    assert wrong == []
