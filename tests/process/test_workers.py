"""A crawl of several workers by one command: the setting WORKERS. The log of the web is the witness."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from scrapy.settings import Settings

from tests import processes, redis_program
from tests.commands import own_process
from tests.crawl import expectation
from tests.crawl.crawling import Jobdir
from tests.fakeweb import witness
from webcrawl.storage.redis.private import CHOICE
from webcrawl.web.dashboard.listings import fetches
from webcrawl.web.dashboard.source import CrawlSource

CONCURRENT = 4
FILTERS = ("search", "status", "kind", "host", "error", "refusal", "withheld")


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

    items = first.path.parent / "items.jsonl"
    second = crawl(
        web.seeds, of=first, **settings, options=["-o", str(items)], within=300
    ).assert_ended_well()
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
    written = Counter(json.loads(line)["url"] for line in items.read_bytes().splitlines())
    assert written == dict.fromkeys(expected - set(asked), 1)

    assert processes_of(second) == []

    # Commands find the state by the folder, also when the crawl does not run.
    told = own_process(second.path.parent, "status", second.path, "--json")
    assert told.status == 0, told.err
    assert json.loads(told.out)["urls"]["done"] == len(expected)
    listed = json.loads(own_process(second.path.parent, "crawls", second.path.parent, "--json").out)["crawls"]
    [pages] = [one["pages"] for one in listed if one["name"] == second.path.name]
    assert pages == len(expected)
    # The dashboard, also that of the first worker, has the requests of all.
    for folder in (second.path, second.path / "workers" / "1"):
        settings = Settings()
        settings.setmodule("webcrawl.settings")
        settings.set("JOBDIR", str(folder))
        if folder != second.path:
            settings.set("REDIS_URL", "unix:///nowhere")
        source = CrawlSource(settings, "broad")
        shown = fetches(source, dict.fromkeys(FILTERS, "") | {"limit": 1000})
        assert (len(shown["rows"]), shown["note"]) == (len(web.hits()), None)
        assert {row["worker"] for row in shown["rows"]} == {"w1", "w2"}
        assert (source.name, source.folder) == (second.path.name, second.path)
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
        "no seeds": ({"WORKERS": 2, "seeds": None}, "nothing to crawl"),
        "items as CSV": (
            {"WORKERS": 2, "options": ["-o", "items.csv"]},
            "FEEDS: several workers write lines",
        ),
        "items to a pipe": (
            {"WORKERS": 2, "options": ["-o", "-:jsonl"]},
            "FEEDS: several workers write lines",
        ),
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


def one_of(crawled, words):
    """The process of a crawl whose command line has these words."""
    found = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if str(crawled.path) in (line := _read(path)) and words in line
    ]
    return min(found, default=None)


def _read(path):
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


PROCESSES = {
    "worker": "webcrawl.workers.worker",
    "redis": "-server ",
    "keeper": "webcrawl.storage.redis.keeper",
}
LEASE = 3.0
DELAY = 0.1


@pytest.mark.soak
@pytest.mark.parametrize("number", range(3))
def test_whatever_is_killed_nothing_is_lost(draw, serve, start, number):
    web = serve(hosts=60, pages=900, seed=draw.randrange(1000), zipf=0.4)
    settings = {
        "WORKERS": 2,
        "WORKER_NAME": None,
        "CONCURRENT_REQUESTS": 16,
        "LEASE_SECONDS": LEASE,
        "POLITENESS_MIN_DELAY": DELAY,
        "options": ["-o", "items.jsonl"],
    }
    crawled = start(web.seeds, **settings)
    kinds = draw.sample([*PROCESSES, *PROCESSES, "parent"], 7)
    for place, kind in enumerate(kinds, start=1):
        crawled.until(lambda place=place: len(web.hits()) >= 100 * place, 300)
        pid = crawled.process.pid if kind == "parent" else one_of(crawled, PROCESSES[kind])
        print(f"after {len(web.hits())} requests: kill -9 of the {kind}, process {pid}")
        if kind == "parent":
            crawled.kill(alone=True)
            crawled = start(web.seeds, of=crawled, **settings)
        elif pid is not None:
            processes.kill(pid)
    crawled.wait(600).assert_ended_well()

    expected = set(expectation.depths(web))
    asked = Counter(expectation.asked(web))
    assert set(asked) == expected
    again = sum(times - 1 for times in asked.values())
    print(f"{len(expected)} pages, {again} of them asked for again")
    assert again <= 16 * 2 * len(kinds)
    assert witness.violations(web.hits(), lambda hit: DELAY, tolerance=0.005) == []
    assert witness.most_open(web.hits()) == 1
    items = (crawled.path.parent / "items.jsonl").read_bytes().splitlines()
    assert {json.loads(line)["url"] for line in items} == expected
    checked = own_process(crawled.path.parent, "frontier", "check", JOBDIR=crawled.path)
    assert checked.status == 0, checked.out
    assert processes_of(crawled) == []
