"""A list of seeds is read by one of the processes that were given it, to its end, whoever is killed meanwhile."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.driven_redis import GivenClock
from tests.contract.samples import NOW
from webcrawl.features.seed_refill import refill
from webcrawl.features.seed_refill.refill import SharedTurns
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.names import RedisOptions
from webcrawl.storage.shared_parts import ListProgress, Turn

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine, Iterator

    from tests.redis_server import RedisServer

LEASE_SECONDS = 60.0


class Workers:
    """Processes that were given lists, by a clock that the test sets."""

    def __init__(self, runner: asyncio.Runner, url: str, stack: ExitStack) -> None:
        self.clock = GivenClock()
        self._runner = runner
        options = RedisOptions(spider="broad", shards=1, lease_seconds=LEASE_SECONDS)
        backends = [RedisBackend({"url": url}, options, {}, str, self.clock) for _ in range(2)]
        for backend in backends:
            runner.run(backend.open(NOW))
            stack.callback(lambda backend=backend: runner.run(backend.close()))
        self.lists = [backend.seed_lists() for backend in backends]

    def request_turn(self, who: int, queued: int = 0, digest: str = "a") -> ListProgress:
        return self._runner.run(self.lists[who].request_turn(digest, queued))

    def finish(self, who: int, queued: int) -> None:
        self._runner.run(self.lists[who].finish("a", queued))

    def asking(self, who: int) -> SharedTurns:
        """How one of them takes turns in asking for more seeds."""
        return SharedTurns(60.0, self.clock, self.lists[who])

    def run(self, step: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(step)

    def give_up(self, who: int, queued: int) -> None:
        self._runner.run(self.lists[who].give_up("a", queued))


@pytest.fixture
def workers(runner: asyncio.Runner, redis_server: RedisServer) -> Iterator[Workers]:
    with ExitStack() as stack:
        yield Workers(runner, redis_server.url, stack)


def test_one_reads_and_the_other_waits(workers: Workers) -> None:
    assert workers.request_turn(0) == ListProgress(Turn.OURS, 0)
    assert workers.request_turn(1) == ListProgress(Turn.THEIRS, 0)
    assert workers.request_turn(0, 1000) == ListProgress(Turn.OURS, 1000)
    assert workers.request_turn(1) == ListProgress(Turn.THEIRS, 1000)


def test_what_was_read_to_its_end_is_not_read_again(workers: Workers) -> None:
    workers.request_turn(0)
    workers.finish(0, 1500)
    workers.clock.now += 1e9

    assert workers.request_turn(1) == ListProgress(Turn.FINISHED, 1500)
    assert workers.request_turn(0) == ListProgress(Turn.FINISHED, 1500)


def test_lists_do_not_know_of_each_other(workers: Workers) -> None:
    workers.request_turn(0, digest="a")
    assert workers.request_turn(1, digest="b") == ListProgress(Turn.OURS, 0)


def test_who_says_nothing_for_the_lease_time_has_lost_its_turn(workers: Workers) -> None:
    workers.request_turn(0, 1000)
    workers.clock.now += LEASE_SECONDS - 1
    assert workers.request_turn(1).turn is Turn.THEIRS
    workers.clock.now += 1
    assert workers.request_turn(1) == ListProgress(Turn.OURS, 1000)
    assert workers.request_turn(0, 2000).turn is Turn.THEIRS


def test_who_comes_back_late_and_finds_nobody_goes_on_with_what_it_has_done(workers: Workers) -> None:
    workers.request_turn(0, 1000)
    workers.clock.now += LEASE_SECONDS
    workers.request_turn(1)
    workers.clock.now += LEASE_SECONDS

    assert workers.request_turn(0, 2000) == ListProgress(Turn.OURS, 2000)


def test_who_gives_up_is_followed_at_once(workers: Workers) -> None:
    workers.request_turn(0, 1000)
    workers.give_up(1, 0)
    assert workers.request_turn(1).turn is Turn.THEIRS
    workers.give_up(0, 2000)

    assert workers.request_turn(1) == ListProgress(Turn.OURS, 2000)


def test_one_asks_for_more_seeds_at_a_time_and_all_know_when_that_was(workers: Workers) -> None:
    one, other = workers.asking(0), workers.asking(1)
    assert [workers.run(who.take()) for who in (one, other, one)] == [
        refill.TurnResult.REQUEST,
        refill.TurnResult.WAIT,
        refill.TurnResult.REQUEST,
    ]
    workers.run(one.finish())
    assert [workers.run(who.take()) for who in (one, other)] == [refill.TurnResult.REST] * 2
    assert other.finished_at == one.finished_at == int(workers.clock())
    workers.clock.now += 61
    assert [workers.run(who.take()) for who in (other, one)] == [
        refill.TurnResult.REQUEST,
        refill.TurnResult.WAIT,
    ]
    # Whoever asks may be killed.
    workers.clock.now += LEASE_SECONDS + 1
    assert workers.run(one.take()) is refill.TurnResult.REQUEST
