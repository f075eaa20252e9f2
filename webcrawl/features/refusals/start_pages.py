"""Start pages of parked domains that no signature knows: the same short text about a domain, on many domains.

The text counts without the name of its host, and without digits.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from xxhash import xxh3_64_digest, xxh3_128_digest

from webcrawl.errors import StorageLost
from webcrawl.features.refusals.recogniser import has_many_links, visible_text
from webcrawl.storage.tables import Change, Durability, Row, RowId, TableSpec

if TYPE_CHECKING:
    from webcrawl.storage.tables import Tables

SPEC = TableSpec(
    "start_pages",
    "traps",
    without="the crawl goes on, and counts the domains with the same start page anew",
    durability=Durability.POWER,
    is_ordered=True,
)
"""A row for each text: the digests of the politeness keys that have it, at most as many as are needed."""

BODY_MAX = 20_000
TEXT_MIN, TEXT_MAX = 20, 2_000
"""Characters of the text. A longer one is content."""
DOMAIN_WORDS = ("domain", "dominio", "domínio", "domaine", "domein", "домен", "域名", "ドメイン")
"""Words for a domain name: a start page without one is that of a new web server."""
_NAME_BYTES = 8
_TRIES = 5
_DIGITS = re.compile(r"\d+")


def parked_text(url: str, host: str, body: bytes) -> bytes | None:
    """Return the digest of the text of a page that may be that of a parked domain; None for other pages."""
    if len(body) > BODY_MAX or not url.endswith("/") or url.count("/") != 3 or has_many_links(body):
        return None
    text = visible_text(body, TEXT_MAX).lower()
    if not TEXT_MIN <= len(text) <= TEXT_MAX or not any(word in text for word in DOMAIN_WORDS):
        return None
    for name in (host, host.removeprefix("www.")):
        text = text.replace(name, "")
    return xxh3_128_digest(_DIGITS.sub("", text).encode("utf-8", "surrogatepass"))


class StartPages:
    """Counts the domains with the same text, for all processes of a crawl."""

    def __init__(self, tables: Tables, names: int) -> None:
        """``names``: the number of domains from which a text is that of parked domains."""
        self._table = tables.table(SPEC)
        self._names = names
        self._lock = asyncio.Lock()
        """Pages of this process are counted one after the other: only other processes may change a row meanwhile."""

    async def is_common(self, text: bytes, key: str) -> bool:
        """Count a text of a politeness key. Return whether enough domains have it by now.

        :raises StorageLost: the storage cannot be reached, or has a row of another form
        """
        async with self._lock:
            return await self._count(text, key)

    async def _count(self, text: bytes, key: str) -> bool:
        partition, name = f"t{text[0]:02x}", xxh3_64_digest(key.encode("utf-8", "surrogatepass"))
        for _ in range(_TRIES):
            [row] = await self._table.get([RowId(partition, text)])
            known = b"" if row is None else row.value
            if len(known) % _NAME_BYTES:
                raise StorageLost("what is stored of start pages cannot be read")
            names = {known[at : at + _NAME_BYTES] for at in range(0, len(known), _NAME_BYTES)}
            if name in names or len(names) >= self._names:
                return len(names) >= self._names
            put, expected = [Row(text, known + name)], {text: None if row is None else known}
            [is_done] = await self._table.update([Change(partition, put, expected=expected)])
            if is_done:
                return len(names) + 1 >= self._names
        return False
