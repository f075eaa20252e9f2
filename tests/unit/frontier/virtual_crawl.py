"""A whole crawl in one call: a frontier, an answer for each URL, and time that passes when there is nothing to do."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

from tests.contract.samples import NOW
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.lease import FetchEnd, Lease, Outcome, Result
from webcrawl.frontier.order import LevelSampler, Order
from webcrawl.frontier.policies import FrontierLimits, Policies, RobotsPolicy
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.frontier.robots_requests import RobotsReply
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.health import Health
from webcrawl.robots.rules import RulesCache
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.storage.contract import Backend

DELAY = 5.0
NO_ROBOTS = 404, Outcome(Result.FETCHED, robots=RobotsReply(404, b""))


def page(url: str, via: str | None = None) -> UrlEntry:
    return UrlEntry(url, get_host(url), fingerprint(url), via=via)


class VirtualCrawl:
    """Each host has a key of its own and is owed five seconds; no host has a robots.txt."""

    def __init__(
        self,
        backend: Backend,
        answer: Callable[[UrlEntry], tuple[int, Outcome]],
        *,
        order: Order | None = None,
        open_max: int = 256,
        active_max: int = 1000,
        session_budget: int = 16,
        rate: float | None = None,
        **rules: Any,
    ) -> None:
        """``answer``: status and outcome of a fetch of anything but a robots.txt. ``rate``: requests a second
        that the machine can do, None for any number. ``rules``: of ``Policies``."""
        self.now = NOW
        self.held_most = 0
        """Of keys, at a time."""
        self.robots: dict[str, int] = {}
        """How often that of each key was asked for."""
        self._answer = answer
        self._open_max = open_max
        self._rate = rate
        policies = Policies(
            order=order or Order("breadth_first", None, NOW),
            sampler=LevelSampler(2.0, seed=1),
            politeness=Politeness("fixed", DELAY, 50.0, 0.0, crawl_delay_max=300.0),
            health=Health(),
            robots=RobotsPolicy(agents=("webcrawl",), rules=RulesCache(10, "webcrawl")),
            get_key=get_host,
            **rules,
        )
        limits = FrontierLimits(
            open_max=open_max,
            active_max=active_max,
            commit_interval_seconds=0.0,
            reordering_share=0.0,
            session_budget=session_budget,
        )
        self.frontier = Frontier(backend, None, policies, limits, lambda: self.now)

    def run(self, seeds: list[UrlEntry], pages: int | None = None) -> None:
        """Crawl until nothing is left, or so many pages were fetched."""
        asyncio.run(self._run(seeds, pages))

    async def _run(self, seeds: list[UrlEntry], pages: int | None) -> None:
        frontier = self.frontier
        await frontier.open()
        frontier.add_entries(seeds)
        await frontier.drain()
        while not frontier.is_finished() and (pages is None or frontier.tally.pages < pages):
            leases = list(itertools.islice(iter(frontier.next_lease, None), self._open_max))
            self.held_most = max(self.held_most, frontier.snapshot().active_hosts)
            for lease in leases:
                self._fetch(lease)
            if self._rate is not None:
                self.now += len(leases) / self._rate
            if not await self._rested() and not leases:
                at = frontier.next_at()
                self.now = self.now + 0.1 if at is None else max(self.now, at)
            if frontier.reordering is not None:
                await frontier.reordering.rescore_queues()
        await frontier.close()

    async def _rested(self) -> bool:
        """Let everything come to rest; whether anything was under way."""
        busy = self.frontier._committer.busy
        await self.frontier.drain()
        for _ in range(20):
            await asyncio.sleep(0)
        return busy

    def _fetch(self, lease: Lease) -> None:
        entry = lease.entry
        if entry.kind == Kind.ROBOTS:
            self.robots[entry.key] = self.robots.get(entry.key, 0) + 1
            status, outcome = NO_ROBOTS
        else:
            status, outcome = self._answer(entry)
        self.frontier.ended(lease, FetchEnd(self.now, self.now, status))
        self.frontier.settle(lease, outcome)
