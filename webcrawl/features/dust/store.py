"""The store of a crawl's DUST rules and of the URLs that they withhold, which survives a process and is shared by all
processes of the crawl."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from xxhash import xxh3_128_digest

from webcrawl.errors import StorageLost
from webcrawl.features.dust.learner import DustState, TrackedRule
from webcrawl.features.dust.rule import DustKind, DustRule
from webcrawl.features.dust.url_parts import url_parts
from webcrawl.features.dust.withholding import WITHHELD_PER_SITE, WithheldUrl
from webcrawl.storage.tables import HEADER, Change, Durability, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
header has their number, and that of each rule."""

BY_HAND = "undone by an operator"

_RULES = "rules"
_AT_ONCE = 500
_LATER = (DustState.PROBING, DustState.CONFIRMED, DustState.REFUTED, DustState.UNDONE)
"""The states that are stored, in the order in which one replaces another."""


class StoredSite(NamedTuple):
    """The result of storing withheld URLs of a site."""

    site: str
    new: list[WithheldUrl]
    """Those that were not stored before."""
    stored: int
    """The number of all."""


class DustStore:
    """Every method may raise the CrawlError of its storage. Then nothing was changed, or the call can safely be
    repeated."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.table(SPEC)

    async def version(self) -> str:
        """Return a text that differs after each change of a rule; withheld URLs do not change it."""
        [header] = await self._table.get([RowId(_RULES, HEADER)])
        return "" if header is None else header.value.hex()

    async def rules(self) -> list[TrackedRule]:
        """Return all rules, oldest first, with the number of URLs withheld."""
        rows: list[Row] = []
        while some := await self._table.scan(_RULES, _AT_ONCE, rows[-1].id if rows else HEADER):
            rows += some
        with _reading():
            rules = [_tracked(row) for row in rows]
            sites = sorted({tracked.rule.site for tracked in rules})
            headers = await self._table.get([RowId(_partition(site), HEADER) for site in sites])
            counts = dict(zip(sites, map(_counts, headers), strict=True))
        for tracked in rules:
            tracked.withheld = tracked.checked = counts[tracked.rule.site][1].get(tracked.rule.id, 0)
        return sorted(rules, key=lambda tracked: (tracked.rule.site, tracked.since, tracked.rule.id))

    async def put(self, rules: Sequence[TrackedRule]) -> None:
        """Store rules. A state does not replace a later one: a rule that was undone stays so."""
        new = {tracked.rule.id.encode(): tracked for tracked in rules}

        def change(_: Row | None, stored: Rows) -> Change | None:
            kept = {row.id: _tracked(row) for row in stored if row is not None}
            rows = [
                _row(tracked)
                for row_id, tracked in new.items()
                if row_id not in kept or _LATER.index(kept[row_id].state) <= _LATER.index(_as_stored(tracked))
            ]
            return Change(_RULES, [*rows, Row(HEADER, uuid4().bytes)]) if rows else None

        if new:
            await self._edit(_RULES, list(new), change)

    async def undo(self, rule_ids: Sequence[str], now: float) -> None:
        """Undo rules at ``now``, in epoch seconds: nothing is withheld by them from then on."""

        def change(_: Row | None, stored: Rows) -> Change | None:
            rules = [_tracked(row) for row in stored if row is not None]
            undone = [
                _row(replace(tracked, state=DustState.UNDONE, since=now, why=BY_HAND))
                for tracked in rules
                if tracked.state is not DustState.UNDONE
            ]
            return Change(_RULES, [*undone, Row(HEADER, uuid4().bytes)]) if undone else None

        if rule_ids:
            await self._edit(_RULES, [rule_id.encode() for rule_id in rule_ids], change)

    async def withhold(self, withheld: Sequence[WithheldUrl]) -> list[StoredSite]:
        """Record withheld URLs."""
        by_site: dict[str, dict[bytes, WithheldUrl]] = {}
        for each in withheld:
            parts = url_parts(each.url)
            if parts is not None:
                by_site.setdefault(parts.site, {})[_id(each.url)] = each
        results = []
        for site, urls in by_site.items():
            outcome: dict[str, Any] = {}

            def change(header: Row | None, stored: Rows) -> Change | None:
                count, of_rules = _counts(header)
                known = {row.id for row in stored if row is not None}
                new = [row_id for row_id in urls if row_id not in known]  # noqa: B023 - it is called in this turn
                new = new[: max(WITHHELD_PER_SITE + _AT_ONCE - count, 0)]
                for row_id in new:
                    for rule_id in urls[row_id].rules:  # noqa: B023
                        of_rules[rule_id] = of_rules.get(rule_id, 0) + 1
                outcome.update(new=[urls[row_id] for row_id in new], stored=count + len(new))  # noqa: B023
                rows = [Row(row_id, json.dumps(urls[row_id]).encode()) for row_id in new]  # noqa: B023
                return Change(_partition(site), [*rows, _header(count + len(new), of_rules)])  # noqa: B023

            await self._edit(_partition(site), list(urls), change)
            results.append(StoredSite(site, outcome["new"], outcome["stored"]))
        return results

    async def owed(self, site: str, after: bytes, most: int) -> tuple[list[WithheldUrl], bytes | None]:
        """Return some of the withheld URLs of a site, and where to go on; None if there are no more."""
        rows = await self._table.scan(_partition(site), most, after)
        with _reading():
            urls = [_withheld(row) for row in rows]
        return urls, rows[-1].id if len(rows) == most else None

    async def requeued(self, site: str, urls: Sequence[str]) -> None:
        """Delete withheld URLs: they are in the queue again or can no longer be queued."""

        def change(header: Row | None, stored: Rows) -> Change | None:
            count, of_rules = _counts(header)
            gone = [row for row in stored if row is not None]
            for row in gone:
                for rule_id in _withheld(row).rules:
                    of_rules[rule_id] = max(of_rules.get(rule_id, 0) - 1, 0)
            left = _header(count - len(gone), of_rules)
            return Change(_partition(site), [left], [row.id for row in gone]) if gone else None

        await self._edit(_partition(site), [_id(url) for url in urls], change)

    async def claim(self, worker: str, seconds: float) -> bool:
        """Return whether ``worker`` has the exclusive right to queue URLs of undone rules, for ``seconds`` from now;
        it can be renewed."""
        return await self._tables.lock("dust", worker, seconds)

    async def _edit(
        self, partition: str, ids: Sequence[bytes], change: Callable[[Row | None, Rows], Change | None]
    ) -> None:
        """Make a change of a partition that depends on its header and on some rows, again if another process changed
        them meanwhile."""
        while True:
            header, *stored = await self._table.get([RowId(partition, row_id) for row_id in (HEADER, *ids)])
            with _reading():
                edit = change(header, stored)
            if edit is None:
                return
            expected = {HEADER: None if header is None else header.value}
            [is_made] = await self._table.update([replace(edit, expected=expected)])
            if is_made:
                return


def _as_stored(tracked: TrackedRule) -> DustState:
    return DustState.CONFIRMED if tracked.state is DustState.DOUBTED else tracked.state


def _row(tracked: TrackedRule) -> Row:
    value = {
        "rule": asdict(tracked.rule),
        "state": _as_stored(tracked),
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


def _header(count: int, of_rules: dict[str, int]) -> Row:
    return Row(HEADER, json.dumps([count, of_rules]).encode())


def _counts(header: Row | None) -> tuple[int, dict[str, int]]:
    """Return the number of withheld URLs of a site, and that of each rule."""
    if header is None:
        return 0, {}
    count, of_rules = json.loads(header.value)
    return int(count), dict(of_rules)


def _partition(site: str) -> str:
    return _id(site).hex()


def _id(text: str) -> bytes:
    return xxh3_128_digest(text.encode("utf-8", "surrogatepass"))


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise StorageLost(f"what is stored of DUST rules cannot be read: {error}") from error
