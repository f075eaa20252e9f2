"""Content-seen test: digests, queries and verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

from xxhash import xxh3_64_digest, xxh3_128_digest

from webcrawl.features.batched_lookups import BatchedLookups
from webcrawl.features.content_seen.store import Body, ContentLookup, ContentStore

UNKNOWN = ContentLookup()


class ContentSeen:
    """Looks up bodies, many at once. If the store is full, a body counts as new: processing a page twice does no
    harm."""

    def __init__(self, store: ContentStore) -> None:
        self._lookups = BatchedLookups(store, UNKNOWN)

    async def check_and_add(self, body: Body, text: bytes = b"") -> ContentLookup:
        """Return the result for a body. ``text``: digest of its main text, if that is to be compared too: then pages
        with the same text are duplicates, and a page has changed if its text has."""
        if not text:
            return await self._lookups.look_up(body)
        main_text = Body(text, body.page, body.url, body.at)
        by_bytes, by_main_text = await asyncio.gather(
            self._lookups.look_up(replace(body, page=None)), self._lookups.look_up(main_text)
        )
        return replace(
            by_bytes,
            original=by_bytes.original or by_main_text.original,
            changed=by_main_text.changed,
            by_text=by_bytes.original is None and by_main_text.original is not None,
        )

    def keep(self, body: Body) -> None:
        """Record that the archive has the body, which was the first. A body recorded too late is archived
        once more."""
        self._lookups.keep(body)

    async def close(self) -> None:
        await self._lookups.close()


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
