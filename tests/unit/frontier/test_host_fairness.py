"""Hosts take turns, also when the machine is the limit of the crawl and some host is ready at any time."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.samples import NOW
from tests.properties.simulation import AtOnce
from tests.unit.frontier.virtual_crawl import DELAY, VirtualCrawl, page
from webcrawl.frontier.lease import Outcome, Result
from webcrawl.storage.memory.frontier import MemoryBackend
from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.frontier.records import UrlEntry
    from webcrawl.storage.contract import Backend

RATE = 10.0
"""Requests a second: with a delay of five seconds 50 hosts are enough for it."""
HOSTS = 1000


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    if request.param == "memory":
        return MemoryBackend(delay_seconds=DELAY)
    backend = SqliteBackend(tmp_path, SqliteOptions(delay_seconds=DELAY), {})
    # Time that passes on a thread would be none of the crawl's.
    backend._thread.shutdown()
    backend._thread = AtOnce()
    return backend


class EndlessHosts:
    """Each page of a host links to new ones of the same host, up to ``pages`` of them."""

    def __init__(self, links: int = 20, pages: int | None = None, finite: int = 0) -> None:
        """``finite``: so many hosts have ``pages`` pages, the others have no end."""
        self.visits: Counter[str] = Counter()
        self._links = links
        self._pages = pages
        self._finite = {f"h{number}.test" for number in range(finite)}
        self._numbers = itertools.count()
        self.levels: dict[str, int] = {}

    def seeds(self, hosts: int) -> list[UrlEntry]:
        return [page(f"http://h{number}.test/") for number in range(hosts)]

    def answer(self, entry: UrlEntry) -> tuple[int, Outcome]:
        self.visits[entry.key] += 1
        if entry.key in self._finite:
            assert self._pages is not None
            urls = [f"http://{entry.key}/{number}" for number in range(self._pages - 1)]
        else:
            urls = [f"http://{entry.key}/{next(self._numbers)}" for _ in range(self._links)]
        found = [page(url, entry.url) for url in urls]
        for one in found:
            one.level = self.levels.get(entry.key, 0)
        return 200, Outcome(Result.FETCHED, discovered=found)


def crawled(backend: Backend, hosts: EndlessHosts, number: int, pages: int, **options: Any) -> VirtualCrawl:
    crawl = VirtualCrawl(backend, hosts.answer, open_max=16, rate=RATE, **options)
    crawl.run(hosts.seeds(number), pages)
    return crawl


@pytest.mark.slow
def test_each_seed_is_visited_before_any_host_is_visited_for_more(backend):
    hosts = EndlessHosts()
    crawled(backend, hosts, HOSTS, HOSTS)
    assert len(hosts.visits) >= 0.95 * HOSTS


@pytest.mark.slow
def test_a_first_visit_is_one_page_although_others_have_linked_to_many(backend):
    hosts = EndlessHosts()
    more = [page(f"http://h{number}.test/linked/{n}") for n in range(5) for number in range(HOSTS)]
    crawl = VirtualCrawl(backend, hosts.answer, open_max=16, rate=RATE)
    crawl.run([*hosts.seeds(HOSTS), *more], HOSTS)
    assert len(hosts.visits) >= 0.95 * HOSTS


@pytest.mark.slow
def test_hosts_that_become_known_on_the_way_are_visited_before_any_is_visited_for_more(backend):
    hosts = EndlessHosts()
    unknown = iter(hosts.seeds(HOSTS)[10:])

    def answer(entry: UrlEntry) -> tuple[int, Outcome]:
        status, outcome = hosts.answer(entry)
        outcome.discovered.extend(itertools.islice(unknown, 3))
        return status, outcome

    crawl = VirtualCrawl(backend, answer, open_max=16, rate=RATE)
    crawl.run(hosts.seeds(10), HOSTS)
    assert len(hosts.visits) >= 0.95 * HOSTS


@pytest.mark.slow
def test_no_host_falls_behind_the_mean_by_more_than_two_sessions(backend):
    hosts, session = EndlessHosts(), 2
    crawled(backend, hosts, 200, 1600, session_budget=session)
    mean = sum(hosts.visits.values()) / 200
    assert min(hosts.visits[f"h{number}.test"] for number in range(200)) >= mean - 2 * session


def test_a_host_without_an_end_does_not_hold_back_hosts_of_ten_pages(backend):
    hosts = EndlessHosts(pages=10, finite=99)
    crawl = crawled(backend, hosts, 100, 99 * 10, session_budget=2)
    assert min(hosts.visits[f"h{number}.test"] for number in range(99)) >= 9
    # All of them together are 990 pages and 100 robots.txt at the rate of the machine.
    assert crawl.now - NOW <= 1.2 * (1090 / RATE)
    assert hosts.visits["h99.test"] <= (crawl.now - NOW) / DELAY


def test_no_more_hosts_are_held_than_the_rate_needs(backend):
    hosts = EndlessHosts()
    crawl = crawled(backend, hosts, 400, 800)
    assert crawl.held_most <= 3 * RATE * DELAY


def test_a_session_goes_on_while_no_other_host_waits(backend):
    hosts = EndlessHosts()
    crawl = crawled(backend, hosts, 10, 300, session_budget=2)
    assert crawl.robots == {f"h{number}.test": 1 for number in range(10)}
    assert min(hosts.visits.values()) >= max(hosts.visits.values()) - 1


def test_best_first_hosts_of_one_level_take_turns_and_a_better_one_keeps_its_own():
    hosts = EndlessHosts()
    hosts.levels["h7.test"] = 5
    crawled(MemoryBackend(), hosts, 40, 400, active_max=8, session_budget=2, best_first=0.0)
    others = [hosts.visits[f"h{number}.test"] for number in range(40) if number != 7]
    assert min(others) > 0
    assert hosts.visits["h7.test"] == max(hosts.visits.values())
    assert hosts.visits["h7.test"] >= 1.2 * sum(others) / len(others)
