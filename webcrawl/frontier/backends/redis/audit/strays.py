"""What lies beside what a crawl knows of: found by a walk over all names in Redis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from webcrawl.frontier.backends.findings import Kind
from webcrawl.frontier.backends.redis.audit.flaws import Flaws
from webcrawl.frontier.backends.redis.audit.look import whole
from webcrawl.frontier.backends.redis.audit.queues import ownerless
from webcrawl.frontier.backends.redis.audit.reading import AT_ONCE, Reader
from webcrawl.frontier.backends.redis.audit.seen import SeenLook
from webcrawl.frontier.backends.redis.server import Server

_QUEUE, _SEEN = b"queue:", b"seen:"


@dataclass(slots=True)
class Strays:
    """By shard, what no record and no count leads to."""

    flaws: dict[int, Flaws] = field(default_factory=dict)
    ownerless: dict[int, list[bytes]] = field(default_factory=dict)
    """Keys of which there are only the chunks of a queue."""


async def strays(server: Server, spider: str, readers: Sequence[Reader]) -> Strays:
    """Buckets behind the last of a shard, queues of which nobody knows, and shards that the crawl does not have.

    Exact whoever is at work: what is told of a name was read after it was met.
    """
    found = Strays()
    tag = f"{{{spider}:".encode()
    pattern = re.sub(rb"([*?\[\]\\])", rb"\\\1", tag) + b"*}:*"
    async for names in server.scan(pattern):
        by_shard: dict[int, list[bytes]] = {}
        for name in names:
            number, _, rest = name[len(tag) :].partition(b"}:")
            if number.isdigit():
                by_shard.setdefault(int(number), []).append(rest)
        for shard, some in by_shard.items():
            flaws = found.flaws.setdefault(shard, Flaws(f"shard {shard}"))
            if shard < len(readers):
                await _judge(readers[shard], some, flaws, found)
            elif not flaws:
                flaws.add(Kind.STRAY, "a shard", f"the crawl has {len(readers)}")
    return found


async def _judge(reader: Reader, names: Sequence[bytes], flaws: Flaws, found: Strays) -> None:
    numbers = [int(name[len(_SEEN) :]) for name in names if name.startswith(_SEEN)]
    buckets = max(whole((await reader.totals()).get("buckets")) or 1, 1)
    beyond = [number for number in numbers if number >= buckets]
    for number, members in zip(beyond, await reader.buckets(beyond), strict=True):
        SeenLook(reader, flaws, buckets).stray(number, members)
    keys = [name[len(_QUEUE) :] for name in names if name.startswith(_QUEUE)]
    for first in range(0, len(keys), AT_ONCE):
        for view in await reader.views(keys[first : first + AT_ONCE]):
            if not view.record and not view.queue:
                ownerless(flaws, view.key)
                found.ownerless.setdefault(reader.number, []).append(view.key)
