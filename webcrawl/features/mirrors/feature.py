"""Wiring of mirrors: pages and robots.txt files are shown to them, hosts are compared, and URLs of mirrors are taken
out of pages and queues, and queued again if they are owed."""

from __future__ import annotations

import logging
import os
import random
from typing import TYPE_CHECKING

from webcrawl.errors import StorageFull, StorageLost
from webcrawl.features.beliefs.feature import LATE_SECONDS, SECONDS, BeliefFeature, is_plain_page
from webcrawl.features.mirrors.evidence import (
    MISSING,
    MirrorEvidence,
    PageMark,
    body_digests,
    split,
)
from webcrawl.features.mirrors.knowledge import MIRROR, MirrorKnowledge, MirrorScopeRule
from webcrawl.features.mirrors.pair import ENDED, MirrorState
from webcrawl.features.mirrors.store import MirrorStore
from webcrawl.features.mirrors.withholding import MirrorWithholding
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.reports import text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scrapy.http import Response

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl
    from webcrawl.features.mirrors.pair import MirrorPair
    from webcrawl.items import Page
    from webcrawl.storage.contract import Backend, Counts

logger = logging.getLogger(__name__)

APPLIED_SECONDS = 0.25
"""The interval while mirrors are applied: their queues are looked at before their next URLs are fetched."""
CLAIM_SECONDS = 15.0
"""Time for which one process has the exclusive right to queue probes and URLs that are owed."""
PUBLISHED_MAX = 100_000
"""Hosts whose signs a process publishes."""
PAGES_PER_HOST_MAX = 20_000
"""Pages of a host of a pair that a process stores for comparison."""
FRESH_MAX = 20_000
"""Pages that wait to be stored for comparison."""
SCANNED_AT_ONCE = 50
"""Hosts of mirrors whose queues are looked at in a step."""
PROBED_AMONG = 1000
"""Stored pages of a host among which paths for probes are chosen."""


class MirrorsFeature(BeliefFeature["MirrorPair"]):
    """Compares hosts once a second; while a pair is being proved, each of its pages begins a step."""

    what = "mirrors"

    def __init__(
        self,
        store: MirrorStore,
        backend: Backend,
        clock: Callable[[], float],
        worker: str,
        *,
        keeps_states: bool,
        chance: random.Random,
    ) -> None:
        """``keeps_states``: whether the storage has the states of URLs."""
        super().__init__(store, clock, worker)
        self.knowledge = MirrorKnowledge()
        self.evidence = MirrorEvidence()
        self.rule = self._rule = MirrorScopeRule(self.knowledge)
        self.withholding = MirrorWithholding(
            self.knowledge, self._rule, store, backend, chance, keeps_states=keeps_states
        )
        self._store = store
        self._chance = chance
        self._fresh: list[tuple[str, PageMark]] = []
        self._stored_pages: dict[str, int] = {}
        self._without_page: dict[str, list[str]] = {}
        """URLs whose counterparts turned out to have no page, by the ids of pairs."""
        self._published = self._scanned = 0

    async def open(self, counts: Counts) -> None:
        await super().open(counts)
        if count := len(self.knowledge.mirrors):
            logger.info("%s; see scrapy mirrors", text.things(count, "mirror"))

    async def page(
        self,
        page: Page,
        response: Response,
        flight: InFlightRequest,
        discovered: Sequence[UrlEntry],
        beside: Mapping[str, str],
    ) -> None:
        """Remember a page, and take the links to mirrors out of it whose path the other host has. These are stored
        before the page is settled: if the process is killed, the page and its links come again."""
        entry, kept = flight.lease.entry, flight.outcome.entry
        parts = split(entry.url)
        if parts is not None and is_plain_page(entry, response):
            origin, target = parts
            reads_all = target == "/" or self.knowledge.has(origin)
            digests = body_digests(response.body, origin, reads_all=reads_all)
            mark = PageMark(target, *digests, self._clock(), entry.depth)
            self.evidence.page(origin, mark, None if kept is None else kept.record.ip)
            if target == "/":
                self._is_urgent.set()
            if self.knowledge.has(origin):
                self._note(origin, mark)
                if kept is not None and (pair := self.knowledge.mirrors.get(origin)) is not None:
                    kept.record.extra["mirror_of"] = pair.first
        if self.knowledge.mirrors and discovered:
            await self._withhold(flight, discovered)

    def settled(self, flight: InFlightRequest) -> None:
        """Note the robots.txt of hosts, and URLs that have no page."""
        entry, outcome = flight.lease.entry, flight.outcome
        status = None if outcome.entry is None else outcome.entry.record.status
        if entry.kind == Kind.ROBOTS:
            record = None if outcome.robots is None else outcome.robots.record
            if record is not None:
                self.evidence.robots(record.origin, record.text)
            return
        parts = split(entry.url)
        if entry.kind != Kind.PAGE or entry.payload is not None or parts is None:
            return
        if outcome.result in (Result.RETRY, Result.ABANDONED):
            return
        is_error = status is not None and 400 <= status < 500 and status != 429
        if outcome.result is Result.REDIRECTED or is_error:
            mark = PageMark(parts[1], MISSING, MISSING, self._clock(), entry.depth)
            self.evidence.missing(parts[0], mark)
            if self.knowledge.has(parts[0]):
                self._note(parts[0], mark)
        if outcome.result is not Result.FETCHED or is_error:
            outcome.discovered += self._counterparts(parts[0], entry)

    def refused(self, entry: UrlEntry) -> None:
        """Let the other host be asked for a path that is not fetched."""
        parts = split(entry.url)
        if parts is not None and (entries := self._counterparts(parts[0], entry)):
            self.context.frontier.add_entries(entries)

    def _counterparts(self, origin: str, entry: UrlEntry) -> list[UrlEntry]:
        """Return entries of the other hosts for a URL that has no page: pages with links to it may be withheld there.
        Those that are known are not queued again."""
        entries = []
        for pair in self.knowledge.applied(origin) if self.knowledge.mirrors else ():
            url = pair.counterpart(entry.url)
            self._without_page.setdefault(pair.id, []).append(url)
            found = self.context.intake.link_entry(url, entry.depth, entry.via)
            if isinstance(found, UrlEntry):
                entries.append(found)
        return entries

    def keeps_open(self) -> bool:
        """Return True until all withheld URLs were looked over: whether their counterparts have pages, and whether
        samples of them are equal."""
        if self._ends_soon():
            return False
        is_open = bool(self._fresh or self._changed) or any(
            pair.state is MirrorState.DOUBTED or pair.unchecked for pair in self.knowledge.pairs.values()
        )
        self._is_idle = not self._stepped or is_open
        if self._is_idle:
            self._is_urgent.set()
        return self._is_idle

    async def _store_last(self) -> None:
        await self._compare(self._clock())
        await self._store_changed()

    def _pause(self) -> float:
        # The queues of mirrors are looked at before their next URLs are fetched.
        return APPLIED_SECONDS if self.knowledge.mirrors else SECONDS

    async def _take_step(self, context: CrawlContext, scheduler: RunningCrawl, now: float) -> None:
        """Publish what is new, compare hosts, load changes of other processes, withhold queued URLs of mirrors and
        queue those that are owed."""
        is_idle, self._is_idle = self._is_idle, False
        await self._publish(now)
        await self._compare(now)
        await self._expire(now)
        await self._store_changed()
        await self._learn(now)
        await self._probe(context, now)
        await self._scan(context)
        await self._release(context, scheduler)
        await self._requeue(context, scheduler, now)
        if is_idle:
            await self._look_over(context, scheduler)

    # -- links -----------------------------------------------------------------------------------------------------

    async def _withhold(self, flight: InFlightRequest, discovered: Sequence[UrlEntry]) -> None:
        try:
            withheld, samples = await self.withholding.withhold(discovered, self.context.intake)
        except (StorageFull, StorageLost):
            # They are queued then.
            return
        outcome = flight.outcome
        outcome.discovered += samples
        if withheld:
            outcome.discovered = [entry for entry in outcome.discovered if entry.url not in withheld]
            for _ in withheld:
                flight.tally.refused(MIRROR)

    # -- pairs -----------------------------------------------------------------------------------------------------

    def _note(self, origin: str, page: PageMark) -> None:
        if len(self._fresh) < FRESH_MAX:
            self._fresh.append((origin, page))
        if any(pair.state is not MirrorState.CONFIRMED for pair in self.knowledge.of(origin)):
            self._is_urgent.set()

    async def _publish(self, now: float) -> None:
        """Publish the signs of hosts, and take those with two in common as candidates."""
        signs = self.evidence.take_signs()
        while signs:
            origin, values = signs[-1]
            if self._published < PUBLISHED_MAX:
                try:
                    common = await self._store.publish(origin, values)
                except BaseException:
                    self.evidence.give_back(signs)
                    raise
                self._published += 1
                for other, shared in sorted(common.items()):
                    if len(shared) > 1 and (pair := self.knowledge.candidate(origin, other, shared, now)):
                        self._entered(pair)
                        self._changed[pair.id] = pair
            signs.pop()

    def _entered(self, pair: MirrorPair) -> None:
        """Show what is remembered of the hosts of a new pair to it."""
        logger.debug(
            "Mirrors: %s and %s have %s in common", pair.first, pair.mirror, " and ".join(pair.signs)
        )
        for origin in (pair.first, pair.mirror):
            self._fresh += [(origin, page) for page in self.evidence.pages(origin)]

    async def _compare(self, now: float) -> None:
        """Store new pages of hosts that belong to pairs, and compare them with those of the other hosts."""
        fresh, self._fresh = self._fresh, []
        kept = []
        for origin, page in fresh:
            stored = self._stored_pages.get(origin, 0)
            if stored < PAGES_PER_HOST_MAX and self.knowledge.has(origin):
                kept.append((origin, page))
                self._stored_pages[origin] = stored + 1
        places = [(origin, page, pair) for origin, page in fresh for pair in self.knowledge.of(origin)]
        try:
            await self._store.keep_pages(kept)
            # After that, so that of two processes with equal pages at least one sees both.
            known = await self._store.pages(
                [(pair.other(origin), page.target) for origin, page, pair in places]
            )
        except BaseException:
            self._fresh = fresh + self._fresh
            raise
        for (origin, page, pair), other in zip(places, known, strict=True):
            state = pair.state
            if other is not None and pair.compare(origin, page, other, now):
                self._tell(pair, state)
        await self._decide_doubts(now)
        await self._confirm(now)

    async def _decide_doubts(self, now: float) -> None:
        """Compare pages that were fetched again, perhaps by another process."""
        for pair in list(self.knowledge.pairs.values()):
            if pair.state is MirrorState.DOUBTED and pair.doubt is not None:
                [page] = await self._store.pages([(pair.first, pair.doubt.page.target)])
                if page is not None and pair.compare(pair.first, page, page, now):
                    self._tell(pair, MirrorState.DOUBTED)

    async def _confirm(self, now: float) -> None:
        for pair in list(self.knowledge.open_pairs()):
            if not pair.is_proved:
                continue
            pages = {
                origin: await self._store.some_pages(origin, PAGES_PER_HOST_MAX)
                for origin in sorted((pair.first, pair.mirror))
            }
            counts = {origin: sum(not page.is_missing for page in some) for origin, some in pages.items()}
            first = max(counts, key=lambda origin: counts[origin])
            # Pages of one host with links to paths that the other lacks may be withheld from now on.
            for origin, some in pages.items():
                lacking = [page for page in some if page.is_missing]
                await self._ask_other(pair.other(origin), origin, lacking)
            for ended in self.knowledge.confirm(pair, first, now):
                self._changed[ended.id] = ended
            for origin, some in pages.items():
                await self._imply_pages(pair, origin, some)
            self._tell(pair, MirrorState.PROVING)

    async def _imply_pages(self, pair: MirrorPair, origin: str, pages: Sequence[PageMark]) -> None:
        """Withhold the counterparts of pages that were fetched before their pair was proved."""
        intake = self.context.intake
        found = [intake.link_entry(origin + page.target, page.depth, f"{origin}/") for page in pages]
        entries = [entry for entry in found if isinstance(entry, UrlEntry)]
        if samples := await self.withholding.imply(pair, entries, intake):
            self.context.frontier.add_entries(samples)

    async def _ask_other(self, other: str, origin: str, lacking: Sequence[PageMark]) -> None:
        """Queue paths of ``other`` that ``origin`` lacks, unless they are known."""
        intake = self.context.intake
        found = [intake.link_entry(other + page.target, page.depth, origin + page.target) for page in lacking]
        if entries := [entry for entry in found if isinstance(entry, UrlEntry)]:
            self.context.frontier.add_entries(entries)
            await self.context.frontier.drain()

    def _tell(self, pair: MirrorPair, before: MirrorState) -> None:
        """Take a pair that changed, and log its new state."""
        self._changed[pair.id] = pair
        if pair.state is before:
            return
        self.knowledge.put(pair)
        match pair.state:
            case MirrorState.CONFIRMED:
                logger.info(
                    "Mirrors: %s, by %s; scrapy mirrors --undo %s undoes it",
                    pair,
                    text.things(len(pair.equal), "equal page"),
                    pair.id,
                )
            case MirrorState.DOUBTED:
                logger.info("Mirrors: %s is doubted, since a page differs", pair)
                self._fetch_again(pair)
            case MirrorState.UNDONE:
                logger.warning("Mirrors: %s is undone: %s", pair, pair.why)
                self._undo(pair, self._clock() + LATE_SECONDS)

    def _fetch_again(self, pair: MirrorPair) -> None:
        """Queue the known page of a pair that is doubted: it may have changed since it was fetched."""
        assert pair.doubt is not None
        url = pair.first + pair.doubt.page.target
        entry = self.context.intake.link_entry(url, pair.doubt.known.depth, None)
        if isinstance(entry, UrlEntry):
            entry.repeat = True
            self.context.frontier.add_entries([self.context.frontier.place_first(entry)])

    async def _expire(self, now: float) -> None:
        for pair in list(self.knowledge.pairs.values()):
            if pair.state not in ENDED and pair.expire(now):
                self._tell(pair, MirrorState.DOUBTED)

    def _load(self, stored: Sequence[MirrorPair], mine: set[str], now: float, *, is_first: bool) -> bool:
        for pair in self.knowledge.load(stored):
            if pair.state is MirrorState.UNDONE:
                self._undo(pair, now if is_first else now + LATE_SECONDS)
                self._rule.clear()
            elif pair.state is MirrorState.PROVING:
                self._entered(pair)
            if not is_first:
                logger.info("Mirrors: %s is %s", pair, pair.state)
        return False

    # -- URLs ------------------------------------------------------------------------------------------------------

    async def _probe(self, context: CrawlContext, now: float) -> None:
        """Fetch paths of one host from the other one, before its other URLs: they are ordinary URLs of the crawl."""
        pairs = [pair for pair in self.knowledge.open_pairs() if pair.probes_wanted() > 0]
        if not pairs or not await self._store.claim(self._worker, CLAIM_SECONDS):
            return
        entries = []
        for pair in pairs:
            pages = {
                origin: {page.target: page for page in await self._store.some_pages(origin, PROBED_AMONG)}
                for origin in (pair.first, pair.mirror)
            }
            known, other = sorted(pages, key=lambda origin: len(pages[origin]), reverse=True)
            fetched = {target for target, page in pages[known].items() if not page.is_missing}
            targets = sorted(fetched - set(pages[other]) - set(pair.open_probes))
            for target in self._chance.sample(targets, min(pair.probes_wanted(), len(targets))):
                entry = context.intake.link_entry(other + target, pages[known][target].depth, known + target)
                pair.open_probes[target] = now
                pair.probes += 1
                if isinstance(entry, UrlEntry):
                    entries.append(context.frontier.place_first(entry))
        if entries:
            context.frontier.add_entries(entries)

    async def _scan(self, context: CrawlContext) -> None:
        """Withhold queued URLs of hosts whose turn may come here, some hosts at a time."""
        hosts = [
            (pair, origin)
            for pair in self.knowledge.mirrors.values()
            for origin in (pair.mirror, pair.first)
            if context.frontier.holds(context.intake.identify(f"{origin}/")[0])
        ]
        start = self._scanned % len(hosts) if hosts else 0
        self._scanned = start + SCANNED_AT_ONCE
        for pair, origin in [*hosts[start:], *hosts[:start]][:SCANNED_AT_ONCE]:
            if samples := await self.withholding.scan(pair, origin, context.intake):
                context.frontier.add_entries(samples)

    async def _release(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        """Queue withheld URLs whose counterparts turned out to have no page."""
        for pair_id, urls in [(key, list(some)) for key, some in self._without_page.items()]:
            pair = self.knowledge.pairs[pair_id]
            if not await self.withholding.release(pair, urls, context.intake, scheduler.add_seeds):
                return
            left = self._without_page[pair_id][len(urls) :]
            if left:
                self._without_page[pair_id] = left
            else:
                del self._without_page[pair_id]

    async def _requeue(self, context: CrawlContext, scheduler: RunningCrawl, now: float) -> None:
        """Queue the withheld URLs of undone pairs again."""
        for pair, until in list(self._undone.values()):
            if not await self._store.claim(self._worker, CLAIM_SECONDS):
                return
            count = await self.withholding.requeue(pair, context.intake, scheduler.add_seeds, is_idle=False)
            if count is None:
                return
            if count:
                logger.info("Mirrors: %s of %s queued again", text.things(count, "URL"), pair.mirror)
            if until <= now:
                del self._undone[pair.id]

    async def _look_over(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        """Queue withheld URLs whose counterparts have no page, then samples of those that each pair withheld since it
        was last looked over. The crawl is idle."""
        pairs = [pair for pair in self.knowledge.pairs.values() if pair.unchecked]
        if not pairs or not await self._store.claim(self._worker, CLAIM_SECONDS):
            return
        for pair in pairs:
            if pair.state not in (MirrorState.CONFIRMED, MirrorState.UNDONE):
                continue
            count = await self.withholding.requeue(pair, context.intake, scheduler.add_seeds, is_idle=True)
            if count is None:
                return
            if count:
                logger.info("Mirrors: %s of %s queued after all", text.things(count, "URL"), pair.mirror)
                continue
            if pair.state is MirrorState.CONFIRMED:
                entries = await self.withholding.closing_samples(pair, context.intake)
                if entries and not await scheduler.add_seeds(entries):
                    return
            pair.checked = pair.withheld
            self._changed[pair.id] = pair
        await self._store_changed()


def build(parts: Parts) -> MirrorsFeature:
    """Return the mirrors of a crawl. Their samples cannot be foreseen by a site."""
    configuration, backend = parts.configuration, parts.backend
    return MirrorsFeature(
        MirrorStore(backend.tables),
        backend,
        parts.clock,
        configuration.worker_name,
        keeps_states=configuration.frontier_seen != "bloom",
        chance=random.Random(os.urandom(16)),
    )
