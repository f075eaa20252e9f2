"""A host that the operator named to one process is known to every other before it is given a URL of it."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven_redis import GivenClock
from tests.contract.samples import NOW, entry, found, urls
from webcrawl.errors import StorageAway
from webcrawl.frontier.order import LevelSampler
from webcrawl.storage.contract import HEAD
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.names import RedisOptions
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from tests.redis_server import RedisServer

    Join = Callable[[], "Member"]

PRIVATE = "http://10.0.0.1/"


class Member:
    """One process of a crawl, and the hosts that it was told of."""

    def __init__(self, runner: asyncio.Runner, url: str) -> None:
        self.run = runner.run
        self.told: list[str] = []
        options = RedisOptions(spider="broad", shards=2, lease_seconds=1e6)
        self.backend = RedisBackend(
            {"url": url}, options, {}, lambda origin: get_host(f"{origin}/"), GivenClock(), self.told.append
        )
        self.run(self.backend.open(NOW))

    def name(self, *hosts: str) -> None:
        self.run(self.backend.allow_hosts(hosts))

    def add(self, url: str) -> None:
        self.run(self.backend.commit(found(entry(url))))

    def heartbeat(self) -> None:
        """As a crawl does it: what fails since the server is away is tried again."""
        with suppress(StorageAway):
            self.run(self.backend.heartbeat({}))
            return
        self.run(self.backend.heartbeat({}))

    def activate(self) -> list[str]:
        active = self.run(self.backend.activate_keys(10, NOW, LevelSampler(2.0, seed=1)))
        return [url for one in active for url in urls(one.queue.entries)]


@pytest.fixture(params=["one server", "a cluster"])
def join(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Iterator[Join]:
    server: RedisServer = request.getfixturevalue(
        "redis_server" if request.param == "one server" else "redis_cluster"
    )
    with ExitStack() as stack:

        def one() -> Member:
            member = Member(runner, server.url)
            stack.callback(lambda: runner.run(member.backend.close()))
            return member

        yield one


def test_a_process_that_comes_later_knows_what_was_named(join: Join) -> None:
    join().name("10.0.0.1", "intranet")
    assert join().told == ["10.0.0.1", "intranet"]


def test_a_key_is_not_given_out_before_its_host_is_known(join: Join) -> None:
    one, other = join(), join()
    one.name("10.0.0.1")
    one.add(PRIVATE)

    assert other.activate() == [PRIVATE]
    assert other.told == ["10.0.0.1"]


def test_a_url_of_an_active_key_is_not_loaded_before_its_host_is_known(join: Join) -> None:
    one, other = join(), join()
    one.add(PRIVATE)
    other.activate()
    one.name("10.0.0.1")
    one.add(f"{PRIVATE}more")
    loaded = other.run(other.backend.read_queue("10.0.0.1", None, HEAD))

    assert urls(loaded.entries) == [PRIVATE, f"{PRIVATE}more"]
    assert other.told == ["10.0.0.1"]


def test_a_sign_of_life_brings_what_was_named(join: Join) -> None:
    one, other = join(), join()
    one.name("a", "b")
    other.heartbeat()
    one.name("b", "c")
    other.heartbeat()

    assert other.told == ["a", "b", "c"]


def test_what_a_seed_resolved_to_at_first_holds_for_all(join: Join) -> None:
    one, other = join(), join()

    def first(member: Member, name: str, *addresses: str) -> list[str]:
        return list(member.run(member.backend.first_addresses(name, addresses)))

    assert first(one, "a.example") == []
    assert first(one, "a.example", "10.0.0.5", "10.0.0.6") == ["10.0.0.5", "10.0.0.6"]
    assert first(other, "a.example", "127.0.0.1") == ["10.0.0.5", "10.0.0.6"]
    assert first(other, "a.example") == ["10.0.0.5", "10.0.0.6"]
    assert first(other, "b.example", "::1") == ["::1"]


def test_what_a_server_forgot_is_named_again(runner: asyncio.Runner, redis_server: RedisServer) -> None:
    one, other = Member(runner, redis_server.url), Member(runner, redis_server.url)
    one.name("a", "b")
    runner.run(one.backend.first_addresses("a", ["10.0.0.5"]))
    redis_server.call("DEL", "broad:seeded", "broad:seed_addresses")
    redis_server.restart()
    for member in (one, other):
        member.heartbeat()
    third = Member(runner, redis_server.url)
    assert runner.run(third.backend.first_addresses("a", ["127.0.0.1"])) == ["10.0.0.5"]
    for member in (one, other, third):
        runner.run(member.backend.close())

    assert third.told == ["a", "b"]
