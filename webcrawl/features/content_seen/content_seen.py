"""Content-seen test: queries, and batched access to the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from xxhash import xxh3_64_digest, xxh3_128_digest

from webcrawl.errors import StorageFull, StorageLost
from webcrawl.features.content_seen.store import Body, ContentLookup, ContentStore

AT_ONCE = 256
"""Maximum number of bodies per query of the store."""
PER_TURN = 8
"""Maximum number of pages that go on in one turn of the event loop. Their next steps read and parse them: 92 answers
in one turn blocked the loop for 270 ms.
"""


UNKNOWN = ContentLookup()


class ContentSeen:
    """Queries a store for many bodies at once. If the store is full or unavailable, a body counts as new: processing
    a page twice does no harm."""

    def __init__(self, store: ContentStore) -> None:
        self._store = store
        self._waiting: list[tuple[Body, asyncio.Future[ContentLookup]]] = []
        self._kept: list[Body] = []
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def check_and_add(self, body: Body, text: bytes = b"") -> ContentLookup:
        """Return the result for a body. ``text``: digest of its main text, if that is to be compared too: then pages
        with the same text are duplicates, and a page has changed if its text has."""
        if not text:
            return await self._look_up(body)
        main_text = Body(text, body.page, body.url, body.at)
        by_bytes, by_main_text = await asyncio.gather(
            self._look_up(replace(body, page=None)), self._look_up(main_text)
        )
        return replace(
            by_bytes,
            original=by_bytes.original or by_main_text.original,
            changed=by_main_text.changed,
            by_text=by_bytes.original is None and by_main_text.original is not None,
        )

    def _look_up(self, body: Body) -> asyncio.Future[ContentLookup]:
        result: asyncio.Future[ContentLookup] = asyncio.get_running_loop().create_future()
        self._waiting.append((body, result))
        self._go_on()
        return result

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
            await self._query()
        self._task = None

    async def _query(self) -> None:
        if self._waiting:
            group, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            try:
                lookups = await self._store.check_and_add([body for body, _ in group])
            except StorageFull:
                lookups = [UNKNOWN] * len(group)
            except Exception as error:  # all waiting callers get the error
                for _, result in group:
                    if not result.done():
                        result.set_exception(error)
                return
            for number, ((_, result), lookup) in enumerate(zip(group, lookups, strict=True), 1):
                if not result.done():
                    result.set_result(lookup)
                if number % PER_TURN == 0:
                    await asyncio.sleep(0)


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
