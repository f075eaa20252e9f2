"""Many thousand small crawls at a time: each site is crawled by itself, to its budget of pages and no further."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import IDENTITY
from tests.contract.samples import NOW
from webcrawl.frontier.backends.memory import MemoryBackend
from webcrawl.frontier.backends.sqlite import SqliteBackend
from webcrawl.frontier.backends.sqlite.backend import SqliteOptions
from webcrawl.frontier.draw import Draw
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.lease import Ending, Lease, Outcome, Result
from webcrawl.frontier.order import Order
from webcrawl.frontier.policies import Limits, Policies, RobotsPolicy
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.frontier.robots_desk import RobotsReply
from webcrawl.hosts.health import Health
from webcrawl.hosts.politeness import Politeness
from webcrawl.hosts.robots_rules import RulesCache
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import host_of

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.frontier.backend import Backend

DELAY = 5.0
OPEN_MAX = 256
SITES = 5000


def page(url: str, via: str | None = None) -> UrlEntry:
    return UrlEntry(url, host_of(url), fingerprint(url), via=via)


class Sites:
    """An endless web: every page links to two others of its site, every third URL is a redirect, every seventh an
    error; one site in ten has but two pages."""

    def __init__(self) -> None:
        self.pages: Counter[str] = Counter()
        self.robots: Counter[str] = Counter()
        self.redirects = 0
        self.errors = 0

    def answer(self, entry: UrlEntry) -> tuple[int, Outcome]:
        if entry.kind == Kind.ROBOTS:
            self.robots[entry.key] += 1
            return 404, Outcome(Result.FETCHED, robots=RobotsReply(404, b""))
        host, name = entry.url.removeprefix("http://").split("/")
        number = int(name)
        if number and number % 3 == 0:
            self.redirects += 1
            found = [page(f"http://{host}/{number + 1}", entry.url)]
            return 301, Outcome(Result.REDIRECTED, discovered=found)
        if number % 7 == 5:
            self.errors += 1
            return 404, Outcome(Result.FETCHED)
        self.pages[host] += 1
        targets = (1,) if host.startswith("small") else (2 * number + 1, 2 * number + 2)
        return 200, Outcome(
            Result.FETCHED, discovered=[page(f"http://{host}/{target}", entry.url) for target in targets]
        )


class Crawl:
    """A frontier whose time passes when there is nothing to do."""

    def __init__(self, backend: Backend, budget: int) -> None:
        self.now, self.sites = NOW, Sites()
        self.held_most = 0
        policies = Policies(
            order=Order("breadth_first", None, NOW),
            draw=Draw(2.0, seed=1),
            politeness=Politeness("fixed", DELAY, 50.0, 0.0, crawl_delay_max=300.0),
            health=Health(),
            robots=RobotsPolicy(agent="webcrawl", rules=RulesCache(10, "webcrawl")),
            key_of=host_of,
            page_budget=budget,
        )
        limits = Limits(open_max=OPEN_MAX, active_max=1000, commit_interval_seconds=0.0)
        self.frontier = Frontier(backend, None, policies, limits, lambda: self.now)

    async def run(self, seeds: list[UrlEntry]) -> None:
        await self.frontier.open()
        self.frontier.add(seeds)
        await self.frontier.drain()
        while not self.frontier.is_finished():
            leases = list(itertools.islice(iter(self.frontier.next, None), OPEN_MAX))
            self.held_most = max(self.held_most, self.frontier.snapshot().active_hosts)
            for lease in leases:
                self._fetch(lease)
            if not await self._drained() and not leases:
                at = self.frontier.next_at()
                self.now = self.now + 0.1 if at is None else max(self.now, at)
        await self.frontier.close()

    async def _drained(self) -> bool:
        """Let everything come to rest; whether anything was under way."""
        busy = self.frontier._committer.busy
        await self.frontier.drain()
        for _ in range(20):
            await asyncio.sleep(0)
        return busy

    def _fetch(self, lease: Lease) -> None:
        status, outcome = self.sites.answer(lease.entry)
        self.frontier.ended(lease, Ending(self.now, self.now, status))
        self.frontier.settle(lease, outcome)


async def crawled(backend: Backend, sites: int, budget: int) -> Crawl:
    crawl = Crawl(backend, budget)
    names = [f"{'small' if number % 10 == 0 else 'site'}{number}.test" for number in range(sites)]
    await crawl.run([page(f"http://{name}/0") for name in names])
    return crawl


def assert_each_ended_at_its_budget(crawl: Crawl, sites: int, budget: int) -> None:
    expected = Counter(2 if number % 10 == 0 else budget for number in range(sites))
    assert Counter(crawl.sites.pages.values()) == expected
    assert set(crawl.sites.robots.values()) == {1}
    assert min(crawl.sites.redirects, crawl.sites.errors) > sites / 3
    assert crawl.held_most <= 1000


def test_every_site_gives_its_budget_of_pages_and_not_one_more() -> None:
    backend = MemoryBackend(delay_seconds=DELAY)
    crawl = asyncio.run(crawled(backend, SITES, 6))
    assert_each_ended_at_its_budget(crawl, SITES, 6)
    # What has ended holds nothing: no queue, and no place among the active.
    assert not any(host.queue for host in backend._hosts.values())
    assert crawl.frontier.snapshot().queued == 0
    assert crawl.frontier.tally.refused_by_rule["page-budget"] > 0


@pytest.mark.soak
def test_five_thousand_sites_end_at_their_budget_on_disk(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path, SqliteOptions(delay_seconds=DELAY), IDENTITY)
    crawl = asyncio.run(crawled(backend, SITES, 10))
    assert_each_ended_at_its_budget(crawl, SITES, 10)
