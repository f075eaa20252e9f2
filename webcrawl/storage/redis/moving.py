"""Moves of a crawl to Redis and from there: their mark, the time in which no worker begins, and the removal of a copy
that was not completed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from webcrawl.storage.move_mark import MoveState
from webcrawl.storage.redis.names import CrawlNames
from webcrawl.storage.redis.packing import encoded
from webcrawl.storage.redis.workers import MOVE

if TYPE_CHECKING:
    from webcrawl.storage.move_mark import MoveMark
    from webcrawl.storage.redis.control import Control

_AT_ONCE = 500


async def set_move_mark(control: Control, mark: MoveMark | None) -> None:
    meta = CrawlNames(control.spider).meta
    commands: list[tuple[object, ...]] = []
    if mark is not None and mark.state is MoveState.ARRIVED:
        # Clocks that were not copied may owe a pause that began a moment ago.
        now = f"{await control.now():.6f}"
        commands = [("HSET", shard.totals, "quiet_until", now) for shard in control.shards]
    # The last command: with it workers may begin.
    commands.append(("HDEL", meta, MOVE) if mark is None else ("HSET", meta, MOVE, mark.packed()))
    await control.server.commands(commands)


async def keep_still(control: Control, holder: str, seconds: float) -> str | None:
    """See ``SharedInspection.keep_still``."""
    name, value = CrawlNames(control.spider).moving, encoded(holder)
    milliseconds = max(int(seconds * 1000), 1)
    [taken] = await control.server.commands([("SET", name, value, "NX", "PX", milliseconds)])
    if taken:
        return None
    [there] = await control.server.commands([("GET", name)])
    if there == value:
        await control.server.commands([("PEXPIRE", name, milliseconds)])
        return None
    return (there or b"").decode("utf-8", "replace").partition("\n")[0] or "another process"


async def end_stillness(control: Control, holder: str) -> None:
    name = CrawlNames(control.spider).moving
    [there] = await control.server.commands([("GET", name)])
    if there == encoded(holder):
        await control.server.commands([("DEL", name)])


async def remove(control: Control) -> None:
    """Delete all keys of the crawl, its mark at the end."""
    names = CrawlNames(control.spider)
    tag = re.sub(r"([*?\[\]\\])", r"\\\1", f"{{{control.spider}:")
    # Keys of shards, and of features.
    own = re.compile(re.escape(f"{{{control.spider}:").encode() + rb"(\d+|[a-z_]+)\}:")
    async for found in control.server.scan(f"{tag}*".encode()):
        keys = [key for key in found if own.match(key)]
        for first in range(0, len(keys), _AT_ONCE):
            await control.server.commands([("UNLINK", key) for key in keys[first : first + _AT_ONCE]])
    rest = (
        names.workers,
        names.seeded,
        names.seed_addresses,
        names.seed_lists,
        names.bandwidth,
        names.counted,
    )
    await control.server.commands([("DEL", name) for name in (*rest, names.meta)])
