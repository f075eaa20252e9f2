"""Keys wait for the clocks that they share: one fetch a clock at a time, nobody forgotten, nothing merged."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.frontier.small_crawl import DELAY, SmallCrawl
from webcrawl.frontier import shared_clocks
from webcrawl.frontier.lease import FetchEnd, Result
from webcrawl.politeness.groups import Group, Groups
from webcrawl.politeness.shared_clocks import SharedClocks
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.frontier.lease import Lease
    from webcrawl.frontier.policies import Policies

PAUSE = 1.0
ADDRESS = "192.0.2.1"
GROUPS = Groups([Group("pair", 2 * PAUSE, frozenset({"h0.test", "h1.test"}), ())])


class SharedCrawl(SmallCrawl):
    """Hosts are at one address unless ``elsewhere`` names theirs."""

    def __init__(
        self, shared: SharedClocks | None = None, open_max: int = 128, **elsewhere: str | None
    ) -> None:
        self.shared = SharedClocks(address_delay=PAUSE) if shared is None else shared
        self.elsewhere = {f"{name}.test": address for name, address in elsewhere.items()}
        super().__init__(open_max=open_max)

    def policies(self) -> Policies:
        return replace(super().policies(), shared_clocks=self.shared, locate=self.locate)

    async def locate(self, host: str) -> str | None:
        return self.elsewhere.get(host, ADDRESS)

    def fetch_all(self) -> list[tuple[float, str]]:
        """Fetch until the crawl is over: when, and from which host."""
        fetched = []
        while not self.is_finished():
            lease = self.wait_for_lease()
            fetched.append((self.clock.now, get_host(lease.entry.url)))
            if lease.entry.kind == "robots":
                self.answer_robots(lease)
            else:
                self.fetch(lease)
        return fetched


@pytest.fixture
def made() -> Iterator[list[SmallCrawl]]:
    crawls: list[SmallCrawl] = []
    yield crawls
    for crawl in crawls:
        assert crawl.troubles == []
        crawl.dispose()


def crawl_of(made: list[SmallCrawl], *words: Any, **elsewhere: str | None) -> SharedCrawl:
    made.append(crawl := SharedCrawl(*words, **elsewhere))
    return crawl


def gaps(fetched: list[tuple[float, str]]) -> list[float]:
    times = [at for at, _ in fetched]
    return [after - before for before, after in itertools.pairwise(times)]


def test_hosts_at_one_address_are_contacted_one_after_the_other(made):
    crawl = crawl_of(made)
    crawl.add(*(f"h{number}.test/{page}" for number in range(6) for page in range(2)))
    first = crawl.wait_for_lease()
    assert first.rate_limit_lease.address == ADDRESS
    assert first.rate_limit_lease.pauses == {f"address {ADDRESS}": PAUSE}
    assert crawl.lease() is None
    crawl.clock.now += 60
    assert crawl.lease() is None, "it is still open"
    crawl.answer_robots(first)
    fetched = crawl.fetch_all()
    assert min(gaps(fetched)) >= PAUSE - 1e-6
    assert sorted(host for _, host in fetched) == sorted([f"h{number}.test" for number in range(6)] * 3)[1:]
    assert fetched[-1][0] - fetched[0][0] < 17 * PAUSE + 2 * DELAY, "the address was idle in between"


def test_a_host_at_another_address_does_not_wait(made):
    crawl = crawl_of(made, h1="192.0.2.2")
    crawl.add("h0.test/", "h1.test/", "h2.test/")
    leases = [crawl.lease(), crawl.lease(), crawl.lease()]
    hosts = {get_host(lease.entry.url) for lease in leases if lease is not None}
    assert len(hosts) == 2
    assert "h1.test" in hosts


def test_a_fetch_waits_for_the_latest_of_its_clocks(made):
    crawl = crawl_of(made, SharedClocks(PAUSE, host_delay=3 * PAUSE, groups=GROUPS))
    crawl.add("h0.test/1", "h1.test/1", "h2.test/1", "h2.test/2")
    fetched = crawl.fetch_all()
    assert min(gaps(fetched)) >= PAUSE - 1e-6
    pair = [one for one in fetched if one[1] in ("h0.test", "h1.test")]
    assert min(gaps(pair)) >= 2 * PAUSE - 1e-6
    assert len(fetched) == 7


def test_a_host_without_an_address_is_not_to_be_contacted_at_any(made):
    crawl = crawl_of(made, h0=None)
    crawl.add("h0.test/")
    claim = crawl.wait_for_lease().rate_limit_lease
    assert (claim.address, claim.pauses) == ("", {})


def test_where_nothing_is_shared_nothing_is_asked(made):
    crawl = crawl_of(made, SharedClocks())
    crawl.add("h0.test/", "h1.test/")
    leases = [crawl.wait_for_lease(), crawl.wait_for_lease()]
    assert [lease.rate_limit_lease.pauses for lease in leases] == [{}, {}]


def test_what_was_not_sent_owes_nothing(made):
    crawl = crawl_of(made)
    crawl.add("h0.test/", "h1.test/")
    lease = crawl.wait_for_lease()
    before = crawl.clock.now
    crawl.loop.call(crawl.frontier.ended, lease, FetchEnd(None, crawl.clock.now))
    crawl.settle(lease, Result.ABANDONED)
    assert crawl.wait_for_lease() is not None
    assert crawl.clock.now == before


def test_another_url_that_came_before_has_a_claim_of_its_own(made):
    shared = SharedClocks(host_delay=PAUSE)
    crawl = crawl_of(made, shared)
    crawl.add("a.h0.test/1")
    crawl.allow("a.h0.test")
    crawl.clock.now += DELAY
    # It asks for a.h0.test, and is told of a better one before the answer.
    assert crawl.loop.call(crawl.frontier.next_lease) is None
    crawl.add("b.h0.test/1", level=5)
    lease = crawl.wait_for_lease()
    assert get_host(lease.entry.url) == "b.h0.test"
    assert lease.rate_limit_lease.pauses == {"host b.h0.test": PAUSE}
    crawl.answer_robots(lease)
    hosts = [host for _, host in crawl.fetch_all()]
    assert hosts == ["b.h0.test", "a.h0.test"]


def test_a_key_that_is_lost_leaves_its_place_to_the_next(made):
    crawl = crawl_of(made)
    crawl.add(*(f"h{number}.test/" for number in range(4)))
    open_one = crawl.wait_for_lease()
    crawl.lease()
    others = [f"h{number}.test" for number in range(4) if f"h{number}.test" != get_host(open_one.entry.url)]
    crawl.loop.call(crawl.frontier._keys.drop_key, others[0])
    crawl.answer_robots(open_one)
    crawl.clock.now += PAUSE
    # One has been granted its claim, and is lost before it uses it.
    assert crawl.loop.call(crawl.frontier.next_lease) is None
    crawl.rest()
    granted = [active.key for active in crawl.frontier._rate_limiter._granted]
    assert len(granted) == 1
    crawl.loop.call(crawl.frontier._keys.drop_key, granted[0])
    crawl.rest()
    lease = crawl.lease()
    assert lease is not None
    assert get_host(lease.entry.url) not in (others[0], granted[0])


def test_who_finds_too_long_a_line_comes_again_later(made, monkeypatch):
    monkeypatch.setattr(shared_clocks, "LINE_MAX", 3)
    crawl = crawl_of(made, None, 2)
    hosts = [f"h{number}.test" for number in range(12)]
    crowds = []
    leased = crawl.lease
    monkeypatch.setattr(
        crawl, "lease", lambda: (crowds.append(len(crawl.frontier._rate_limiter)), leased())[1]
    )
    crawl.add(*(f"{host}/" for host in hosts))
    fetched = crawl.fetch_all()
    assert {host for _, host in fetched} == set(hosts)
    assert min(gaps(fetched)) >= PAUSE - 1e-6
    assert max(crowds) <= 3 + 2


def test_a_crawl_that_goes_on_lets_every_clock_rest_first(made):
    crawl = crawl_of(made)
    crawl.add("h0.test/", "h1.test/")
    crawl.fetch(crawl.wait_for_lease())
    crawl.restart()
    begun = crawl.clock.now
    crawl.wait_for_lease()
    assert crawl.clock.now >= begun + PAUSE


@pytest.mark.slow
@given(st.data())
@settings(max_examples=15, deadline=None)
def test_whatever_comes_and_goes_the_clocks_are_kept_and_all_is_fetched(data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, 2), min_size=2, max_size=8), label="addresses of hosts")
    elsewhere: dict[str, str | None] = {f"h{at}": f"192.0.2.{place}" for at, place in enumerate(places)}
    crawl = SharedCrawl(SharedClocks(PAUSE, host_delay=0.5, groups=GROUPS), **elsewhere)
    try:
        crawl.add(*(f"h{at}.test/{page}" for at in range(len(places)) for page in range(2)))
        open_leases: list[Lease] = []
        free_at: dict[str, float] = {}
        fetched = 0
        for _ in range(400):
            if crawl.is_finished():
                break
            lease = crawl.lease()
            if lease is not None:
                for name in lease.rate_limit_lease.pauses:
                    assert free_at.get(name, 0.0) <= crawl.clock.now + 1e-6, name
                    assert not any(name in other.rate_limit_lease.pauses for other in open_leases)
                assert (
                    f"address {elsewhere[get_host(lease.entry.url).split('.')[0]]}"
                    in lease.rate_limit_lease.pauses
                )
                open_leases.append(lease)
            elif not open_leases or data.draw(st.booleans(), label="wait"):
                at = crawl.frontier.next_at()
                assert at is not None or open_leases, "nothing will ever come"
                crawl.clock.now = max(crawl.clock.now + 0.01, at or 0.0)
            else:
                ended = open_leases.pop(data.draw(st.integers(0, len(open_leases) - 1), label="ends"))
                crawl.clock.now += data.draw(st.sampled_from([0.0, 0.3, 2.0]), label="seconds")
                free_at |= {
                    name: crawl.clock.now + pause for name, pause in ended.rate_limit_lease.pauses.items()
                }
                if ended.entry.kind == "robots":
                    crawl.answer_robots(ended)
                else:
                    crawl.fetch(ended)
                    fetched += 1
        assert crawl.is_finished()
        assert fetched == 2 * len(places)
        assert crawl.troubles == []
    finally:
        crawl.dispose()
