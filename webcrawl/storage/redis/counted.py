"""The counts of processes: a HASH from the start and the name of a process to the JSON of its numbers.

Each process has a field of its own, so that no commit waits for another. The fields of those that ended long ago are
merged, so that a crawl whose workers come and go for years does not grow by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.storage.contract import Counted
from webcrawl.storage.redis.packing import encoded, pairs
from webcrawl.storage.redis.server import script

if TYPE_CHECKING:
    from collections.abc import Collection

    from webcrawl.storage.redis.names import CrawlNames
    from webcrawl.storage.redis.server import RedisServer

PROCESSES_MAX = 256
"""Processes that have a field of their own; half as many are left after a merger."""


async def read_counted(server: RedisServer, names: CrawlNames) -> list[Counted]:
    """Return the counts of all processes."""
    return [counted for counted, _, _ in await _fields(server, names)]


async def merge_counted(server: RedisServer, names: CrawlNames, running: Collection[str]) -> None:
    """Merge the fields of the processes that began first, if there are too many fields. ``running``: the names of the
    workers that run; the last process of each counts further."""
    fields = sorted(await _fields(server, names), key=lambda field: field[0].begun_at)
    if len(fields) <= PROCESSES_MAX:
        return
    last = {counted.worker: counted.name for counted, _, _ in fields if counted.worker in running}
    old = [field for field in fields[: -PROCESSES_MAX // 2] if field[0].name not in last.values()]
    if len(old) > 1:
        merged = Counted.merge([counted for counted, _, _ in old])
        flat = [part for _, name, packed in old for part in (name, packed)]
        # If another process has just merged some of them, there is nothing left to do.
        values = [encoded(merged.name), merged.packed(), *flat]
        await server.commands([("EVAL", script("merge_counted").text, 1, names.counted, *values)])


async def _fields(server: RedisServer, names: CrawlNames) -> list[tuple[Counted, bytes, bytes]]:
    """Return what can be read, each with its field as it is stored."""
    [answer] = await server.commands([("HGETALL", names.counted)])
    stored = []
    for name, packed in pairs(answer):
        counted = Counted.read(name.decode("utf-8", "replace"), packed.decode("utf-8", "replace"))
        if counted is not None:
            stored.append((counted, name, packed))
    return stored
