"""The URLs whose fetch failed for good, so that an operator can have them fetched again.

The frontier knows a URL that failed by its fingerprint alone. This store keeps the URL itself, for all processes of a
crawl and for later runs.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from xxhash import xxh3_128_digest

from webcrawl.errors import StorageLost
from webcrawl.frontier.records import UrlEntry
from webcrawl.storage.tables import HEADER, Change, Durability, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.storage.tables import Tables

SPEC = TableSpec(
    "failures",
    "failures",
    without="the crawl goes on; URLs that failed cannot be fetched again by scrapy retry",
    durability=Durability.PROCESS,
    is_ordered=True,
)

FAILURES_MOST = 100_000
"""URLs that are kept."""
ENTRY_CHARACTERS_MOST = 20_000
"""Characters of a URL with all that belongs to its Request. Longer ones are not kept."""
AT_ONCE = 500
"""Rows that are read at once."""
_FAILED = "failed"
"""The only partition; its header has the number of its rows."""
_AGAIN = {"position": 0, "attempts": 0, "repeat": True}
"""The fields of an entry that is queued again. Its fingerprint is known, so that it counts as a repeat."""


def is_failure(status: int) -> bool:
    """Return whether a status says that the server, for the moment, cannot answer as it should."""
    return status == 429 or status >= 500


@dataclass(frozen=True, slots=True)
class FailedUrl:
    """A URL whose fetch failed for good."""

    entry: UrlEntry
    error: str
    """The word of the fetch log, the rule by which it failed, or the status."""
    at: float
    """Epoch seconds."""

    @property
    def id(self) -> bytes:
        return xxh3_128_digest(f"{self.entry.key}\n{self.entry.fingerprint}".encode("utf-8", "surrogatepass"))

    def again(self) -> UrlEntry:
        """Return the entry as it is queued again."""
        return UrlEntry(**{**asdict(self.entry), **_AGAIN})


@dataclass(frozen=True, slots=True)
class Selection:
    """Some of the URLs that failed. An empty text selects all."""

    host: str = ""
    """A politeness key, or a host with its subdomains."""
    error: str = ""
    """The kind of error."""

    def has(self, failure: FailedUrl) -> bool:
        if self.error and failure.error != self.error:
            return False
        if not self.host or failure.entry.key == self.host:
            return True
        host = urlsplit(failure.entry.url).hostname or ""
        return host == self.host or host.endswith(f".{self.host}")


class FailureStore:
    """Every method may raise the CrawlError of its storage. Then the call can safely be repeated."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.table(SPEC)

    async def add(self, failures: Sequence[FailedUrl]) -> None:
        """Keep URLs that failed, in place of earlier failures of the same URLs. If there are too many, new ones are
        left out."""
        rows = {failure.id: _row(failure) for failure in failures}
        rows = {name: row for name, row in rows.items() if len(row.value) <= ENTRY_CHARACTERS_MOST}
        while rows:
            header, *known = await self._table.get([RowId(_FAILED, row_id) for row_id in (HEADER, *rows)])
            count, there = _count(header), {row.id for row in known if row is not None}
            new = [name for name in rows if name not in there][: max(FAILURES_MOST - count, 0)]
            put = [row for name, row in rows.items() if name in there or name in new]
            if await self._update(header, count + len(new), put=put):
                return

    async def some(self, after: bytes = HEADER) -> list[FailedUrl]:
        """Return some URLs with ids after ``after``, in the order of their ids; none at the end."""
        return [_failure(row) for row in await self._table.scan(_FAILED, AT_ONCE, after)]

    async def count(self, selection: Selection) -> int:
        """Return the number of URLs that are kept, of a selection."""
        number, after = 0, HEADER
        while some := await self.some(after):
            number += sum(map(selection.has, some))
            after = some[-1].id
        return number

    async def remove(self, failures: Sequence[FailedUrl]) -> None:
        """Forget URLs: they are queued again, or need not be."""
        ids = [failure.id for failure in failures]
        while ids:
            header, *known = await self._table.get([RowId(_FAILED, row_id) for row_id in (HEADER, *ids)])
            gone = [row.id for row in known if row is not None]
            if not gone or await self._update(header, max(_count(header) - len(gone), 0), delete=gone):
                return

    async def claim(self, worker: str, seconds: float) -> bool:
        """Return whether ``worker`` has the exclusive right to queue them again, for ``seconds`` from now."""
        return await self._tables.lock("failures", worker, seconds)

    async def _update(
        self, header: Row | None, count: int, *, put: Sequence[Row] = (), delete: Sequence[bytes] = ()
    ) -> bool:
        expected = {HEADER: None if header is None else header.value}
        change = Change(_FAILED, [*put, Row(HEADER, str(count).encode())], list(delete), expected)
        [is_made] = await self._table.update([change])
        return is_made


def _count(header: Row | None) -> int:
    return 0 if header is None else int(header.value)


_NAMES = tuple(item.name for item in fields(UrlEntry))
_values = attrgetter(*_NAMES)
_USUAL = _values(UrlEntry("", "", 0))
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def _row(failure: FailedUrl) -> Row:
    values = zip(_NAMES, _values(failure.entry), _USUAL, strict=True)
    unusual = {name: value for name, value, usual in values if value != usual}
    fields: dict[str, Any] = {"entry": unusual, "error": failure.error, "at": round(failure.at, 3)}
    return Row(failure.id, _encode(fields).encode())


def _failure(row: Row) -> FailedUrl:
    try:
        fields = json.loads(row.value)
        entry = {name: value for name, value in fields["entry"].items() if name in _NAMES}
        return FailedUrl(
            UrlEntry(**{"url": "", "key": "", "fingerprint": 0, **entry}), fields["error"], fields["at"]
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StorageLost(f"what is stored of failed URLs cannot be read: {error}") from error
