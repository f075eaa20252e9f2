"""Wiring of focused crawling: rates pages, sets the features of their links, and learns from the results."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from webcrawl import fetch_errors
from webcrawl.crawl.feature import Feature
from webcrawl.errors import CrawlError
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.features.focus.classifiers import classifier_for
from webcrawl.features.focus.learner import Learner, LinkScorer
from webcrawl.features.focus.link_features import PageContext, pack
from webcrawl.features.focus.relevance import FetchedPage, Function, clamped
from webcrawl.features.focus.store import LearnerFile, NoStore
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from scrapy.http import Response

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl
    from webcrawl.features.focus.relevance import Classifier
    from webcrawl.frontier.lease import Outcome
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.frontier.tally import Tally
    from webcrawl.items import Page
    from webcrawl.parsing.links import Link
    from webcrawl.storage.contract import Backend
    from webcrawl.storage.shared_parts import LearnerStore

logger = logging.getLogger(__name__)

WORD = "relevance"
"""Name of a page's relevance in the fetch log, and of its classifier's errors in errors.log."""
_DIGITS = 4
EXAMPLES = 32
"""Number of examples that are learned together."""
SECONDS = 1.0
"""Interval between two synchronisations with the store."""


class FocusFeature(Feature):
    """Focus of one crawl: its classifier and its learner, which is synchronised with its store until the crawl
    ends."""

    def __init__(
        self, classifier: Classifier, learner: Learner, store: LearnerStore, clock: Callable[[], float]
    ) -> None:
        self._classifier = classifier
        self.learner = learner
        self.scorer = LinkScorer(learner)
        self._store = store
        self._thread: ThreadPoolExecutor | None = None
        self._learning = asyncio.Lock()
        self._waiting = 0
        self._task: asyncio.Task[None] | None = None
        self._failed = False
        self._begun = False
        self._clock = clock
        self._ticking = PeriodicTask(SECONDS, self._step, at_once=True)

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._ticking.begin()

    async def before_close(self) -> None:
        self._ticking.end()
        await self.step(self._clock(), last=True)

    async def close(self) -> None:
        """Stop the thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    # -- pages ---------------------------------------------------------------------------------------------

    async def page(
        self,
        page: Page,
        response: Response,
        flight: InFlightRequest,
        discovered: Sequence[UrlEntry],
        beside: Mapping[str, str],
    ) -> None:
        entry, outcome = flight.lease.entry, flight.outcome
        relevance = await self._relevance(page, response)
        context = self._record(entry, outcome, relevance, flight.tally)
        self._set_link_features(entry.url, context, page.links, beside, discovered)

    def rate(self, flight: InFlightRequest) -> None:
        self._rate(flight.lease.entry, flight.outcome, flight.tally)

    async def _relevance(self, page: Page, response: Response) -> float:
        """Return the relevance of a page, 0..1; 0 for a page that came under another URL before, and 0 if the
        classifier fails."""
        if page.duplicate_of is not None:
            return 0.0
        seen = FetchedPage(
            page.url,
            page.mime or "",
            page.title or "",
            page.depth,
            page.fields,
            response.body,
            page.encoding,
        )
        try:
            if not self._classifier.is_slow:
                return clamped(self._classifier.relevance(seen))
            relevance = await asyncio.get_running_loop().run_in_executor(
                self._own_thread(), self._classifier.relevance, seen
            )
            return clamped(relevance)
        except Exception as error:  # any error of the operator's function is an error of this page
            detail = f"{type(error).__name__}: {error}"
            fetch_errors.note(WORD, page.url, via=page.via, detail=detail)
            return 0.0

    def _record(self, entry: UrlEntry, outcome: Outcome, relevance: float, tally: Tally) -> PageContext:
        """Log and count the relevance of a page, learn from it, and return its context."""
        is_relevant = relevance >= self.learner.relevant
        tally.count_scored(is_relevant)
        if outcome.entry is not None:
            outcome.entry.record.extra[WORD] = round(relevance, _DIGITS)
            if is_relevant:
                outcome.entry.record.extra["relevant"] = True
        return self._learn_from(entry, relevance)

    def _set_link_features(
        self,
        url: str,
        context: PageContext,
        links: Sequence[Link],
        beside: Mapping[str, str],
        entries: Sequence[UrlEntry],
    ) -> None:
        """Set the features of the new links of a page."""
        if not entries:
            return
        new = {entry.url: entry for entry in entries}
        origin, promises = url[: url.find("/", 8) + 1] or url, self._classifier.promises
        page = f"{context.relevance}{context.ancestors}{context.distance}"
        for target, kind, text, _ in links:
            entry = new.get(target)
            if entry is not None and (entry.link_features is None or kind == "a"):
                is_promising, is_same_host = promises(target, text), target.startswith(origin)
                digits = f"{page}{'01'[is_promising]}{'01'[is_same_host]}{'10'[kind == 'a']}"
                entry.link_features = pack(digits, text, beside.get(target, ""))

    def _rate(self, entry: UrlEntry, outcome: Outcome, tally: Tally) -> None:
        """Rate a settled URL that the spider did not rate. A response that is no page for the spider is rated by its
        type and URL alone; a URL that could not be fetched is worth nothing."""
        kept = outcome.entry
        if kept is None or entry.kind != Kind.PAGE or WORD in kept.record.extra:
            return
        if outcome.result is Result.FAILED:
            self._learn_from(entry, 0.0)
        elif outcome.result is Result.FETCHED and 200 <= (kept.record.status or 0) < 300:
            relevance = 0.0
            if not self._classifier.is_slow and "duplicate_of" not in kept.record.extra:
                bare = FetchedPage(entry.url, kept.record.mime or "", depth=entry.depth)
                relevance = clamped(self._classifier.relevance(bare))
            self._record(entry, outcome, relevance, tally)

    # -- learning ------------------------------------------------------------------------------------------

    def _learn_from(self, entry: UrlEntry, relevance: float) -> PageContext:
        context = self.learner.fetched(entry.url, entry.link_features, entry.via, relevance)
        self._waiting += 1
        if self._waiting >= EXAMPLES and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._learn())
        return context

    async def _learn(self) -> None:
        """Learn the waiting examples, in a thread."""
        try:
            async with self._learning:
                await self._learn_all()
        finally:
            self._task = None

    async def _learn_all(self) -> None:
        # The stored weights are loaded first, since they replace the current ones.
        if not self._begun:
            return
        self._waiting = 0
        if examples := self.learner.take_examples():
            await asyncio.to_thread(self.learner.learn, examples)
            self.learner.learned()

    async def _step(self) -> None:
        await self.step(self._clock())

    async def step(self, now: float, *, last: bool = False) -> None:
        """Load stored weights, store new ones, and load those of other workers. A failed step is retried later."""
        async with self._learning:
            try:
                if not self._begun:
                    await self._begin()
                await self._learn_all()
                if await self._store.step(self.learner, now, last=last):
                    self.learner.learned()
            except CrawlError as error:
                if not self._failed:
                    logger.warning("Learned weights cannot be saved at the moment: %s", error)
                self._failed = True
            else:
                self._failed = False

    async def _begin(self) -> None:
        if await self._store.begin(self.learner):
            logger.info("Continuing with weights learned from %d pages", self.learner.weights.learned)
        self._begun = True

    def _own_thread(self) -> ThreadPoolExecutor:
        if self._thread is None:
            # One thread: a classifier with state must not be called twice at a time.
            self._thread = ThreadPoolExecutor(1, "relevance")
        return self._thread


def build(parts: Parts) -> FocusFeature:
    """Return the focus of a crawl: the spider's argument ``focus``, or else its method ``relevance``, or else the
    setting. :raises FocusError: the focus is invalid"""
    configuration, spider = parts.configuration, parts.spider
    argued, method = getattr(spider, "focus", None), getattr(spider, "relevance", None)
    classifier: Classifier
    if isinstance(argued, str) and argued:
        name, classifier = argued, classifier_for(argued)
    elif callable(method):
        name, classifier = (
            f"{type(spider).__module__}:{type(spider).__qualname__}.relevance",
            Function(method),
        )
    else:
        assert configuration.focus is not None
        name, classifier = configuration.focus, classifier_for(configuration.focus)
    learner = Learner(configuration.focus_relevant)
    store = _store(parts.backend, parts.folder, name)
    return FocusFeature(classifier, learner, store, parts.clock)


def _store(backend: Backend, folder: Path | None, name: str) -> LearnerStore:
    if isinstance(backend, SharedBackend):
        return backend.learner_store(name)
    return NoStore() if folder is None else LearnerFile(folder, name)
