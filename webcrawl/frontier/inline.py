"""Inline requests: a callback, a pipeline or a middleware waits for the response, as Scrapy's media pipelines do.

An inline request waits in memory, before the stored queue of its politeness key. It is not in the seen test and is
not stored: a page whose callback or items wait for it is not done, so after a crash the page is fetched again, and
asks again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from webcrawl.frontier.records import UrlEntry
from webcrawl.frontier.storage_retry import StorageRetry, Tasks
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.storage.contract import Activated, Backend, Unavailable

IN_A_ROW = 8
"""Inline requests of a key after which a URL of its queue has its turn, and another process may get the key."""

ASKED_AGAIN_SECONDS = 0.25
"""Interval at which a key that another process holds is requested."""

HELD_SECONDS = 5.0
"""Seconds that pages in processing keep their key from a process that requests it: pages of two processes may
wait for each other's keys."""

HOST_UNAVAILABLE = "host-unavailable"
"""The reason of a failure: the host was given up, or must be left alone for long."""
ROBOTS_UNAVAILABLE = "robots-unavailable"
"""The reason of a failure: the robots.txt of the origin could not be fetched, so the URL must not be."""
STOPPED = "stopped"
"""The reason of a failure: the crawl ended before its turn."""


class TurnedAwayError(Exception):
    """An inline request that is not sent. ``rule``: the rule that refuses it, or a reason from this module."""

    def __init__(self, rule: str, *, is_refusal: bool) -> None:
        super().__init__(rule)
        self.rule = rule
        self.is_refusal = is_refusal
        """False if it is a failure, like one of the network."""


@dataclass(slots=True, eq=False)
class InlineRequest:
    """A request that waits for its turn, or is being fetched."""

    entry: UrlEntry
    """The entry of the request; ``kind`` is ``Kind.INLINE``."""
    request: Any = None
    """The request to send. The frontier passes it on unread."""
    answer: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """The future that its caller awaits. The frontier sets nothing but a ``TurnedAwayError``."""

    def turn_away(self, rule: str, *, is_refusal: bool = False) -> None:
        """End it without a fetch; does nothing if it has ended."""
        if not self.answer.done():
            self.answer.set_exception(TurnedAwayError(rule, is_refusal=is_refusal))


class InlineWaiting:
    """The inline requests whose key is not active here, or whose origin's robots.txt is not in memory yet.

    For each key one task makes it active, wherever it is, and reads what is stored of its origins.
    """

    def __init__(
        self,
        backend: Backend,
        clock: Callable[[], float],
        retry: StorageRetry,
        drain: Callable[[], Coroutine[Any, Any, object]],
        tasks: Tasks,
    ) -> None:
        """``drain`` waits until every change so far is durable."""
        self._backend = backend
        self._clock = clock
        self._retry = retry
        self._drain = drain
        self._tasks = tasks
        self._waiting: dict[str, deque[InlineRequest]] = {}
        self._sought: set[str] = set()
        self.is_over = False
        self.adopt: Callable[[Activated], object] = lambda activated: None
        """Takes a key that became active."""
        self.take: Callable[[str, deque[InlineRequest], list[RobotsRecord] | None], bool] = lambda *args: (
            False
        )
        """Takes the requests of a key, with the stored answers of robots.txt; returns False if it is not active."""

    def add(self, key: str, requests: deque[InlineRequest]) -> None:
        """Let ``requests`` wait until their key is active here."""
        if not requests:
            return
        self._waiting.setdefault(key, deque()).extend(requests)
        if key not in self._sought:
            self._sought.add(key)
            self._tasks.start(self._seek(key))

    def turn_away(self, rule: str) -> None:
        """End all of them, for good."""
        self.is_over = True
        for requests in self._waiting.values():
            for request in requests:
                request.turn_away(rule)
        self._waiting.clear()

    async def _seek(self, key: str) -> None:
        """Make a key active and hand over its requests."""
        try:
            while waiting := self._waiting.get(key):
                origins = {request.entry.origin for request in waiting}
                robots = [
                    record
                    for origin in sorted(origin for origin in origins if origin is not None)
                    if (record := await self._read_robots(origin, key)) is not None
                ]
                if self._hand_over(key, robots):
                    continue
                # A key that is on its way back to the backend must have its final record there.
                await self._drain()
                acquired = await self._retry.with_retry(lambda: self._backend.acquire_key(key, self._clock()))
                if isinstance(acquired, Activated):
                    self.adopt(acquired)
                    # Even if nobody waits any more: the key has its place from now on.
                    self._hand_over(key, robots)
                elif acquired is Unavailable.GIVEN_UP:
                    for request in self._waiting.pop(key, ()):
                        request.turn_away(HOST_UNAVAILABLE)
                elif not self._hand_over(key, robots):
                    await asyncio.sleep(ASKED_AGAIN_SECONDS)
                    self._forget_cancelled(key)
        finally:
            self._sought.discard(key)

    async def _read_robots(self, origin: str, key: str) -> RobotsRecord | None:
        return await self._retry.with_retry(lambda: self._backend.read_robots(origin, key))

    def _hand_over(self, key: str, robots: list[RobotsRecord]) -> bool:
        """Hand the requests over if the key is active."""
        if not self.take(key, self._waiting.get(key, deque()), robots):
            return False
        self._waiting.pop(key, None)
        return True

    def _forget_cancelled(self, key: str) -> None:
        left = deque(request for request in self._waiting.get(key, ()) if not request.answer.done())
        if left:
            self._waiting[key] = left
        else:
            self._waiting.pop(key, None)
