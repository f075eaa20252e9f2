"""A quarantine outlives kill -9, is the same for all workers of a crawl on Redis, and so is a release."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing, suppress

import pytest

from tests.commands import own_process
from tests.fakeweb.labyrinth import is_trap
from tests.process.crew import Crew

SETTINGS: dict[str, object] = {"CONCURRENT_REQUESTS": 16, "COMMIT_INTERVAL_SECONDS": 0}


SECTIONS = ("articles", "events", "days", "more", "folders")


def asked_for(web):
    """How often each URL was requested, robots.txt apart."""
    return Counter(f"http://{hit.host}:{web.ports.http}{hit.path}" for hit in web.hits() if not hit.is_robots)


def stored(path):
    """How many patterns there are in a file that a crawl may be making at this moment."""
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as opened, suppress(sqlite3.Error):
        return opened.execute("SELECT count(*) FROM traps").fetchone()[0]
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
    hits = asked_for(web)
    assert web.site.truth() <= set(hits)
    assert sum(count for url, count in hits.items() if is_trap(url)) < 60 * 3


@pytest.fixture(scope="module")
def story(serve, start, serve_redis):
    """Two workers on sites that are all traps alike."""
    web = serve(kind="labyrinth", hosts=4, sections=SECTIONS)
    redis = serve_redis()
    crew = Crew(start, redis, web.seeds, POLITENESS_KEY="host", **SETTINGS)
    for name in ("w1", "w2"):
        crew.start(name)
    crew.wait(60)
    return web, redis, crew


def test_two_workers_miss_nothing_real_and_fetch_next_to_nothing_of_the_traps(story):
    web, redis, crew = story
    hits = asked_for(web)
    assert web.site.truth() <= set(hits)
    assert sum(count for url, count in hits.items() if is_trap(url)) < 4 * 60 * 3
    found = listed(redis.folder, REDIS_URL=redis.url)
    said = "".join(crew.logs())
    assert len(found) == 4 * 3
    assert all(f"release {trap['id']}`" in said for trap in found)


def test_a_release_is_obeyed_by_whichever_worker_has_the_site(story):
    web, redis, crew = story
    found = listed(redis.folder, REDIS_URL=redis.url)
    chosen = [trap for trap in found if trap["pattern"].endswith("/more/?key")]
    assert len(chosen) == 4
    asked = asked_for(web)
    listed(redis.folder, "release", *(trap["id"] for trap in chosen), REDIS_URL=redis.url)
    for name in ("w1", "w2"):
        crew.start(name, CLOSESPIDER_PAGECOUNT=60)
    crew.wait(60)
    new = asked_for(web) - asked
    assert {url.split("/")[2] for url in new} == {host.split("/")[2] for host in web.seeds}
    assert all("/more/?key=" in url for url in new)
    assert new.total() >= 60
