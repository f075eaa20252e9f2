"""Processes of one crawl have the same quarantine, and what is let go is queued again once, by one of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from webcrawl.config import Configuration
from webcrawl.crawl.feature import Features
from webcrawl.errors import StorageAway, StorageLost
from webcrawl.features.traps.detector import TrapDetector
from webcrawl.features.traps.feature import LATE_SECONDS, LOOK_AGAIN_SECONDS, TrapsFeature
from webcrawl.features.traps.parameters import Evidence
from webcrawl.features.traps.shared_evidence import SharedEvidence
from webcrawl.features.traps.store import TrapStore
from webcrawl.frontier.intake import Intake
from webcrawl.frontier.records import RELEASED, State, UrlEntry, UrlRecord
from webcrawl.scope.scope import Candidate, Scope
from webcrawl.storage.contract import Counts
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.storage.redis.server import RedisServer
from webcrawl.storage.redis.tables import RedisTables
from webcrawl.storage.sqlite.tables import SqliteTables
from webcrawl.storage.tables import HEADER
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import PolitenessKey

if TYPE_CHECKING:
    from collections.abc import Iterator

PATTERN = "h.test/cal/#"


@dataclass
class Crawl:
    """One process: what it queued, and the states that its backend knows."""

    traps_feature: TrapsFeature
    runner: asyncio.Runner
    states: dict[str, State] = field(default_factory=dict)
    queued: list[UrlEntry] = field(default_factory=list)
    forgot: int = 0

    async def add_seeds(self, entries: list[UrlEntry]) -> bool:
        self.queued += entries
        return True

    async def url_record(self, key: str, fingerprint: int) -> UrlRecord | None:
        state = self.states.get(f"{fingerprint}")
        return None if state is None else UrlRecord(state)

    def link_entry(self, url: str, depth: int, via: str | None) -> UrlEntry | str:
        if "other" in url:
            return "length"
        return UrlEntry(url, "h.test", fingerprint(url), depth=depth, via=via)

    def forget(self) -> None:
        self.forgot += 1

    def step(self, now: float = 0.0) -> None:
        self.runner.run(self.traps_feature.step(self, self, now))

    def find(self, pattern: str = PATTERN) -> None:
        self.traps_feature.detector.quarantine.add(
            Evidence(pattern, "nothing new", 12, ("http://h.test/cal/1",)), 5.0
        )

    def withhold(self, url: str) -> bool:
        refused = self.traps_feature.rule.refuses(Candidate(url, "h.test", "h.test")) is not None
        if refused:
            self.traps_feature.detector.withheld(url, "h.test", 3, "http://h.test/")
        return refused


def owed(runner, store):
    return runner.run(store.owed(PATTERN, HEADER, 10))[0]


@pytest.fixture
def make(runner, request) -> Iterator:
    def one(store, name="w1", tables=None):
        configuration = Configuration(worker_name=name, traps_withheld_max=100)
        is_shared = tables is not None
        detector = TrapDetector(lambda: 0.0, pages=12, new_share=0.1, withheld_max=100, is_shared=is_shared)
        evidence = SharedEvidence(tables, detector) if is_shared else None
        crawl = Crawl(None, runner)
        crawl.traps_feature = TrapsFeature(detector, store, crawl, configuration, lambda: 0.0, evidence)
        runner.run(crawl.traps_feature.open(Counts()))
        return crawl

    return one


@pytest.fixture(params=["memory", "sqlite"])
def store(request, runner, tmp_path):
    if request.param == "memory":
        yield TrapStore(MemoryTables())
        return
    tables = SqliteTables(tmp_path)
    store = TrapStore(tables)
    runner.run(tables.open())
    yield store
    runner.run(tables.close())


def test_what_one_found_all_obey(make, store):
    one, other = make(store), make(store, "w2")
    one.find()
    assert one.withhold("http://h.test/cal/1")
    assert not other.withhold("http://h.test/cal/1")
    one.step()
    other.step()
    assert other.withhold("http://h.test/cal/2")
    assert make(store, "w3").withhold("http://h.test/cal/3")


def test_what_is_let_go_is_queued_once_and_by_all_taken_for_innocent(make, store, runner):
    one, other = make(store), make(store, "w2")
    one.find()
    for url in ("http://h.test/cal/1", "http://h.test/cal/2", "http://h.test/cal/2?other"):
        assert one.withhold(url)
    one.step()
    other.step()
    runner.run(store.undo([PATTERN], 9.0))
    other.step()
    one.step()
    assert sorted((entry.url, entry.depth, entry.via) for entry in [*one.queued, *other.queued]) == [
        ("http://h.test/cal/1", 3, "http://h.test/"),
        ("http://h.test/cal/2", 3, "http://h.test/"),
    ]
    assert not one.withhold("http://h.test/cal/4")
    assert (one.forgot, other.forgot) == (1, 1)
    one.find()
    assert not one.withhold("http://h.test/cal/5")


def test_what_others_withheld_before_they_heard_of_it_is_queued_too(make, store, runner):
    one, other = make(store), make(store, "w2")
    one.find()
    one.step()
    other.step()
    runner.run(store.undo([PATTERN], 9.0))
    one.step(10.0)
    assert other.withhold("http://h.test/cal/7")
    other.step(11.0)
    one.step(12.0)
    assert [entry.url for entry in [*one.queued, *other.queued]] == ["http://h.test/cal/7"]


def test_what_is_stored_when_the_crawl_ends_is_not_lost(make, runner, monkeypatch):
    store = TrapStore(MemoryTables())
    crawl = make(store)
    crawl.find()
    crawl.withhold("http://h.test/cal/1")
    put, entered = store.put, asyncio.Event()

    async def put_slowly(traps):
        entered.set()
        await asyncio.Event().wait()

    async def end():
        step = asyncio.create_task(crawl.traps_feature.step(crawl, crawl, 0.0))
        crawl.traps_feature._task = step
        await entered.wait()
        monkeypatch.setattr(store, "put", put)
        await crawl.traps_feature.before_close()

    monkeypatch.setattr(store, "put", put_slowly)
    runner.run(end())
    assert [trap.pattern for trap in runner.run(store.beliefs())] == [PATTERN]
    assert [one.url for one in owed(runner, store)] == ["http://h.test/cal/1"]


def test_a_crawl_that_goes_on_queues_what_was_let_go_meanwhile(make, store, runner):
    before = make(store)
    before.find()
    before.withhold("http://h.test/cal/1")
    runner.run(before.traps_feature.store_news())
    runner.run(store.undo([PATTERN], 9.0))
    after = make(store)
    assert after.queued == []
    after.step()
    assert [entry.url for entry in after.queued] == ["http://h.test/cal/1"]
    again = make(store)
    again.step()
    assert again.queued == []


@pytest.mark.parametrize(
    ("state", "queued"),
    [(None, [False]), (State.REFUSED, [True]), (State.DONE, []), (State.FAILED, [])],
)
def test_only_what_was_never_queued_or_is_refused_is_queued(make, runner, state, queued):
    store = TrapStore(MemoryTables())
    crawl = make(store)
    crawl.find()
    crawl.withhold("http://h.test/cal/1")
    entry = crawl.link_entry("http://h.test/cal/1", 3, None)
    if state is not None:
        crawl.states[f"{entry.fingerprint}"] = state
    crawl.step()
    runner.run(store.undo([PATTERN], 9.0))
    crawl.step()
    assert [one.repeat for one in crawl.queued] == queued
    assert owed(runner, store) == []


def test_what_is_queued_is_owed_until_nobody_refuses_it_any_more(make, runner):
    """A process that has taken it and does not know of the release yet refuses it."""
    store = TrapStore(MemoryTables())
    crawl = make(store)
    crawl.find()
    urls = [f"http://h.test/cal/{number}" for number in range(3)]
    marks = [f"{crawl.link_entry(url, 3, None).fingerprint}" for url in urls]
    for url in urls:
        crawl.withhold(url)
    crawl.states = dict.fromkeys(marks, State.QUEUED)
    crawl.step()
    runner.run(store.undo([PATTERN], 9.0))
    crawl.step(10.0)
    assert (crawl.queued, len(owed(runner, store))) == ([], 3)
    crawl.states |= {marks[0]: State.REFUSED, marks[1]: State.DONE}
    crawl.step(10.0 + LOOK_AGAIN_SECONDS)
    assert [(entry.url, entry.repeat) for entry in crawl.queued] == [(urls[0], True)]
    assert [one.url for one in owed(runner, store)] == [urls[2]]
    crawl.step(10.0 + LATE_SECONDS)
    assert (len(crawl.queued), owed(runner, store)) == (1, [])


def test_what_is_queued_again_is_not_refused_by_who_learns_late(make, runner):
    store = TrapStore(MemoryTables())
    crawl, late = make(store), make(store, "w2")
    crawl.find()
    late.find()
    crawl.withhold("http://h.test/cal/1")
    crawl.step()
    runner.run(store.undo([PATTERN], 9.0))
    crawl.step(10.0)
    [entry] = crawl.queued
    rule = Scope([late.traps_feature.rule])
    intake = Intake(PolitenessKey("host"), rule, Scope([]), standing=rule)
    assert intake.admit(entry) is None
    assert intake.admit(replace(entry, listed=None)) == "trap"
    assert entry.listed == RELEASED


def test_what_was_withheld_is_stored_before_the_state_of_any_url(make, runner):
    store = TrapStore(MemoryTables())
    crawl = make(store)
    crawl.find()
    crawl.withhold("http://h.test/cal/1")
    features = Features()
    features.add("traps", crawl.traps_feature)
    runner.run(features.find_before_commit()())
    assert [one.url for one in owed(runner, store)] == ["http://h.test/cal/1"]
    assert Features().find_before_commit() is None


@pytest.mark.parametrize("error", [StorageAway("away"), StorageLost("damaged")])
def test_what_cannot_be_stored_now_is_stored_later_and_said_once(make, monkeypatch, caplog, error):
    store = TrapStore(MemoryTables())
    crawl = make(store)
    crawl.find()
    crawl.withhold("http://h.test/cal/1")

    async def fail(kept, most):
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(store, "withhold", fail)
        crawl.step()
        crawl.step()
    assert len([record for record in caplog.records if "cannot be stored" in record.message]) == 1
    crawl.step()
    [trap] = crawl.runner.run(store.beliefs())
    assert (trap.pattern, trap.withheld) == (PATTERN, 1)


def test_on_redis_too(make, runner, redis_server):
    server = RedisServer({"url": redis_server.url}, list)
    runner.run(server.connect())

    def store():
        return TrapStore(RedisTables(server, "broad", lambda: 3))

    one, other = make(store()), make(store(), "w2")
    one.find()
    one.withhold("http://h.test/cal/1")
    one.step()
    other.step()
    assert other.withhold("http://h.test/cal/2")
    other.step()
    runner.run(store().undo([PATTERN], 9.0))
    one.step()
    other.step()
    assert sorted(entry.url for entry in [*one.queued, *other.queued]) == [
        "http://h.test/cal/1",
        "http://h.test/cal/2",
    ]
    redis_server.call("FLUSHALL")
    one.find("h.test/x/+")
    one.step()
    one.step()
    # Patterns that Redis has lost are stored again.
    assert [trap.pattern for trap in runner.run(store().beliefs())] == ["h.test/x/+"]
    runner.run(server.close())


def fetch(crawl, fence, path, body):
    """Show a page to a process that holds the host under a fence."""
    entry = UrlEntry(f"http://h.test{path}", "h.test", fingerprint(path), depth=1, via="http://h.test/")
    flight = SimpleNamespace(lease=SimpleNamespace(entry=entry, fence=fence))
    page = SimpleNamespace(mime="text/html", encoding="utf-8")
    response = SimpleNamespace(body=body.encode())
    crawl.runner.run(crawl.traps_feature.page(page, response, flight, (), {}))


def test_who_gets_a_host_knows_what_its_last_holder_has_fetched(make, runner):
    tables = MemoryTables()
    store = TrapStore(tables)
    one, other = make(store, tables=tables), make(store, "w2", tables=tables)
    for number in range(16):
        for view in range(3):
            fetch(one, 1, f"/rev/{number}?view={view}", f"page {number}")
    one.step()
    other.step()
    assert one.withhold("http://h.test/rev/3?view=9")
    assert not other.withhold("http://h.test/rev/3?view=9")
    fetch(other, 2, "/rev/100?view=0", "page 100")
    assert other.withhold("http://h.test/rev/3?view=9")
    assert not other.withhold("http://h.test/rev/200?view=9")
