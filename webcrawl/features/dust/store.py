"""The store of a crawl's DUST rules and of the URLs that they withhold, which survives a process and is shared by all
processes of the crawl."""

from __future__ import annotations

import asyncio
import json
import struct
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from webcrawl.features.beliefs.belief import BY_HAND
from webcrawl.features.beliefs.store import BeliefStore, Edit, digest_id, reading
from webcrawl.features.dust.learner import DustPage, DustState, PageContent, TrackedRule
from webcrawl.features.dust.rule import DustKind, DustRule
from webcrawl.features.dust.url_parts import url_parts
from webcrawl.features.dust.withholding import WithheldUrl
from webcrawl.storage.tables import HEADER, Change, Durability, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from webcrawl.storage.tables import Tables

    Rows = Sequence[Row | None]

SPEC = TableSpec(
    "dust",
    "dust",
    without="the crawl goes on, and learns the rules of its sites anew",
    durability=Durability.PROCESS,
    is_ordered=True,
)
"""One partition has all rules; its header is their version. A partition of each site has its withheld URLs; its
header has their number, and for each rule that of its URLs and of those that were there when it was checked last."""

PAGES = TableSpec(
    "dust_pages",
    "dust",
    without="the crawl goes on, and learns the rules of its sites from the pages that come",
    durability=Durability.PROCESS,
    is_timed=True,
    is_ordered=True,
)
"""A partition of each site has its pages with the times of their fetches; its header changes with each write."""

PAGES_AT_ONCE = 2000
"""Pages that are read or deleted at once."""
_LATEST = 1e12
_LATER = {
    DustState.PROBING: 0,
    DustState.CONFIRMED: 1,
    DustState.DOUBTED: 1,
    DustState.REFUTED: 2,
    DustState.UNDONE: 3,
}
"""The order in which one state replaces another. A doubt may end either way."""
_PAGE = struct.Struct("<QQ?H")
"""The digests of the content of a page, whether its links are known, and the length of its sketch; that and the URL
follow."""


class StoredSite(NamedTuple):
    """The result of storing withheld URLs of a site."""

    site: str
    new: list[WithheldUrl]
    """Those that were not stored before."""
    stored: int
    """The number of all."""


class DustStore(BeliefStore[TrackedRule]):
    """The rules and the withheld URLs of their sites."""

    spec = SPEC
    partition = "rules"
    what = "DUST rules"

    def _pack(self, belief: TrackedRule) -> Row:
        return _row(belief)

    def _unpack(self, row: Row) -> TrackedRule:
        return _tracked(row)

    def _join(self, kept: TrackedRule, new: TrackedRule) -> TrackedRule | None:
        return new if _LATER[kept.state] <= _LATER[new.state] else None

    def _undone(self, belief: TrackedRule, now: float) -> TrackedRule | None:
        if belief.state is DustState.UNDONE:
            return None
        return replace(belief, state=DustState.UNDONE, since=now, why=BY_HAND)

    async def _count(self, beliefs: Sequence[TrackedRule]) -> list[TrackedRule]:
        sites = sorted({tracked.rule.site for tracked in beliefs})
        headers = await self._table.get([RowId(_partition(site), HEADER) for site in sites])
        counts = dict(zip(sites, map(_counts, headers), strict=True))
        for tracked in beliefs:
            tracked.withheld, tracked.checked = counts[tracked.rule.site].of(tracked.id)
        return sorted(beliefs, key=lambda tracked: (tracked.rule.site, tracked.since, tracked.id))

    async def withhold(self, withheld: Sequence[WithheldUrl]) -> list[StoredSite]:
        """Record withheld URLs. Of those that are stored already, the rules that withhold them now count."""
        by_site: dict[str, dict[bytes, WithheldUrl]] = {}
        for each in withheld:
            parts = url_parts(each.url)
            if parts is not None:
                by_site.setdefault(parts.site, {})[digest_id(each.url)] = each
        results = []
        for site, urls in by_site.items():
            outcome: dict[str, Any] = {}

            def change(header: Row | None, stored: Rows) -> Change | None:
                counts = _counts(header)
                known = {row.id: _withheld(row) for row in stored if row is not None}
                new = [row_id for row_id in urls if row_id not in known]  # noqa: B023 - it is called in this turn
                changed = [
                    row_id
                    for row_id, each in known.items()
                    if set(each.rules) != set(urls[row_id].rules)  # noqa: B023
                ]
                for row_id in changed:
                    counts.add(known[row_id].rules, -1)
                for row_id in (*new, *changed):
                    counts.add(urls[row_id].rules, 1)  # noqa: B023
                counts.all += len(new)
                outcome.update(new=[urls[row_id] for row_id in new], stored=counts.all)  # noqa: B023
                if not new and not changed:
                    return None
                rows = [Row(row_id, json.dumps(urls[row_id]).encode()) for row_id in (*new, *changed)]  # noqa: B023
                return Change(_partition(site), [*rows, counts.header()])  # noqa: B023

            await self._edit(Edit(_partition(site), list(urls), change))
            results.append(StoredSite(site, outcome["new"], outcome["stored"]))
        return results

    async def owed(self, site: str, after: bytes, most: int) -> tuple[list[WithheldUrl], bytes | None]:
        """Return some of the withheld URLs of a site, and where to go on; None if there are no more."""
        return await self._page(_partition(site), after, most, _withheld)

    async def requeued(self, site: str, urls: Sequence[str]) -> None:
        """Delete withheld URLs: they are in the queue again or can no longer be queued."""

        def change(header: Row | None, stored: Rows) -> Change | None:
            counts = _counts(header)
            gone = [row for row in stored if row is not None]
            for row in gone:
                counts.add(_withheld(row).rules, -1)
            counts.all -= len(gone)
            return Change(_partition(site), [counts.header()], [row.id for row in gone]) if gone else None

        await self._edit(Edit(_partition(site), [digest_id(url) for url in urls], change))

    async def owing(self, rules: Mapping[str, str]) -> list[str]:
        """Return those of some rules, given by their ids with their sites, that have withheld URLs."""
        sites = sorted(set(rules.values()))
        headers = await self._table.get([RowId(_partition(site), HEADER) for site in sites]) if sites else []
        with reading(self.what):
            counts = dict(zip(sites, map(_counts, headers), strict=True))
        return [rule_id for rule_id, site in rules.items() if counts[site].of(rule_id)[0]]

    async def check(self, site: str, checked: Mapping[str, int]) -> None:
        """Note how many URLs the rules of a site had withheld, by their ids, when samples of these were compared."""

        def change(header: Row | None, _: Rows) -> Change | None:
            counts = _counts(header)
            counts.checked |= checked
            return Change(_partition(site), [counts.header()])

        await self._edit(Edit(_partition(site), [], change))


class DustPages:
    """The store of the pages that the rules know. Every method may raise the CrawlError of its storage."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables.table(PAGES)

    async def header(self, site: str) -> bytes | None:
        """Return a value that differs after each change of the pages of a site; None if there are none."""
        [header] = await self._table.get([RowId(site, HEADER)])
        return None if header is None else header.value

    async def read(self, site: str) -> list[DustPage]:
        """Return all pages of a site, the oldest first."""
        pages: list[DustPage] = []
        after = HEADER
        while rows := await self._table.scan(site, PAGES_AT_ONCE, after):
            with reading("DUST rules"):
                pages += filter(None, map(_page, rows))
            after = rows[-1].id
        return sorted(pages, key=lambda page: page.at)

    async def find(self, site: str, urls: Sequence[str]) -> list[DustPage | None]:
        """Return the page that is stored of each of some URLs of a site."""
        rows = await self._table.get([RowId(site, digest_id(url)) for url in urls])
        with reading("DUST rules"):
            return [None if row is None else _page(row) for row in rows]

    async def put(self, by_site: Mapping[str, Sequence[DustPage]]) -> dict[str, tuple[int, bytes]]:
        """Store pages. Return for each site how many are new, and its header from now on."""
        rows = {site: {(row := _page_row(page)).id: row for page in pages} for site, pages in by_site.items()}
        placed = [(site, row) for site, of_site in rows.items() for row in of_site.values()]
        headers = {site: uuid4().bytes for site in rows}
        changes = [Change(site, [Row(HEADER, header)]) for site, header in headers.items()]
        before, _ = await asyncio.gather(self._table.swap(placed), self._table.update(changes))
        new = Counter(site for (site, _), value in zip(placed, before, strict=True) if value is None)
        return {site: (new[site], header) for site, header in headers.items()}

    async def delete_oldest(self, site: str, count: int) -> None:
        """Delete the oldest pages of a site."""
        while count > 0:
            [rows] = await self._table.due_rows([site], _LATEST, min(count, PAGES_AT_ONCE))
            if not rows:
                return
            await self._table.update([Change(site, delete=[row.id for row in rows])])
            count -= len(rows)

    async def bound(self, most: int) -> None:
        """Delete the oldest pages of the sites that were not seen for longest if there are more than ``most``."""
        excess = (await self._table.status(_LATEST, 0)).rows - most
        while excess > 0:
            due = await self._table.due_partitions(_LATEST, 1)
            if not due:
                return
            count = min(excess, PAGES_AT_ONCE)
            await self.delete_oldest(due[0].partition, count)
            excess -= count


def _row(tracked: TrackedRule) -> Row:
    value = {
        "rule": asdict(tracked.rule),
        "state": tracked.state,
        "since": tracked.since,
        "pairs": list(tracked.pairs.items()),
        "predictions": tracked.predictions,
        "probes": tracked.probes,
        "samples": tracked.samples,
        "why": tracked.why,
        "pair": tracked.pair,
    }
    return Row(tracked.rule.id.encode(), json.dumps(value).encode())


def _tracked(row: Row) -> TrackedRule:
    value = json.loads(row.value)
    rule = DustRule(**{**value["rule"], "kind": DustKind(value["rule"]["kind"])})
    return TrackedRule(
        rule,
        DustState(value["state"]),
        value["since"],
        dict(value["pairs"]),
        value["predictions"],
        value["probes"],
        samples=value["samples"],
        why=value["why"],
        pair=tuple(value["pair"]),
    )


def _withheld(row: Row) -> WithheldUrl:
    url, depth, via, rules = json.loads(row.value)
    return WithheldUrl(url, depth, via, tuple(rules))


def _page_row(page: DustPage) -> Row:
    body, links, sketch = page.content
    head = _PAGE.pack(body, links or 0, links is not None, len(sketch))
    value = head + sketch + page.url.encode("utf-8", "surrogatepass")
    return Row(digest_id(page.url), value, page.at)


def _page(row: Row) -> DustPage | None:
    try:
        body, links, has_links, length = _PAGE.unpack_from(row.value)
    except struct.error as error:
        raise ValueError(error) from error
    sketch, rest = row.value[_PAGE.size :][:length], row.value[_PAGE.size + length :]
    url = rest.decode("utf-8", "surrogatepass")
    parts = url_parts(url)
    content = PageContent(body, links if has_links else None, sketch)
    return None if parts is None else DustPage(url, parts, content, row.at or 0.0)


@dataclass(slots=True)
class _WithheldCounts:
    """The number of withheld URLs of a site, and of each rule that of its URLs and of those that were checked."""

    all: int = 0
    of_rules: dict[str, int] = field(default_factory=dict)
    checked: dict[str, int] = field(default_factory=dict)

    def of(self, rule_id: str) -> tuple[int, int]:
        return self.of_rules.get(rule_id, 0), self.checked.get(rule_id, 0)

    def add(self, rules: Iterable[str], by: int) -> None:
        for rule_id in rules:
            self.of_rules[rule_id] = max(self.of_rules.get(rule_id, 0) + by, 0)

    def header(self) -> Row:
        return Row(HEADER, json.dumps([self.all, self.of_rules, self.checked]).encode())


def _counts(header: Row | None) -> _WithheldCounts:
    if header is None:
        return _WithheldCounts()
    count, of_rules, *checked = json.loads(header.value)
    return _WithheldCounts(int(count), dict(of_rules), dict(checked[0]) if checked else {})


def _partition(site: str) -> str:
    return digest_id(site).hex()
