"""The memory budget of all bodies together, from their first byte until they are archived.

::

    BODY_MEMORY_BYTES = shares + pool      share = half of the budget / CONCURRENT_REQUESTS

Every open request has a share of its own, which it uses without asking. When a body outgrows its share, the most
memory that it may come to need is requested at once from the pool. Grants are given in the order of the requests;
until then the body is not read from its connection. So small pages never wait for large ones, and there is no
deadlock: a request takes part once, and holds nothing of the pool while it waits.

A body that may become larger than the pool is granted all of the pool: it is read alone.

A page whose items wait for inline requests keeps its grant until these have ended. So the body of an inline request
never waits for pages alone: it has no share and takes its memory from the pool, and one such body at a time that
would have to wait is read beyond the pool. In these two cases the budget may be exceeded, each time by one body. If
a page waits for memory, and an inline request for the key of the page, the page gives way: see ``reading.py``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

SETTING = "BODY_MEMORY_BYTES"
DEFAULT_BYTES = 256 << 20
"""The default budget in bytes: with 256 requests at a time each has a share of half a megabyte."""


class BodyMemory:
    """The budget of one crawl. All accounts are used on the event loop."""

    def __init__(self, total_bytes: int, requests: int) -> None:
        """``requests``: the largest number of requests that have a body at a time."""
        self.total = total_bytes
        self.share = total_bytes // 2 // requests
        """Bytes that every request may use without asking."""
        self.pool = total_bytes - self.share * requests
        self.free = self.pool
        """Bytes of the pool that are not granted."""
        self.used = 0
        """Bytes of bodies that are in memory now."""
        self.peak = 0
        """The maximum of ``used`` so far."""
        self._waiting: deque[_Wait] = deque()
        self._beyond: BodyAccount | None = None
        """The account of an inline request that is read beyond the pool."""

    def divide(self, requests: int) -> None:
        """Divide what is not the pool among another number of requests. Open accounts keep their shares."""
        self.share = (self.total - self.pool) // requests

    @property
    def waiting(self) -> int:
        """The number of bodies that are not read on until others are released."""
        return len(self._waiting)

    def is_used_up(self) -> bool:
        """True if no further request should begin."""
        return self.used >= self.total

    def account(self, *, is_inline: bool = False) -> BodyAccount:
        """Return an account for a new request."""
        return BodyAccount(self, 0 if is_inline else self.share, is_inline=is_inline)

    def request(self, wait: _Wait) -> bool:
        """Grant at once (return True) or later, in order."""
        if (not self._waiting and self._grants(wait)) or self._grants_beyond(wait):
            return True
        self._waiting.append(wait)
        return False

    def forget(self, wait: _Wait) -> None:
        """Remove a waiting account."""
        self._waiting.remove(wait)
        self._give()

    def give_back(self, amount: int) -> None:
        """Return a part of a grant to the pool and serve the accounts that wait for it."""
        self.free += amount
        self._give()

    def no_longer_beyond(self, account: BodyAccount) -> None:
        """Note that an account needs no memory beyond the pool any more, if it had some."""
        if self._beyond is account:
            self._beyond = None
            self._give()

    def _give(self) -> None:
        while self._waiting and self._grants(self._waiting[0]):
            self._waiting.popleft().resume()
        for wait in self._waiting:
            if self._grants_beyond(wait):
                self._waiting.remove(wait)
                wait.resume()
                return

    def _grants_beyond(self, wait: _Wait) -> bool:
        if self._beyond is not None or not wait.account.is_inline:
            return False
        self._beyond = wait.account
        return True

    def _grants(self, wait: _Wait) -> bool:
        if wait.wanted > self.free:
            return False
        self.free -= wait.wanted
        wait.account.granted = wait.wanted
        return True


class BodyAccount:
    """The memory that one request uses: the bytes of its body and of the decoded body."""

    __slots__ = ("_memory", "_share", "_wait", "granted", "has_requested", "is_inline", "size")

    def __init__(self, memory: BodyMemory, share: int, *, is_inline: bool) -> None:
        """``share``: bytes that it may use without asking."""
        self._memory = memory
        self._share = share
        self.is_inline = is_inline
        self._wait: _Wait | None = None
        self.has_requested = False
        """True once it has requested a part of the pool, which is allowed once."""
        self.size = 0
        self.granted = 0
        """Bytes of the pool that are granted to it."""

    @property
    def room(self) -> int:
        """The number of bytes that may still be added."""
        return max(self._share + self.granted - self.size, 0)

    @property
    def is_waiting(self) -> bool:
        """True if the body must not be read on yet."""
        return self._wait is not None

    def resize(self, size: int) -> None:
        """Set the number of bytes in memory."""
        memory = self._memory
        memory.used += size - self.size
        self.size = size
        memory.peak = max(memory.peak, memory.used)

    def request(self, most: int | None, then: Callable[[], None]) -> bool:
        """Request the most bytes that the request may need; None if that is unknown.

        Return False if it has to wait; ``then`` is called when it may go on. A second call grants nothing.
        """
        if self.has_requested:
            return True
        self.has_requested = True
        memory = self._memory
        wanted = memory.pool if most is None else min(max(most - self._share, 0), memory.pool)
        wait = _Wait(self, wanted, then)
        if memory.request(wait):
            return True
        self._wait = wait
        return False

    async def until_granted(self, most: int) -> None:
        """Call ``request`` and wait for the grant."""
        granted = asyncio.Event()
        if not self.request(most, granted.set):
            try:
                await granted.wait()
            finally:
                self.stop_waiting()

    def stop_waiting(self) -> None:
        """Withdraw the request, which needs no more memory."""
        if self._wait is not None:
            wait, self._wait = self._wait, None
            self._memory.forget(wait)

    def trim(self, extra: int = 0) -> None:
        """Return granted bytes that are not needed: no more than ``extra`` bytes will be added."""
        if self._wait is None and not self.granted:
            return
        self.stop_waiting()
        needed = max(self.size + extra - self._share, 0)
        if self.granted > needed:
            surplus, self.granted = self.granted - needed, needed
            self._memory.give_back(surplus)

    def release(self) -> None:
        """Return all memory: the body is no longer held. Later calls do nothing."""
        if self.size:
            self.resize(0)
        self.trim()
        self._memory.no_longer_beyond(self)

    def _granted(self) -> None:
        self._wait = None


class _Wait:
    """An account that waits for a part of the pool."""

    __slots__ = ("_then", "account", "wanted")

    def __init__(self, account: BodyAccount, wanted: int, then: Callable[[], None]) -> None:
        self.account = account
        self.wanted = wanted
        self._then = then

    def resume(self) -> None:
        """Continue the request, whose memory has been granted."""
        self.account._granted()
        self._then()


_memories: WeakKeyDictionary[Crawler, BodyMemory] = WeakKeyDictionary()


def get_body_memory(crawler: Crawler) -> BodyMemory:
    """Return the budget of a crawl, which the first call creates."""
    memory = _memories.get(crawler)
    if memory is None:
        settings = crawler.settings
        total = settings.getint(SETTING, DEFAULT_BYTES)
        memory = _memories[crawler] = BodyMemory(total, max(settings.getint("CONCURRENT_REQUESTS"), 1))
    return memory
