"""How a crawl stands, as people and programs read it."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.rows import each_row
from webcrawl.commands import frontier as told
from webcrawl.storage.contract import Counts
from webcrawl.storage.inspection import CrawlStatus, Demand, Worker

NOW = 1_700_000_000.0
COUNTS = Counts(12_345, 6_789, 12, 34, 400, 3, 1, 17)


@dataclass
class Crawl:
    storage: str = "redis"
    name: str = "broad on Redis at h:1"
    place: str = "h:1"


def worker(name: str = "w1", silent: float = 0.5, **figures: float) -> Worker:
    return Worker(name, NOW - 100, NOW - silent, figures)


def status(*workers: Worker, demand: Demand = Demand.RUN, is_shared: bool = True) -> CrawlStatus:
    return CrawlStatus(NOW, COUNTS, 120, list(workers), demand, is_shared)


def lines(found: CrawlStatus) -> list[str]:
    return told.status_as_text(Crawl(), found).splitlines()


def test_the_counts_are_told_in_words() -> None:
    assert lines(status())[:4] == [
        "broad on Redis at h:1: no worker is running",
        "",
        "URLs   12,345 queued, 6,789 done, 12 failed, 34 refused",
        "hosts  400 known, 120 active, 3 parked, 1 given up with 17 URLs",
    ]


def test_each_worker_has_a_row_with_its_figures() -> None:
    mine = worker("w1", pages=995, bytes=101_000_000, errors=3, active=60, open=12)
    *_, head, row = lines(status(mine))
    assert dict(zip(head.split(), row.split(), strict=False))["worker"] == "w1"
    for part in ("works", "0.5 s ago", " 995 ", " 10.0 ", "101 MB"):
        assert part in row
    assert row.endswith("  3     60    12")
    assert len(head) == len(row)


@each_row(
    ("demand", "one", "state"),
    [
        (Demand.RUN, worker(open=2, waiting=1), "works"),
        (Demand.RUN, worker(active=1, waiting=1), "works"),
        (Demand.RUN, worker(waiting=1), "waits"),
        (Demand.PAUSE, worker(open=2, paused=1), "pausing"),
        (Demand.PAUSE, worker(paused=1), "paused"),
        (Demand.PAUSE, worker(open=2), "works"),
        (Demand.STOP, worker(open=2), "stopping"),
        (Demand.RUN, worker(silent=10.5, open=2), "silent"),
    ],
)
def test_a_worker_s_state_is_one_word(demand: Demand, one: Worker, state: str) -> None:
    assert told.worker_state(one, status(one, demand=demand)) == state


@each_row(
    ("demand", "workers", "words"),
    [
        (Demand.RUN, [worker(), worker("w2", silent=99)], "1 worker running"),
        (Demand.PAUSE, [worker()], "paused by its operator, 1 worker running"),
        (Demand.PAUSE, [], "paused by its operator, no worker is running"),
        (Demand.STOP, [], "stopped by its operator, no worker is running"),
    ],
)
def test_the_first_line_says_what_is_going_on(demand: Demand, workers: list[Worker], words: str) -> None:
    assert lines(status(*workers, demand=demand))[0] == f"broad on Redis at h:1: {words}"


def test_a_crawl_of_one_process_has_no_table() -> None:
    alone = status(Worker("process 7", None, NOW - 4), is_shared=False)
    assert len(lines(alone)) == 4
    assert lines(alone)[0].endswith(": running (process 7), last heartbeat 4.0 s ago")
    paused = status(demand=Demand.PAUSE, is_shared=False)
    assert lines(paused)[0].endswith(": paused by its operator, not running")


def test_programs_get_all_of_it() -> None:
    found = json.loads(told.status_as_json(Crawl(), status(worker(pages=995, open=2))))
    assert found["urls"] == {"queued": 12_345, "done": 6_789, "failed": 12, "refused": 34}
    assert found["hosts"] == {
        "known": 400,
        "active": 120,
        "parked": 3,
        "given_up": 1,
        "given_up_urls": 17,
    }
    assert (found["storage"], found["place"], found["command"]) == ("redis", "h:1", "run")
    [one] = found["workers"]
    assert (one["name"], one["state"], one["pages"], one["open"]) == ("w1", "works", 995, 2)
    assert one["pages_per_second"] == pytest.approx(10.0)


def test_with_a_budget_it_says_how_much_of_it_is_used() -> None:
    one = worker("w1", 2.0, used_bytes=1e9, budget_bytes=4e9, backlog_full=10)
    other = worker("w2", 0.5, used_bytes=3.5e9, budget_bytes=4e9, backlog_full=2000)
    assert "Redis  3.5 GB used of 4.0 GB, 2,010 URLs rejected for lack of space" in lines(
        status(one, other, worker("w3"))
    )
    assert not any(line.startswith("memory") for line in lines(status(worker("w3"))))
