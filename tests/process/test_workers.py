"""A crawl of several workers by one command: the setting WORKERS. The log of the web is the witness."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests import redis_program
from tests.crawl import expectation
from tests.crawl.crawling import Jobdir
from tests.fakeweb import witness
from webcrawl.storage.redis.private import CHOICE

CONCURRENT = 4


@pytest.fixture(autouse=True)
def _server(needs_redis, monkeypatch):
    monkeypatch.setenv(CHOICE, str(redis_program.find()))


def folders(crawled):
    """The folders of the workers."""
    return [Jobdir(path) for path in sorted((crawled.path / "workers").iterdir())]


def processes_of(crawled):
    """The command lines of all processes that name the folder of a crawl."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(crawled.path) in words:
            found.append(words)
    return found


def test_two_workers_stop_at_a_limit_and_go_on_and_fetch_each_page_once(serve, crawl):
    web = serve(hosts=6, pages=40, seed=3)
    settings = {"WORKERS": 2, "WORKER_NAME": None, "CONCURRENT_REQUESTS": CONCURRENT}
    first = crawl(web.seeds, CLOSESPIDER_PAGECOUNT=12, **settings, within=300).assert_ended_well()
    asked = expectation.asked(web)
    assert 12 <= len(asked) <= 12 + 2 * CONCURRENT
    assert "left in queues" in first.stderr

    second = crawl(web.seeds, of=first, **settings, within=300).assert_ended_well()
    expected = set(expectation.depths(web))
    assert Counter(expectation.asked(web)) == dict.fromkeys(expected, 1)
    assert witness.most_open(web.hits()) == 1
    assert witness.pages_before_robots(web.hits()) == []

    # The logs and archives of the workers together are those of the crawl.
    logged = Counter(url for folder in folders(second) for url in folder.fetched())
    assert logged == dict.fromkeys(expected, 1)
    archived = {
        record.url for folder in folders(second) for record in folder.records() if record.type == "response"
    }
    assert expected <= archived
    assert (second.path / "report.html").exists()
    for name in ("w1: Spider opened", "w2: Spider opened"):
        assert name in second.stderr
        assert name in (second.path / "crawl.log").read_text()
    assert (second.path / "redis" / "url").stat().st_mode & 0o777 == 0o600
    assert processes_of(second) == []


def test_what_does_not_fit_together_is_refused_before_anything_begins(serve, crawl, monkeypatch):
    web = serve(hosts=1, pages=1)
    alone = crawl(web.seeds).assert_ended_well()
    before = len(web.hits())

    several = alone.path.parent / "several"
    (several / "redis").mkdir(parents=True)
    (several / "redis" / "url").write_text("unix:///nowhere\n")
    cases = {
        "begun by one process": ({"jobdir": alone.path, "WORKERS": 2}, "is the crawl of one process"),
        "begun by several": ({"jobdir": several}, "is the crawl of several workers"),
        "a Redis of others": ({"WORKERS": 2, "REDIS_URL": "redis://localhost:1/0"}, "leave REDIS_URL out"),
        "another storage": ({"WORKERS": 2, "FRONTIER_BACKEND": "memory"}, "leave FRONTIER_BACKEND out"),
        "no number": ({"WORKERS": "many"}, "WORKERS: must be a whole number from 1 to 256, or auto"),
        "a Bloom filter": ({"WORKERS": 2, "FRONTIER_SEEN": "bloom"}, "FRONTIER_SEEN: must be exact"),
        "no seeds": ({"WORKERS": 2, "seeds": None}, "nothing to crawl"),
        "items": ({"WORKERS": 2, "options": ["-o", "items.jsonl"]}, "FEEDS"),
    }
    wrong = {}
    for name, (given, sentence) in cases.items():
        seeds = given.pop("seeds", web.seeds)
        refused = crawl(seeds, **given)
        if refused.status != 2 or sentence not in refused.stderr or "Traceback" in refused.stderr:
            wrong[name] = (refused.status, refused.stderr)
        elif "jobdir" not in given and refused.path.exists():
            wrong[name] = "it has made a folder"
    assert wrong == {}

    monkeypatch.setenv(CHOICE, "/nowhere/redis-server")
    refused = crawl(web.seeds, WORKERS=2)
    assert (refused.status, refused.path.exists()) == (2, False)
    assert "WORKERS: REDIS_SERVER=/nowhere/redis-server is no program" in refused.stderr
    assert len(web.hits()) == before
