"""The seen test in Redis, host by host: marks are found where they are looked for, however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import entry, found, pages, settled
from webcrawl.frontier.records import State
from webcrawl.storage.redis.marks import MARK_BYTES, segment_count, segment_from, segment_number, unpack_marks

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from tests.redis_server import RedisServer

KEY = "large.test"


@pytest.fixture
def driven(runner: asyncio.Runner, redis_server: RedisServer) -> Iterator[DrivenRedis]:
    made = DrivenRedis(runner, redis_server.url, "broad")
    made.open()
    yield made
    made.check_consistency()
    made.dispose()


def segments(driven: DrivenRedis) -> dict[int, bytes]:
    [names] = driven.names()
    return {segment_from(field)[1]: value for field, value in driven.client.hgetall(names.seen).items()}


@pytest.mark.parametrize("number", [1, 64, 65, 128, 129, 1000, 17_000])
def test_every_mark_is_where_its_url_is_looked_for(driven: DrivenRedis, number: int) -> None:
    urls = pages(KEY, number)
    for first in range(0, number, 4000):
        assert len(driven.commit(found(*urls[first : first + 4000])).queued) == len(
            urls[first : first + 4000]
        )
    there = segments(driven)
    assert set(there) <= set(range(segment_count(number)))
    marks = {mark: at for at, segment in there.items() for mark, _ in unpack_marks(segment)}
    assert marks == {url.fingerprint: segment_number(url.fingerprint, segment_count(number)) for url in urls}
    assert max(map(len, there.values())) < 2.5 * 64 * MARK_BYTES
    for first in range(0, number, 4000):
        again = [entry(url.url) for url in urls[first : first + 4000]]
        driven.backend._writer.forget()
        assert driven.commit(found(*again)).queued == []


def test_states_move_with_their_marks(driven: DrivenRedis) -> None:
    first, *more = pages(KEY, 400)
    driven.commit(found(first))
    driven.activate_one()
    driven.commit(settled(first, State.FAILED))
    driven.commit(found(*more))
    assert driven.state_of(first) is State.FAILED
    assert {driven.state_of(one) for one in more} == {State.QUEUED}
    assert driven.state_of(entry(f"http://{KEY}/other")) is None
