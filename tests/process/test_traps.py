"""A quarantine outlives kill -9, is the same for all workers of a crawl on Redis, and so is a release."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing, suppress

import pytest

from tests.commands import own_process
from tests.crawl import expectation
from tests.fakeweb.labyrinth import is_trap
from tests.process.workers import WorkerProcesses

SETTINGS: dict[str, object] = {"CONCURRENT_REQUESTS": 16, "COMMIT_INTERVAL_SECONDS": 0}


SECTIONS = ("articles", "events", "days", "more", "folders")


def stored(path):
    """How many patterns there are in a file that a crawl may be making at this moment."""
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as opened, suppress(sqlite3.Error):
        return opened.execute("SELECT count(*) FROM traps WHERE partition = ?", (b"patterns",)).fetchone()[0]
    return 0


def listed(folder, *words, **where):
    return own_process(folder, "traps", *words, "--json", **where).told["traps"]


def test_a_crawl_that_is_killed_knows_its_quarantine_when_it_goes_on(serve, start, crawl):
    web = serve(kind="labyrinth", hosts=1, sections=SECTIONS)
    killed = start(web.seeds, **{**SETTINGS, "POLITENESS_MIN_DELAY": 0.01})
    killed.until(lambda: stored(killed.path / "traps.db"))
    killed.kill()
    known = listed(killed.path.parent, JOBDIR=killed.path)
    ended = crawl(web.seeds, of=killed, **SETTINGS).assert_ended_well()
    again = {trap["pattern"] for trap in listed(ended.path.parent, JOBDIR=ended.path)}
    assert known
    assert {trap["pattern"] for trap in known} <= again
    assert " in quarantine; see scrapy traps" in ended.stderr
    assert not any(f"release {trap['id']}`" in ended.stderr for trap in known)
    hits = Counter(expectation.asked(web))
    assert web.site.truth() <= set(hits)
    assert sum(count for url, count in hits.items() if is_trap(url)) < 60 * 3


@pytest.fixture(scope="module")
def story(serve, start, serve_redis):
    """Two workers on sites that are all traps alike."""
    web = serve(kind="labyrinth", hosts=2, sections=SECTIONS)
    redis = serve_redis()
    processes = WorkerProcesses(start, redis, web.seeds, POLITENESS_KEY="host", **SETTINGS)
    for name in ("w1", "w2"):
        processes.start(name)
    processes.wait(120)
    return web, redis, processes


def test_two_workers_miss_nothing_real_and_fetch_next_to_nothing_of_the_traps(story):
    web, redis, processes = story
    hits = Counter(expectation.asked(web))
    assert web.site.truth() <= set(hits)
    # Whichever worker has fetched a page, it counts.
    assert {line["key"] for line in processes.lines()} == {
        host.split("/")[2].partition(":")[0] for host in web.seeds
    }
    assert sum(count for url, count in hits.items() if is_trap(url)) < 2 * 60 * 3
    found = listed(redis.folder, REDIS_URL=redis.url)
    said = "".join(processes.logs())
    assert len(found) == 2 * 3
    assert all(f"release {trap['id']}`" in said for trap in found)


def test_a_release_is_obeyed_by_whichever_worker_has_the_site(story):
    web, redis, processes = story
    found = listed(redis.folder, REDIS_URL=redis.url)
    chosen = [trap for trap in found if trap["pattern"].endswith("/more/?key")]
    assert len(chosen) == 2
    asked = Counter(expectation.asked(web))
    listed(redis.folder, "release", *(trap["id"] for trap in chosen), REDIS_URL=redis.url)
    for name in ("w1", "w2"):
        processes.start(name, CLOSESPIDER_PAGECOUNT=30)
    processes.wait(120)
    new = Counter(expectation.asked(web)) - asked
    assert {url.split("/")[2] for url in new} == {host.split("/")[2] for host in web.seeds}
    assert all("/more/?key=" in url for url in new)
    assert new.total() >= 30
