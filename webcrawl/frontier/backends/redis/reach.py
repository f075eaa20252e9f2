"""What an exclusion would hit of a crawl in Redis, read from outside and without changing anything."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator

from webcrawl.errors import StorageLost
from webcrawl.frontier.backends.reach import Asked, Reach
from webcrawl.frontier.backends.redis.audit.reading import AT_ONCE, KeyView, Reader
from webcrawl.frontier.backends.redis.control import Control
from webcrawl.frontier.backends.redis.packing import unpack_entries


async def reach_of(control: Control, asked: Asked) -> Reach:
    """``control``: an open one. What changes meanwhile may be counted or not, but no key is counted twice.

    :raises StorageLost: a queue cannot be read
    """
    reach = Reach()
    now = await control.now()
    for number in range(len(control.shards)):
        reader = Reader(control.server, control.spider, number)
        members = await reader.ask("ZRANGEBYSCORE", reader.names.fixed[7], f"({now!r}", "+inf")
        async for view in _views(reader, asked):
            hit = await _hit(reader, view, asked)
            # The value is a fence and a member; a member that was killed keeps its keys until its leases end.
            reach.add(hit, is_leased=view.held.partition(b" ")[2] in members)
    return reach


async def _views(reader: Reader, asked: Asked) -> AsyncIterator[KeyView]:
    keys: set[bytes] = set()
    async for found in reader.scan("HSCAN", reader.names.hosts):
        keys.update(key for key, _ in found if asked.may_have(key.decode("utf-8", "surrogatepass")))
    listed = sorted(keys)
    for first in range(0, len(listed), AT_ONCE):
        for view in await reader.views(listed[first : first + AT_ONCE]):
            yield view


async def _hit(reader: Reader, view: KeyView, asked: Asked) -> int:
    hit = 0
    async for part in reader.queue(view):
        try:
            hit += sum(asked.is_hit(entry.url) for entry in unpack_entries(part, view.name))
        except (ValueError, IndexError, struct.error) as error:
            raise StorageLost(
                f"the queue of {view.name} in Redis cannot be read; see scrapy frontier check"
            ) from error
    return hit
