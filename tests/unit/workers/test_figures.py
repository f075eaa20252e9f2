"""Figures of workers, written and read, and added up."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from webcrawl.frontier.tally import Snapshot, Tally
from webcrawl.workers import figures
from webcrawl.workers.figures import WorkerFigures


def of_worker(pages=3, **more):
    tally = Tally(
        pages=pages,
        bytes=100 * pages,
        statuses=Counter({200: pages}),
        errors=Counter(timeout=1),
        longest_hold_seconds=0.1 * pages,
        skipped={f"host{pages}": 60.0},
        last_refusing=(f"host{pages}", "wall"),
        scored=None if pages == 3 else pages,
    )
    frontier = Snapshot(
        queued=7,
        known_hosts=9,
        active_hosts=pages,
        ready_hosts=1,
        waiting_hosts=2,
        parked_hosts=1,
        given_up_hosts=0,
        in_flight=2,
        unsettled=1,
        next_ready_at=float(pages),
        stalled=None,
        oldest_open=("slow", 10.0 - pages),
        workers=2,
    )
    return WorkerFigures(
        tally, frontier, items=pages, errors=[(float(pages), "timeout", "http://a/")], **more
    )


def test_figures_come_back_as_they_were_written(tmp_path):
    path = figures.path_of(tmp_path, 17)
    given = of_worker(trouble="disk full", makes_items=False)
    figures.write(path, given)
    assert figures.read(path) == given


@pytest.mark.parametrize("text", ["", "{}", '{"tally": {"pages": "x", "new": 1}}', "[1]"])
def test_a_file_that_is_damaged_or_of_another_version_counts_as_none(tmp_path, text):
    path = figures.path_of(tmp_path, 17)
    path.write_text(text)
    assert figures.read(path) is None
    assert figures.read(tmp_path / "missing") is None


def test_all_processes_are_added_up_and_the_state_is_that_of_those_that_run():
    killed, first, second = of_worker(5), of_worker(3), of_worker(4)
    total = figures.added([killed, first, second], running=2)
    assert total is not None
    assert (total.tally.pages, total.tally.bytes, total.items) == (12, 1200, 12)
    assert total.tally.statuses == {200: 12}
    assert total.tally.errors == {"timeout": 3}
    assert total.tally.longest_hold_seconds == 0.5
    assert set(total.tally.skipped) == {"host3", "host4", "host5"}
    assert total.tally.last_refusing == ("host4", "wall")
    assert total.tally.scored == 9
    # Of the whole crawl, and of these processes.
    assert (total.frontier.queued, total.frontier.known_hosts) == (7, 9)
    assert (total.frontier.active_hosts, total.frontier.in_flight, total.frontier.workers) == (7, 4, 2)
    assert (total.frontier.next_ready_at, total.frontier.oldest_open) == (3.0, ("slow", 6.0))


def test_when_all_have_ended_the_last_one_knows_what_is_left():
    last = of_worker(4)
    last.frontier = dataclasses.replace(last.frontier, queued=1)
    total = figures.added([of_worker(5), last], running=0)
    assert total is not None
    assert (total.frontier.queued, total.tally.pages) == (1, 9)
    assert figures.added([], running=0) is None
