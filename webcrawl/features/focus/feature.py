"""Wiring of focused crawling: rates pages, gives their links traits, and learns from the results."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from webcrawl import fetch_errors
from webcrawl.errors import CrawlError
from webcrawl.features.focus.features import Standing, packed
from webcrawl.features.focus.judge import FetchedPage, Function, clamped, judge_of
from webcrawl.features.focus.learner import Learner, LinkScorer
from webcrawl.features.focus.store import LearnerFile, LearnerStore, NoStore
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from scrapy.http import Response

    from webcrawl.config import Configuration
    from webcrawl.features.focus.judge import Judge
    from webcrawl.frontier.lease import Outcome
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.frontier.tally import Tally
    from webcrawl.items import Page
    from webcrawl.parsing.links import Link
    from webcrawl.storage.contract import Backend

logger = logging.getLogger(__name__)

WORD = "relevance"
"""Name of a page's relevance in the fetch log, and of its judge's errors in errors.log."""
_DIGITS = 4
EXAMPLES = 32
"""Number of examples that are learned together."""


class FocusFeature:
    """Focus of one crawl: its judge and its learner."""

    def __init__(self, judge: Judge, learner: Learner, store: LearnerStore) -> None:
        self._judge = judge
        self.learner = learner
        self.scorer = LinkScorer(learner)
        self._store = store
        self._thread: ThreadPoolExecutor | None = None
        self._learning = asyncio.Lock()
        self._waiting = 0
        self._task: asyncio.Task[None] | None = None
        self._failed = False
        self._begun = False

    # -- pages ---------------------------------------------------------------------------------------------

    async def relevance(self, page: Page, response: Response) -> float:
        """Return the relevance of a page, 0..1; 0 for a page that came under another URL before, and 0 if the judge
        fails."""
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
            if not self._judge.is_slow:
                return clamped(self._judge.relevance(seen))
            found = await asyncio.get_running_loop().run_in_executor(
                self._own_thread(), self._judge.relevance, seen
            )
            return clamped(found)
        except Exception as error:  # any error of the operator's function is an error of this page
            detail = f"{type(error).__name__}: {error}"
            fetch_errors.note(WORD, page.url, via=page.via, detail=detail)
            return 0.0

    def judged(self, entry: UrlEntry, outcome: Outcome, relevance: float, tally: Tally) -> Standing:
        """Log and count the relevance of a page, learn from it, and return its standing."""
        found = relevance >= self.learner.relevant
        tally.judge(found)
        if outcome.entry is not None:
            outcome.entry.record.extra[WORD] = round(relevance, _DIGITS)
            if found:
                outcome.entry.record.extra["relevant"] = True
        return self._learn_from(entry, relevance)

    def mark(
        self,
        url: str,
        standing: Standing,
        links: Sequence[Link],
        beside: Mapping[str, str],
        entries: Sequence[UrlEntry],
    ) -> None:
        """Set the traits of the new ones among a page's links."""
        if not entries:
            return
        new = {entry.url: entry for entry in entries}
        origin, promises = url[: url.find("/", 8) + 1] or url, self._judge.promises
        place = f"{standing.relevance}{standing.ancestors}{standing.distance}"
        for target, kind, text, _ in links:
            entry = new.get(target)
            if entry is not None and (entry.traits is None or kind == "a"):
                says, stays = promises(target, text), target.startswith(origin)
                digits = f"{place}{'01'[says]}{'01'[stays]}{'10'[kind == 'a']}"
                entry.traits = packed(digits, text, beside.get(target, ""))

    def settled(self, entry: UrlEntry, outcome: Outcome, tally: Tally) -> None:
        """Rate a settled URL that the spider did not rate. A response that is no page for the spider is rated by its
        type and URL alone; a URL that could not be fetched is worth nothing."""
        kept = outcome.entry
        if kept is None or entry.kind != Kind.PAGE or WORD in kept.record.extra:
            return
        if outcome.result is Result.FAILED:
            self._learn_from(entry, 0.0)
        elif outcome.result is Result.FETCHED and 200 <= (kept.record.status or 0) < 300:
            found = 0.0
            if not self._judge.is_slow and "duplicate_of" not in kept.record.extra:
                bare = FetchedPage(entry.url, kept.record.mime or "", depth=entry.depth)
                found = clamped(self._judge.relevance(bare))
            self.judged(entry, outcome, found, tally)

    # -- learning ------------------------------------------------------------------------------------------

    def _learn_from(self, entry: UrlEntry, relevance: float) -> Standing:
        standing = self.learner.fetched(entry.url, entry.traits, entry.via, relevance)
        self._waiting += 1
        if self._waiting >= EXAMPLES and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._learn())
        return standing

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
                    logger.warning("What is learned cannot be kept at the moment: %s", error)
                self._failed = True
            else:
                self._failed = False

    async def _begin(self) -> None:
        if await self._store.begin(self.learner):
            logger.info("Looking on with what was learned from %d pages", self.learner.weights.learned)
        self._begun = True

    def close(self) -> None:
        """Stop the thread."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _own_thread(self) -> ThreadPoolExecutor:
        if self._thread is None:
            # One thread: a judge with state must not be called twice at a time.
            self._thread = ThreadPoolExecutor(1, "relevance")
        return self._thread


def focus_feature_of(
    configuration: Configuration, spider: object, backend: Backend, folder: Path | None
) -> FocusFeature | None:
    """Return the focus of a crawl: the spider's argument ``focus``, or else its method ``relevance``, or else the
    setting. None for a crawl without one. ``folder``: the JOBDIR. :raises FocusError: the focus is invalid"""
    argued, method = getattr(spider, "focus", None), getattr(spider, "relevance", None)
    judge: Judge
    if isinstance(argued, str) and argued:
        name, judge = argued, judge_of(argued)
    elif callable(method):
        name, judge = f"{type(spider).__module__}:{type(spider).__qualname__}.relevance", Function(method)
    elif configuration.focus:
        name, judge = configuration.focus, judge_of(configuration.focus)
    else:
        return None
    learner = Learner(configuration.focus_relevant)
    return FocusFeature(judge, learner, _store(configuration, backend, folder, name))


def _store(configuration: Configuration, backend: Backend, folder: Path | None, name: str) -> LearnerStore:
    if configuration.frontier_backend == "redis":
        # A crawl on one machine does not import the Redis backend.
        from webcrawl.storage.redis import RedisBackend
        from webcrawl.storage.redis.learned import SharedLearning

        assert isinstance(backend, RedisBackend)
        return SharedLearning(backend.server, backend.spider, name)
    return NoStore() if folder is None else LearnerFile(folder, name)
