"""Thousands of small crawls at a time: each site is crawled by itself, to its budget of pages and no further."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import IDENTITY
from tests.unit.frontier.virtual_crawl import DELAY, VirtualCrawl, page
from webcrawl.frontier.lease import Outcome, Result
from webcrawl.storage.memory.frontier import MemoryBackend
from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.frontier.records import UrlEntry
    from webcrawl.storage.contract import Backend

SITES = 500


class Web:
    """Endless: every page links to two others of its site, every third URL is a redirect, every seventh an error;
    one site in ten has but two pages."""

    def __init__(self) -> None:
        self.pages: Counter[str] = Counter()
        self.redirects = 0
        self.errors = 0

    def answer(self, entry: UrlEntry) -> tuple[int, Outcome]:
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
        found = [page(f"http://{host}/{target}", entry.url) for target in targets]
        return 200, Outcome(Result.FETCHED, discovered=found)


def crawled_to(budget: int, backend: Backend, sites: int = SITES) -> VirtualCrawl:
    """All sites end at the budget exactly, or where they have no more."""
    web = Web()
    crawl = VirtualCrawl(backend, web.answer, page_budget=budget)
    names = [f"{'small' if number % 10 == 0 else 'site'}{number}.test" for number in range(sites)]
    crawl.run([page(f"http://{name}/0") for name in names])
    assert web.pages == {name: 2 if name.startswith("small") else budget for name in names}
    assert set(crawl.robots.values()) == {1}
    assert min(web.redirects, web.errors) > sites / 3
    assert crawl.held_most <= 1000
    return crawl


@pytest.mark.slow
def test_every_site_gives_its_budget_of_pages_and_not_one_more() -> None:
    backend = MemoryBackend(delay_seconds=DELAY)
    crawl = crawled_to(6, backend)
    # What has ended holds nothing: no queue, and no place among the active.
    assert not any(host.queue for host in backend._hosts.values())
    assert crawl.frontier.snapshot().queued == 0
    assert crawl.frontier.tally.refused_by_rule["page-budget"] > 0


@pytest.mark.soak
def test_every_site_gives_its_budget_of_pages_and_not_one_more_on_disk(tmp_path: Path) -> None:
    crawled_to(10, SqliteBackend(tmp_path, SqliteOptions(delay_seconds=DELAY), IDENTITY), 5000)
