"""One command for all workers of a shared crawl: paused, resumed, stopped, and started again where it stood."""

from __future__ import annotations

import json
import time
from contextlib import closing
from functools import partial

import pytest

from tests.commands import own_process
from tests.crawl import expectation
from tests.crawl.explaining import asking
from tests.fakeweb import witness
from tests.process.workers import WorkerProcesses
from webcrawl.commands.frontier import worker_state
from webcrawl.control.shared import SharedCrawl
from webcrawl.features.steering.store import Operation
from webcrawl.storage import technology_named
from webcrawl.storage.inspection import Demand
from webcrawl.storage.redis.inspection import RedisInspection

DELAY = 2.5
"""A crawl of more than a minute, however fast the machine is; it is interrupted, and ended without a delay."""
SETTINGS = {"POLITENESS_MIN_DELAY": DELAY, "CONCURRENT_REQUESTS": 32}


def frontier(redis, *words):
    """Give a command; what was said."""
    return own_process(redis.folder, "frontier", *words, REDIS_URL=redis.url).said


def crawl(redis):
    storage = technology_named("redis")
    made = partial(RedisInspection, {"url": redis.url}, "broad", 60.0, DELAY)
    return SharedCrawl(storage, "broad", made)


def checked(redis):
    return crawl(redis).check(None)


def explained(redis, urls):
    """What is said of each of these."""
    with pytest.MonkeyPatch.context() as patch:
        ask = asking(patch, {}, REDIS_URL=redis.url, POLITENESS_MIN_DELAY=DELAY, POLITENESS_FACTOR=0)
        return [json.loads(ask(url).as_json()) for url in urls]


@pytest.fixture(scope="module")
def story(serve, start, serve_redis):
    """What happened, moment by moment."""
    web = serve(hosts=20, pages=400, zipf=0.2, seed=9)
    redis = serve_redis()
    processes = WorkerProcesses(start, redis, web.seeds, **SETTINGS)
    told = {"web": web, "redis": redis, "processes": processes}
    for name in ("w1", "w2"):
        processes.start(name)
    processes.workers["w1"].until_logged(40)
    told["explained"] = explained(redis, list(processes.queued())[::12])
    told["busy"] = checked(redis)

    told["pause"] = frontier(redis, "pause", "--wait")
    paused_at = len(web.hits())
    processes.start("w3")
    processes.workers["w3"].until(lambda: "is paused by its operator" in processes.workers["w3"].stderr)
    time.sleep(1.5)
    told["hits while paused"] = len(web.hits()) - paused_at
    told["status"] = [worker_state(worker, now) for now in (crawl(redis).status(),) for worker in now.workers]
    told["paused"] = checked(redis)

    told["resume"] = []
    crawl(redis).command(Operation.RESUME, tell=told["resume"].append)
    processes.workers["w3"].until_logged(5)
    told["stop"] = frontier(redis, "stop", "--wait")
    for name in ("w1", "w2", "w3"):
        processes.workers[name].wait(120)
    told["stopped"] = checked(redis)
    told["first runs"] = {name: worker.stderr for name, worker in processes.workers.items()}
    told["left"] = processes.total("queued")
    told["hits in the first runs"] = len(web.hits())

    processes.start("w1", POLITENESS_MIN_DELAY=0)
    processes.wait(120)
    told["ended"] = checked(redis)
    return told


def test_a_paused_crawl_sends_nothing_until_it_is_resumed(story):
    assert "is asked to pause: 2 workers running (w1, w2)" in story["pause"]
    assert "all have paused, nothing is open" in story["pause"]
    assert story["hits while paused"] == 0
    assert story["status"] == ["paused"] * 3
    assert story["resume"][-1] == "all go on"


def test_each_worker_says_once_what_its_operator_wants(story):
    for name, log in story["first runs"].items():
        for wanted in ("is paused by its operator", "goes on: its operator", "is stopped by its operator"):
            assert log.count(f"The crawl {wanted}") == 1, (name, wanted)


def test_a_stop_ends_all_workers_well_and_says_why(story):
    assert "is asked to stop: 3 workers running (w1, w2, w3)" in story["stop"]
    assert story["stop"].endswith("all have ended\n")
    for log in story["first runs"].values():
        assert "Closing spider (stopped)" in log
        assert " was stopped with the whole crawl after " in log
        assert "Traceback" not in log
    assert {worker.status for worker in story["processes"].workers.values()} == {0}
    assert story["left"] > 0


def test_who_starts_after_a_stop_goes_on_and_completes_the_crawl(story):
    web, processes = story["web"], story["processes"]
    assert processes.total("queued") == 0
    assert set(expectation.asked(web)) == set(expectation.depths(web))
    assert processes.total("done") == len(expectation.depths(web))


def test_nothing_was_fetched_twice_and_nobody_was_wronged(story):
    hits = story["web"].hits()
    assert witness.repeated(hits) == {}
    assert witness.most_open(hits) == 1
    first_runs = hits[: story["hits in the first runs"]]
    assert witness.violations(first_runs, lambda hit: DELAY, tolerance=0.005) == []


def last_before(moment, hit, hits):
    """The last of the hits on the host of ``hit`` that began before ``moment``: only that one may still be open."""
    return max(
        (each for each in hits if each.host == hit.host and each.start < moment),
        key=lambda each: each.start,
        default=None,
    )


def test_what_was_explained_while_all_worked_came_true(story):
    hits = story["web"].hits()
    asked = {expectation.address(story["web"], hit): hit for hit in hits}
    waiting = [one for one in story["explained"] if one["frontier"]["state"] == "queued"]
    assert len(waiting) > 10
    for one in waiting:
        assert one["crawl"]["running_workers"] == ["w1", "w2"]
        assert one["key"]["holder"] in ("w1", "w2", None)
        assert one["conclusion"]["leased"] is (None if one["key"]["holder"] else False)
        hit = asked.get(one["url"]["resolved"])
        if one["conclusion"]["fate"] == "waits":
            on_its_way = one["conclusion"]["leased"] is None and hit == last_before(one["now"], hit, hits)
            if not on_its_way:
                assert hit.start > one["clocks"]["earliest_at"] - 0.05
        else:
            assert (one["conclusion"]["rule"], hit) == ("robots", None)


@pytest.mark.parametrize("moment", ["busy", "paused", "stopped", "ended"])
def test_its_books_agree_at_every_moment(story, moment):
    assert story[moment].agrees, story[moment].left
    assert bool(story[moment].running_workers) is (moment in ("busy", "paused"))
    if moment != "busy":
        assert story[moment].uncompared == []


def test_who_starts_while_others_are_stopping_ends_with_them_before_it_asked_for_anything(
    serve, start, serve_redis
):
    web = serve(hosts=2, pages=20, seed=10)
    redis = serve_redis()
    with closing(redis.client()) as client:
        processes = WorkerProcesses(start, redis, web.seeds, **SETTINGS)
        processes.start("w1", CLOSESPIDER_PAGECOUNT=1).wait()
        asked = len(web.hits())
        seconds, _ = client.time()
        other = {"name": "w9", "protocol": "1", "started_at": seconds, "seen_at": seconds + 60, "figures": {}}
        client.hset("broad:workers", "w9-00", json.dumps(other))
        crawl(redis).command(Operation.STOP, seconds=0, tell=print)
        processes.start("w2").wait(120).assert_ended_well()
        assert "Closing spider (stopped)" in processes.workers["w2"].stderr
        assert len(web.hits()) == asked
        assert crawl(redis).status().demand is Demand.STOP
        client.hdel("broad:workers", "w9-00")
        processes.start("w2", POLITENESS_MIN_DELAY=0).wait(120).assert_ended_well()
        assert len(web.hits()) > asked
        assert crawl(redis).status().demand is Demand.RUN
