"""The store of a crawl's mirrors: their pairs, the signs and pages of hosts, and the URLs that are withheld. It
survives a process and is shared by all processes of the crawl."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from xxhash import xxh3_128_hexdigest

from webcrawl.features.beliefs.belief import BY_HAND
from webcrawl.features.beliefs.store import AT_ONCE, BeliefStore, Edit, digest_id, reading
from webcrawl.features.mirrors.evidence import PageMark, Sign, target_id
from webcrawl.features.mirrors.pair import MirrorPair, MirrorState
from webcrawl.storage.tables import HEADER, Change, Durability, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Rows = Sequence[Row | None]

SPEC = TableSpec(
    "mirrors",
    "mirrors",
    without="the crawl goes on, and finds the mirrors of its sites anew",
    durability=Durability.PROCESS,
    is_ordered=True,
)
"""One partition has all pairs; its header is their version. Each value of a sign has a partition with its hosts, each
host of a pair one with its pages, and each pair one with its withheld URLs; its header has their number."""

SHARED_MAX = 8
"""A sign that more hosts have says nothing: an address of a hosting company, the robots.txt of a software."""
WITHHELD_PER_PAIR = 100_000
"""URLs of a pair that are stored so that they can be queued again. Further ones are not withheld."""

_LATER = (MirrorState.PROVING, MirrorState.CONFIRMED, MirrorState.REFUTED, MirrorState.UNDONE)
"""The states that are stored, in the order in which one replaces another."""


class WithheldMirrorUrl(NamedTuple):
    """A URL that was not fetched, since the other host of a pair has its path."""

    url: str
    depth: int
    via: str | None
    is_owed: bool = False
    """True if it is to be fetched: it is withheld no more, and stays stored until it was fetched."""


class MirrorStore(BeliefStore[MirrorPair]):
    """The pairs, the signs and pages of hosts, and the withheld URLs of each pair."""

    spec = SPEC
    partition = "pairs"
    what = "mirrors"

    def _pack(self, belief: MirrorPair) -> Row:
        return _row(belief)

    def _unpack(self, row: Row) -> MirrorPair:
        return _pair(row)

    def _join(self, kept: MirrorPair, new: MirrorPair) -> MirrorPair:
        return _joined(kept, new)

    def _undone(self, belief: MirrorPair, now: float) -> MirrorPair | None:
        if belief.state is MirrorState.UNDONE:
            return None
        belief.end(MirrorState.UNDONE, BY_HAND, now)
        return belief

    async def _count(self, beliefs: Sequence[MirrorPair]) -> list[MirrorPair]:
        headers = await self._table.get([RowId(_withheld_of(pair.id), HEADER) for pair in beliefs])
        for pair, header in zip(beliefs, headers, strict=True):
            if pair.state in (MirrorState.CONFIRMED, MirrorState.UNDONE):
                pair.withheld = _count(header)
        return sorted(beliefs, key=lambda pair: (pair.since, pair.id))

    # -- signs and pages -------------------------------------------------------------------------------------------

    async def publish(self, origin: str, signs: Mapping[Sign, str]) -> dict[str, list[Sign]]:
        """Store the signs of a host; return the other hosts that have the same, each with those in common."""
        common: dict[str, list[Sign]] = {}
        row = Row(origin.encode("utf-8", "surrogatepass"), b"")
        for sign, value in signs.items():
            partition = xxh3_128_hexdigest(f"{sign.name} {value}".encode())
            hosts = await self._table.scan(partition, SHARED_MAX + 1)
            if len(hosts) > SHARED_MAX:
                continue
            if row.id not in {host.id for host in hosts}:
                await self._table.add([(partition, row)])
                # Again: another process may have added a host meanwhile.
                hosts = await self._table.scan(partition, SHARED_MAX + 1)
                if len(hosts) > SHARED_MAX:
                    continue
            for host in hosts:
                if host.id != row.id:
                    common.setdefault(host.id.decode("utf-8", "surrogatepass"), []).append(sign)
        return common

    async def keep_pages(self, pages: Sequence[tuple[str, PageMark]]) -> None:
        """Store pages of hosts, in place of those that were stored under their paths."""
        rows = [(_pages_of(origin), Row(page.id, json.dumps(page).encode())) for origin, page in pages]
        for start in range(0, len(rows), AT_ONCE):
            await self._table.swap(rows[start : start + AT_ONCE])

    async def pages(self, places: Sequence[tuple[str, str]]) -> list[PageMark | None]:
        """Return the stored pages of hosts under paths."""
        rows = await self._table.get(
            [RowId(_pages_of(origin), target_id(target)) for origin, target in places]
        )
        with reading(self.what):
            return [None if row is None else _page(row) for row in rows]

    async def some_pages(self, origin: str, most: int) -> list[PageMark]:
        """Return some of the stored pages of a host."""
        rows = await self._table.scan(_pages_of(origin), most)
        with reading(self.what):
            return [_page(row) for row in rows]

    # -- withheld URLs ---------------------------------------------------------------------------------------------

    async def withhold(self, pair_id: str, urls: Sequence[WithheldMirrorUrl]) -> tuple[set[str], int]:
        """Record URLs as withheld by a pair. Return those that are recorded now (not those that are owed, nor those
        for which there is no room), and the number of all stored URLs of the pair."""
        withheld: set[str] = set()
        total = 0
        ids = {digest_id(each.url): each for each in urls}

        def change(header: Row | None, stored: Rows) -> Change | None:
            nonlocal total
            count = _count(header)
            known = {row.id: _withheld(row) for row in stored if row is not None}
            new = [row_id for row_id in ids if row_id not in known]
            new = new[: max(WITHHELD_PER_PAIR - count, 0)]
            withheld.clear()
            withheld.update(each.url for each in known.values() if not each.is_owed)
            withheld.update(ids[row_id].url for row_id in new)
            total = count + len(new)
            rows = [Row(row_id, json.dumps(ids[row_id]).encode()) for row_id in new]
            return Change(_withheld_of(pair_id), [*rows, _header(total)]) if new else None

        if ids:
            await self._edit(Edit(_withheld_of(pair_id), list(ids), change))
        return withheld, total

    async def withheld(
        self, pair_id: str, after: bytes, most: int = AT_ONCE
    ) -> tuple[list[WithheldMirrorUrl], bytes | None]:
        """Return some of the stored URLs of a pair, and where to go on; None if there are no more."""
        return await self._page(_withheld_of(pair_id), after, most, _withheld)

    async def find_withheld(self, pair_id: str, urls: Sequence[str]) -> list[WithheldMirrorUrl]:
        """Return those of the given URLs that are stored."""
        rows = await self._table.get([RowId(_withheld_of(pair_id), digest_id(url)) for url in urls])
        with reading(self.what):
            return [_withheld(row) for row in rows if row is not None]

    async def owe(self, pair_id: str, urls: Sequence[str]) -> None:
        """Withhold URLs no more: they are to be fetched."""

        def change(header: Row | None, stored: Rows) -> Change | None:
            rows = [
                Row(row.id, json.dumps(_withheld(row)._replace(is_owed=True)).encode())
                for row in stored
                if row is not None
            ]
            return Change(_withheld_of(pair_id), [*rows, _header(_count(header))]) if rows else None

        if urls:
            await self._edit(Edit(_withheld_of(pair_id), [digest_id(url) for url in urls], change))

    async def finished(self, pair_id: str, urls: Sequence[str]) -> None:
        """Delete URLs that were fetched, or that can no longer be queued."""

        def change(header: Row | None, stored: Rows) -> Change | None:
            gone = [row.id for row in stored if row is not None]
            return (
                Change(_withheld_of(pair_id), [_header(_count(header) - len(gone))], gone) if gone else None
            )

        if urls:
            await self._edit(Edit(_withheld_of(pair_id), [digest_id(url) for url in urls], change))


def _as_stored(state: MirrorState) -> MirrorState:
    return MirrorState.CONFIRMED if state is MirrorState.DOUBTED else state


def _joined(kept: MirrorPair, new: MirrorPair) -> MirrorPair:
    """Return a pair as it is stored after a change by one of the processes."""
    earlier = _LATER.index(_as_stored(new.state)) < _LATER.index(kept.state)
    # Two processes that prove a pair at the same time may choose different hosts: the one that is stored stays.
    is_same = new.state is not MirrorState.PROVING and _as_stored(new.state) is kept.state
    base = kept if earlier or (is_same and kept.first != new.first) else new
    return replace(
        base,
        equal=kept.equal | new.equal,
        later=max(kept.later, new.later),
        probes=max(kept.probes, new.probes),
        samples=max(kept.samples, new.samples),
        checked=new.checked,
    )


def _row(pair: MirrorPair) -> Row:
    value = {
        "first": pair.first,
        "mirror": pair.mirror,
        "state": _as_stored(pair.state),
        "since": pair.since,
        "signs": pair.signs,
        "equal": pair.equal,
        "later": pair.later,
        "probes": pair.probes,
        "samples": pair.samples,
        "checked": pair.checked,
        "why": pair.why,
    }
    return Row(pair.id.encode(), json.dumps(value).encode())


def _pair(row: Row) -> MirrorPair:
    value = json.loads(row.value)
    value["state"], value["signs"] = MirrorState(value["state"]), tuple(value["signs"])
    return MirrorPair(**value)


def _page(row: Row) -> PageMark:
    target, body, own, at, depth = json.loads(row.value)
    return PageMark(target, body, own, at, depth)


def _withheld(row: Row) -> WithheldMirrorUrl:
    url, depth, via, is_owed = json.loads(row.value)
    return WithheldMirrorUrl(url, depth, via, is_owed)


def _header(count: int) -> Row:
    # Each change gives another value, so that what depends on the rows is tested by it.
    return Row(HEADER, json.dumps([max(count, 0), uuid4().hex]).encode())


def _count(header: Row | None) -> int:
    return 0 if header is None else int(json.loads(header.value)[0])


def _pages_of(origin: str) -> str:
    return xxh3_128_hexdigest(f"pages {origin}".encode("utf-8", "surrogatepass"))


def _withheld_of(pair_id: str) -> str:
    return xxh3_128_hexdigest(f"withheld {pair_id}".encode())
