"""Orders that go by links fetch sooner what many pages link to."""

from __future__ import annotations

import random
from statistics import median
from typing import TYPE_CHECKING

import pytest

from tests.contract.samples import NOW
from tests.rows import each_row
from tests.unit.frontier.virtual_crawl import VirtualCrawl, page
from webcrawl.features.link_scores.scorer import Importance
from webcrawl.features.link_scores.worth_table import WorthTable
from webcrawl.frontier.lease import Outcome, Result
from webcrawl.frontier.order import Order
from webcrawl.storage.memory.frontier import MemoryBackend
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from webcrawl.frontier.records import UrlEntry

PAGES, HOSTS, LINKS = 4000, 40, 12
FETCHED = 600


class Web:
    """The target of each link has a rank that is log-uniform, so the page of rank k has a share of all links that
    falls as 1/k. Ranks are dealt out at random, over hosts too."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.urls = [f"http://h{number % HOSTS}.test/{number}" for number in range(PAGES)]
        ranked = chance.sample(range(PAGES), PAGES)
        self.links = {
            url: [self.urls[ranked[int(PAGES ** chance.random()) - 1]] for _ in range(LINKS)]
            for url in self.urls
        }
        self.in_links = dict.fromkeys(self.urls, 0)
        for targets in self.links.values():
            for target in targets:
                self.in_links[target] += 1
        self.seeds = chance.sample(self.urls, 10)


def share_of_links(name: str, seed: int) -> float:
    """The share of all links that lead to the first pages that are fetched."""
    web, fetched = Web(seed), set[str]()
    importance = None if name == "breadth_first" else Importance(WorthTable(1 << 14), cash=name == "opic")

    def answer(entry: UrlEntry) -> tuple[int, Outcome]:
        fetched.add(entry.url)
        links = web.links[entry.url]
        if importance is not None:
            importance.linked(entry.fingerprint, [fingerprint(url) for url in links])
        return 200, Outcome(Result.FETCHED, discovered=[page(url, entry.url) for url in dict.fromkeys(links)])

    order = Order("breadth_first", None, NOW, scorer=importance)
    best_first = None if importance is None else 0.0
    crawl = VirtualCrawl(MemoryBackend(), answer, order=order, best_first=best_first, open_max=8)
    crawl.run([page(url) for url in web.seeds], FETCHED)
    return sum(web.in_links[url] for url in fetched) / sum(web.in_links.values())


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, pytest.param(20, marks=pytest.mark.soak)])
@each_row("name", ["in_links", "opic"])
def test_what_many_pages_link_to_is_fetched_sooner_than_breadth_first(name: str, seeds: int) -> None:
    ranked = [share_of_links(name, seed) for seed in range(seeds)]
    plain = [share_of_links("breadth_first", seed) for seed in range(seeds)]
    print(
        f"{name}: {median(ranked):.3f} of all links, breadth-first {median(plain):.3f}; seeds 0 to {seeds - 1}"
    )
    assert median(ranked) > 1.05 * median(plain)
