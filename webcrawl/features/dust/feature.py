"""Wiring of DUST rules: pages are shown to them, their probes are queued, and what they withhold is stored and, if a
rule is undone, queued again."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.errors import StorageLost
from webcrawl.features.beliefs.feature import LATE_SECONDS, BeliefFeature, is_plain_page, queued_again
from webcrawl.features.dust.knowledge import ENDED, DustKnowledge
from webcrawl.features.dust.learner import DustPage, DustState, PageContent
from webcrawl.features.dust.shared_pages import LOOKED_AT, SharedPages
from webcrawl.features.dust.store import DustPages, DustStore
from webcrawl.features.dust.url_parts import url_parts
from webcrawl.features.dust.withholding import DOUBT_SECONDS, DustScopeRule, closing_samples
from webcrawl.fetching.meta import FetchMeta, fetch_meta
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import QUEUED, RELEASED, Kind, State, UrlEntry
from webcrawl.parsing.links import LinkColumns
from webcrawl.processing.contract import Content
from webcrawl.processing.pool import ProcessingBroken
from webcrawl.reports import text
from webcrawl.storage.tables import HEADER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence

    from scrapy.http import Response

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl
    from webcrawl.features.dust.learner import TrackedRule
    from webcrawl.features.dust.withholding import WithheldUrl
    from webcrawl.frontier.intake import Intake
    from webcrawl.items import Page
    from webcrawl.storage.contract import Backend, Counts

logger = logging.getLogger(__name__)

REQUEUED_AT_ONCE = 500
CLAIM_SECONDS = 60.0
"""Time for which one process has the exclusive right to queue URLs of undone rules."""
LOOK_AGAIN_SECONDS = 5.0
"""Interval at which withheld URLs of undone rules are looked at again."""
OTHERS_IDLE_SECONDS = 20.0
"""Time after which an idle crawl undoes a rule that a process doubts which may have been killed."""
LOOKS_MAX = 10
"""How often a last sample, or the page that it is to have, is looked for, once a second in an idle crawl."""
QUEUED_LOOKS_MAX = 60
"""How often that is done as long as the sample is queued: another process may be about to fetch it."""
WITHHELD = DustScopeRule.name
CONSIDERED = 100
"""Withheld URLs of a site among which the last samples of its rules are chosen."""


@dataclass(slots=True)
class _LastSample:
    entry: UrlEntry
    site: str
    rules: tuple[TrackedRule, ...]
    known: DustPage
    """The page that its rules say it has."""
    looks: int = 0


class DustFeature(BeliefFeature["TrackedRule"]):
    """Shows pages to the rules, and synchronises them with their store once a second, so that all processes of a
    crawl agree."""

    what = "DUST rules"

    def __init__(
        self,
        knowledge: DustKnowledge,
        store: DustStore,
        backend: Backend,
        clock: Callable[[], float],
        worker: str,
        *,
        pages: DustPages,
        keeps_states: bool,
        is_shared: bool,
        by_text: bool = False,
        chance: random.Random,
    ) -> None:
        """``keeps_states``: whether the storage has the states of URLs. ``is_shared``: other processes may work on
        the same crawl. ``by_text``: pages with nearly the same main text are equal."""
        super().__init__(store, clock, worker)
        self.knowledge = knowledge
        self.rule = DustScopeRule(knowledge.withholding)
        self.withhold = knowledge.withholding.withheld
        self.stands_for = knowledge.withholding.known_pages
        self._store = store
        self._backend = backend
        self._keeps_states = keeps_states
        self._chance = chance
        self._look_at = 0.0
        self._is_owing = False
        """True if URLs of undone rules were queued when they were looked at last, and may still be refused."""
        self._is_shared = is_shared
        self._by_text = by_text
        self._pages_store = pages
        self._pages = SharedPages(pages, knowledge, clock)
        self._samples: dict[str, _LastSample] = {}
        """The last samples that are to be compared, by their URLs."""
        self._checking: dict[str, dict[str, int]] = {}
        """By site and rule how many URLs were withheld when these samples were chosen."""
        self._fruitless: Counter[str] = Counter()
        """By rule how often no sample of it could be compared."""
        self._is_checked = False
        """True if all rules were checked, and nothing was fetched since."""
        self._store_first: Callable[[], Awaitable[None]] = self.before_commit
        """Stores what rules have withheld, those of other features too."""
        self._storing = asyncio.Lock()

    async def open(self, counts: Counts) -> None:
        await super().open(counts)
        if not self._is_shared:
            # An earlier run was ended in the midst of these doubts.
            self._note(self.knowledge.expire(self._clock(), -1.0))
        if count := len(self.knowledge.withholding):
            logger.info("%s; see scrapy dust", text.things(count, "DUST rule"))

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._store_first = context.features.find_before_commit() or self.before_commit
        super().begin(context, scheduler)

    async def page(
        self,
        page: Page,
        response: Response,
        flight: InFlightRequest,
        found: Sequence[UrlEntry],
        beside: Mapping[str, str],
    ) -> None:
        """Learn from a page."""
        entry = flight.lease.entry
        parts = url_parts(entry.url)
        if parts is None:
            return
        if not is_plain_page(entry, response) or page.nofollow:
            # As a sample it says nothing: its links are not followed.
            self.knowledge.skipped(entry.url, parts.site)
            return
        assert response.request is not None
        self._note(await self._pages.hold(parts.site, flight.lease.fence))
        facts, now = fetch_meta(response.request), self._clock()
        links = None
        if (facts.original is None or facts.follows_links) and not page.links_dropped:
            links = LinkColumns.of(page.links).values(0)
        text, sketch = await self._read_text(page, response, facts)
        content = PageContent.of(text or response.body, links, parts.site, sketch)
        self._note(self.knowledge.page(entry.url, content, now))
        if (known := self.knowledge.learner.find_page(parts.site, entry.url)) is not None:
            self._pages.fetched(flight.lease.id, known)
        self._queue_probes(entry.depth)

    async def _read_text(self, page: Page, response: Response, facts: FetchMeta) -> tuple[bytes, bytes]:
        """Return the digest of the main text of a page, if any setting has it computed, and its sketch if texts
        count; both are empty otherwise."""
        if not self._by_text:
            return facts.text_digest or b"", b""
        if facts.text_sketch is None and self._context is not None and self._context.texts is not None:
            content = Content(
                response.url, response.status, page.mime or "", page.encoding, {}, response.body
            )
            try:
                facts.text_digest, facts.text_sketch = await self._context.texts.of(content)
            except ProcessingBroken:
                # It counts by its body; who needs the processes ends the crawl.
                return b"", b""
        return facts.text_digest or b"", facts.text_sketch or b""

    def refused(self, entry: UrlEntry) -> None:
        self._is_checked = False

    async def before_commit(self) -> None:
        """Store what was withheld before the pages that link to it are settled, and before the URLs are whose turn it
        was: a rule that is undone later has them queued again, also if this process is killed now."""
        if not self.knowledge.withholding.is_waiting() and not self._storing.locked():
            return
        try:
            await self._store_withheld()
        except StorageLost as error:
            self._tell_failure(error)

    def settled(self, flight: InFlightRequest) -> None:
        """Note URLs that have no page, so that a rule that expected one is not believed."""
        self._pages.settled(flight.lease.id)
        self._is_checked = False
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
        if self._ends_soon():
            return False
        withholding = self.knowledge.withholding
        is_done = not len(withholding) or self._is_checked
        if self._stepped and is_done and not (withholding.has_open() or self._is_owing or self._changed):
            return False
        self._is_idle, self._look_at = True, 0.0
        return True

    async def _store_last(self) -> None:
        await self._store_withheld()
        await self._store_changed()

    async def drained(self) -> None:
        await self._pages.write(self._pages.take_settled())

    async def close(self) -> None:
        if self._by_text and self._context is not None and self._context.texts is not None:
            self._context.texts.close()

    async def _take_step(self, context: CrawlContext, scheduler: RunningCrawl, now: float) -> None:
        """Store what is new, load changes of other processes, queue URLs of undone rules, and samples if the crawl is
        idle."""
        if self._pages.has_settled():
            pages = self._pages.take_settled()
            # Only what is durable may be known: a URL is withheld for a page that is there.
            if await context.frontier.drain():
                await self._pages.write(pages)
        self._note(self.knowledge.expire(now, OTHERS_IDLE_SECONDS if self._is_idle else DOUBT_SECONDS))
        await self._store_withheld()
        await self._doubt(scheduler, context.intake, now)
        self._queue_probes(0)
        await self._store_changed()
        if await self._learn(now):
            context.intake.forget()
        await self._requeue(scheduler, context.intake, now)
        self._is_idle = False

    # -- rules ---------------------------------------------------------------------------------------------------

    def _note(self, changed: Iterable[TrackedRule]) -> None:
        now = self._clock()
        for tracked in changed:
            self._changed[tracked.id] = tracked
            match tracked.state:
                case DustState.CONFIRMED:
                    logger.info(
                        "DUST: %s makes no difference, by %s such as %s and %s; scrapy dust --undo %s undoes it",
                        tracked.rule,
                        text.things(len(tracked.pairs), "pair"),
                        *tracked.pair,
                        tracked.id,
                    )
                case DustState.DOUBTED:
                    logger.info("DUST: %s is doubted, since a sample differs", tracked.rule)
                case DustState.UNDONE:
                    logger.warning("DUST: %s is undone: %s", tracked.rule, tracked.why)
                    self._undo(tracked, now + LATE_SECONDS)

    def _undo(self, belief: TrackedRule, until: float) -> None:
        super()._undo(belief, until)
        self._look_at = 0.0
        if self._context is not None:
            # Links of its URLs are found again.
            self._context.intake.forget()

    async def _store_changed(self) -> None:
        for tracked in self.knowledge.learner.open_rules():
            if tracked.is_changed:
                self._changed[tracked.id] = tracked
        await super()._store_changed()

    def _note_stored(self, belief: TrackedRule) -> None:
        belief.stored_pairs = len(belief.pairs)

    def _load(self, stored: Sequence[TrackedRule], mine: set[str], now: float, *, is_first: bool) -> bool:
        # What is stored of a rule whose state changed here meanwhile is old, unless it has ended.
        entered, left = self.knowledge.load(
            [tracked for tracked in stored if tracked.id not in mine or tracked.state in ENDED]
        )
        if not is_first:
            for tracked in entered:
                logger.info("DUST: %s makes no difference; another process proved it", tracked.rule)
        for tracked in left:
            what = "is undone" if tracked.state is DustState.UNDONE else "is refuted"
            logger.info("DUST: %s %s: %s", tracked.rule, what, tracked.why)
        for tracked in stored:
            if tracked.state is DustState.UNDONE and tracked.id not in self._undone:
                self._undo(tracked, max(now if tracked in left else 0.0, tracked.since) + LATE_SECONDS)
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
                if probe.is_repeat:
                    entry.listed = RELEASED
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
                # A rule that another process has undone withholds nothing more; what it withheld is queued again.
                await self._learn(self._clock())
                stored = await self._store.withhold(waiting)
            except BaseException:
                withholding.give_back(waiting)
                raise
            for result in stored:
                withholding.note_stored(*result)

    async def _requeue(self, scheduler: RunningCrawl, intake: Intake, now: float) -> None:
        """Queue the withheld URLs of undone rules again. Those that are queued already stay in the store as long as a
        process that does not know of the undoing may refuse them."""
        if now < self._look_at or not self._undone:
            return
        if not await self._store.claim(self._worker, CLAIM_SECONDS):
            self._is_owing = False
            return
        self._look_at, is_owing = now + LOOK_AGAIN_SECONDS, False
        for rule_id in await self._store.owing(
            {rule_id: tracked.rule.site for rule_id, (tracked, _) in self._undone.items()}
        ):
            (tracked, until), count, waiting = self._undone[rule_id], 0, 0
            site = tracked.rule.site
            async for withheld in self._withheld_urls(site):
                entries, gone = [], []
                for each in withheld:
                    if rule_id not in each.rules:
                        continue
                    place = each.url, each.depth, each.via
                    entry = await queued_again(*place, intake, self._backend, keeps_states=self._keeps_states)
                    if entry is QUEUED and until > now:
                        waiting += 1
                    elif entry == WITHHELD:
                        # By other rules, which replace these in the store.
                        continue
                    else:
                        gone.append(each.url)
                        entries += [entry] if isinstance(entry, UrlEntry) else []
                await self._store_withheld()
                if entries and not await scheduler.add_seeds(entries):
                    return
                if gone:
                    # Those that rules of other features refuse are withheld by these.
                    await self._store_first()
                    await self._store.requeued(site, gone)
                count += len(entries)
            is_owing = is_owing or waiting > 0
            if count:
                logger.info("DUST: %s of rule %s queued again", text.things(count, "URL"), rule_id)
        self._is_owing = is_owing

    async def _withheld_urls(self, site: str) -> AsyncIterator[list[WithheldUrl]]:
        after: bytes | None = HEADER
        while after is not None:
            urls, after = await self._store.owed(site, after, REQUEUED_AT_ONCE)
            yield urls

    # -- doubts --------------------------------------------------------------------------------------------------

    async def _doubt(self, scheduler: RunningCrawl, intake: Intake, now: float) -> None:
        """Compare samples and pages that other processes have fetched with what the rules say."""
        knowledge = self.knowledge
        for site, known, at in knowledge.withholding.open_doubts():
            [page] = await self._pages_store.find(site, [known])
            if page is not None and page.at > at:
                self._note(knowledge.compare_again(page, now))
        if self._is_idle:
            await self._check_rules(scheduler, intake, now)

    async def _check_rules(self, scheduler: RunningCrawl, intake: Intake, now: float) -> None:
        """Compare the last samples of an idle crawl. Queue samples of what each rule withheld, in all processes,
        since it was checked last, chosen among all of its URLs."""
        if not await self._store.claim(self._worker, CLAIM_SECONDS):
            self._is_checked = True
            return
        if await self._compare_samples(now):
            return
        stored = {tracked.id: tracked for tracked in await self._store.beliefs()}
        mine = {tracked.id: tracked for tracked in self.knowledge.withholding.rules()}
        unchecked = [
            tracked
            for rule_id, tracked in stored.items()
            if rule_id in mine
            and tracked.state is DustState.CONFIRMED
            and tracked.withheld > tracked.checked
            and self._fruitless[rule_id] < LOOKS_MAX
        ]
        entries: dict[str, UrlEntry] = {}
        for tracked in unchecked:
            site, rule_id = tracked.rule.site, tracked.id
            self._note(await self._pages.hold(site, LOOKED_AT))
            withheld = await self._choose(tracked)
            found = {each.url: self.knowledge.withholding.find_known(each.url) for each in withheld}
            if withheld and not any(found.values()):
                # Another process may not have stored yet which pages it knows.
                self._fruitless[rule_id] += 1
                continue
            for each in withheld:
                if (known := found[each.url]) is None:
                    continue
                if (entry := await self._sample(each, intake)) is not None:
                    entries[each.url] = entry
                    self._samples[each.url] = _LastSample(entry, site, *known)
            self._checking.setdefault(site, {})[rule_id] = tracked.withheld
        self._is_checked = not unchecked
        if entries:
            await scheduler.add_seeds(list(entries.values()))

    async def _choose(self, tracked: TrackedRule) -> list[WithheldUrl]:
        """Return some of the URLs that a rule withheld, by chance; fewer if samples of other rules test it too."""
        shared = sum(tracked in sample.rules for sample in self._samples.values())
        start, wanted = self._chance.randbytes(16), closing_samples(tracked.withheld, shared)
        mine: list[WithheldUrl] = []
        for after in (start, HEADER):
            withheld, _ = await self._store.owed(tracked.rule.site, after, CONSIDERED)
            mine += [each for each in withheld if tracked.id in each.rules and each not in mine]
            if len(mine) >= wanted:
                break
        return self._chance.sample(mine, min(wanted, len(mine)))

    async def _sample(self, withheld: WithheldUrl, intake: Intake) -> UrlEntry | None:
        """Return a withheld URL as a queue entry that no process withholds; None if it was fetched."""
        key, mark = intake.identify(withheld.url)
        record = await self._backend.url_record(key, mark)
        if record is not None and record.state in (State.DONE, State.FAILED):
            return None
        entry = UrlEntry(withheld.url, key, mark, depth=withheld.depth, via=withheld.via, listed=RELEASED)
        entry.repeat = record is not None or not self._keeps_states
        return entry

    async def _compare_samples(self, now: float) -> bool:
        """Compare the last samples, as they are stored. Return whether some are still to come."""
        for url, sample in list(self._samples.items()):
            page, known = await self._pages_store.find(sample.site, [url, sample.known.url])
            if page is not None:
                del self._samples[url]
                rules = self.knowledge.compare_sample(sample.rules, known or sample.known, page, now)
                self._note(rules)
                continue
            sample.looks += 1
            if sample.looks <= LOOKS_MAX or (
                sample.looks <= QUEUED_LOOKS_MAX and await self._is_queued(sample.entry)
            ):
                continue
            # It has no page, or none in time, which says nothing: the next run samples these rules again.
            del self._samples[url]
            for tracked in sample.rules:
                self._fruitless[tracked.id] = LOOKS_MAX
        if self._samples:
            return True
        checking, self._checking = self._checking, {}
        for site, checked in checking.items():
            answered = {
                rule_id: count for rule_id, count in checked.items() if self._fruitless[rule_id] < LOOKS_MAX
            }
            if answered:
                await self._store.check(site, answered)
        return False

    async def _is_queued(self, entry: UrlEntry) -> bool:
        record = await self._backend.url_record(entry.key, entry.fingerprint)
        return record is not None and record.state is State.QUEUED


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
        pages=DustPages(backend.tables),
        is_shared=configuration.storage.is_shared,
        by_text=configuration.dust_equality == "text",
        keeps_states=configuration.frontier_seen != "bloom",
        chance=chance,
    )
