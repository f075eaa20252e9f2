"""The list of pushed URLs: what is taken from it is given to one process, and to another only if that one is gone."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.driven_redis import GivenClock
from tests.contract.samples import NOW
from webcrawl.errors import StorageLost
from webcrawl.storage.redis import RedisBackend, RedisOptions
from webcrawl.storage.redis import seeds as module

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

LEASE_SECONDS = 60.0
KEY = "broad:start_urls"


class Crew:
    """Processes of one crawl before one list, and whoever pushes to it."""

    def __init__(self, runner: asyncio.Runner, url: str, client: Any, stack: ExitStack) -> None:
        self.run = runner.run
        self.client = client
        self.clock = GivenClock()
        self._url = url
        self._stack = stack

    def list(self, key: str = KEY) -> module.StartList:
        """The list as one more process sees it."""
        options = RedisOptions(spider="broad", shards=1, lease_seconds=LEASE_SECONDS)
        backend = RedisBackend({"url": self._url}, options, {}, str, self.clock)
        self.run(backend.open(NOW))
        self._stack.callback(lambda: self.run(backend.close()))
        return backend.start_list(key)

    def take(self, urls: module.StartList, count: int = 100) -> list[str]:
        return self.taken(urls, count)[0]

    def taken(self, urls: module.StartList, count: int = 100) -> tuple[list[str], list[bytes], int]:
        """Entries, tickets, and how many others hold."""
        taken = self.run(urls.take(count))
        return [entry.decode() for entry in taken.entries.values()], list(taken.entries), taken.with_others


@pytest.fixture(params=["one server", "a cluster"])
def crew(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Iterator[Crew]:
    server = request.getfixturevalue("redis_server" if request.param == "one server" else "redis_cluster")
    with ExitStack() as stack:
        client = stack.enter_context(server.client())
        yield Crew(runner, server.url, client, stack)


def test_a_list_is_taken_from_the_left_as_scrapy_redis_does(crew: Crew) -> None:
    crew.client.rpush(KEY, "b", "c", "d")
    crew.client.lpush(KEY, "a")
    urls = crew.list()

    assert crew.take(urls, 3) == ["a", "b", "c"]
    assert crew.take(urls) == ["d"]
    assert crew.take(urls) == []


def test_a_set_and_a_sorted_set_are_taken_too(crew: Crew) -> None:
    crew.client.sadd("set", "a", "b", "c")
    crew.client.zadd("zset", {"low": 1, "high": 9, "middle": 5})

    assert sorted(crew.take(crew.list("set"))) == ["a", "b", "c"]
    assert crew.take(crew.list("zset"), 2) == ["high", "middle"]


def test_what_one_process_took_no_other_gets(crew: Crew) -> None:
    crew.client.rpush(KEY, *range(10))
    one, other = crew.list(), crew.list()

    assert crew.take(one, 4) == ["0", "1", "2", "3"]
    assert crew.taken(other, 4)[0::2] == (["4", "5", "6", "7"], 4)
    assert crew.taken(one)[0::2] == (["8", "9"], 8)


def test_what_is_done_is_gone(crew: Crew) -> None:
    crew.client.rpush(KEY, "a", "b")
    urls = crew.list()
    _, tickets, _ = crew.taken(urls)
    crew.run(urls.done(tickets))
    crew.clock.now += LEASE_SECONDS

    assert crew.taken(urls) == ([], [], 0)
    assert crew.client.keys("*start_urls*") == []


def test_what_is_not_done_in_time_is_given_out_again_first(crew: Crew) -> None:
    crew.client.rpush(KEY, "a", "b", "c")
    killed, other = crew.list(), crew.list()
    crew.take(killed, 2)
    crew.clock.now += LEASE_SECONDS - 1
    assert crew.taken(other, 1)[0::2] == (["c"], 2)
    crew.clock.now += 1
    crew.client.rpush(KEY, "d")

    assert crew.take(other) == ["a", "b", "d"]


def test_a_process_that_was_frozen_may_still_say_that_it_is_done(crew: Crew) -> None:
    crew.client.rpush(KEY, "a")
    frozen, other = crew.list(), crew.list()
    _, tickets, _ = crew.taken(frozen)
    crew.clock.now += LEASE_SECONDS
    assert crew.taken(other) == (["a"], tickets, 0)
    for urls in (frozen, other):
        crew.run(urls.done(tickets))

    assert crew.taken(other) == ([], [], 0)


def test_equal_entries_are_as_many_as_were_pushed(crew: Crew) -> None:
    crew.client.rpush(KEY, "a", "a", "a")
    urls = crew.list()
    entries, tickets, _ = crew.taken(urls, 2)
    crew.run(urls.done(tickets[:1]))
    crew.clock.now += LEASE_SECONDS

    assert entries == ["a", "a"]
    assert crew.take(urls) == ["a", "a"]


def test_any_bytes_can_be_an_entry(crew: Crew) -> None:
    entries = [b"", b"\xff\x00\r\n", b"x" * 1_000_000]
    crew.client.rpush(KEY, *entries)

    assert list(crew.run(crew.list().take(10)).entries.values()) == entries


def test_many_are_taken_a_batch_at_a_time(crew: Crew) -> None:
    crew.client.rpush(KEY, *range(5000))
    urls = crew.list()
    found: list[str] = []
    while (batch := crew.taken(urls, 1500))[0]:
        found += batch[0]
        crew.run(urls.done(batch[1]))

    assert found == [str(number) for number in range(5000)]


def test_a_key_that_is_no_list_is_said_to_be_none_and_left_alone(crew: Crew) -> None:
    crew.client.set(KEY, "http://a/")
    with pytest.raises(StorageLost, match="broad:start_urls is a string in Redis"):
        crew.take(crew.list())
    assert crew.client.get(KEY) == b"http://a/"


def test_the_last_of_the_wrong_entries_are_kept(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WRONG_KEPT", 3)
    urls = crew.list()
    crew.run(urls.set_aside([]))
    for number in range(5):
        crew.run(urls.set_aside([json.dumps(number)]))

    assert crew.client.lrange("broad:start_urls:wrong", 0, -1) == [b"2", b"3", b"4"]


@pytest.mark.parametrize("key", ["urls", "{broad}:urls", "{a", "x{y}z{w}"])
def test_whatever_the_key_is_called_its_company_is_in_the_same_slot(crew: Crew, key: str) -> None:
    crew.client.rpush(key, "a")
    assert crew.take(crew.list(key)) == ["a"]
