"""The list of pushed URLs: what is taken from it is given to one process, and to another only if that one is gone."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.driven_redis import GivenClock
from tests.contract.samples import NOW
from webcrawl.errors import StorageLost
from webcrawl.storage.redis import shared_parts as module
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.names import RedisOptions

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

LEASE_SECONDS = 60.0
KEY = "broad:start_urls"


class Workers:
    """Processes of one crawl before one list, and whoever pushes to it."""

    def __init__(self, runner: asyncio.Runner, url: str, client: Any, stack: ExitStack) -> None:
        self.run = runner.run
        self.client = client
        self.clock = GivenClock()
        self._url = url
        self._stack = stack

    def list(self, key: str = KEY) -> module.RedisStartList:
        """The list as one more process sees it."""
        options = RedisOptions(spider="broad", shards=1, lease_seconds=LEASE_SECONDS)
        backend = RedisBackend({"url": self._url}, options, {}, str, self.clock)
        self.run(backend.open(NOW))
        self._stack.callback(lambda: self.run(backend.close()))
        return backend.start_list(key)

    def take(self, urls: module.RedisStartList, count: int = 100) -> list[str]:
        return self.taken(urls, count)[0]

    def taken(self, urls: module.RedisStartList, count: int = 100) -> tuple[list[str], list[bytes], int]:
        """Entries, tickets, and how many others hold."""
        taken = self.run(urls.take(count))
        return [entry.decode() for entry in taken.entries.values()], list(taken.entries), taken.with_others


@pytest.fixture(params=["one server", "a cluster"])
def workers(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Iterator[Workers]:
    server = request.getfixturevalue("redis_server" if request.param == "one server" else "redis_cluster")
    with ExitStack() as stack:
        client = stack.enter_context(server.client())
        yield Workers(runner, server.url, client, stack)


def test_a_list_is_taken_from_the_left_as_scrapy_redis_does(workers: Workers) -> None:
    workers.client.rpush(KEY, "b", "c", "d")
    workers.client.lpush(KEY, "a")
    urls = workers.list()

    assert workers.take(urls, 3) == ["a", "b", "c"]
    assert workers.take(urls) == ["d"]
    assert workers.take(urls) == []


def test_a_set_and_a_sorted_set_are_taken_too(workers: Workers) -> None:
    workers.client.sadd("set", "a", "b", "c")
    workers.client.zadd("zset", {"low": 1, "high": 9, "middle": 5})

    assert sorted(workers.take(workers.list("set"))) == ["a", "b", "c"]
    assert workers.take(workers.list("zset"), 2) == ["high", "middle"]


def test_what_one_process_took_no_other_gets(workers: Workers) -> None:
    workers.client.rpush(KEY, *range(10))
    one, other = workers.list(), workers.list()

    assert workers.take(one, 4) == ["0", "1", "2", "3"]
    assert workers.taken(other, 4)[0::2] == (["4", "5", "6", "7"], 4)
    assert workers.taken(one)[0::2] == (["8", "9"], 8)


def test_what_is_done_is_gone(workers: Workers) -> None:
    workers.client.rpush(KEY, "a", "b")
    urls = workers.list()
    _, tickets, _ = workers.taken(urls)
    workers.run(urls.done(tickets))
    workers.clock.now += LEASE_SECONDS

    assert workers.taken(urls) == ([], [], 0)
    assert workers.client.keys("*start_urls*") == []


def test_what_is_not_done_in_time_is_given_out_again_first(workers: Workers) -> None:
    workers.client.rpush(KEY, "a", "b", "c")
    killed, other = workers.list(), workers.list()
    workers.take(killed, 2)
    workers.clock.now += LEASE_SECONDS - 1
    assert workers.taken(other, 1)[0::2] == (["c"], 2)
    workers.clock.now += 1
    workers.client.rpush(KEY, "d")

    assert workers.take(other) == ["a", "b", "d"]


def test_a_process_that_was_frozen_may_still_say_that_it_is_done(workers: Workers) -> None:
    workers.client.rpush(KEY, "a")
    frozen, other = workers.list(), workers.list()
    _, tickets, _ = workers.taken(frozen)
    workers.clock.now += LEASE_SECONDS
    assert workers.taken(other) == (["a"], tickets, 0)
    for urls in (frozen, other):
        workers.run(urls.done(tickets))

    assert workers.taken(other) == ([], [], 0)


def test_equal_entries_are_as_many_as_were_pushed(workers: Workers) -> None:
    workers.client.rpush(KEY, "a", "a", "a")
    urls = workers.list()
    entries, tickets, _ = workers.taken(urls, 2)
    workers.run(urls.done(tickets[:1]))
    workers.clock.now += LEASE_SECONDS

    assert entries == ["a", "a"]
    assert workers.take(urls) == ["a", "a"]


def test_any_bytes_can_be_an_entry(workers: Workers) -> None:
    entries = [b"", b"\xff\x00\r\n", b"x" * 1_000_000]
    workers.client.rpush(KEY, *entries)

    assert list(workers.run(workers.list().take(10)).entries.values()) == entries


def test_many_are_taken_a_batch_at_a_time(workers: Workers) -> None:
    workers.client.rpush(KEY, *range(5000))
    urls = workers.list()
    found: list[str] = []
    while (batch := workers.taken(urls, 1500))[0]:
        found += batch[0]
        workers.run(urls.done(batch[1]))

    assert found == [str(number) for number in range(5000)]


def test_a_key_that_is_no_list_is_said_to_be_none_and_left_alone(workers: Workers) -> None:
    workers.client.set(KEY, "http://a/")
    with pytest.raises(StorageLost, match="broad:start_urls is a string in Redis"):
        workers.take(workers.list())
    assert workers.client.get(KEY) == b"http://a/"


def test_the_last_of_the_wrong_entries_are_kept(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WRONG_KEPT", 3)
    urls = workers.list()
    workers.run(urls.set_aside([]))
    for number in range(5):
        workers.run(urls.set_aside([json.dumps(number)]))

    assert workers.client.lrange("broad:start_urls:wrong", 0, -1) == [b"2", b"3", b"4"]


@pytest.mark.parametrize("key", ["urls", "{broad}:urls", "{a", "x{y}z{w}"])
def test_whatever_the_key_is_called_its_company_is_in_the_same_slot(workers: Workers, key: str) -> None:
    workers.client.rpush(key, "a")
    assert workers.take(workers.list(key)) == ["a"]
