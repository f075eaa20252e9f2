"""What is asked about a body, what is answered, and the contract of the stores that remember."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import urlsplit

from xxhash import xxh3_64_digest, xxh3_128_digest

from webcrawl.errors import StorageFull, StorageLost

AT_ONCE = 256
"""Bodies that are asked about together, at most."""


@dataclass(frozen=True, slots=True)
class Body:
    """A body that came, or what it says. ``digest``: 16 bytes; ``page``: the fingerprint of its URL's canonical form,
    None where it is not asked whether the page changed.
    """

    digest: bytes
    page: int | None
    url: str
    at: float
    """Epoch seconds when its request was sent."""
    payload: bytes = b""
    """Eight bytes that stand for it as it was received, in its content coding."""


@dataclass(frozen=True, slots=True)
class Original:
    """Where a body was seen first."""

    url: str
    at: float
    """Epoch seconds when its request was sent."""


@dataclass(frozen=True, slots=True)
class ContentLookup:
    """What is known of a body."""

    original: Original | None = None
    """Set when another URL had it first."""
    changed: bool | None = None
    """Whether it is another one than this URL had the last time; None when this is the first time."""
    archived: Original | None = None
    """Under which URL, this one perhaps, the same payload is in the archive."""
    first: bool = False
    """It is the original of those to come."""
    by_text: bool = False
    """The original's bytes are others; what it says is the same."""


NEW = ContentLookup(first=True)
UNKNOWN = ContentLookup()


class ContentStore(Protocol):
    """Remembers bodies by their digests: each by the URL that had it first."""

    async def open(self) -> None:
        """Make ready. :raises webcrawl.errors.StartRefused: the store cannot be used"""
        ...

    async def check_and_add(self, bodies: Sequence[Body]) -> list[ContentLookup]:
        """What is known of each, one after the other; what is new is known from now on, to all of the crawl.

        :raises webcrawl.errors.StorageFull: nothing is known, and nothing was remembered
        """
        ...

    async def keep(self, bodies: Sequence[Body]) -> None:
        """The archive has these, which were ``first``. :raises webcrawl.errors.StorageFull: that is not known then"""
        ...

    async def close(self) -> None: ...


class ContentSeen:
    """Asks a store about many bodies at once. Where the store has no room or is away a body counts as new: to
    process a page twice does no harm."""

    def __init__(self, store: ContentStore) -> None:
        self._store = store
        self._waiting: list[tuple[Body, asyncio.Future[ContentLookup]]] = []
        self._kept: list[Body] = []
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self) -> None:
        await self._store.open()

    async def check_and_add(self, body: Body, text: bytes = b"") -> ContentLookup:
        """What is known of it. ``text``: the digest of what it says, where that is to count: then a page is known by
        the same text too, and changed when its text did.
        """
        if not text:
            return await self._asked(body)
        said = Body(text, body.page, body.url, body.at)
        whole, told = await asyncio.gather(self._asked(replace(body, page=None)), self._asked(said))
        by_text = whole.original is None and told.original is not None
        return replace(whole, original=whole.original or told.original, changed=told.changed, by_text=by_text)

    def _asked(self, body: Body) -> asyncio.Future[ContentLookup]:
        answer: asyncio.Future[ContentLookup] = asyncio.get_running_loop().create_future()
        self._waiting.append((body, answer))
        self._go_on()
        return answer

    def keep(self, body: Body) -> None:
        """The archive has it, and it is the first. What is told too late is archived once more."""
        if not self._closed:
            self._kept.append(body)
            self._go_on()

    async def close(self) -> None:
        self._closed = True
        if self._task is not None:
            await self._task
        await self._store.close()

    def _go_on(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        while self._waiting or self._kept:
            kept, self._kept = self._kept, []
            if kept:
                # What is not known to be archived is archived once more; who asks next hears of a store that is lost.
                with suppress(StorageFull, StorageLost):
                    await self._store.keep(kept)
            await self._ask()
        self._task = None

    async def _ask(self) -> None:
        if self._waiting:
            group, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            try:
                found = await self._store.check_and_add([body for body, _ in group])
            except StorageFull:
                found = [UNKNOWN] * len(group)
            except Exception as error:  # whoever asked must hear of it
                for _, answer in group:
                    answer.set_exception(error)
                return
            for (_, answer), met in zip(group, found, strict=True):
                if not answer.done():
                    answer.set_result(met)


digest: Callable[[bytes], bytes] = xxh3_128_digest
"""Sixteen bytes that stand for a body: of 10^12 bodies no two have the same by chance but once in 10^14 crawls."""


payload_digest: Callable[[bytes], bytes] = xxh3_64_digest


def follows(choice: str, url: str, original: str, by_text: bool = False) -> bool:
    """Whether the links of a page are followed that has the same bytes as ``original``, or the same text alone.

    ``elsewhere``: where they may be other links. What a relative link means depends on scheme, host and path of its
    page, and not on the query (RFC 3986, section 5.2.2); pages that say the same may link to anything.
    """
    if choice == "elsewhere":
        return by_text or urlsplit(url)[:3] != urlsplit(original)[:3]
    return choice == "always"
