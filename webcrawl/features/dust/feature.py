"""Wiring of DUST rules: pages are shown to them, their probes are queued, and what they withhold is stored and, if a
rule is undone, queued again."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from typing import TYPE_CHECKING

from webcrawl.crawl import request_codec
from webcrawl.crawl.feature import Feature, stop
from webcrawl.errors import CrawlError, StorageFull, StorageLost
from webcrawl.features.dust.knowledge import DustKnowledge
from webcrawl.features.dust.learner import DustState, PageContent
from webcrawl.features.dust.store import DustStore
from webcrawl.features.dust.url_parts import url_parts
from webcrawl.features.dust.withholding import CLOSING_SAMPLES, DustScopeRule
from webcrawl.fetching.meta import fetch_meta
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind, State, UrlEntry
from webcrawl.parsing.links import LinkColumns
from webcrawl.reports import text
from webcrawl.storage.tables import HEADER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

    from scrapy.http import Response

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl
    from webcrawl.features.dust.learner import TrackedRule
    from webcrawl.features.dust.withholding import WithheldUrl
    from webcrawl.frontier.intake import Intake
    from webcrawl.items import Page
    from webcrawl.storage.contract import Backend, Counts

logger = logging.getLogger(__name__)

SECONDS = 1.0
"""Interval between two synchronisations."""
REQUEUED_AT_ONCE = 500
CLAIM_SECONDS = 60.0
"""Time for which one process has the exclusive right to queue URLs of undone rules."""
LATE_SECONDS = 60.0
"""Time after which processes that learn late that a rule was undone withhold nothing more."""
CONSIDERED = 100
"""Withheld URLs of a site among which the last samples of its rules are chosen."""


class DustFeature(Feature):
    """Shows pages to the rules, and synchronises them with their store once a second, so that all processes of a
    crawl agree."""

    def __init__(
        self,
        knowledge: DustKnowledge,
        store: DustStore,
        backend: Backend,
        clock: Callable[[], float],
        worker: str,
        *,
        keeps_states: bool,
        chance: random.Random,
    ) -> None:
        """``keeps_states``: whether the storage has the states of URLs."""
        self.knowledge = knowledge
        self.rule = DustScopeRule(knowledge.withholding)
        self.withhold = knowledge.withholding.withheld
        self._store = store
        self._backend = backend
        self._clock = clock
        self._worker = worker
        self._keeps_states = keeps_states
        self._chance = chance
        self._context: CrawlContext | None = None
        self._version: str | None = None
        self._changed: dict[str, TrackedRule] = {}
        """Rules that are to be stored, by their ids."""
        self._undone: dict[str, tuple[str, float]] = {}
        """Undone rules that may still have URLs to be queued: the site, and the time until which it is looked."""
        self._storing = asyncio.Lock()
        self._failed = self._stepped = self._is_idle = False
        self._task: asyncio.Task[None] | None = None

    async def open(self, counts: Counts) -> None:
        """Load the stored rules before anything is fetched. The first step queues URLs of rules that were undone.

        :raises webcrawl.errors.CrawlError: they cannot be read
        """
        now = self._clock()
        for tracked in await self._store.rules():
            if tracked.state is DustState.UNDONE:
                self._undone[tracked.rule.id] = (tracked.rule.site, now)
        await self._learn(now)
        if count := len(self.knowledge.withholding):
            logger.info("%s; see scrapy dust", text.things(count, "DUST rule"))

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._context = context
        self._task = scheduler.run_beside(self._watch(context, scheduler))

    async def page(
        self,
        page: Page,
        response: Response,
        flight: InFlightRequest,
        found: Sequence[UrlEntry],
        beside: Mapping[str, str],
    ) -> None:
        """Learn from a page. What it made the rules withhold is stored before the page is settled: if the process is
        killed, the page and its links come again."""
        entry = flight.lease.entry
        parts = url_parts(entry.url)
        if parts is not None and _is_plain(entry, response):
            assert response.request is not None
            facts = fetch_meta(response.request)
            links = None
            if facts.original is None or facts.follows_links:
                links = LinkColumns.of(page.links).values(0)
            content = PageContent.of(facts.text_digest or response.body, links, parts.site)
            self._note(self.knowledge.page(entry.url, content, self._clock()))
            self._queue_probes(entry.depth)
        if self.knowledge.withholding.has_waiting(entry.url):
            try:
                await self._store_withheld()
            except (StorageFull, StorageLost) as error:
                self._tell_failure(error)

    def settled(self, flight: InFlightRequest) -> None:
        """Note URLs that have no page, so that a rule that expected one is not believed."""
        entry, outcome = flight.lease.entry, flight.outcome
        if entry.kind != Kind.PAGE or entry.payload is not None:
            return
        status = None if outcome.entry is None else outcome.entry.record.status
        if outcome.result is Result.REDIRECTED or (
            status is not None and 300 <= status < 500 and status != 429
        ):
            self._note(self.knowledge.failed(entry.url, self._clock()))

    def keeps_open(self) -> bool:
        """Return True until the rules were doubted for the last time: the crawl is idle, and samples of what they
        withheld are still to come."""
        if self._task is None or self._task.done():
            return False
        withholding = self.knowledge.withholding
        self._is_idle = not self._stepped or withholding.has_open() or withholding.has_unchecked()
        return self._is_idle or bool(self._changed)

    async def before_close(self) -> None:
        await stop(self._task)
        try:
            await self._store_withheld()
            await self._store_rules()
        except CrawlError as error:
            logger.warning("The DUST rules of the last moments cannot be stored and are lost: %s", error)

    async def _watch(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        while True:
            is_idle = self._is_idle
            await self.step(context, scheduler, self._clock())
            if is_idle or not self._stepped:
                self._stepped = True
                scheduler.wake()
            await asyncio.sleep(SECONDS)

    async def step(self, context: CrawlContext, scheduler: RunningCrawl, now: float) -> None:
        """Store what is new, load changes of other processes, queue URLs of undone rules, and samples if the crawl is
        idle. A failed step is repeated later."""
        try:
            self._note(self.knowledge.expire(now))
            await self._store_withheld()
            await self._store_rules()
            if await self._learn(now) or self._undone:
                context.intake.forget()
            await self._requeue(scheduler, context.intake, now)
            if self._is_idle:
                self._is_idle = False
                await self._queue_samples(scheduler, context.intake)
        except (StorageFull, StorageLost) as error:
            self._tell_failure(error)
        else:
            self._failed = False

    # -- rules ---------------------------------------------------------------------------------------------------

    def _note(self, changed: Iterable[TrackedRule]) -> None:
        now = self._clock()
        for tracked in changed:
            self._changed[tracked.rule.id] = tracked
            match tracked.state:
                case DustState.CONFIRMED:
                    logger.info(
                        "DUST: %s makes no difference, by %s such as %s and %s; scrapy dust --undo %s undoes it",
                        tracked.rule,
                        text.things(len(tracked.pairs), "pair"),
                        *tracked.pair,
                        tracked.rule.id,
                    )
                case DustState.DOUBTED:
                    logger.info("DUST: %s is doubted, since a sample differs", tracked.rule)
                case DustState.UNDONE:
                    logger.warning("DUST: %s is undone: %s", tracked.rule, tracked.why)
                    self._undone[tracked.rule.id] = (tracked.rule.site, now + LATE_SECONDS)

    async def _store_rules(self) -> None:
        for tracked in self.knowledge.learner.open_rules():
            if tracked.is_changed:
                self._changed[tracked.rule.id] = tracked
        changed, self._changed = self._changed, {}
        try:
            await self._store.put(list(changed.values()))
        except BaseException:
            # Also when it is cancelled, at the end of the crawl.
            self._changed = changed | self._changed
            raise
        for tracked in changed.values():
            tracked.stored_pairs = len(tracked.pairs)

    async def _learn(self, now: float) -> bool:
        """Load changes from the store; return whether a rule was undone."""
        version = await self._store.version()
        if version == self._version:
            return False
        entered, left = self.knowledge.load(await self._store.rules())
        if self._version is not None:
            for tracked in entered:
                logger.info("DUST: %s makes no difference; another process proved it", tracked.rule)
        for tracked in left:
            logger.info("DUST: %s is undone: %s", tracked.rule, tracked.why)
            self._undone[tracked.rule.id] = (tracked.rule.site, now + LATE_SECONDS)
        self._version = version
        return bool(left)

    # -- URLs ----------------------------------------------------------------------------------------------------

    def _queue_probes(self, depth: int) -> None:
        """Queue probes, before the other URLs of their sites: they are ordinary URLs of the crawl."""
        context = self._context
        if context is None:
            return
        entries = []
        for probe in self.knowledge.take_probes():
            entry = context.intake.link_entry(probe.url, depth, probe.of)
            if isinstance(entry, UrlEntry):
                entry.repeat = probe.is_repeat
                entries.append(context.frontier.place_first(entry))
        if entries:
            context.frontier.add_entries(entries)

    async def _store_withheld(self) -> None:
        withholding = self.knowledge.withholding
        async with self._storing:
            waiting = withholding.take_waiting()
            if not waiting:
                return
            try:
                stored = await self._store.withhold(waiting)
            except BaseException:
                withholding.give_back(waiting)
                raise
            for result in stored:
                withholding.note_stored(*result)

    async def _requeue(self, scheduler: RunningCrawl, intake: Intake, now: float) -> None:
        """Queue the withheld URLs of undone rules again."""
        for rule_id, (site, until) in list(self._undone.items()):
            if not await self._store.claim(self._worker, CLAIM_SECONDS):
                return
            count = 0
            async for owed in self._withheld_urls(site):
                mine = [withheld for withheld in owed if rule_id in withheld.rules]
                # First: those that another rule refuses are withheld anew.
                entries = [entry for each in mine if (entry := await self._entry(each, intake)) is not None]
                if entries and not await scheduler.add_seeds(entries):
                    return
                if mine:
                    await self._store.requeued(site, [withheld.url for withheld in mine])
                count += len(entries)
            if count:
                logger.info("DUST: %s of rule %s queued again", text.things(count, "URL"), rule_id)
            if until <= now:
                del self._undone[rule_id]

    async def _queue_samples(self, scheduler: RunningCrawl, intake: Intake) -> None:
        """Queue samples of what each rule withheld since it was last asked, chosen among all of its URLs."""
        withholding = self.knowledge.withholding
        entries: dict[str, UrlEntry] = {}
        for tracked in withholding.take_unchecked():
            start = self._chance.randbytes(16)
            for after in (start, HEADER):
                withheld, _ = await self._store.owed(tracked.rule.site, after, CONSIDERED)
                mine = [each for each in withheld if tracked.rule.id in each.rules]
                if mine:
                    break
            for each in self._chance.sample(mine, min(CLOSING_SAMPLES, len(mine))):
                if withholding.add_sample(each) and (entry := await self._entry(each, intake)) is not None:
                    entries[each.url] = entry
        if entries:
            await scheduler.add_seeds(list(entries.values()))

    async def _withheld_urls(self, site: str) -> AsyncIterator[list[WithheldUrl]]:
        after: bytes | None = HEADER
        while after is not None:
            urls, after = await self._store.owed(site, after, REQUEUED_AT_ONCE)
            yield urls

    async def _entry(self, withheld: WithheldUrl, intake: Intake) -> UrlEntry | None:
        """Return the URL as a queue entry; None if it is queued or done by now, or another rule refuses it."""
        entry = intake.link_entry(withheld.url, withheld.depth, withheld.via)
        if not isinstance(entry, UrlEntry):
            return None
        record = await self._backend.url_record(entry.key, entry.fingerprint)
        if record is not None and record.state is not State.REFUSED:
            return None
        # The backend has the URL: it was queued before its rule was proved.
        entry.repeat = record is not None or not self._keeps_states
        return entry

    def _tell_failure(self, error: CrawlError) -> None:
        if not self._failed:
            logger.warning("DUST rules cannot be stored at the moment: %s", error)
        self._failed = True


def _is_plain(entry: UrlEntry, response: Response) -> bool:
    """Return whether a page is whole, and that of a link: other Requests may have header fields that change it."""
    if entry.kind != Kind.PAGE or entry.embed_hops or "truncated" in response.flags:
        return False
    return 200 <= response.status < 300 and not request_codec.is_explicit(entry.payload)


def build(parts: Parts) -> DustFeature:
    """Return the DUST rules of a crawl. Their samples cannot be foreseen by a site."""
    configuration, backend = parts.configuration, parts.backend
    chance = random.Random(os.urandom(16))
    return DustFeature(
        DustKnowledge(chance),
        DustStore(backend.tables),
        backend,
        parts.clock,
        configuration.worker_name,
        keeps_states=configuration.frontier_seen != "bloom",
        chance=chance,
    )
