"""Clocks that keys share: the same sentences for those of one process and those of all processes of a crawl."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import NOW
from webcrawl.storage.contract import (
    LeaseValidity,
    OwnClocks,
    RateLimitDenial,
    RateLimitRequest,
    RateLimitReturn,
)
from webcrawl.storage.inspection import Use
from webcrawl.storage.redis.clocks import read_uses

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from tests.redis_server import RedisCluster, RedisServer
    from webcrawl.politeness.host_record import Pauses
    from webcrawl.storage.contract import ClockStore

_names = (f"clocks{number}" for number in itertools.count())


class _Time(Protocol):
    now: float


class Clocks:
    """A store without ``await``, by a time that the test sets."""

    def __init__(
        self, runner: asyncio.Runner, store: ClockStore, time: _Time, driven: DrivenRedis | None
    ) -> None:
        self._runner = runner
        self.store = store
        self.time = time
        self.driven = driven

    def ask(
        self, *wanted: RateLimitRequest, returned: tuple[RateLimitReturn, ...] = ()
    ) -> list[LeaseValidity | RateLimitDenial]:
        return self._runner.run(self.store.exchange(returned, wanted))

    def one(self, ticket: int, pauses: Pauses) -> LeaseValidity | RateLimitDenial:
        [answer] = self.ask(RateLimitRequest(ticket, pauses))
        return answer

    def give_back(self, ticket: int, pauses: Pauses, ended_at: float | None) -> None:
        assert self.ask(returned=(RateLimitReturn(ticket, pauses, ended_at),)) == []

    def later(self, seconds: float) -> None:
        self.time.now += seconds


class _OwnTime:
    now = NOW


def redis_clocks(runner: asyncio.Runner, url: str, client: Any = None) -> Clocks:
    driven = DrivenRedis(runner, url, next(_names), client, shards=3)
    driven.open()
    return Clocks(runner, driven.backend.clocks, driven.clock, driven)


@pytest.fixture(params=["own", "redis", pytest.param("cluster", marks=pytest.mark.soak)])
def clocks(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Iterator[Clocks]:
    if request.param == "own":
        time = _OwnTime()
        yield Clocks(runner, OwnClocks(lambda: time.now), time, None)
        return
    if request.param == "redis":
        server: RedisServer | RedisCluster = request.getfixturevalue("redis_server")
        made = redis_clocks(runner, server.url)
    else:
        server = request.getfixturevalue("redis_cluster")
        made = redis_clocks(runner, server.url, server.client())
    assert made.driven is not None
    yield made
    made.driven.check_consistency()
    made.driven.dispose()


A, B = {"address 192.0.2.1": 2.0}, {"address 192.0.2.1": 2.0, "group campus": 5.0}


def wait_of(answer: LeaseValidity | RateLimitDenial) -> float:
    assert isinstance(answer, RateLimitDenial)
    return answer.wait_seconds


def test_a_free_clock_is_granted_to_one(clocks: Clocks) -> None:
    first, second = clocks.ask(RateLimitRequest(1, A), RateLimitRequest(2, A))
    assert isinstance(first, LeaseValidity)
    assert not first.is_over()
    assert isinstance(second, RateLimitDenial)
    assert second.clock == "address 192.0.2.1"
    assert second.wait_seconds > 0


def test_under_the_same_ticket_it_is_granted_again(clocks: Clocks) -> None:
    for _ in range(2):
        assert isinstance(clocks.one(1, A), LeaseValidity)
    assert isinstance(clocks.one(2, A), RateLimitDenial)


def test_the_pause_begins_when_the_fetch_has_ended(clocks: Clocks) -> None:
    clocks.one(1, A)
    clocks.later(10)
    clocks.give_back(1, A, clocks.time.now - 0.5)
    assert wait_of(clocks.one(2, A)) == pytest.approx(1.5, abs=1e-5)
    clocks.later(1.4)
    assert wait_of(clocks.one(2, A)) == pytest.approx(0.1, abs=1e-5)
    clocks.later(0.101)
    assert isinstance(clocks.one(2, A), LeaseValidity)


def test_nothing_is_owed_where_nothing_was_sent(clocks: Clocks) -> None:
    clocks.one(1, A)
    clocks.give_back(1, A, None)
    assert isinstance(clocks.one(2, A), LeaseValidity)


def test_all_clocks_of_a_fetch_are_taken_or_none(clocks: Clocks) -> None:
    clocks.one(1, A)
    denied = clocks.one(2, B)
    assert isinstance(denied, RateLimitDenial)
    assert denied.clock == "address 192.0.2.1"
    assert isinstance(clocks.one(3, {"group campus": 5.0}), LeaseValidity)


def test_each_clock_has_a_pause_of_its_own(clocks: Clocks) -> None:
    clocks.one(1, B)
    clocks.give_back(1, B, clocks.time.now)
    assert wait_of(clocks.one(2, A)) == pytest.approx(2.0, abs=1e-5)
    clocks.later(2.01)
    assert isinstance(clocks.one(2, A), LeaseValidity)
    clocks.give_back(2, A, clocks.time.now)
    assert wait_of(clocks.one(3, {"group campus": 5.0})) == pytest.approx(2.99, abs=1e-5)


def test_what_is_not_held_cannot_be_given_back(clocks: Clocks) -> None:
    clocks.one(1, A)
    clocks.give_back(2, A, clocks.time.now - 100)
    assert isinstance(clocks.one(3, A), RateLimitDenial)


def test_a_crawl_that_was_begun_before_lets_its_own_clocks_rest(runner: asyncio.Runner) -> None:
    time = _OwnTime()
    clocks = Clocks(runner, OwnClocks(lambda: time.now), time, None)
    clocks.store.rest(NOW)
    assert wait_of(clocks.one(1, A)) == pytest.approx(2.0)
    assert wait_of(clocks.one(1, {"group campus": 5.0})) == pytest.approx(5.0)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("ask"), st.sets(st.sampled_from("abcd"), min_size=1)),
            st.tuples(st.just("end"), st.integers(0, 5)),
            st.tuples(st.just("wait"), st.floats(0, 4)),
        ),
        max_size=40,
    )
)
@settings(max_examples=20, deadline=None)
def test_whatever_happens_no_clock_is_had_by_two_or_too_early(steps: list[tuple[str, Any]]) -> None:
    import asyncio

    pause = {"a": 0.5, "b": 1.0, "c": 2.0, "d": 3.0}
    with asyncio.Runner() as runner:
        time = _OwnTime()
        clocks = Clocks(runner, OwnClocks(lambda: time.now), time, None)
        held: dict[int, set[str]] = {}
        free_at = dict.fromkeys(pause, 0.0)
        for ticket, (what, value) in enumerate(steps):
            if what == "ask":
                taken = any(value & names for names in held.values())
                rests = any(free_at[name] > time.now for name in value)
                answer = clocks.one(ticket, {name: pause[name] for name in sorted(value)})
                assert isinstance(answer, LeaseValidity) == (not taken and not rests)
                if isinstance(answer, LeaseValidity):
                    held[ticket] = value
            elif what == "end" and value < len(held):
                ended = list(held)[value]
                names = held.pop(ended)
                clocks.give_back(ended, {name: pause[name] for name in names}, time.now)
                free_at |= {name: time.now + pause[name] for name in names}
            elif what == "wait":
                clocks.later(value)


# -- several processes ---------------------------------------------------------------------------------------


@pytest.fixture
def processes(redis_server: RedisServer, runner: asyncio.Runner) -> Iterator[list[Clocks]]:
    """Two members of one crawl, with one time."""
    spider = next(_names)
    members = []
    for _ in range(2):
        driven = DrivenRedis(runner, redis_server.url, spider)
        driven.open()
        members.append(Clocks(runner, driven.backend.clocks, driven.clock, driven))
    yield members
    for member in members:
        assert member.driven is not None
        member.driven.dispose()


def test_another_process_waits_for_the_same_clock(processes: list[Clocks]) -> None:
    one, other = processes
    one.one(1, A)
    assert isinstance(other.one(1, A), RateLimitDenial)
    one.give_back(1, A, one.time.now)
    assert wait_of(other.one(1, A)) == pytest.approx(2.0, abs=1e-5)
    other.later(2.01)
    assert isinstance(other.one(1, A), LeaseValidity)
    one.later(2.01)
    assert isinstance(one.one(2, A), RateLimitDenial)


def test_a_clock_of_a_process_that_died_rests_from_the_end_of_its_lease(processes: list[Clocks]) -> None:
    one, other = processes
    one.one(1, A)
    assert one.driven is not None
    members = one.driven.names()[0].members
    ended_at = other.time.now + 7
    one.driven.client.zadd(members, {one.driven.backend._member: ended_at})
    other.later(6)
    assert isinstance(other.one(1, A), RateLimitDenial)
    other.later(1.5)
    assert wait_of(other.one(1, A)) == pytest.approx(1.5, abs=1e-4)
    other.later(1.51)
    assert isinstance(other.one(1, A), LeaseValidity)


def test_a_clock_of_a_process_that_is_no_member_any_more_rests_from_now(processes: list[Clocks]) -> None:
    one, other = processes
    one.one(1, A)
    assert one.driven is not None
    one.driven.client.zrem(one.driven.names()[0].members, one.driven.backend._member)
    assert wait_of(other.one(1, A)) == pytest.approx(2.0, abs=1e-4)


def test_what_nobody_gives_back_ends_with_its_time(processes: list[Clocks]) -> None:
    one, other = processes
    one.one(1, A)
    other.later(180.0 + 1.0)
    assert wait_of(other.one(1, A)) == pytest.approx(1.0, abs=1e-4)
    other.later(1.01)
    assert isinstance(other.one(1, A), LeaseValidity)


def test_a_process_whose_lease_has_ended_is_granted_nothing(processes: list[Clocks]) -> None:
    one, other = processes
    assert one.driven is not None
    one.driven.client.zadd(one.driven.names()[0].members, {one.driven.backend._member: one.time.now - 1})
    assert isinstance(one.one(1, A), RateLimitDenial)
    assert isinstance(other.one(1, A), LeaseValidity)


def test_a_server_that_forgot_its_last_second_grants_nothing_that_may_be_held(
    redis_server: RedisServer, processes: list[Clocks], runner: asyncio.Runner
) -> None:
    one, other = processes
    one.one(1, {"group campus": 5.0})
    one.give_back(1, {"group campus": 5.0}, one.time.now)
    kept = redis_server.written_bytes
    held = one.one(2, A)
    one.give_back(3, {"domain example.org": 4.0}, None)
    redis_server.kill().forget_behind(kept).start()
    for member in processes:
        assert member.driven is not None
        for _ in range(3):
            try:
                runner.run(member.driven.backend.heartbeat({}))
            except Exception as error:
                last = error
            else:
                break
        else:
            raise last
    # Told again by the one that had it: no lease time has to pass, and nobody else gets it.
    assert isinstance(held, LeaseValidity)
    assert not held.is_over()
    quiet = float(one.driven.client.hget(one.driven.names()[0].totals, "quiet_until"))  # type: ignore[union-attr]
    other.time.now = quiet + 100
    assert isinstance(other.one(1, A), RateLimitDenial)
    other.time.now = quiet + 1
    assert other.driven is not None
    runner.run(other.driven.backend.heartbeat({}))
    assert wait_of(other.one(1, {"host unheard.test": 3.0})) == pytest.approx(2.0, abs=1e-4)


def test_whoever_looks_from_outside_sees_who_has_a_clock_and_when_it_is_free(
    processes: list[Clocks], runner: asyncio.Runner
) -> None:
    one, other = processes
    assert one.driven is not None
    one.one(1, A)
    other.one(1, {"group campus": 5.0})
    other.give_back(1, {"group campus": 5.0}, other.time.now - 1)
    pauses = {**B, "host unheard.test": 3.0}
    server, [names] = one.driven.backend._server, one.driven.names()
    assert runner.run(read_uses(server, names, pauses, one.time.now)) == {
        "address 192.0.2.1": Use(one.time.now + 2.0, "test"),
        "group campus": Use(pytest.approx(one.time.now + 4.0, abs=1e-5)),
    }
