"""Processes of one crawl have the same DUST rules and pages, and what an undone rule withheld is queued again."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace

import pytest
from scrapy.http import HtmlResponse, Request

from webcrawl.features.dust.feature import LATE_SECONDS, LOOK_AGAIN_SECONDS, DustFeature
from webcrawl.features.dust.knowledge import DustKnowledge
from webcrawl.features.dust.learner import DustState
from webcrawl.features.dust.store import DustPages, DustStore
from webcrawl.frontier.intake import Intake
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import RELEASED, State, UrlEntry, UrlRecord
from webcrawl.items import Page
from webcrawl.scope.scope import Scope
from webcrawl.storage.contract import Counts
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.urls.politeness_key import PolitenessKey


class NoSamples(random.Random):
    """Chance by which no URL becomes a sample when it is found."""

    def random(self):
        return 0.999


class Process:
    """One process of a crawl: what it queued, and the states that the storage knows."""

    def __init__(self, runner, tables, states, name="w1", *, is_shared=True):
        self.runner, self.states, self.queued, self.now = runner, states, [], 1000.0
        self.feature = DustFeature(
            DustKnowledge(NoSamples(), share=0.0),
            DustStore(tables),
            self,
            lambda: self.now,
            name,
            pages=DustPages(tables),
            keeps_states=True,
            is_shared=is_shared,
            chance=random.Random(2),
        )
        rule = Scope([self.feature.rule])
        self.intake = Intake(
            PolitenessKey("host"), rule, Scope([]), standing=rule, withheld={"dust": self.feature.withhold}
        )
        self.frontier = self
        self.feature._context = self
        self.lease = 0
        runner.run(self.feature.open(Counts()))

    # -- what the feature uses of the frontier and its backend

    async def add_seeds(self, entries):
        self.add_entries(entries)
        return True

    def add_entries(self, entries):
        self.queued += entries

    def place_first(self, entry):
        return entry

    async def drain(self):
        return True

    async def url_record(self, key, fingerprint):
        state = self.states.get(fingerprint)
        return None if state is None else UrlRecord(state)

    # -- what happens

    def fetch(self, path, text, fence=1, **more):
        """A page comes and is settled."""
        url = f"http://a.test{path}"
        entry = self.intake.seed_entry(url)
        self.lease += 1
        self.now += 0.01
        flight = SimpleNamespace(
            lease=SimpleNamespace(entry=entry, fence=fence, id=self.lease),
            outcome=SimpleNamespace(result=Result.FETCHED, entry=None),
        )
        response = HtmlResponse(url, body=text.encode(), request=Request(url))
        page = Page(url=url, status=200, **more)
        self.runner.run(self.feature.page(page, response, flight, (), {}))
        self.feature.settled(flight)
        self.states[entry.fingerprint] = State.DONE

    def step(self, after=1.0):
        self.now += after
        self.runner.run(self.feature.step(self, self, self.now))

    def idle(self, after=1.0):
        """Return whether the feature keeps an idle crawl open, after a step."""
        is_kept = self.feature.keeps_open.__func__(self.feature)
        self.step(after)
        return is_kept

    def finds(self, path):
        """Return whether a link is queued."""
        return isinstance(self.intake.link_entry(f"http://a.test{path}", 1, "http://a.test/"), UrlEntry)

    def prove(self):
        for number in range(10):
            self.fetch(f"/item-{number}", f"item {number}")
            self.fetch(f"/item-{number}?ref=a", f"item {number}")

    @property
    def rules(self):
        return {tracked.state for tracked in self.feature.knowledge.withholding.rules()}


@pytest.fixture
def tables():
    return MemoryTables()


@pytest.fixture
def states():
    return {}


@pytest.fixture
def start(runner, tables, states):
    return lambda name="w1", **more: Process(runner, tables, states, name, **more)


def mark(process, path):
    return process.intake.identify(f"http://a.test{path}")[1]


def owed(process):
    return [each.url for each in process.runner.run(process.feature._store.owed("a.test", b"", 100))[0]]


def test_a_proof_goes_on_where_another_process_ended(start):
    killed = start()
    for number in range(4):
        killed.fetch(f"/item-{number}", f"item {number}")
        killed.fetch(f"/item-{number}?ref=a", f"item {number}")
    killed.step()
    after = start("w2")
    for number in range(4, 6):
        after.fetch(f"/item-{number}", f"item {number}", fence=2)
        after.fetch(f"/item-{number}?ref=a", f"item {number}", fence=2)
    assert after.rules == {DustState.CONFIRMED}


def test_evidence_that_led_to_no_candidate_yet_is_not_lost(start):
    killed = start()
    killed.fetch("/item-0", "item 0")
    killed.fetch("/item-0?ref=a", "item 0")
    killed.step()
    after = start("w2")
    after.fetch("/item-1", "item 1", fence=2)
    after.fetch("/item-1?ref=a", "item 1", fence=2)
    [tracked] = [each for each in after.feature.knowledge.learner.open_rules() if each.rule.value == "a"]
    assert len(tracked.pairs) == 1


def test_a_page_that_another_process_fetched_is_known(start):
    one = start()
    one.prove()
    one.fetch("/item-50", "item 50")
    one.step()
    other = start("w2")
    assert other.finds("/item-50?ref=a")
    other.fetch("/item-60", "item 60", fence=2)
    assert not other.finds("/item-50?ref=a")
    # Pages that came after the site was read, when its key is held anew.
    one.fetch("/item-51", "item 51", fence=3)
    one.step()
    assert other.finds("/item-51?ref=a")
    other.fetch("/item-61", "item 61", fence=4)
    assert not other.finds("/item-51?ref=a")


def test_a_page_is_known_to_others_when_its_url_is_settled_and_not_before(start, runner):
    one = start()
    one.fetch("/item-0", "item 0")
    assert runner.run(one.feature._pages_store.read("a.test")) == []
    one.step()
    assert [page.url for page in runner.run(one.feature._pages_store.read("a.test"))] == [
        "http://a.test/item-0"
    ]


def test_what_an_undone_rule_withheld_is_queued_again_once(start, runner):
    one, other = start(), start("w2")
    one.prove()
    one.fetch("/item-20", "item 20")
    assert not one.finds("/item-20?ref=a")
    one.step()
    other.step()
    [tracked] = one.feature.knowledge.withholding.rules()
    runner.run(one.feature._store.undo([tracked.rule.id], one.now))
    other.step()
    one.step()
    [entry] = [*one.queued, *other.queued]
    assert (entry.url, entry.listed, entry.repeat) == ("http://a.test/item-20?ref=a", RELEASED, False)
    assert owed(one) == []
    one.step(LOOK_AGAIN_SECONDS)
    assert len(one.queued) + len(other.queued) == 1


def test_what_is_queued_stays_in_the_store_as_long_as_a_process_may_refuse_it(start, runner, states):
    """Another process has taken it, and does not know yet that the rule is undone."""
    one = start()
    one.prove()
    paths = [f"/item-{number}?ref=a" for number in range(20, 23)]
    for number in range(20, 23):
        one.fetch(f"/item-{number}", f"item {number}")
    assert not any(one.finds(path) for path in paths)
    states |= {mark(one, path): State.QUEUED for path in paths}
    one.step()
    [tracked] = one.feature.knowledge.withholding.rules()
    runner.run(one.feature._store.undo([tracked.rule.id], one.now))
    one.step()
    assert (one.queued, len(owed(one))) == ([], 3)
    states |= {mark(one, paths[0]): State.REFUSED, mark(one, paths[1]): State.DONE}
    one.step(LOOK_AGAIN_SECONDS)
    assert [(entry.url, entry.repeat) for entry in one.queued] == [(f"http://a.test{paths[0]}", True)]
    assert owed(one) == [f"http://a.test{paths[2]}"]
    one.step(LATE_SECONDS)
    assert (len(one.queued), owed(one)) == (1, [])


def test_a_process_learns_that_a_rule_is_undone_before_it_stores_what_it_withheld(start, runner):
    one, late = start(), start("w2")
    one.prove()
    one.step()
    late.step()
    late.fetch("/item-70", "item 70", fence=2)
    assert not late.finds("/item-70?ref=a")
    [tracked] = one.feature.knowledge.withholding.rules()
    runner.run(one.feature._store.undo([tracked.rule.id], one.now))
    one.step()
    runner.run(late.feature.before_commit())
    assert late.rules == set()
    late.step()
    assert [entry.url for entry in [*one.queued, *late.queued]] == ["http://a.test/item-70?ref=a"]


def test_a_rule_that_one_process_doubts_withholds_nothing_in_the_others(start):
    one, other = start(), start("w2")
    one.prove()
    one.step()
    other.step()
    other.fetch("/item-80", "item 80", fence=2)
    assert not other.finds("/item-80?ref=a")
    withholding = one.feature.knowledge.withholding
    [tracked] = withholding.rules()
    withholding._sites["a.test"].samples["http://a.test/item-3?ref=a"] = withholding.find_known(
        "http://a.test/item-3?ref=a"
    )
    one.fetch("/item-3?ref=a", "news", fence=3)
    assert tracked.state is DustState.DOUBTED
    one.step()
    other.step()
    assert other.rules == {DustState.DOUBTED}
    assert other.finds("/item-80?ref=a")
    # The known page comes to the other process, and has the news too.
    other.fetch("/item-3", "news", fence=4)
    other.step()
    one.step()
    other.step()
    assert (one.rules, other.rules) == ({DustState.CONFIRMED}, {DustState.CONFIRMED})
    assert not other.finds("/item-80?ref=a")


def test_a_doubt_in_whose_midst_a_crawl_was_killed_ends_the_rule(start, runner, tables):
    one = start(is_shared=False)
    one.prove()
    withholding = one.feature.knowledge.withholding
    one.fetch("/item-40", "item 40")
    assert not one.finds("/item-40?ref=a")
    withholding._sites["a.test"].samples["http://a.test/item-3?ref=a"] = withholding.find_known(
        "http://a.test/item-3?ref=a"
    )
    one.fetch("/item-3?ref=a", "news")
    one.step()
    after = start(is_shared=False)
    assert after.rules == set()
    after.step()
    assert [entry.url for entry in after.queued] == ["http://a.test/item-40?ref=a"]
    [tracked] = [each for each in runner.run(DustStore(tables).beliefs()) if each.rule.value == "a"]
    assert tracked.state is DustState.UNDONE
    assert "item-3?ref=a differ" in tracked.why


def close(process):
    """Let the crawl become idle until the feature lets it end; return the URLs that were queued."""
    process.feature._task = SimpleNamespace(done=lambda: False)
    process.feature._stepped = True
    fetched = 0
    for _ in range(30):
        if not process.idle():
            return [entry.url for entry in process.queued]
        entries, fetched = process.queued[fetched:], len(process.queued)
        for entry in entries:
            process.fetch(entry.url.removeprefix("http://a.test"), process.text(entry.url), fence=9)
    raise AssertionError("the crawl does not end")


@pytest.mark.parametrize(("text", "state"), [("item 30", DustState.CONFIRMED), ("another", DustState.UNDONE)])
def test_before_the_end_samples_are_taken_of_what_a_killed_process_withheld(
    start, runner, tables, text, state
):
    killed = start()
    killed.prove()
    killed.fetch("/item-30", "item 30")
    assert not killed.finds("/item-30?ref=a")
    killed.step()
    after = start("w2")
    after.text = lambda url: text if "ref" in url else "item 30"
    assert "http://a.test/item-30?ref=a" in close(after)
    states = [each.state for each in runner.run(DustStore(tables).beliefs()) if each.rule.value == "a"]
    assert states == [state]
    # They were checked: the next run takes no more samples of them.
    again = start("w3")
    assert close(again) == []


def test_a_copy_whose_links_are_not_followed_says_nothing(start):
    one = start()
    one.prove()
    withholding = one.feature.knowledge.withholding
    for path, more in (("/item-3?ref=a", {"nofollow": True}), ("/item-4?ref=a", {"links_dropped": 7})):
        url = f"http://a.test{path}"
        withholding._sites["a.test"].samples[url] = withholding.find_known(url)
        one.fetch(path, f"item {path[6]}", **more)
        assert withholding._sites["a.test"].samples == {}
    assert one.rules == {DustState.CONFIRMED}


def test_what_is_withheld_is_stored_while_a_step_stores_it(start, runner, monkeypatch):
    """The commit waits for what the step has begun to store."""
    one = start()
    one.prove()
    assert not one.finds("/item-4?ref=a")
    withhold, entered, go_on = one.feature._store.withhold, asyncio.Event(), asyncio.Event()

    async def slowly(withheld):
        entered.set()
        await go_on.wait()
        return await withhold(withheld)

    async def both():
        step = asyncio.create_task(one.feature.step(one, one, one.now))
        await entered.wait()
        commit = asyncio.create_task(one.feature.before_commit())
        await asyncio.sleep(0)
        assert not commit.done()
        go_on.set()
        await asyncio.gather(step, commit)

    monkeypatch.setattr(one.feature._store, "withhold", slowly)
    runner.run(both())
    assert owed(one) == ["http://a.test/item-4?ref=a"]


def test_links_to_withheld_urls_count_for_the_page_that_they_equal(start):
    one = start()
    one.prove()
    one.fetch("/item-30", "item 30")
    linked = []
    intake = Intake(
        PolitenessKey("host"),
        Scope([one.feature.rule]),
        Scope([]),
        withheld={"dust": one.feature.withhold},
        linked=lambda page, marks: linked.extend(marks),
        stands_for=one.feature.stands_for,
    )
    links = [f"http://a.test{path}" for path in ("/item-30?ref=a", "/item-30", "/item-99?ref=a", "/b")]
    taken = intake.take_links(links, 1, "http://b.test/")
    assert linked == [mark(one, path) for path in ("/item-30", "/item-30", "/item-99?ref=a", "/b")]
    assert [entry.url for entry in taken.entries] == links[1:]
    linked.clear()
    # Also when the links were found before.
    assert [list(part.entries) for part in intake.in_parts(links, 1, "http://c.test/")] == [[]]
    assert linked[:2] == [mark(one, "/item-30")] * 2
