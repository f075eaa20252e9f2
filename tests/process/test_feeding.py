"""Where the URLs of a shared crawl come from: pushed while it runs, seeds given to one worker, seeds given to all."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import closing

import pytest

from tests.commands import own_process
from tests.crawl import expectation

KEY = "broad:start_urls"
ALONE = {"FETCH_PRIVATE_ADDRESSES": None, "STATISTICS_INTERVAL_SECONDS": 1}
"""Private addresses are allowed because they were named, and not by a setting."""


@pytest.fixture
def work(start, redis_server):
    """Starts a worker of one crawl, by its name."""

    def one(name, seeds=None, **more):
        return start(seeds, WORKER_NAME=name, REDIS_URL=redis_server.url, **{**ALONE, **more})

    return one


@pytest.fixture
def client(redis_server):
    with closing(redis_server.client(decode_responses=True)) as made:
        yield made


def until_waiting(*workers):
    for worker in workers:
        worker.until(lambda worker=worker: "waiting for URLs to be pushed" in worker.stderr)


def ended(*workers):
    for worker in workers:
        worker.wait().assert_ended_well()


def fetched(*workers):
    return Counter(line["url"] for worker in workers for line in worker.lines())


def depths(*workers):
    return {line["url"]: line["depth"] for worker in workers for line in worker.lines()}


def test_what_is_pushed_enters_once_though_its_taker_is_killed_and_what_is_wrong_is_kept_aside(
    serve, work, client
):
    web = serve(hosts=8, pages=8)
    roots = expectation.roots(web)
    nothing_followed = {"allow": "^$"}
    workers = [work(name, arguments=nothing_followed) for name in ("a", "b", "c")]
    objects = [json.dumps({"url": url, "priority": 3, "depth": 7, "meta": {"job": 1}}) for url in roots[4:]]
    wrong = [
        "nonsense",
        '{"url": 5}',
        json.dumps({"url": roots[0], "priority": "high"}),
        "http://public.org/",
    ]
    until_waiting(*workers)
    killed = {f"killed:{number}": url for number, url in enumerate(roots[:2])}
    client.hset(f"{{{KEY}}}:taken", mapping=killed)
    client.zadd(f"{{{KEY}}}:tickets", dict.fromkeys(killed, time.time() + 1))
    for entries in (roots[2:4], objects, wrong, [b"\xff\xfe"], roots[2:], roots[2:]):
        client.lpush(KEY, *entries)
    ended(*workers)

    assert Counter(expectation.asked(web)) == fetched(*workers) == Counter(roots)
    assert depths(*workers) == {**dict.fromkeys(roots[:4], 0), **dict.fromkeys(roots[4:], 7)}
    assert client.keys("*start_urls*") == [f"{KEY}:wrong"]
    kept = [json.loads(one) for one in client.lrange(f"{KEY}:wrong", 0, -1)]
    assert {one["entry"]: one["reason"] for one in kept} == {
        "nonsense": "it is no URL: does not begin with http:// or https://",
        '{"url": 5}': "its url is no text",
        wrong[2]: 'its priority must be a whole number, not "high"',
        "http://public.org/": "it is out of scope: contact",
        "\\xff\\xfe": "it is no text in utf-8",
    }
    assert sum(worker.stderr.count("Wrong entry in") for worker in workers) == len(kept) == 5


def test_a_worker_waits_for_more_until_it_is_stopped(serve, work, client, folder, redis_server):
    web = serve(hosts=1, pages=1)
    (url,) = expectation.roots(web)
    worker = work("a", [url], MAX_IDLE_TIME_BEFORE_CLOSE=0)
    worker.until(lambda: "The crawl is finished; waiting for more" in worker.stderr)
    client.rpush(KEY, url, json.dumps({"url": url, "dont_filter": True}), f"{url}?another")
    worker.until(lambda: len(worker.lines()) == 3)
    own_process(folder, "stop", REDIS_URL=redis_server.url)
    ended(worker)

    assert fetched(worker) == {url: 2, f"{url}?another": 1}


def test_what_finds_no_room_waits_for_it(serve, work, client):
    web = serve(hosts=2, pages=2)
    roots = expectation.roots(web)
    worker = work("a", arguments={"allow": "^$"}, LEASE_SECONDS=60)
    until_waiting(worker)
    client.config_set("maxmemory", int(client.info("memory")["used_memory"]) * 11 // 10)
    try:
        worker.until(lambda: "The storage is full" in worker.stderr)
        client.lpush(KEY, *roots)
        worker.until(lambda: not client.exists(KEY))
        assert client.hlen(f"{{{KEY}}}:taken") == 2
    finally:
        client.config_set("maxmemory", 0)
    ended(worker)

    assert fetched(worker) == Counter(roots)


def test_seeds_given_to_several_workers_enter_once_and_are_fetched_by_all(serve, work, folder):
    web = serve(hosts=10, pages=60)
    roots = expectation.roots(web)
    path = folder / "seeds.txt"
    path.write_text("\n".join([*roots, "wrong"]))
    without = work("none", POLITENESS_MIN_DELAY=0.2)
    until_waiting(without)
    workers = [work(name, str(path), POLITENESS_MIN_DELAY=0.2) for name in ("a", "b", "c")]
    ended(without, *workers)

    assert Counter(expectation.asked(web)) == Counter(expectation.depths(web, roots).keys())
    said = "".join(worker.stderr for worker in workers)
    assert said.count("10 seeds taken, 1 wrong") == said.count("Seed in line 11 is no URL") == 1
    assert said.count("11 seeds taken before, by another process") == 2
    assert sum(bool(worker.lines()) for worker in (without, *workers)) >= 2
