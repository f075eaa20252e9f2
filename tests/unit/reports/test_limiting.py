"""What limits a crawl follows from its figures: a table of situations; and so does the time that it still takes."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from webcrawl.reports.limiting import Bound, Longest, Shrinkage, Situation, estimate, limiting, shrinkage

DATA = Path(__file__).parents[2] / "data"

BUSY: dict[str, Any] = {
    "queued": 10_000,
    "hosts": 300,
    "with_urls": 280,
    "ready": 40.0,
    "open": 20.0,
    "open_max": 64,
    "rate": 50.0,
    "capacity": 400.0,
}
"""A crawl with enough of everything: its next requests begin at this moment."""


@each_row(
    ("bound", "changed", "words"),
    [
        (Bound.STARTING, {}, "40 hosts could be contacted"),
        # Nothing begins.
        (Bound.STOPPING, {"is_closing": True, "is_paused": True}, "20 open requests"),
        (Bound.PAUSED, {"is_paused": True, "stalled": "disk full"}, "until it is resumed"),
        (Bound.HOURS, {"opens_at": 1_700_000_000.0}, "no request begins before 2023-11-14 22:13:20 UTC"),
        (Bound.PAUSED, {"is_paused": True, "opens_at": 1_700_000_000.0}, "until it is resumed"),
        (Bound.NOTHING, {"queued": 0, "opens_at": 1_700_000_000.0}, "Nothing is queued"),
        (Bound.STORAGE, {"stalled": "disk full"}, "The storage: disk full"),
        (Bound.STORAGE, {"stalled": "Redis away", "ready": 0.0}, "The storage: Redis away"),
        (Bound.NOTHING, {"queued": 0, "with_urls": 0, "open": 0.0}, "Nothing is queued; 0 requests open"),
        (Bound.PARKED, {"with_urls": 0, "open": 0.0, "ready": 0.0, "parked": 7}, "7 hosts parked"),
        (Bound.STARTING, {"with_urls": 0, "open": 0.0, "ready": 0.0}, "read from the storage"),
        # The delays of hosts, or the hosts.
        (Bound.POLITENESS, {"ready": 0.0, "capacity": 60.0, "rate": 58.0}, "58 requests/s are made, 97 %"),
        (Bound.POLITENESS, {"ready": 2.0, "capacity": 60.0, "rate": 58.0}, "280 hosts have URLs"),
        (Bound.POLITENESS, {"ready": 0.0, "capacity": None, "rate": None}, "280 hosts have URLs. More workers"),
        (Bound.POLITENESS, {"hosts": 1, "with_urls": 1, "ready": 0.0}, "1 host has URLs"),
        (Bound.HOSTS, {"hosts": 286, "with_urls": 3, "ready": 0.0, "capacity": 5.0, "rate": 4.5}, "3 of 286 hosts"),
        (Bound.HOSTS, {"hosts": 286, "with_urls": 3, "ready": 0.2, "open_max": None}, "3 of 286 hosts"),
        # Half of the hosts have URLs, but they are more than requests may be open.
        (Bound.POLITENESS, {"hosts": 900, "with_urls": 280, "ready": 0.0}, "280 hosts have URLs"),
        # Something is used up while hosts are ready.
        (Bound.OPEN_REQUESTS, {"open": 63.0, "unsettled": 1}, "63 of 64 requests are open, while 40 hosts"),
        (Bound.OPEN_REQUESTS, {"open": 63.0, "rate": None, "capacity": None}, "CONCURRENT_REQUESTS"),
        (Bound.STORING, {"open": 4.0, "unsettled": 60}, "60 of 64 requests have ended"),
        (Bound.EVENT_LOOP, {"loop_share": 0.93, "cpu_share": 0.5}, "93 % of a core"),
        (Bound.CPU, {"loop_share": 0.93, "cpu_share": 0.97}, "97 % of all cores"),
        (Bound.CPU, {"cpu_share": 1.2, "open": 64.0}, "100 % of all cores"),
        # A loop that is busy with all that the delays allow does not limit the crawl.
        (Bound.POLITENESS, {"loop_share": 0.93, "ready": 0.0}, "280 hosts"),
        (Bound.BANDWIDTH, {"bandwidth_used": 4.9e6, "bandwidth_limit": 5e6}, "4.9 MB/s of 5.0 MB/s"),
        (Bound.BANDWIDTH, {"bandwidth_used": 4.9e6, "bandwidth_limit": 5e6, "ready": 0.0}, "4.9 MB/s"),
        (Bound.STARTING, {"bandwidth_used": 2e6, "bandwidth_limit": 5e6}, "40 hosts"),
    ],
)  # fmt: skip
def test_the_verdict_names_what_limits_now(bound: Bound, changed: dict[str, Any], words: str) -> None:
    found = limiting(Situation(**(BUSY | changed)))
    assert found.bound is bound, found
    assert words in found.sentence
    assert found.sentence.endswith(".")
    assert "\n" not in found.short


def test_the_end_is_estimated_from_the_queue_and_the_host_that_takes_longest() -> None:
    short, long = Longest("a.test", 100, 5.0), Longest("b.test\x1b", 5712, 5.0)
    about = estimate(6000, 2.0, 60.0, short)
    assert about is not None
    assert (about.seconds, about.is_least) == (3000.0, False)
    assert about.sentence == "About 50 min 00 s to go, if the queue goes on shrinking by 2.0 URLs/s."
    least = estimate(6000, 2.0, 60.0, long)
    assert least is not None
    assert (least.seconds, least.is_least) == (28_560.0, True)
    assert least.sentence == "At least 7 h 56 min to go: b.test� has 5,712 URLs and a delay of 5.0 s."
    unknown = estimate(6000, 2.0, 60.0)
    assert unknown is not None
    assert unknown.is_least
    assert unknown.sentence.startswith("At least 50 min 00 s to go, if")


@each_row(
    ("queued", "shrinking", "seen"),
    [
        pytest.param(6000, -1.0, 60.0, id="the queue grows"),
        pytest.param(6000, 0.0, 60.0, id="the queue stays"),
        pytest.param(6000, None, 60.0, id="nothing is known"),
        pytest.param(6000, 2.0, 10.0, id="too short a time"),
        pytest.param(0, 2.0, 60.0, id="nothing is queued"),
    ],
)
def test_no_end_is_told_that_cannot_be_known(queued: int, shrinking: float | None, seen: float) -> None:
    assert estimate(queued, shrinking, seen, Longest("a.test", 100, 5.0)) is None


# -- the queue -------------------------------------------------------------------------------------------------------

RECORDED = json.loads((DATA / "remaining_queues.json").read_text())
"""Four crawls of the fake web: the seconds since their start, the queued URLs, and the URLs and the delay of the host
that takes longest."""


@each_row("recorded", RECORDED, ids=lambda recorded: recorded["crawl"])
def test_a_crawl_that_begins_is_never_said_to_take_much_longer_than_it_did(recorded: dict[str, Any]) -> None:
    looks: deque[tuple[float, int]] = deque()
    told = []
    for at, queued, queued_of_one, delay in recorded["looks"]:
        looks.append((at, queued))
        while len(looks) > 2 and looks[1][0] <= at - 120:
            looks.popleft()
        found = estimate(queued, *shrinkage([*looks]), Longest("a.test", queued_of_one, delay))
        left = recorded["ended_at"] - at
        # In its last seconds a crawl closes.
        if found is not None and left > 40:
            told.append((at, found.seconds / left))
    assert told[0][0] < 70, "it is told before the course of the whole window is known"
    assert all(0.75 < share < 1.05 for _, share in told), told


@each_row(
    ("lengths", "per_second", "seconds"),
    [
        pytest.param([100, 90, 80, 70], 1.0, 30.0, id="steadily"),
        pytest.param([10, 500, 480, 460, 440], 2.0, 30.0, id="since it was longest"),
        pytest.param([500, 500, 500, 480, 460, 440], 2.0, 30.0, id="since it was longest for the last time"),
        pytest.param([10, 20, 30], None, 0.0, id="it grows"),
        pytest.param([1000, 1000, 1000], None, 0.0, id="it stays"),
        pytest.param([1000, 990, 980, 970, 600], None, 40.0, id="faster than before"),
        pytest.param([1000, 700, 600, 590, 590], None, 40.0, id="slower than before"),
        pytest.param([1000, 700, 600, 700, 800], None, 40.0, id="it grows again"),
        pytest.param([50, 49, 49, 48, 45], 0.125, 40.0, id="few URLs, now and then"),
        pytest.param([50], None, 0.0, id="one look"),
    ],
)
def test_how_fast_a_queue_shrinks(lengths: list[int], per_second: float | None, seconds: float) -> None:
    looks = [(10.0 * place, length) for place, length in enumerate(lengths)]
    assert shrinkage(looks) == Shrinkage(per_second, seconds)
