"""A web of many hosts that is visited again and again, judged by the log of its server."""

from __future__ import annotations

import resource
import signal
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests import processes
from tests.fakeweb import Placement, witness

DELAY = 0.05
EVERY = 3
WEB = {
    "hosts": 8,
    "pages": 48,
    "zipf": 0.5,
    "seed": 11,
    "placements": (
        Placement("changing", share=0.2, options={"every": EVERY}),
        Placement("validators", share=0.3, options={"every": EVERY}),
    ),
}


@pytest.fixture(scope="module")
def visited(serve, start):
    web = serve(**WEB)
    crawl = start(
        web.seeds,
        arguments={"mode": "continuous"},
        POLITENESS_MODEL="fixed",
        POLITENESS_MIN_DELAY=DELAY,
        POLITENESS_KEY="host",
        REVISIT_POLICY="fixed",
        REVISIT_INTERVAL_SECONDS=1,
        REVISIT_INTERVAL_MIN_SECONDS=0,
    )
    crawl.until_logged(280)
    crawl.signal(signal.SIGTERM)
    return web, crawl.wait().assert_ended_well()


def is_new(visit):
    """Whether the page has another version at its ``visit``-th visit (from 0) than at the one before."""
    return visit % EVERY == 0


def by_url(hits):
    found = defaultdict(list)
    for hit in sorted(hits, key=lambda hit: hit.start_mono):
        if not hit.is_robots:
            found[witness.url_of(hit)].append(hit.status)
    return found


def test_visits_are_as_polite_as_the_first_ones(visited):
    web, _ = visited
    hits = web.hits()
    assert witness.violations(hits, lambda hit: DELAY, tolerance=0.005) == []
    assert witness.most_open(hits) == 1
    assert witness.pages_before_robots(hits) == []


def test_all_pages_are_visited_alike(visited):
    web, _ = visited
    counts = [len(statuses) for statuses in by_url(web.hits()).values()]
    assert len(counts) == WEB["pages"]
    assert min(counts) >= 4
    assert max(counts) - min(counts) <= 3


def test_pages_that_say_what_they_said_before_are_no_traps(visited):
    _, crawl = visited
    assert "in quarantine" not in crawl.stderr


def test_what_is_the_same_is_not_sent_again_where_the_server_knows_versions(visited):
    web, _ = visited
    versioned = [statuses for statuses in by_url(web.hits()).values() if 304 in statuses]
    assert len(versioned) >= 10
    for statuses in versioned:
        assert statuses == [200 if is_new(visit) else 304 for visit in range(len(statuses))]


def test_the_log_says_of_each_visit_whether_the_page_had_changed(visited):
    _, crawl = visited
    lines = defaultdict(list)
    for line in crawl.lines():
        lines[line["url"]].append(line)
    kinds = Counter()
    for visits in lines.values():
        assert [line.get("revisit", False) for line in visits] == [False] + [True] * (len(visits) - 1)
        changed = [line["changed"] for line in visits[1:]]
        changing = [is_new(visit) for visit in range(1, len(visits))]
        assert changed in (changing, [False] * len(changed))
        kinds["changing" if any(changed) else "same"] += 1
        if any(line["status"] == 304 for line in visits):
            assert [line["status"] == 304 for line in visits[1:]] == [not one for one in changed]
    assert min(kinds["changing"], kinds["same"]) >= 10


def memory_of(pid):
    """Bytes of memory that a process has to itself or shares."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.soak
def test_memory_is_flat_however_often_pages_are_visited(serve, start):
    """20,000 visits of 200 pages, and small log files that are rolled over and over."""
    web = serve(**{**WEB, "hosts": 40, "pages": 200})
    crawl = start(
        web.seeds,
        arguments={"mode": "continuous"},
        POLITENESS_MODEL="fixed",
        POLITENESS_MIN_DELAY=0,
        POLITENESS_KEY="host",
        REVISIT_POLICY="freshness",
        REVISIT_INTERVAL_SECONDS=1,
        REVISIT_INTERVAL_MIN_SECONDS=0,
        REVISIT_INTERVAL_MAX_SECONDS=1,
        FETCH_LOG_ROLL_BYTES=1_000_000,
        WARC_ROLL_BYTES=2_000_000,
    )
    samples = defaultdict(list)
    folder = crawl.path / "warc"
    while (visits := len(web.hits())) < 20_000:
        assert crawl.process.poll() is None, crawl.stderr[-4000:]
        for number, pid in enumerate([crawl.process.pid, *processes.children_of(crawl.process.pid)]):
            if visits > 2000:
                samples[number].append(memory_of(pid))
        time.sleep(0.5)
    crawl.signal(signal.SIGTERM)
    crawl.wait().assert_ended_well()
    assert len(list(folder.glob("*.warc.gz"))) > 3
    assert len(list(crawl.path.glob("fetch-*.jsonl.gz"))) > 3
    for number, sizes in samples.items():
        half = len(sizes) // 2
        print(f"process {number}: {max(sizes[:half]):,} and {max(sizes[half:]):,} bytes")
        assert max(sizes[half:]) <= 1.1 * max(sizes[:half])
