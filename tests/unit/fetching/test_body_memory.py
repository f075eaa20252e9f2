"""All bodies together stay within their budget, small ones never wait, and every one has its turn."""

from __future__ import annotations

import asyncio
import random

from webcrawl.fetching.body_memory import BodyMemory


def test_a_small_body_needs_no_grant_however_full_the_pool_is():
    memory = BodyMemory(1000, 5)
    large = memory.account()
    large.resize(100)
    assert large.request(600, lambda: None)
    assert memory.free == 0

    small = memory.account()
    small.resize(memory.share)

    assert (memory.share, small.room) == (100, 0)
    assert memory.used == 200


def test_grants_are_given_in_the_order_in_which_they_were_asked_for():
    memory = BodyMemory(1000, 5)
    told: list[str] = []
    first, second, third, last = (memory.account() for _ in range(4))
    assert first.request(600, lambda: None)
    assert not second.request(500, lambda: told.append("second"))
    assert not third.request(200, lambda: told.append("third"))
    assert not last.request(150, lambda: told.append("last"))

    first.release()
    assert (told, memory.free) == (["second", "third"], 0)
    third.release()
    assert told == ["second", "third", "last"]


def test_a_body_that_needs_less_than_it_asked_for_gives_the_rest_back():
    memory = BodyMemory(1000, 5)
    one, other = memory.account(), memory.account()
    one.request(600, lambda: None)
    told: list[str] = []
    other.request(300, lambda: told.append("other"))

    one.resize(250)
    one.trim()

    assert (one.granted, told) == (150, ["other"])


def test_what_may_be_larger_than_the_pool_comes_alone_but_comes():
    memory = BodyMemory(1000, 5)
    endless, next_one = memory.account(), memory.account()
    told: list[str] = []
    assert endless.request(None, lambda: None)
    assert not next_one.request(101, lambda: told.append("next"))
    endless.resize(5000)
    assert memory.is_used_up()
    endless.release()
    assert (told, memory.used) == (["next"], 0)


def test_one_that_stops_waiting_holds_up_nobody():
    memory = BodyMemory(1000, 5)
    told: list[str] = []
    holder, gone, waiting = (memory.account() for _ in range(3))
    holder.request(400, lambda: None)
    gone.request(600, lambda: told.append("gone"))
    waiting.request(200, lambda: told.append("waiting"))

    gone.release()

    assert told == ["waiting"]
    assert memory.waiting == 0


def test_a_request_asks_once_so_that_nothing_is_held_while_it_waits():
    memory = BodyMemory(1000, 5)
    account = memory.account()
    account.request(400, lambda: None)
    assert account.request(10_000, lambda: None)
    assert account.granted == 300


def test_any_number_of_bodies_of_any_size_ends_within_the_budget():
    """Of eight at a time, each grows as its grant permits, is unpacked and let go of."""

    async def run(seed: int) -> BodyMemory:
        chance = random.Random(seed)
        memory = BodyMemory(10_000, 8)
        slots = asyncio.Semaphore(8)

        async def one(size: int, unfolded: int) -> None:
            async with slots:
                account = memory.account()
                for _ in range(size):
                    if not account.room and not account.has_requested:
                        await account.until_granted(size + unfolded)
                    account.resize(account.size + 1)
                    if chance.random() < 0.01:
                        await asyncio.sleep(0)
                account.trim(unfolded)
                if account.room < unfolded:
                    await account.until_granted(size + unfolded)
                account.resize(size + unfolded)
                account.trim()
                await asyncio.sleep(0)
                account.release()

        sizes = [(chance.choice((100, 700, 2500)), chance.choice((0, 0, 2400))) for _ in range(80)]
        async with asyncio.timeout(60):
            await asyncio.gather(*(one(*size) for size in sizes))
        return memory

    for seed in range(5):
        memory = asyncio.run(run(seed))
        assert memory.peak <= memory.total
        assert (memory.used, memory.free, memory.waiting) == (0, memory.pool, 0)


def test_an_inline_request_never_waits_for_pages_alone():
    memory = BodyMemory(1000, 5)
    told: list[str] = []
    page, waiting = memory.account(), memory.account()
    assert page.request(600, lambda: None)
    assert not waiting.request(600, lambda: told.append("page"))

    first, second, third = (memory.account(is_inline=True) for _ in range(3))
    assert first.room == 0
    assert first.request(300, lambda: told.append("first"))
    assert not second.request(300, lambda: told.append("second"))
    assert not third.request(300, lambda: told.append("third"))
    first.resize(300)
    assert memory.free == 0

    first.release()
    assert told == ["second"]
    page.release()
    assert told == ["second", "page"]
    second.release()
    assert told == ["second", "page", "third"]
    third.release()
    waiting.release()
    assert (memory.used, memory.free) == (0, memory.pool)


def test_an_inline_request_takes_from_the_pool_while_there_is_room():
    memory = BodyMemory(1000, 5)
    one, other = memory.account(is_inline=True), memory.account(is_inline=True)
    assert one.request(200, lambda: None)
    assert other.request(200, lambda: None)
    assert memory.free == 100
    one.release()
    other.release()
    assert memory.free == memory.pool
