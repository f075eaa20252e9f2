"""What servers say of themselves when they are met: whether a crawl can be kept on them; when they are ready."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from redis.exceptions import BusyLoadingError

from webcrawl.errors import StartRefused

OLDEST = (6, 2)

LOOK_SECONDS = 0.5
"""Between two looks at a server that reads its data."""

Info = Mapping[str, Any]
"""What INFO answers."""

logger = logging.getLogger(__name__)


def refuse_unfit(info: Info, address: str) -> None:
    """:raises StartRefused: a crawl cannot be kept on this server"""
    version = tuple(int(part) for part in str(info["redis_version"]).split(".")[:2])
    if version < OLDEST:
        raise StartRefused(f"Redis at {address} is version {info['redis_version']}; it must be 6.2 or newer")
    if info.get("maxmemory") and str(info.get("maxmemory_policy")).startswith("allkeys"):
        raise StartRefused(
            f"Redis at {address} drops keys when it is full (maxmemory-policy {info['maxmemory_policy']}), and with "
            "them the crawl; it must have maxmemory-policy noeviction"
        )


async def until_loaded(address: str, ask: Callable[[], Awaitable[Sequence[Info]]]) -> None:
    """Wait until no server reads its data any more, and say so once.

    A server that has just started refuses everything but INFO until it has read its append-only file, which takes
    minutes with a large crawl. ``ask`` gets the INFO of each server.
    """
    said = False
    while True:
        try:
            reading = [info for info in await ask() if int(info.get("loading", 0))]
        except BusyLoadingError:
            reading = [{}]
        if not reading:
            return
        if not said:
            said = True
            logger.warning(
                "Redis at %s is reading its data%s: waiting for it", address, _progress(reading[0])
            )
        await asyncio.sleep(LOOK_SECONDS)


def _progress(info: Info) -> str:
    share, seconds = info.get("loading_loaded_perc"), info.get("loading_eta_seconds")
    if share is None or seconds is None:
        return ""
    return f" ({float(share):.0f} % so far, some {max(float(seconds), 0):,.0f} s to go)"
