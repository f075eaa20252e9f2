"""The content-seen test in front of its store: who gets its answers, and when."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, cast

import pytest

from webcrawl.errors import StorageLost
from webcrawl.features.content_seen.content_seen import ContentSeen
from webcrawl.features.content_seen.store import Body, ContentLookup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.features.content_seen.store import ContentStore


class AtOnce:
    """A store that answers at once, or is not available."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def check_and_add(self, bodies: Sequence[Body]) -> list[ContentLookup]:
        await asyncio.sleep(0)
        if self._error is not None:
            raise self._error
        return [ContentLookup(first=True) for _ in bodies]


def seen_with(store: AtOnce) -> ContentSeen:
    return ContentSeen(cast("ContentStore", store))


def body(number: int) -> Body:
    return Body(number.to_bytes(16, "big"), None, f"http://a.test/{number}", 0.0)


def test_the_pages_of_one_answer_go_on_a_few_in_each_turn_of_the_loop() -> None:
    turn = 0
    went_on: Counter[int] = Counter()

    async def count_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    async def page(seen: ContentSeen, number: int) -> None:
        assert (await seen.check_and_add(body(number))).first
        went_on[turn] += 1

    async def crawl() -> None:
        counting = asyncio.ensure_future(count_turns())
        seen = seen_with(AtOnce())
        await asyncio.gather(*(page(seen, number) for number in range(100)))
        await seen.close()
        counting.cancel()

    asyncio.run(crawl())
    assert went_on.total() == 100
    assert max(went_on.values()) <= 10


@pytest.mark.parametrize("error", [None, StorageLost("gone")], ids=["answer", "error"])
def test_a_page_that_was_given_up_meanwhile_takes_no_answer_from_the_others(error: Exception | None) -> None:
    async def crawl() -> list[ContentLookup | BaseException]:
        seen = seen_with(AtOnce(error))
        pages = [asyncio.ensure_future(seen.check_and_add(body(number))) for number in range(3)]
        await asyncio.sleep(0)
        pages[0].cancel()
        return await asyncio.wait_for(asyncio.gather(*pages, return_exceptions=True), 10)

    cancelled, *others = asyncio.run(crawl())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert others == [ContentLookup(first=True) if error is None else error] * 2
