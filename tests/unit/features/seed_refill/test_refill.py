"""Seeds are requested when they run low, not too often, by one process of all; a crawl waits for the last request."""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING, Any

import pytest

from webcrawl.errors import ContactMissing
from webcrawl.features.seed_refill.refill import OwnTurns, SeedRefill, TurnResult
from webcrawl.features.seed_refill.sources import SourceError
from webcrawl.urls.seeds import Seed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from webcrawl.urls.seeds import BadSeed

EVERY = 60.0


class World:
    """A crawl with a number of keys, and a source of seeds."""

    def __init__(self, keys: int, answer: bytes | Exception = b"http://a.test/\n") -> None:
        self.now, self.keys, self.answer = 1000.0, keys, answer
        self.requested_at: list[float] = []
        self.taken: list[str] = []
        self.answering = asyncio.Event()
        self.answering.set()
        self.refusal: Exception | None = None
        self.turns = OwnTurns(EVERY, lambda: self.now)
        self.refill = SeedRefill(self, self, self.turns, 10, lambda: self.now)

    async def count_available_keys(self, at_most: int) -> int:
        return min(self.keys, at_most)

    async def take(self, seeds: Iterator[Seed | BadSeed]) -> bool:
        if self.refusal is not None:
            raise self.refusal
        self.taken += [seed.url for seed in seeds if isinstance(seed, Seed)]
        return True

    async def fetch(self, keys: int) -> bytes:
        self.requested_at.append(self.now)
        await self.answering.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def end(self) -> None:
        self.answering.set()

    async def steps(self, seconds: int) -> None:
        for _ in range(seconds):
            await self.refill.step()
            for _ in range(5):
                await asyncio.sleep(0)
            self.now += 1


def in_world(test: Callable[[World], Awaitable[None]], *args: Any) -> World:
    async def run() -> World:
        world = World(*args)
        await test(world)
        return world

    return asyncio.run(run())


def test_with_enough_domains_no_seeds_are_requested() -> None:
    assert in_world(lambda world: world.steps(100), 10).requested_at == []


def test_with_fewer_seeds_are_requested_and_then_not_too_soon() -> None:
    world = in_world(lambda world: world.steps(130), 9)
    assert [at - 1000 for at in world.requested_at] == [0, 60, 120]
    assert world.taken == ["http://a.test/"] * 3


def test_an_answer_that_takes_long_is_the_only_one_and_the_pause_begins_behind_it() -> None:
    async def test(world: World) -> None:
        world.answering.clear()
        await world.steps(100)
        assert world.refill.idle()
        world.answering.set()
        await world.steps(100)

    world = in_world(test, 3)
    assert [at - 1000 for at in world.requested_at] == [0, 160]


def test_a_failed_request_is_repeated_later() -> None:
    for answer in (SourceError("it failed"), b"", b"# none today\n"):
        world = in_world(lambda world: world.steps(70), 0, answer)
        assert (len(world.requested_at), world.taken) == (2, [])


def test_a_failure_is_raised_once_and_no_reason_to_ask_sooner() -> None:
    async def test(world: World) -> None:
        await world.steps(1)
        with pytest.raises(OSError, match="Too many open files"):
            await world.steps(1)
        world.answer = b"http://a.test/\n"
        await world.steps(70)

    world = in_world(test, 0, OSError(errno.EMFILE, "Too many open files"))
    assert [at - 1000 for at in world.requested_at] == [0, 60]
    assert world.taken == ["http://a.test/"]


def test_lines_that_are_no_url_cost_the_others_nothing() -> None:
    world = in_world(lambda world: world.steps(1), 0, b"rubbish \xff\nhttp://b.test/\n\n# x\nexample.org\n")
    assert world.taken == ["http://b.test/", "http://example.org/"]


def test_a_crawl_with_nothing_left_waits_for_one_more_answer() -> None:
    async def test(world: World) -> None:
        await world.steps(20)
        assert len(world.requested_at) == 1
        assert world.refill.idle()
        waited = 0
        while world.refill.idle():
            await world.steps(1)
            waited += 1
        assert len(world.requested_at) == 2
        assert 38 <= waited <= 43
        # Something was new after all: the next lull is another one.
        world.refill.busy()
        assert world.refill.idle()

    in_world(test, 0)


def test_a_crawl_whose_domains_are_many_and_that_has_nothing_to_do_does_not_wait() -> None:
    async def test(world: World) -> None:
        assert world.refill.idle()
        await world.steps(1)
        assert not world.refill.idle()

    in_world(test, 10)


def test_while_another_process_asks_a_crawl_waits() -> None:
    async def test(world: World) -> None:
        async def theirs() -> TurnResult:
            return TurnResult.WAIT

        world.turns.take = theirs  # type: ignore[method-assign]
        await world.steps(3)
        assert world.requested_at == []
        assert world.refill.idle()
        world.turns.finished_at = world.now + 1
        world.keys = 10
        await world.steps(2)
        assert not world.refill.idle()

    in_world(test, 0)


def test_without_a_contact_no_seeds_are_requested_again_and_the_crawl_ends() -> None:
    async def test(world: World) -> None:
        world.refusal = ContactMissing("nobody answers for it")
        await world.steps(100)
        assert len(world.requested_at) == 1
        assert not world.refill.idle()

    in_world(test, 0)


def test_the_end_does_not_wait_for_an_answer() -> None:
    async def test(world: World) -> None:
        world.answering.clear()
        await world.steps(2)
        await world.refill.end()

    assert in_world(test, 0).taken == []
