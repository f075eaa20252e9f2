"""Decides which URLs of mirrors are withheld, and which of those are to be fetched all the same: samples, URLs whose
counterpart has no page, and those of a pair that was undone. The states of URLs are those of the crawl's storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.features.mirrors.evidence import split
from webcrawl.features.mirrors.knowledge import MIRROR
from webcrawl.features.mirrors.pair import MirrorState
from webcrawl.features.mirrors.store import WithheldMirrorUrl
from webcrawl.frontier.records import Kind, State, UrlEntry
from webcrawl.storage.tables import HEADER

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

    from webcrawl.features.mirrors.knowledge import MirrorKnowledge, MirrorScopeRule
    from webcrawl.features.mirrors.pair import MirrorPair
    from webcrawl.features.mirrors.store import MirrorStore
    from webcrawl.frontier.intake import Intake
    from webcrawl.frontier.records import UrlRecord
    from webcrawl.storage.contract import Backend

    AddSeeds = Callable[[list[UrlEntry]], Awaitable[bool]]

SAMPLE_SHARE = 0.02
"""Of the URLs that would be withheld, those that are fetched as samples; of the first ones it is one in four, in
six, in eight..."""
SCANNED = 300
"""Queued URLs of a host that are looked at in a step: those whose turn comes next."""
SAMPLED_MAX = 10_000
"""Samples that are remembered."""
IMPLIED_MAX = 50_000
"""Counterparts of queued URLs that are remembered as stored."""
CLOSING_LEAST, CLOSING_SHARE, CLOSING_MAX = 8, 0.02, 20
"""Samples of a pair before a crawl ends: at least so many, this share of the URLs that it withheld since the last
ones, and at most so many."""
CONSIDERED = 300
"""Withheld URLs among which these are chosen."""


class MirrorWithholding:
    """Withholds URLs of mirrors. Every method may raise the CrawlError of the storage."""

    def __init__(
        self,
        knowledge: MirrorKnowledge,
        rule: MirrorScopeRule,
        store: MirrorStore,
        backend: Backend,
        chance: random.Random,
        *,
        keeps_states: bool,
    ) -> None:
        """``keeps_states``: whether the storage has the states of URLs; else a path counts as known if its page is
        among those that are stored for comparison."""
        self._knowledge = knowledge
        self._rule = rule
        self._store = store
        self._backend = backend
        self._chance = chance
        self._keeps_states = keeps_states
        self._sampled: dict[str, None] = {}
        self._implied: dict[str, None] = {}
        self._requeued: set[str] = set()
        """URLs that this process has queued again: the storage shows them as refused until they are fetched."""

    async def withhold(self, entries: Iterable[UrlEntry], intake: Intake) -> tuple[set[str], list[UrlEntry]]:
        """Withhold those of a page's new links that lead to a host of an applied pair and whose path the other host
        has. They are stored when this returns. Return their URLs, and samples that are queued: see ``imply``."""
        by_origin: dict[str, list[UrlEntry]] = {}
        for entry in entries:
            parts = split(entry.url)
            if parts is not None and self._knowledge.applied(parts[0]) and _is_link(entry):
                by_origin.setdefault(parts[0], []).append(entry)
        withheld: set[str] = set()
        samples: list[UrlEntry] = []
        for origin, links in by_origin.items():
            # A link that was queued before stays so; its turn comes.
            left = [entry for entry in links if await self._record(entry) is None]
            for pair in self._knowledge.applied(origin):
                withheld |= await self._withhold(pair, left, intake)
                left = [entry for entry in left if entry.url not in withheld]
                samples += await self.imply(pair, left, intake)
        return withheld, samples

    async def imply(self, pair: MirrorPair, entries: Iterable[UrlEntry], intake: Intake) -> list[UrlEntry]:
        """Withhold the counterparts of URLs that are queued: no link to them may be found on the other host, since
        its page with this link is withheld. Return those that are to be fetched: samples, and those without room."""
        urls = {pair.counterpart(entry.url): entry for entry in entries}
        urls = {
            url: entry for url, entry in urls.items() if url not in self._implied and url not in self._sampled
        }
        if not urls or pair.state is not MirrorState.CONFIRMED:
            return []
        stored = {each.url for each in await self._store.find_withheld(pair.id, list(urls))}
        chosen: dict[str, UrlEntry] = {}
        fetched: list[UrlEntry] = []
        for url, entry in urls.items():
            if url in stored:
                continue
            other = intake.link_entry(url, entry.depth, entry.via)
            if not isinstance(other, UrlEntry) or await self._record(other) is not None:
                continue
            if self._is_sample(pair.withheld + len(chosen)):
                self._remember_sample(url)
                fetched.append(other)
            else:
                chosen[url] = other
        rows = [WithheldMirrorUrl(each.url, each.depth, each.via) for each in chosen.values()]
        withheld: set[str] = set()
        if rows:
            withheld, pair.withheld = await self._store.withhold(pair.id, rows)
        for url in urls:
            self._implied[url] = None
        while len(self._implied) > IMPLIED_MAX:
            del self._implied[next(iter(self._implied))]
        return fetched + [entry for url, entry in chosen.items() if url not in withheld]

    async def scan(self, pair: MirrorPair, origin: str, intake: Intake) -> list[UrlEntry]:
        """Withhold queued URLs of a host before their turn comes. Return samples that are to be queued."""
        start = f"{origin}/"
        key, _ = intake.identify(start)
        loaded = await self._backend.read_queue(key, None, SCANNED)
        mine = [
            entry
            for entry in loaded.entries
            if entry.url.startswith(start) and _is_link(entry) and entry.via is not None and not entry.repeat
        ]
        new = [entry for entry in mine if not self._rule.is_stored(entry.url)]
        withheld = await self._withhold(pair, new, intake)
        for url in sorted(withheld):
            self._rule.refuse_once(url)
        return await self.imply(pair, [entry for entry in new if entry.url not in withheld], intake)

    async def _withhold(self, pair: MirrorPair, entries: Sequence[UrlEntry], intake: Intake) -> set[str]:
        if not entries or pair.state is not MirrorState.CONFIRMED:
            return set()
        stored = await self._store.find_withheld(pair.id, [entry.url for entry in entries])
        is_owed = {each.url: each.is_owed for each in stored}
        withheld: set[str] = set()
        chosen: list[WithheldMirrorUrl] = []
        for entry in entries:
            if is_owed.get(entry.url) or entry.url in self._sampled:
                continue
            if not await self._has_counterpart(pair, entry.url, intake):
                continue
            if entry.url in is_owed:
                withheld.add(entry.url)
                continue
            if self._is_sample(pair.withheld + len(chosen)):
                self._remember_sample(entry.url)
                continue
            chosen.append(WithheldMirrorUrl(entry.url, entry.depth, entry.via))
        if chosen and pair.state is MirrorState.CONFIRMED:
            new, pair.withheld = await self._store.withhold(pair.id, chosen)
            withheld |= new
        return withheld

    def _is_sample(self, withheld: int) -> bool:
        return self._chance.random() < max(SAMPLE_SHARE, 1 / (4 + 2 * withheld))

    def _remember_sample(self, url: str) -> None:
        self._sampled[url] = None
        if len(self._sampled) > SAMPLED_MAX:
            del self._sampled[next(iter(self._sampled))]

    async def _has_counterpart(self, pair: MirrorPair, url: str, intake: Intake) -> bool:
        """Return whether the other host has the path of a URL: fetched, or, if it is the first host, queued. If both
        counted as soon as they are queued, each could be withheld because of the other."""
        other = pair.counterpart(url)
        if not self._keeps_states:
            parts = split(other)
            [page] = await self._store.pages([parts]) if parts is not None else [None]
            return page is not None and not page.is_missing
        record = await self._backend.url_record(*intake.identify(other))
        if record is None:
            return False
        return is_page(record) or (record.state is State.QUEUED and other.startswith(f"{pair.first}/"))

    async def _record(self, entry: UrlEntry) -> UrlRecord | None:
        return await self._backend.url_record(entry.key, entry.fingerprint) if self._keeps_states else None

    # -- URLs that are owed ----------------------------------------------------------------------------------------

    async def requeue(self, pair: MirrorPair, intake: Intake, add: AddSeeds, *, is_idle: bool) -> int | None:
        """Queue the stored URLs of a pair that are to be fetched, and delete those that were. ``is_idle``: True if
        nothing of the crawl is queued that could still be fetched. Return the number that were queued; None if they
        cannot become durable."""
        count = 0
        async for some in self._all_withheld(pair.id):
            owed, finished = [], []
            entries: list[UrlEntry] = []
            for each in some:
                # One that is still queued is not withheld when its turn comes. If another process does that, which
                # does not know yet, a later call queues it again.
                self._rule.admit(each.url)
                entry = intake.link_entry(each.url, each.depth, each.via)
                if not isinstance(entry, UrlEntry):
                    # Another rule refuses it.
                    finished.append(each.url)
                    continue
                record = await self._record(entry)
                # Where the states of URLs are not known, one is finished when it was queued.
                if _is_finished(each, record) or (each.is_owed and not self._keeps_states):
                    finished.append(each.url)
                elif each.url in self._requeued and not is_idle:
                    continue
                elif (record is None or record.state is State.REFUSED) and (
                    each.is_owed or await self._is_lost(pair, each.url, intake, is_idle=is_idle)
                ):
                    # The storage has it if it was queued before its mirror was proved.
                    entry.repeat = record is not None or not self._keeps_states
                    entries.append(entry)
                    owed += [] if each.is_owed else [each.url]
            await self._store.owe(pair.id, owed)
            if entries and not await add(entries):
                return None
            self._requeued.update(entry.url for entry in entries)
            await self._store.finished(pair.id, finished)
            self._requeued.difference_update(finished)
            pair.withheld = max(pair.withheld - len(finished), 0)
            count += len(entries)
        return count

    async def release(self, pair: MirrorPair, urls: Sequence[str], intake: Intake, add: AddSeeds) -> bool:
        """Queue those of ``urls`` that are withheld: the other host turned out to have no page. Return False if they
        cannot become durable."""
        entries = []
        for each in await self._store.find_withheld(pair.id, urls):
            self._rule.admit(each.url)
            entry = intake.link_entry(each.url, each.depth, each.via)
            if isinstance(entry, UrlEntry):
                record = await self._record(entry)
                if record is None or record.state is State.REFUSED:
                    entry.repeat = record is not None or not self._keeps_states
                    entries.append(entry)
        await self._store.owe(pair.id, [entry.url for entry in entries])
        self._requeued.update(entry.url for entry in entries)
        return not entries or await add(entries)

    async def _is_lost(self, pair: MirrorPair, url: str, intake: Intake, *, is_idle: bool) -> bool:
        """Return whether a withheld URL may have a page that the crawl does not get from the other host."""
        if pair.state is MirrorState.UNDONE:
            return True
        if not is_idle or not self._keeps_states:
            return False
        record = await self._backend.url_record(*intake.identify(pair.counterpart(url)))
        return record is None or not is_page(record)

    async def closing_samples(self, pair: MirrorPair, intake: Intake) -> list[UrlEntry]:
        """Return some of the URLs that a pair withheld, which are to be fetched before the crawl ends."""
        number = int(pair.unchecked * CLOSING_SHARE + self._chance.random())
        if not pair.checked:
            number = max(number, CLOSING_LEAST)
        number = min(number, CLOSING_MAX)
        urls, _ = await self._store.withheld(pair.id, self._chance.randbytes(16), CONSIDERED)
        if len(urls) < CONSIDERED // 2:
            urls, _ = await self._store.withheld(pair.id, HEADER, CONSIDERED)
        places = [place for each in urls if (place := split(pair.counterpart(each.url))) is not None]
        pages = await self._store.pages(places)
        comparable = [
            each
            for each, page in zip(urls, pages, strict=True)
            if page is not None and not page.is_missing and not each.is_owed
        ]
        entries = []
        for each in self._chance.sample(comparable, min(number, len(comparable))):
            entry = intake.link_entry(each.url, each.depth, each.via)
            if isinstance(entry, UrlEntry):
                record = await self._record(entry)
                if record is None or record.state is State.REFUSED:
                    entry.repeat = record is not None or not self._keeps_states
                    entries.append(entry)
        await self._store.owe(pair.id, [entry.url for entry in entries])
        for entry in entries:
            self._rule.admit(entry.url)
            self._remember_sample(entry.url)
            self._requeued.add(entry.url)
        return entries

    async def _all_withheld(self, pair_id: str) -> AsyncIterator[list[WithheldMirrorUrl]]:
        after: bytes | None = HEADER
        while after is not None:
            urls, after = await self._store.withheld(pair_id, after)
            yield urls


def is_page(record: UrlRecord) -> bool:
    """Return whether a URL was fetched and has a page."""
    status = record.status
    return record.state is State.DONE and (status is None or 200 <= status < 300 or status == 304)


def _is_link(entry: UrlEntry) -> bool:
    """Return whether an entry is that of a link to a page: other Requests may have header fields that change it."""
    return entry.kind == Kind.PAGE and entry.payload is None and not entry.embed_hops and not entry.redirects


def _is_finished(withheld: WithheldMirrorUrl, record: UrlRecord | None) -> bool:
    """Return whether a URL was fetched, or refused for another reason after it was queued again."""
    if record is None or record.state is State.QUEUED:
        return False
    if record.state is State.REFUSED:
        return withheld.is_owed and record.rule != MIRROR
    return True
