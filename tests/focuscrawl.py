"""A crawl of ``focusweb`` at machine level: a frontier on a backend in memory, scorer and learner, time that is told.

There are no sockets and no processes, so a page costs under a millisecond. Requests take half a second, so many at a
time, hosts are owed a delay, and robots.txt of each is asked for first; pages alone are counted.
"""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.features.focus.learner import Learner, LinkScorer
from webcrawl.features.focus.link_features import pack
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.lease import FetchEnd, Lease, Outcome, Result
from webcrawl.frontier.order import LevelSampler, Order, Scorer
from webcrawl.frontier.policies import FrontierLimits, Policies, RobotsPolicy
from webcrawl.frontier.records import UrlEntry
from webcrawl.frontier.robots_requests import RobotsReply
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.health import Health
from webcrawl.robots.rules import RulesCache
from webcrawl.storage.memory.frontier import MemoryBackend
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.focusweb import FocusWeb, WebPage

NOW = 1_790_000_000.0
TAKES_SECONDS = 0.5
EVERYTHING = 10_000_000
BREADTH_FIRST, BY_PARENT, LEARNED = "breadth first", "by parent", "learned"


class ByParent:
    """Plain best-first search: a link is worth what its page was."""

    version = 1

    def levels(self, entries: Sequence[UrlEntry]) -> list[int | None]:
        return [None if entry.link_features is None else int(entry.link_features) for entry in entries]


@dataclass
class Found:
    """What a crawl found, page by page."""

    relevant: list[bool] = field(default_factory=list)
    seconds: float = 0.0
    """Of the time that was told."""
    learner: Learner | None = None

    @property
    def count(self) -> int:
        return sum(self.relevant)


class FocusCrawl:
    """One crawl of so many pages in one of three orders."""

    def __init__(
        self,
        web: FocusWeb,
        order: str,
        *,
        at_once: int = 8,
        delay: float = 1.0,
        explored: float = 0.1,
        learner: Learner | None = None,
        judged: Callable[[float], float] | None = None,
    ) -> None:
        """``judged``: what becomes of a relevance that is learned from."""
        self.web, self.order = web, order
        self.learner = learner or Learner()
        self._judged = judged or (lambda relevance: relevance)
        self._promises = judged is None
        self._now = NOW
        self._under_way: list[tuple[float, int, Lease]] = []
        self._errors: list[BaseException] = []
        self._seen = {fingerprint(url) for url in web.seeds}
        scorers: dict[str, Scorer | None] = {
            BREADTH_FIRST: None,
            BY_PARENT: ByParent(),
            LEARNED: LinkScorer(self.learner),
        }
        scorer = scorers[order]
        policies = Policies(
            order=Order("breadth_first", None, NOW, scorer=scorer),
            best_first=None if scorer is None else explored,
            best_first_seed=web.seed,
            sampler=LevelSampler(2.0, seed=web.seed),
            politeness=Politeness("fixed", delay, 60.0, 0.0, crawl_delay_max=300.0),
            health=Health(failures_to_park=2, park_seconds=60.0),
            robots=RobotsPolicy(agents=("webcrawl",), rules=RulesCache(10, "webcrawl")),
            get_key=get_host,
        )
        self._backend = MemoryBackend(delay_seconds=delay)
        self.frontier = Frontier(
            self._backend,
            None,
            policies,
            FrontierLimits(open_max=at_once, commit_interval_seconds=0.0, reordering_share=0.0),
            lambda: self._now,
            broken=self._errors.append,
        )
        self.fetched: list[str] = []
        self._final: list[UrlEntry] = []

    def run(self, pages: int) -> Found:
        with asyncio.Runner() as runner:
            return runner.run(self._run(pages))

    def queued(self) -> list[UrlEntry]:
        """What was left in the queues."""
        return [entry for entry in self._final if entry.via is not None]

    async def _run(self, pages: int) -> Found:
        found = Found(learner=self.learner)
        await self.frontier.open()
        self.frontier.add_entries([self._entry(url, None) for url in self.web.seeds])
        while len(found.relevant) < pages:
            if not await self._begin():
                break
            self._now, _, lease = heapq.heappop(self._under_way)
            self._end(lease, found)
            if self.order == LEARNED and len(found.relevant) % 16 == 0:
                await self._learn()
            if self._errors:
                raise self._errors[0]
        found.seconds = self._now - NOW
        await _rest()
        self._final = (await self._backend.scan_queues(None, EVERYTHING)).entries
        await self.frontier.close()
        return found

    async def _begin(self) -> bool:
        """Have as much under way as may be; False: there is nothing to be had."""
        while True:
            await _rest()
            while (lease := self.frontier.next_lease()) is not None:
                heapq.heappush(self._under_way, (self._now + TAKES_SECONDS, lease.id, lease))
            await _rest()
            if (lease := self.frontier.next_lease()) is not None:
                heapq.heappush(self._under_way, (self._now + TAKES_SECONDS, lease.id, lease))
                continue
            at = self.frontier.next_at()
            if self._under_way and (at is None or at >= self._under_way[0][0]):
                return True
            if at is None:
                return False
            self._now = max(self._now, at)

    def _end(self, lease: Lease, found: Found) -> None:
        self.frontier.ended(lease, FetchEnd(self._now - TAKES_SECONDS, self._now, 200))
        if lease.entry.kind == "robots":
            self.frontier.settle(lease, Outcome(Result.FETCHED, robots=RobotsReply(404, b"")))
            return
        page = self.web.fetch(lease.entry.url)
        self.fetched.append(page.url)
        found.relevant.append(page.relevance >= self.learner.relevant)
        self.frontier.settle(lease, Outcome(Result.FETCHED, discovered=self._links(page, lease.entry)))

    def _links(self, page: WebPage, entry: UrlEntry) -> list[UrlEntry]:
        """The links that are new, with what is known of them."""
        new = [link for link in page.links if fingerprint(link.url) not in self._seen]
        self._seen.update(fingerprint(link.url) for link in new)
        entries = [self._entry(link.url, entry) for link in new]
        if self.order == BY_PARENT:
            for one in entries:
                one.link_features = str(round(32 * page.relevance))
        elif self.order == LEARNED:
            standing = self.learner.fetched(
                entry.url, entry.link_features, entry.via, self._judged(page.relevance)
            )
            place = f"{standing.relevance}{standing.ancestors}{standing.distance}"
            host = get_host(entry.url)
            for one, link in zip(entries, new, strict=True):
                says = self._promises and not self.web.keywords.isdisjoint(link.text.split())
                stays = get_host(link.url) == host
                one.link_features = pack(f"{place}{int(says)}{int(stays)}0", link.text, link.around)
        return entries

    async def _learn(self) -> None:
        self.learner.learn(self.learner.take_examples())
        self.learner.learned()
        await _rest()
        assert self.frontier.reordering is not None
        await self.frontier.reordering.rescore_queues()

    def _entry(self, url: str, found_on: UrlEntry | None) -> UrlEntry:
        depth, via = (0, None) if found_on is None else (found_on.depth + 1, found_on.url)
        return UrlEntry(url, get_host(url), fingerprint(url), 0, 0, depth, via)


async def _rest() -> None:
    """Wait until the frontier has nothing under way."""
    while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - its tasks are its own
        await asyncio.sleep(0)
