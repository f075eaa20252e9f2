"""A site is excluded in mid-crawl, on two workers: from the time that the command states it hears no more of us."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from tests.commands import own_process
from tests.process.workers import WorkerProcesses
from webcrawl.scope.exclusion import ExclusionList

HOST, PART = "h0001.localhost", "h0002.localhost"
SETTINGS = {"POLITENESS_MIN_DELAY": 0.6, "CONCURRENT_REQUESTS": 32, "EXCLUSION_CHECK_SECONDS": 900}
"""Nobody would look at the file by himself before the crawl is over."""


def exclude(redis, *words):
    """Give the command; what it said."""
    return own_process(redis.folder, "exclude", *words, REDIS_URL=redis.url).said


def since(said):
    """The time from which it is in force, by the command's own words, in epoch seconds."""
    [told] = re.findall(r"^In force since (\S+), version \w{16}: w1, w2$", said, re.MULTILINE)
    return datetime.fromisoformat(told).timestamp()


@pytest.fixture(scope="module")
def story(serve, start, serve_redis, folder):
    web = serve(hosts=10, pages=240, zipf=0.1, seed=5)
    redis = serve_redis()
    file = folder / "exclusions.txt"
    file.write_text("nobody.test  # stands for a list that was there before\n")
    processes = WorkerProcesses(start, redis, web.seeds, EXCLUSION_FILE=file, **SETTINGS)
    told = {"web": web, "processes": processes, "lists": [ExclusionList.load(file).version]}
    for name in ("w1", "w2"):
        processes.start(name)
    for name in ("w1", "w2"):
        processes.workers[name].until_logged(8)
    place = ("--file", str(file))
    folders = [word for worker in processes.workers.values() for word in ("--jobdir", str(worker.path))]
    told["host"] = exclude(redis, HOST, "--reason", "asked by mail", *place, *folders)
    told["lists"].append(ExclusionList.load(file).version)
    told["part"] = exclude(redis, f"{web.web.origin(2)}/", *place)
    told["lists"].append(ExclusionList.load(file).version)
    processes.wait(120)
    return told


@pytest.mark.parametrize(("what", "host"), [("host", HOST), ("part", PART)])
def test_no_request_comes_after_the_stated_time(story, what, host):
    stated = since(story[what])
    hits = [hit for hit in story["web"].hits() if hit.host == host]
    assert hits
    assert [hit for hit in hits if hit.start > stated] == []
    assert any(hit.start > stated for hit in story["web"].hits())


def test_the_command_tells_what_it_hits(story):
    queued, hosts = re.search(r"^  queued  (\d+) URLs on (\d+) host$", story["host"], re.MULTILINE).groups()
    assert int(queued) > 1
    assert int(hosts) == 1
    assert story["host"].count("  stored  ") == 2
    assert story["host"].index("  queued  ") < story["host"].index(" now has: ")


def test_what_was_queued_is_refused_and_nothing_is_left(story):
    processes = story["processes"]
    assert processes.total("queued") == processes.total("held_urls") == 0
    assert processes.total("refused") > 0
    for worker in processes.workers.values():
        assert worker.stderr.count("Exclusion file: ") == 2


def test_each_line_of_the_log_carries_the_list_it_was_fetched_under(story):
    lines = sorted(
        [*story["processes"].lines(), *story["processes"].lines("robots")], key=lambda line: line["start"]
    )
    assert {line["exclusions"] for line in lines} <= set(story["lists"])
    for what, at in (("host", 1), ("part", 2)):
        stated = since(story[what])
        later = {line["exclusions"] for line in lines if line["start"] > stated}
        assert later
        assert later <= set(story["lists"][at:])
    assert lines[0]["exclusions"] == story["lists"][0]
    assert not [line for line in lines if HOST in line["url"] and line["exclusions"] != story["lists"][0]]
