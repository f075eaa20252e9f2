"""Pages that are due get their share beside new ones, and all that nobody else could use."""

import asyncio
import random

import pytest

from tests.rows import each_row
from webcrawl.features.revisits.due_pages import TAKEN_SECONDS, Feeder, Portions, Share
from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.page import RevisitedPage, Visit, VisitOutcome
from webcrawl.features.revisits.policies import FixedPolicy, Pace
from webcrawl.features.revisits.store import VisitStore
from webcrawl.features.revisits.visits import VisitRules, Visits
from webcrawl.frontier.order import FIRST, LAST
from webcrawl.frontier.records import UrlEntry
from webcrawl.storage.memory.tables import MemoryTables

NOW = 1_700_000_000.0


class Frontier:
    """Queues of new and of old URLs, by host, and one request a host and second."""

    def __init__(self, new):
        self.new = dict(new)
        self.old = {}
        self.slots = 1000
        self.fetched_new = self.fetched_old = 0

    def add_entries(self, entries):
        for entry in entries:
            self.old.setdefault(entry.key, []).append(entry)

    def has_work(self, key):
        return bool(self.new.get(key) or self.old.get(key))

    def is_hungry(self):
        return self.slots > sum(map(self.has_work, {**self.new, **self.old}))

    def second(self):
        """The pages that were visited again in a second, of at most as many hosts as there are slots."""
        ready = [key for key in {**self.new, **self.old} if self.has_work(key)]
        visited = []
        for key in random.Random(len(ready)).sample(ready, min(self.slots, len(ready))):
            queue = sorted(self.old.get(key, []), key=lambda entry: -entry.level)
            if queue and (queue[0].level > 0 or not self.new.get(key)):
                self.old[key].remove(queue[0])
                self.fetched_old += 1
                visited.append(queue[0])
            else:
                self.new[key] -= 1
                self.fetched_new += 1
        return visited


class Crawl:
    def __init__(self, new, known, share=0.25, pages_max=8, interval=60.0):
        self.now = NOW
        self.frontier = Frontier(new)
        rules = VisitRules(FixedPolicy(Pace(interval, least_seconds=0.0)))
        self.visits = Visits(VisitStore(MemoryTables()), rules, lambda: self.now, None, lambda url: ("", 0))
        self.feeder = Feeder(self.visits, self.frontier, entry_at, Portions(share, pages_max))
        for key, pages in known.items():
            found = [
                RevisitedPage(key, n, f"http://{key}/{n}", History.first(NOW - 1), NOW, b"", NOW)
                for n in range(pages)
            ]
            asyncio.run(self.visits.store.keep(found))

    def seconds(self, count):
        for _ in range(count):
            self.now += 1
            asyncio.run(self.feeder.step(self.now, self.frontier.fetched_new))
            for entry in self.frontier.second():
                visit = Visit(entry.key, entry.fingerprint, entry.url, self.now, VisitOutcome.CAME)
                self.visits.record(visit, None)
            asyncio.run(self.visits.store_loose())
        return self.frontier


def entry_at(page, level):
    return UrlEntry(page.url, page.key, page.fingerprint, level)


@each_row("share", [0.0, 0.1, 0.25, 0.5, 0.9])
def test_hosts_with_new_urls_give_their_share(share):
    hosts = {f"h{number}": 10_000 for number in range(10)}
    frontier = Crawl(hosts, dict.fromkeys(hosts, 100), share=share).seconds(300)
    fetched = frontier.fetched_new + frontier.fetched_old
    assert fetched == 3000
    assert frontier.fetched_old / fetched == pytest.approx(share, abs=0.03)


def test_with_a_share_of_one_new_urls_wait():
    frontier = Crawl({"h": 1000}, {"h": 1000}, share=1.0, interval=1e6).seconds(300)
    assert (frontier.fetched_new, frontier.fetched_old) == (0, 300)


def test_without_new_urls_all_turns_are_for_pages_that_are_due():
    frontier = Crawl({}, {"h": 100, "i": 50}, share=0.0, interval=1e6).seconds(130)
    assert frontier.fetched_old == 150


def test_hosts_without_new_urls_are_visited_whatever_the_others_do():
    frontier = Crawl({"new": 10_000}, {"new": 100, "old": 100}, share=0.0, interval=1e6).seconds(120)
    assert (frontier.fetched_new, frontier.fetched_old) == (120, 100)


def test_without_a_free_slot_all_pages_compete_for_the_share():
    crawl = Crawl({f"n{number}": 10_000 for number in range(8)}, {"o": 300, "p": 300}, interval=1e6)
    crawl.frontier.slots = 4
    frontier = crawl.seconds(400)
    assert frontier.fetched_old / (frontier.fetched_new + frontier.fetched_old) <= 0.27


def test_a_host_with_very_many_pages_does_not_hold_up_the_others():
    crawl = Crawl({}, {"large": 2000, **{f"h{number}": 3 for number in range(100)}}, interval=1e6)
    frontier = crawl.seconds(8)
    left = [key for key, queue in frontier.old.items() if queue and key != "large"]
    assert left == []
    assert frontier.fetched_old == 3 * 100 + 8


def test_few_pages_of_a_host_are_on_their_way_and_above_new_urls_only_for_the_share():
    crawl = Crawl({"h": 1000}, {"h": 500, "i": 500}, pages_max=6)
    crawl.seconds(60)
    frontier = crawl.frontier
    assert max(len(queue) for queue in frontier.old.values()) <= 6
    assert {entry.level for entry in frontier.old["i"]} <= {LAST}
    assert {entry.level for entry in frontier.old["h"]} <= {FIRST}


def test_what_was_taken_and_never_added_is_due_again():
    crawl = Crawl({}, {"h": 3})
    asyncio.run(crawl.visits.store.take(["h"], NOW, TAKEN_SECONDS, 8))
    assert crawl.seconds(5).fetched_old == 0
    crawl.now += TAKEN_SECONDS
    assert crawl.seconds(5).fetched_old == 3


def test_a_share_is_not_saved_up_without_bound():
    share = Share(0.5, 10)
    share.fetched(1000)
    assert share.granted == 10
    share.spend(13)
    assert share.granted == 0
    share.fetched(4)
    assert share.granted == 1
