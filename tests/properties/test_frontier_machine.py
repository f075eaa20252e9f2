"""The frontier against a model of the world, through every order of events that can be thought of.

A run is a play of links, answers, waiting, full disks, clean ends and crashes. After each step no host may have a
reason to complain, and no URL may be missing; at the end of each run the crawl is brought to its end, and every
URL must have come to one.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.contract.driven import DrivenSqlite, make
from tests.contract.samples import NOW
from tests.properties.ledger import Ledger, where
from tests.properties.simulation import AtOnce, Clock, Disk, Loop, Slow
from tests.properties.world import (
    HOSTS,
    PAGE_ANSWERS,
    ROBOTS_ANSWERS,
    Answer,
    Flight,
    Whim,
    World,
    key_of,
    page,
)
from webcrawl.archive.capture import ArchiveEntry, FetchRecord
from webcrawl.errors import StorageFull
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.lease import Result
from webcrawl.frontier.order import LevelSampler, Order, OrderName
from webcrawl.frontier.policies import FrontierLimits, Policies, RobotsPolicy
from webcrawl.frontier.records import Kind, State, UrlEntry
from webcrawl.politeness.delay import Model, Politeness
from webcrawl.politeness.health import Health
from webcrawl.robots.rules import RulesCache

if TYPE_CHECKING:
    from webcrawl.storage.contract import Batch, Committed, Move

HEAD = 4
"""How many entries travel at a time here, so that queues of a few URLs are long ones."""
LINKS = st.lists(
    st.tuples(st.sampled_from(HOSTS), st.integers(0, 9), st.integers(0, 2), st.booleans()), max_size=10
)
DELAYS = st.sampled_from([0.5, 5.0, 5.0, 31.0, 70.0, 700.0, 4000.0])
STEPS_TO_THE_END = 600
WELL = Answer(200)
NONE = Answer(404)


class Play(RuleBasedStateMachine):
    """Drives a real frontier; ``kind`` says on which backend."""

    kind = "memory"

    @initialize(
        order=st.sampled_from(["breadth_first", "priority", "random", "random_walk"]),
        model=st.sampled_from(["fixed", "mean"]),
        open_max=st.integers(1, 6),
        active_max=st.integers(1, 4),
        dry_max=st.integers(0, 2),
        blocked_max=st.sampled_from([2, 100]),
        session_budget=st.sampled_from([1, 2, 16]),
        queue_max=st.sampled_from([0, 0, 0, 5]),
        scored=st.booleans(),
        best_first=st.sampled_from([None, None, 0.0, 0.3]),
        first=LINKS,
    )
    def begin(
        self,
        order: OrderName,
        model: Model,
        open_max: int,
        active_max: int,
        dry_max: int,
        blocked_max: int,
        session_budget: int,
        queue_max: int,
        scored: bool,
        best_first: float | None,
        first: list,
    ) -> None:
        self.loop, self.clock, self.disk = Loop(), Clock(NOW), Disk()
        self.folder = Path(tempfile.mkdtemp())
        self.driven = make(self.kind, self.loop, self.folder, queue_max=queue_max, delay_seconds=5.0)
        self.order, self.model, self.lives = order, model, 0
        self.scorer, self.best_first = Whim() if scored else None, best_first
        self.limits = FrontierLimits(
            *(open_max, active_max, dry_max, blocked_max, 40.0),
            commit_interval_seconds=0.0,
            reordering_share=0.0,
            session_budget=session_budget,
        )
        self.ledger = Ledger(
            queue_max, lambda entry, rule: self.world.refused(entry, rule), exact=self.driven.exact
        )
        self.world = World(self.policies(), self.ledger, open_max)
        self.promised: list[UrlEntry] = []
        self.pages_due: list[tuple[UrlEntry, ArchiveEntry]] = []
        self.settled: set[int] = set()
        """Leases that were settled; some of them are not durable yet."""
        self.troubles: list[BaseException] = []
        self.sleeping: float | None = None
        """Until when ``next`` had nothing to give, unless ``changed`` is heard before."""
        self.take_up()
        self.add(first)

    def policies(self) -> Policies:
        return Policies(
            order=Order(self.order, None, self.clock.now, seed=self.lives, scorer=self.scorer),
            best_first=self.best_first,
            best_first_seed=self.lives,
            sampler=LevelSampler(2.0, seed=1),
            politeness=Politeness(self.model, 5.0, 50.0, 2.0, crawl_delay_max=300.0),
            health=Health(failures_to_park=2, park_seconds=60.0, park_max_seconds=500.0, parks_to_give_up=1),
            robots=RobotsPolicy(1500.0, agents=("webcrawl",), rules=RulesCache(10, "webcrawl")),
            get_key=key_of,
            retry_times=1,
        )

    def take_up(self) -> None:
        """Open a frontier on what is there, as a new process would."""
        self.lives += 1
        if isinstance(self.driven, DrivenSqlite):
            self.driven.backend._thread.shutdown()
            self.driven.backend._thread = AtOnce()
        self.driven.listen(self.heard, self.moved)
        self.frontier = Frontier(
            Slow(self.driven.backend, self.disk),
            self.disk,
            self.policies(),
            self.limits,
            self.clock,
            changed=self.woken,
            broken=self.troubles.append,
        )
        self.loop.run(self.frontier.open())
        if isinstance(self.driven, DrivenSqlite):
            self.driven.connection.execute("PRAGMA synchronous = OFF")
        self.world.remember({key: host.record for key, host in self.driven.hosts().items()})
        self.awake = True

    def heard(self, batch: Batch, committed: Committed) -> None:
        archived = {id(entry) for entry in self.disk.archived}
        for settled in batch.settled:
            for leased, entry in self.pages_due:
                assert leased is not settled.entry or id(entry) in archived, "settled before its page is kept"
        self.ledger.committed(batch, committed)

    def moved(self, moves: list[Move]) -> None:
        """Nothing that is fetched is moved."""
        leased = {where(flight.lease.entry) for flight in self.world.flights.values()}
        self.ledger.moved(moves, leased)

    def woken(self) -> None:
        self.awake = True

    # -- what happens ----------------------------------------------------------------------------------------

    @rule(links=LINKS)
    def add(self, links: list) -> None:
        entries = [page(*words) for words in links]
        self.promised += entries
        self.loop.call(self.frontier.add_entries, entries)

    @precondition(lambda self: self.scorer and not self.frontier.reordering._tasks)
    @rule()
    def think_otherwise(self) -> None:
        """What is queued is scored again in the background."""
        self.scorer.version += 1
        self.loop.call(self.frontier.reordering._tasks.start, self.walking())

    async def walking(self) -> None:
        try:
            await self.frontier.reordering.rescore_queues()
        except StorageFull:
            assert self.disk.full

    @rule(seconds=DELAYS)
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(turns=st.integers(1, 6))
    def turn(self, turns: int) -> None:
        self.loop.turn(turns)

    @rule()
    def rest(self) -> None:
        """Everything under way comes to its end, unless the disk is full."""
        self.loop.settle_down(lambda: self.disk.full and self.frontier.snapshot().stalled is not None)
        if not self.disk.full:
            assert all(self.ledger.known(entry) for entry in self.promised), "a URL was forgotten"
            self.promised.clear()
            self.ledger.news.clear()

    @rule()
    def lease(self) -> None:
        lease = self.loop.call(self.frontier.next_lease)
        if lease is None:
            self.awake = False
            at = self.loop.call(self.frontier.next_at)
            self.sleeping = None if at is None else at
            return
        due = self.sleeping is not None and self.clock.now >= self.sleeping
        assert self.awake or due, "nobody said that there is something again"
        self.let_go()
        self.world.judge(lease, self.clock.now)

    @rule(waiting=st.booleans())
    def lease_when_ready(self, waiting: bool) -> None:
        self.rest()
        self.lease()
        self.rest()
        if waiting and not self.awake and self.sleeping is not None:
            self.clock.now = max(self.clock.now, self.sleeping)
        self.lease()

    @precondition(lambda self: any(flight.answer is None for flight in self.world.flights.values()))
    @rule(
        choice=st.integers(0, 3),
        on_page=st.sampled_from((WELL,) * 3 + PAGE_ANSWERS),
        on_robots=st.sampled_from((NONE,) * 5 + ROBOTS_ANSWERS),
        seconds=st.sampled_from([0.0, 0.1, 4.0, 40.0]),
        links=LINKS,
        then=st.sampled_from(["settle", "rest", "later"]),
    )
    def answer(
        self, choice: int, on_page: Answer, on_robots: Answer, seconds: float, links: list, then: str
    ) -> None:
        flights = [flight for flight in self.world.flights.values() if flight.answer is None]
        flight = flights[choice % len(flights)]
        self.end(flight, on_robots if flight.is_robots else on_page, seconds)
        if then != "later":
            self.settle_one(flight, [page(*words) for words in links], Result.FETCHED)
        if then == "rest":
            self.rest()

    @rule(count=st.integers(1, 6), links=LINKS, slowly=st.booleans())
    def fetch_well(self, count: int, links: list, slowly: bool) -> None:
        """Things go as they should for a while, though pages may be processed slowly."""
        for _ in range(count):
            known = set(self.world.flights)
            self.lease_when_ready(waiting=True)
            for lease_id in self.world.flights.keys() - known:
                flight = self.world.flights[lease_id]
                self.end(flight, NONE if flight.is_robots else WELL, 1.0)
                if flight.is_robots or not slowly:
                    self.settle_one(flight, [page(*words) for words in links], Result.FETCHED)

    @precondition(lambda self: any(flight.answer for flight in self.world.flights.values()))
    @rule(
        choice=st.integers(0, 3),
        links=LINKS,
        result=st.sampled_from([Result.FETCHED, Result.REDIRECTED, Result.FAILED, Result.REFUSED]),
    )
    def settle(self, choice: int, links: list, result: Result) -> None:
        # What was settled and is not durable yet is still in flight, but has nothing more to say.
        flights = [
            one for one in self.world.flights.values() if one.answer and one.lease.id not in self.settled
        ]
        if flights:
            self.settle_one(flights[choice % len(flights)], [page(*words) for words in links], result)

    @rule(archive=st.booleans(), state=st.booleans())
    def fill_or_free_the_disk(self, archive: bool, state: bool) -> None:
        self.disk.archive_full, self.disk.state_full = archive, state

    @precondition(lambda self: not self.disk.full)
    @rule()
    def stop_and_start(self) -> None:
        self.loop.run(self.frontier.close())
        assert all(self.ledger.known(entry) for entry in self.promised), "a URL was forgotten at the end"
        self.driven.renew()
        self.start_again()

    @rule()
    def crash_and_start(self) -> None:
        self.loop.kill()
        self.driven.survive()
        self.start_again()

    def start_again(self) -> None:
        self.promised.clear()
        self.pages_due.clear()
        self.settled.clear()
        self.world.cut_off(self.clock.now)
        # Starting takes a moment.
        self.clock.now += 0.01
        self.disk.state_full = False
        self.take_up()

    # -- the words of the rules ------------------------------------------------------------------------------

    def end(self, flight: Flight, answer: Answer, seconds: float) -> None:
        started = self.clock.now
        self.clock.now += seconds
        ending = self.world.ended(flight, answer, started, self.clock.now)
        self.loop.call(self.frontier.ended, flight.lease, ending)

    def settle_one(self, flight: Flight, links: list[UrlEntry], result: Result) -> None:
        outcome = self.world.outcome(flight, links, result)
        if flight.answer.sent:
            outcome.entry = self.archived(flight)
            self.pages_due.append((flight.lease.entry, outcome.entry))
        self.promised += outcome.discovered
        self.settled.add(flight.lease.id)
        self.loop.call(self.frontier.settle, flight.lease, outcome)

    def archived(self, flight: Flight) -> ArchiveEntry:
        entry, now, status = flight.lease.entry, self.clock.now, flight.answer.status or None
        return ArchiveEntry(
            FetchRecord(
                now, now, entry.url, entry.key, None, entry.kind, status, None, None, 0, None, None, 0, "w"
            )
        )

    def let_go(self) -> None:
        """Leases whose outcome is durable are over."""
        for lease_id in self.settled & self.world.flights.keys():
            entry = self.world.flights[lease_id].lease.entry
            stored = entry.kind != Kind.ROBOTS or entry.position != 0
            pending = where(entry) in self.ledger.expected if stored else lease_id in self.frontier._unsettled
            if not pending:
                del self.world.flights[lease_id]

    # -- what is always true ---------------------------------------------------------------------------------

    @invariant()
    def all_holds(self) -> None:
        self.check_nothing_broke()
        self.check_queues()
        self.check_states()
        self.check_it_is_not_finished_too_early()

    def check_nothing_broke(self) -> None:
        for trouble in self.troubles:
            raise trouble

    def check_queues(self) -> None:
        """What is stored is what was committed."""
        stored = self.driven.queued()
        assert {where(entry): entry.url for entry in stored} == {
            place: entry.url for place, entry in self.ledger.queue.items()
        }
        assert len(stored) == len(self.ledger.queue)

    def check_states(self) -> None:
        """Every URL is in exactly one state, and counted there."""
        expected = self.ledger.counted()
        if self.driven.exact:
            assert self.driven.states() == expected
            stored = self.driven.records().items()
            assert {mark: (one.state, one.status) for mark, one in stored} == self.ledger.statuses()
        counts = self.driven.counts_now()
        ends = (counts.done, counts.failed, counts.refused)
        assert ends == (expected[State.DONE], expected[State.FAILED], expected[State.REFUSED])

    def check_it_is_not_finished_too_early(self) -> None:
        if self.loop.call(self.frontier.is_finished):
            self.let_go()
            assert not self.world.flights
            assert all(self.ledger.known(entry) for entry in self.promised)
            self.check_what_is_left()

    def check_what_is_left(self) -> None:
        """The crawl says that it is over: whatever is queued must have an excuse."""
        hosts = self.driven.hosts()
        for entry in self.ledger.queue.values():
            given_up = hosts[entry.key].record.given_up
            excuse = self.world.excuse(entry, self.clock.now, self.limits, given_up)
            assert excuse, f"{entry.url} can be had"

    # -- the end ---------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "frontier"):
            return
        try:
            if sys.exc_info()[0] is None:
                self.play_to_the_end()
        finally:
            self.loop.kill()
            self.driven.dispose()
            self.loop.close()
            shutil.rmtree(self.folder)

    def play_to_the_end(self) -> None:
        """From wherever it stands the crawl comes to an end, and every URL with it."""
        self.disk.archive_full = self.disk.state_full = False
        for flight in list(self.world.flights.values()):
            if flight.answer is None:
                self.end(flight, Answer(404), 0.0)
            if flight.lease.id not in self.settled:
                self.settle_one(flight, [], Result.FETCHED)
        for _ in range(STEPS_TO_THE_END):
            if not self.step_to_the_end():
                break
        assert not self.ledger.queue, "the crawl does not come to its end"
        assert self.is_finished()
        self.check_states()
        self.driven.check_consistency()
        self.check_nothing_broke()

    def step_to_the_end(self) -> bool:
        """Fetch a URL, or wait for one. False when there is none."""
        self.rest()
        self.lease()
        self.rest()
        self.check_nothing_broke()
        self.let_go()
        for flight in list(self.world.flights.values()):
            self.end(flight, Answer(404), 0.0)
            self.settle_one(flight, [], Result.FETCHED)
            self.rest()
            return True
        if self.is_finished():
            self.check_what_is_left()
            return bool(self.ledger.queue) and self.wait_beyond_patience()
        if not self.awake:
            assert self.sleeping is not None, "it sleeps and nothing will wake it"
            assert self.sleeping > self.clock.now, "it waits for a time that has come"
            self.clock.now = self.sleeping
        return True

    def wait_beyond_patience(self) -> bool:
        """What is left are keys that no crawl waits for: have patience, or begin again."""
        waiting = [
            max(host.record.next_fetch_at, host.record.blocked_until)
            for host in self.driven.hosts().values()
            if host.queued and not host.record.given_up
        ]
        if waiting:
            self.clock.now = max(self.clock.now + 1.0, min(waiting) - 1.0)
        else:
            self.stop_and_start()
        return True

    def is_finished(self) -> bool:
        for _ in range(3):
            self.rest()
            if self.loop.call(self.frontier.is_finished):
                return True
        return False


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues travel a few URLs at a time, and a full disk is tried again at once."""
    policy = ("frontier.active_key", "frontier.active_keys", "frontier.frontier")
    for module in (*policy, "storage.memory.frontier", "storage.sqlite.frontier"):
        monkeypatch.setattr(f"webcrawl.{module}.HEAD", HEAD)
    monkeypatch.setattr("webcrawl.frontier.reordering.STRETCH", 5)
    monkeypatch.setattr("webcrawl.frontier.reordering.MOVED_AT_ONCE", 2)
    monkeypatch.setattr("webcrawl.frontier.storage_retry.RETRY_SECONDS", 0.0)
    monkeypatch.setattr("webcrawl.frontier.policies.GROUP_LEAST", 2)


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(
    ("kind", "examples"),
    [
        ("memory", 20),
        ("memory-bloom", 5),
        ("sqlite", 8),
        ("sqlite-bloom", 5),
        pytest.param("memory", 1000, marks=pytest.mark.soak),
        pytest.param("sqlite", 500, marks=pytest.mark.soak),
    ],
)
def test_no_host_is_wronged_and_no_url_is_lost(kind: str, examples: int) -> None:
    run_state_machine_as_test(
        type("Play", (Play,), {"kind": kind}),
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
