"""What is archived first and kept behind, through full disks and stores that are away."""

import asyncio

import pytest

from webcrawl.archive.capture import ArchiveEntry, FetchRecord
from webcrawl.errors import StorageFull
from webcrawl.features.revisits.estimate import Expectation
from webcrawl.features.revisits.freshness import FreshnessPolicy
from webcrawl.features.revisits.page import Visit, VisitOutcome
from webcrawl.features.revisits.policies import FixedPolicy, Pace
from webcrawl.features.revisits.store import VisitStore
from webcrawl.features.revisits.visits import VisitRules, Visits
from webcrawl.storage.memory.tables import MemoryTables

NOW = 1_700_000_000.0


class Archive:
    def __init__(self, events):
        self.events = events
        self.full = 0

    async def append(self, entries):
        if self.full:
            self.full -= 1
            raise StorageFull("archive")
        self.events.append(("archived", len(entries)))


class Store(VisitStore):
    def __init__(self, events):
        super().__init__(MemoryTables())
        self.events = events
        self.full = 0

    async def keep(self, pages, dropped=()):
        if self.full:
            self.full -= 1
            raise StorageFull("visits")
        self.events.append(("kept", [page.fingerprint for page in pages], list(dropped)))
        await super().keep(pages, dropped)


def entry(url="http://h/"):
    return ArchiveEntry(FetchRecord(NOW, NOW, url, "h", None, "page", 200, None, None, 0, None, None, 0, "w"))


def visit(number, finding=VisitOutcome.CAME, digest=b"x", at=NOW):
    return Visit("h", number, f"http://h/{number}", at, finding, digest)


@pytest.fixture
def events():
    return []


@pytest.fixture
def visits(events):
    rules = VisitRules(FixedPolicy(Pace(100.0, least_seconds=0.0)), gone_max=1)
    return Visits(Store(events), rules, lambda: NOW, Archive(events), lambda url: ("h", int(url[9:])))


def test_visits_are_kept_behind_the_archive(visits, events):
    entries = [entry(), entry(), entry()]
    visits.record(visit(1), entries[0])
    visits.record(visit(2), entries[2])
    asyncio.run(visits.append(entries))
    assert events == [("archived", 3), ("kept", [1, 2], [])]
    asyncio.run(visits.append([entry()]))
    assert events[2:] == [("archived", 1)]


def test_what_was_archived_is_not_archived_again_while_the_store_is_full(visits, events):
    entries = [entry()]
    visits.record(visit(1), entries[0])
    visits._archive.full = visits.store.full = 1
    for _ in range(2):
        with pytest.raises(StorageFull):
            asyncio.run(visits.append(entries))
    asyncio.run(visits.append(entries))
    assert events == [("archived", 1), ("kept", [1], [])]


def test_two_visits_of_a_page_in_one_group_are_one_after_the_other(visits):
    entries = [entry(), entry()]
    visits.record(visit(1), entries[0])
    visits.record(visit(1, digest=b"y", at=NOW + 5), entries[1])
    asyncio.run(visits.append(entries))
    [page] = asyncio.run(visits.store.find([("h", 1)]))
    assert (page.history.visits, page.history.changes, page.digest) == (2, 1, b"y")


def test_what_is_gone_is_forgotten_and_what_never_was_is_not_asked_for(visits, events):
    entries = [entry()]
    visits.record(visit(1), entries[0])
    asyncio.run(visits.append(entries))
    visits.record(visit(1, VisitOutcome.GONE, at=NOW + 5), None)
    visits.record(visit(7, VisitOutcome.GONE), None)
    asyncio.run(visits.store_loose())
    assert events[-1] == ("kept", [], [("h", 1)])
    assert visits.status.pages == 0


def test_a_hint_wakes_whoever_waits_and_only_for_a_page_that_is_known(visits):
    entries = [entry()]
    visits.record(visit(1), entries[0])
    asyncio.run(visits.append(entries))
    visits.news.clear()
    assert asyncio.run(visits.hint("http://h/2", NOW)) is False
    assert not visits.news.is_set()
    assert asyncio.run(visits.hint("http://h/1", NOW + 3)) is True
    assert visits.news.is_set()
    assert asyncio.run(visits.count()).next_at == NOW + 3


def test_how_many_pages_there_are_is_known_between_looks(visits):
    assert visits.status.pages == 0
    entries = [entry(), entry()]
    for number, one in enumerate(entries):
        visits.record(visit(number), one)
    asyncio.run(visits.append(entries))
    assert (visits.status.pages, visits.status.next_at) == (2, NOW + 100)


class Learner(FixedPolicy):
    def __init__(self):
        super().__init__(Pace(100.0, least_seconds=0.0))
        self.learnt = []
        self.recalled = None

    def learn(self, history, now):
        self.learnt.append(history.visits)

    def lessons(self):
        return f"{len(self.learnt)} visits"

    def recall(self, own, others=(), pages=0):
        self.recalled = own, sorted(others), pages

    def expected(self, history, now):
        return Expectation(1.0, 0.0)


def test_a_policy_that_learns_hears_of_each_visit_and_of_what_others_learnt():
    policies = [Learner(), Learner()]
    store = VisitStore(MemoryTables())
    crawls = [
        Visits(store, VisitRules(policy), lambda: NOW, None, lambda url: ("", 0)) for policy in policies
    ]
    for number, visits in enumerate(crawls):
        for at in range(3 + number):
            visits.record(visit(number, at=NOW + at), None)
        asyncio.run(visits.store_loose())
        asyncio.run(visits.share_lessons(f"w{number}"))
    assert [policy.learnt for policy in policies] == [[1, 2, 3], [1, 2, 3, 4]]
    assert policies[1].recalled == (None, ["3 visits"], 1)
    asyncio.run(crawls[0].recall("w0"))
    assert policies[0].recalled == ("3 visits", ["4 visits"], 1)


@pytest.mark.parametrize("policy", [FixedPolicy, FreshnessPolicy])
def test_what_is_to_be_expected_of_a_copy_is_known_under_any_policy(visits, policy):
    visits.rules = VisitRules(policy(Pace()))
    entries = [entry()]
    visits.record(visit(1), entries[0])
    asyncio.run(visits.append(entries))
    [page] = asyncio.run(visits.store.find([("h", 1)]))
    assert visits.expected(page).unchanged == 1
    visits._clock = lambda: NOW + 30 * 86_400
    assert 0.2 < visits.expected(page).unchanged < 0.8
