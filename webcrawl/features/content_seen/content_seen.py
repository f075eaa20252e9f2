"""Content-seen test: queries and answers, the contract of the stores, and batched access to a store."""

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
"""Maximum number of bodies per query of the store."""


@dataclass(frozen=True, slots=True)
class Body:
    """A received body, or its main text. ``digest``: 16 bytes; ``page``: the fingerprint of its URL's canonical form,
    None if the page's change is not queried."""

    digest: bytes
    page: int | None
    url: str
    at: float
    """Epoch seconds when its request was sent."""
    payload: bytes = b""
    """Eight-byte digest of the body as received, in its content coding."""


@dataclass(frozen=True, slots=True)
class Original:
    """URL and time at which a body was first seen."""

    url: str
    at: float
    """Epoch seconds when its request was sent."""


@dataclass(frozen=True, slots=True)
class ContentLookup:
    """Result for a body."""

    original: Original | None = None
    """Set if another URL had the body first."""
    changed: bool | None = None
    """True if the body differs from this URL's last one; None if there was none."""
    archived: Original | None = None
    """URL (possibly this one) under which the same payload is in the archive."""
    first: bool = False
    """True if this body is the original of later duplicates."""
    by_text: bool = False
    """True if the original has the same text but other bytes."""


NEW = ContentLookup(first=True)
UNKNOWN = ContentLookup()


class ContentStore(Protocol):
    """Stores digests of bodies: each with the URL that had it first."""

    async def open(self) -> None:
        """Open the store. :raises webcrawl.errors.StartRefused: it cannot be used"""
        ...

    async def check_and_add(self, bodies: Sequence[Body]) -> list[ContentLookup]:
        """Return the result for each body, in order; new bodies are stored, for all processes of the crawl.

        :raises webcrawl.errors.StorageFull: there are no results, and nothing was stored
        """
        ...

    async def keep(self, bodies: Sequence[Body]) -> None:
        """Record that the archive has these bodies, which were ``first``. :raises webcrawl.errors.StorageFull: it is
        not recorded"""
        ...

    async def close(self) -> None: ...


class ContentSeen:
    """Queries a store for many bodies at once. If the store is full or unavailable, a body counts as new: processing
    a page twice does no harm."""

    def __init__(self, store: ContentStore) -> None:
        self._store = store
        self._waiting: list[tuple[Body, asyncio.Future[ContentLookup]]] = []
        self._kept: list[Body] = []
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self) -> None:
        await self._store.open()

    async def check_and_add(self, body: Body, text: bytes = b"") -> ContentLookup:
        """Return the result for a body. ``text``: digest of its main text, if that is to be compared too: then pages
        with the same text are duplicates, and a page has changed if its text has."""
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
        """Record that the archive has the body, which was the first. A body recorded too late is archived
        once more."""
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
                # A body not recorded as archived is archived once more; the next query reports a lost store.
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
            except Exception as error:  # all waiting callers get the error
                for _, answer in group:
                    answer.set_exception(error)
                return
            for (_, answer), met in zip(group, found, strict=True):
                if not answer.done():
                    answer.set_result(met)


digest: Callable[[bytes], bytes] = xxh3_128_digest
"""Return the 16-byte digest of a body: among 10^12 bodies, two are equal by chance once in 10^14 crawls."""


payload_digest: Callable[[bytes], bytes] = xxh3_64_digest


def follows(choice: str, url: str, original: str, by_text: bool = False) -> bool:
    """Return whether the links of a page are followed that has the same bytes as ``original``, or only the same text.

    ``elsewhere``: where the links may differ. The target of a relative link depends on scheme, host and path of its
    page, and not on the query (RFC 3986, section 5.2.2); pages with the same text may link to anything.
    """
    if choice == "elsewhere":
        return by_text or urlsplit(url)[:3] != urlsplit(original)[:3]
    return choice == "always"
