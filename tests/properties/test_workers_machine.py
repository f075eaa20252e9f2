"""A crawl by several workers on one Redis, through every order of accidents that can be thought of.

Workers come, leave, die, are frozen and come back; lines break halfway through an exchange; the server is killed and
has forgotten its last second. Hosts judge each request by what really happened before, whoever sent it; at the end
every URL must have come to one, and none may have been fetched again without a reason.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

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

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import NOW
from tests.properties.journal import Journal, Mark
from tests.properties.redis_exchanges import CUTTABLE, Wire
from tests.properties.shared_world import Flight, Truth
from tests.properties.simulation import Disk
from tests.properties.workers import Time, Worker
from tests.properties.world import HOSTS, PAGE_ANSWERS, ROBOTS_ANSWERS, Answer, Whim, key_of, page
from tests.redis_server import RedisServer
from webcrawl.frontier.order import LevelSampler, Order
from webcrawl.frontier.policies import FrontierLimits, Policies, RobotsPolicy
from webcrawl.frontier.records import State, UrlEntry
from webcrawl.politeness.delay import Model, Politeness
from webcrawl.politeness.health import Health
from webcrawl.robots.rules import RulesCache
from webcrawl.storage.contract import Batch, Committed
from webcrawl.storage.redis import server
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.marks import state_from, unpack_marks
from webcrawl.storage.redis.names import RedisOptions

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from pathlib import Path
    from typing import Any

    from webcrawl.politeness.host_record import HostRecord

HEAD = 4
"""How many entries travel at a time here, so that queues of a few URLs are long ones."""
LEASE_SECONDS = 60.0
STEP_SECONDS = 20.0
"""How long a process may be busy without looking at the time."""
MIN_DELAY = 5.0
WORKERS_MAX = 3
ROUNDS = st.integers(0, 3)
PATHS = st.integers(0, 6)
PAGES = st.tuples(st.sampled_from(HOSTS), PATHS, st.integers(0, 2))
LINKS = st.lists(st.tuples(PAGES, PAGES), min_size=10, max_size=40)
STEPS_TO_THE_END = 4000
WELL = Answer(200)
NONE = Answer(404)
TIME = Time(NOW)
"""For all machines, and for the uptime that the backend looks at."""


@dataclass
class Seed:
    """A URL that somebody was given."""

    worker: Worker
    entry: UrlEntry
    kept_at: Mark | None = None
    """Where in the server's journal it had become durable."""


class Crawl(RuleBasedStateMachine):
    """Drives workers, each a real frontier on the Redis backend, and the server they share."""

    server: RedisServer
    spiders = itertools.count()

    @initialize(
        model=st.sampled_from(["fixed", "mean"]),
        shards=st.integers(1, 3),
        open_max=st.integers(1, 4),
        active_max=st.integers(1, 4),
        dry_max=st.integers(0, 2),
        session_budget=st.sampled_from([1, 2, 16]),
        queue_max=st.sampled_from([0, 0, 0, 4]),
        scored=st.booleans(),
        best_first=st.sampled_from([None, 0.3]),
        web=LINKS,
        seeds=st.lists(PAGES, min_size=3, max_size=8),
        workers=st.integers(2, WORKERS_MAX),
        rounds=st.integers(0, 8),
    )
    def begin(
        self,
        model: Model,
        shards: int,
        open_max: int,
        active_max: int,
        dry_max: int,
        session_budget: int,
        queue_max: int,
        scored: bool,
        best_first: float | None,
        web: list,
        seeds: list,
        workers: int,
        rounds: int,
    ) -> None:
        self.time, self.model, self.names = TIME, model, itertools.count(1)
        self.time.now = NOW
        self.limits = FrontierLimits(
            *(open_max, active_max, dry_max, 100, 40.0),
            commit_interval_seconds=0.0,
            reordering_share=1.0,
            session_budget=session_budget,
        )
        self.scorer, self.best_first = Whim() if scored else None, best_first
        self.spider = f"crawl{next(self.spiders)}"
        self.options = partial(
            RedisOptions,
            self.spider,
            shards,
            LEASE_SECONDS,
            queue_max,
            delay_seconds=MIN_DELAY,
        )
        self.server.fresh()
        self.client = self.server.client()
        self.links: dict[str, list[tuple]] = {}
        for origin, target in web:
            self.links.setdefault(page(*origin).url, []).append(target)
        self.journal = Journal(self.server, self.time)
        self.truth = Truth(self.time, self.policies(0), MIN_DELAY, self.journal, 1, queue_max)
        self.workers: list[Worker] = []
        self.seeds: list[Seed] = []
        for _ in range(workers):
            self.join(0, 0.0)
        self.seed(0, 0, seeds)
        self.crawl_well(rounds)

    def policies(self, seed: int) -> Policies:
        return Policies(
            order=Order("breadth_first", None, self.time.now, seed=seed, scorer=self.scorer),
            best_first=self.best_first,
            best_first_seed=seed,
            sampler=LevelSampler(2.0, seed=1),
            politeness=Politeness(self.model, MIN_DELAY, 50.0, 2.0, crawl_delay_max=300.0),
            health=Health(failures_to_park=2, park_seconds=60.0, park_max_seconds=500.0, parks_to_give_up=1),
            robots=RobotsPolicy(1500.0, agents=("webcrawl",), rules=RulesCache(10, "webcrawl")),
            get_key=key_of,
            retry_times=1,
        )

    # -- workers --------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.workers) < WORKERS_MAX)
    @rule(rounds=ROUNDS, slack=st.sampled_from([0.0, 0.2]))
    def join(self, rounds: int, slack: float) -> None:
        self.go_on(rounds)
        number = next(self.names)
        worker = Worker(
            f"w{number}",
            self.time,
            self.client,
            self.journal,
            self.options(worker=f"w{number}"),
            slack,
            lambda _: (Disk(), self.policies(number), self.limits),
        )
        self.listen(worker)
        self.workers.append(worker)
        self.finish(worker, worker.frontier.open())

    def listen(self, worker: Worker) -> None:
        """Hear of what becomes durable in the moment in which the worker does."""
        backend = worker.backend
        commit = partial(RedisBackend.commit, backend)
        release = partial(RedisBackend.release_keys, backend)

        async def committing(batch: Batch) -> Committed:
            versions = self.truth.versions(worker, batch.hosts)
            self.truth.about_to_commit(worker, batch)
            committed = await commit(batch)
            self.truth.kept([version for version in versions if version.record.key not in committed.lost])
            self.truth.committed(worker, batch, committed)
            discovered = {id(entry) for entry in batch.discovered}
            for seed in self.seeds:
                if id(seed.entry) in discovered:
                    seed.kept_at = worker.line.mark
            return committed

        async def releasing(records: Sequence[HostRecord]) -> None:
            versions = self.truth.versions(worker, list(records))
            await release(records)
            self.truth.kept(versions)

        backend.commit = committing
        backend.release_keys = releasing

    def chosen(self, choice: int, workers: list[Worker]) -> Worker:
        return workers[choice % len(workers)]

    @property
    def well(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.is_well]

    @precondition(lambda self: self.workers)
    @rule(rounds=ROUNDS, choice=st.integers(0, 2))
    def die(self, rounds: int, choice: int) -> None:
        """kill -9"""
        self.go_on(rounds)
        self.bury(self.chosen(choice, self.workers))

    def bury(self, worker: Worker) -> None:
        worker.turns.kill()
        worker.gone = True
        self.workers.remove(worker)
        self.truth.died(worker)
        self.seeds = [seed for seed in self.seeds if seed.worker is not worker or self.is_kept(seed)]

    @precondition(lambda self: any(not worker.line.is_down for worker in self.well))
    @rule(choice=st.integers(0, 2))
    def leave(self, choice: int) -> None:
        worker = self.chosen(choice, [one for one in self.well if not one.line.is_down])
        self.truth.watch()
        self.finish(worker, worker.frontier.close())
        self.bury(worker)

    @precondition(lambda self: self.well)
    @rule(rounds=ROUNDS, choice=st.integers(0, 2))
    def freeze(self, rounds: int, choice: int) -> None:
        """SIGSTOP"""
        self.go_on(rounds)
        self.chosen(choice, self.well).frozen = True

    @precondition(lambda self: any(worker.frozen for worker in self.workers))
    @rule(choice=st.integers(0, 2))
    def thaw(self, choice: int) -> None:
        """SIGCONT"""
        self.chosen(choice, [one for one in self.workers if one.frozen]).frozen = False

    # -- the server and the lines to it ------------------------------------------------------------------------

    @precondition(lambda self: self.well)
    @rule(
        rounds=ROUNDS,
        choice=st.integers(0, 2),
        operation=st.sampled_from(CUTTABLE),
        part=st.sampled_from([0.0, 0.5, 1.0, 1.0]),
    )
    def break_the_line(self, rounds: int, choice: int, operation: str, part: float) -> None:
        """The next call of an operation is carried out in part, and its answers lost."""
        self.go_on(rounds)
        worker = self.chosen(choice, self.well)
        worker.line.crawl = worker.backend._server.crawl
        worker.line.cuts[operation] = part

    @precondition(lambda self: self.workers)
    @rule(rounds=ROUNDS, choice=st.integers(0, 2))
    def cut_or_mend_the_line(self, rounds: int, choice: int) -> None:
        self.go_on(rounds)
        line = self.chosen(choice, self.workers).line
        line.is_down = not line.is_down

    @rule(rounds=ROUNDS, forgotten=st.sampled_from([0.0, 0.3, 0.6, 1.0, 1.0]))
    def kill_and_restart_the_server(self, rounds: int, forgotten: float) -> None:
        """``forgotten``: the part of its last second that it has not on the disk."""
        self.go_on(rounds)
        self.journal.lose(forgotten)
        self.client.connection_pool.disconnect()
        self.truth.forgot()
        # Who brought a seed that is forgotten has to say it again, if there is anybody.
        self.seeds = [seed for seed in self.seeds if seed.worker.is_well or self.is_kept(seed)]

    def is_kept(self, seed: Seed) -> bool:
        return seed.kept_at is not None and not self.journal.is_forgotten(seed.kept_at)

    @precondition(lambda self: self.scorer)
    @rule(rounds=ROUNDS)
    def think_otherwise(self, rounds: int) -> None:
        """All of them score again what is queued, in the background."""
        self.go_on(rounds)
        self.scorer.version += 1

    # -- time ------------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.5, 5.0, 5.0, 31.0, 70.0, 400.0]))
    def wait(self, seconds: float) -> None:
        until = self.time.now + seconds
        while self.time.now < until:
            self.pass_time(min(STEP_SECONDS, until - self.time.now))
            self.settle_down()
        if seconds > 3.0 and all(worker.is_well and not worker.line.is_down for worker in self.workers):
            self.truth.everybody_heard()
            self.hear_of_seeds()

    @rule(seconds=st.sampled_from([0.5, 10.0, 57.0, 70.0]))
    def stall(self, seconds: float) -> None:
        """The machine of all of them does nothing for a while."""
        self.pass_time(seconds)

    def pass_time(self, seconds: float) -> None:
        self.truth.watch()
        self.journal.note()
        self.time.now += seconds

    @precondition(lambda self: self.well)
    @rule(choice=st.integers(0, 2), turns=st.integers(1, 6))
    def turn(self, choice: int, turns: int) -> None:
        self.chosen(choice, self.well).turns.turn(turns)

    @rule()
    def settle_down(self) -> None:
        for worker in self.well:
            worker.turns.settle_down()
            self.cut_off(worker)
            worker.let_go()

    def cut_off(self, worker: Worker) -> None:
        """No worker waits for an answer when its hold is over."""
        for flight in list(worker.flights.values()):
            if flight.answer is None and flight.lease.key_validity.is_over():
                self.end(flight, NONE)
                self.settle_one(flight)

    # -- what workers do ---------------------------------------------------------------------------------------

    @precondition(lambda self: self.well)
    @rule(rounds=ROUNDS, choice=st.integers(0, 2), seeds=st.lists(PAGES, max_size=4))
    def seed(self, rounds: int, choice: int, seeds: list) -> None:
        self.go_on(rounds)
        worker = self.chosen(choice, self.well)
        entries = [page(*words) for words in seeds]
        self.seeds += [Seed(worker, entry) for entry in entries]
        worker.call(worker.frontier.add_entries, entries)

    def hear_of_seeds(self) -> None:
        for seed in self.seeds:
            if not self.is_kept(seed) and not seed.worker.frontier._committer.busy:
                seed.kept_at = self.journal.mark()

    @precondition(lambda self: self.well)
    @rule(choice=st.integers(0, 2))
    def lease(self, choice: int) -> None:
        self.lease_one(self.chosen(choice, self.well))

    def lease_one(self, worker: Worker) -> Flight | None:
        lease = worker.call(worker.frontier.next_lease)
        if lease is None:
            return None
        worker.let_go()
        assert len(worker.flights) < self.limits.open_max, "more is open or not durable than may be"
        flight = self.truth.judge(worker, lease)
        worker.flights[lease.id] = flight
        return flight

    @precondition(lambda self: any(self.open_flights(worker) for worker in self.well))
    @rule(
        choice=st.integers(0, 5),
        on_page=st.sampled_from((WELL,) * 5 + PAGE_ANSWERS),
        on_robots=st.sampled_from((NONE,) * 5 + ROBOTS_ANSWERS),
        settled=st.booleans(),
    )
    def answer(self, choice: int, on_page: Answer, on_robots: Answer, settled: bool) -> None:
        flights = [flight for worker in self.well for flight in self.open_flights(worker)]
        flight = flights[choice % len(flights)]
        self.end(flight, on_robots if flight.is_robots else on_page)
        if settled:
            self.settle_one(flight)

    @precondition(lambda self: self.well)
    @rule(choice=st.integers(0, 2))
    def settle(self, choice: int) -> None:
        for flight in list(self.chosen(choice, self.well).flights.values()):
            if flight.answer is not None and flight.lease.id not in flight.worker.settled:
                self.settle_one(flight)
                return

    def go_on(self, rounds: int) -> None:
        """Things go as they should, and are in the middle of it when this ends."""
        for number in range(rounds):
            self.pass_time(2.5)
            for worker in self.well:
                worker.turns.turn(5 + number)
                self.cut_off(worker)
                for flight in self.open_flights(worker):
                    self.end(flight, NONE if flight.is_robots else WELL)
                    self.settle_one(flight)
                worker.turns.turn(2 + number)
                self.lease_one(worker)

    @rule(count=st.integers(1, 8))
    def crawl_well(self, count: int) -> None:
        """Things go as they should for a while."""
        for _ in range(count):
            self.settle_down()
            for worker in self.well:
                flight = self.lease_one(worker)
                if flight is not None:
                    self.end(flight, NONE if flight.is_robots else WELL)
                    self.settle_one(flight)
            self.pass_time(2.0)

    def open_flights(self, worker: Worker) -> list[Flight]:
        return [flight for flight in worker.flights.values() if flight.answer is None]

    def end(self, flight: Flight, answer: Answer) -> None:
        self.truth.watch()
        ending = self.truth.ended(flight, answer)
        flight.worker.call(flight.worker.frontier.ended, flight.lease, ending)

    def settle_one(self, flight: Flight) -> None:
        worker = flight.worker
        outcome = self.truth.outcome(flight, key_of)
        if flight.answer == WELL and not flight.is_robots:
            links = self.links.get(flight.lease.entry.url, [])
            outcome.discovered = [page(*words) for words in links]
        worker.settled.add(flight.lease.id)
        worker.call(worker.frontier.settle, flight.lease, outcome)

    def finish(self, worker: Worker, work: Coroutine[Any, Any, Any]) -> None:
        """Let time pass for all until it is done."""
        task = worker.turns.begin(work)
        while True:
            worker.turns.settle_down()
            if task.done():
                task.result()
                return
            self.wait(0.5)

    # -- what is always true -----------------------------------------------------------------------------------

    @invariant()
    def nothing_broke(self) -> None:
        for worker in getattr(self, "workers", ()):
            for trouble in worker.troubles:
                raise trouble

    # -- the end -----------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "workers"):
            return
        try:
            if sys.exc_info()[0] is None:
                self.play_to_the_end()
        finally:
            for worker in self.workers:
                worker.turns.kill()
            self.client.close()

    def play_to_the_end(self) -> None:
        """From wherever it stands the crawl comes to an end, and every URL with it."""
        for worker in self.workers:
            worker.frozen = worker.line.is_down = False
            worker.line.cuts.clear()
        if not self.workers:
            self.join(0, 0.0)
        for _ in range(STEPS_TO_THE_END):
            if not self.step_to_the_end():
                break
        else:
            raise AssertionError("the crawl does not come to its end")
        self.check_the_end()

    def step_to_the_end(self) -> bool:
        """Fetch what can be fetched, then let time pass. False when all is done."""
        self.settle_down()
        busy = False
        for worker in self.workers:
            for flight in list(worker.flights.values()):
                if flight.answer is None:
                    self.end(flight, NONE if flight.is_robots else WELL)
                if flight.lease.id not in worker.settled:
                    self.settle_one(flight)
                    busy = True
            if not worker.flights and self.lease_one(worker) is not None:
                busy = True
        self.nothing_broke()
        if busy:
            return True
        if self.is_finished():
            return self.begin_again()
        at = [worker.call(worker.frontier.next_at) for worker in self.workers]
        soon = min((moment - self.time.now for moment in at if moment is not None), default=2.0)
        self.pass_time(max(min(soon, STEP_SECONDS), 0.5))
        return True

    def is_finished(self) -> bool:
        """Whether each of them says that the crawl is over."""
        for _ in range(3):
            if all(worker.call(worker.frontier.is_finished) for worker in self.workers):
                return True
            self.settle_down()
        return False

    def begin_again(self) -> bool:
        """What is left are keys that no crawl waits for: have patience, or begin again. False: nothing is left."""
        with self.stored() as state:
            hosts = state.hosts()
        left = [host.record for host in hosts.values() if host.queued]
        if not left:
            return False
        at = [max(one.next_fetch_at, one.blocked_until) for one in left if not one.given_up]
        assert all(moment > self.time.now + self.limits.patience_seconds - 30 for moment in at), (
            "it can be had"
        )
        if at:
            self.wait(max(min(at) - self.time.now - 1.0, 1.0))
        else:
            for worker in list(self.workers):
                self.finish(worker, worker.frontier.close())
                self.bury(worker)
            self.join(0, 0.0)
        return True

    def stored(self) -> _Stored:
        return _Stored(self)

    def check_the_end(self) -> None:
        self.hear_of_seeds()
        for worker in list(self.workers):
            self.finish(worker, worker.frontier.close())
            self.bury(worker)
        with self.stored() as state:
            state.check_consistency()
            states = state.known()
        assert State.QUEUED not in states.values()
        for seed in self.seeds:
            assert seed.entry.fingerprint in states, f"{seed.entry.url} was forgotten"
        for flights in self.truth.fetches.values():
            url = flights[-1].lease.entry.url
            state = states.get(flights[-1].lease.entry.fingerprint)
            assert state is not None, f"{url} was fetched, and nobody knows of it"
            if state is State.DONE:
                assert any(flight.answer in (WELL, NONE) for flight in flights), f"{url} was never fetched"
            elif state is State.FAILED:
                assert any(flight.final for flight in flights), f"{url} was not tried to the end"
            if state is State.DONE and all(flight.answer == WELL for flight in flights if flight.final):
                for words in self.links.get(url, []):
                    link = page(*words)
                    assert link.fingerprint in states, f"{link.url} on {url} was lost"


class _Stored(DrivenRedis):
    """What is stored, looked at from outside."""

    def __init__(self, crawl: Crawl) -> None:
        super().__init__(asyncio.Runner(), crawl.server.url, crawl.spider, shards=crawl.options().shards)

    def __enter__(self) -> _Stored:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.runner.close()

    def known(self) -> dict[int, State]:
        """The fingerprint of every URL that is known, with its state."""
        segments = [segment for names in self.names() for segment in self.client.hvals(names.seen)]
        return {mark: state_from(code) for segment in segments for mark, code in unpack_marks(segment)}


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues travel a few URLs at a time; time and lines are the test's; and nothing is left to chance."""
    numbers = itertools.count(1)
    for module in (
        "frontier.active_key",
        "frontier.active_keys",
        "frontier.frontier",
        "storage.redis.frontier",
    ):
        monkeypatch.setattr(f"webcrawl.{module}.HEAD", HEAD)
    for name, module in list(sys.modules.items()):
        if name.startswith(("webcrawl.frontier", "webcrawl.storage")) and hasattr(module, "uptime"):
            monkeypatch.setattr(module, "uptime", TIME)
    monkeypatch.setattr("webcrawl.frontier.policies.GROUP_LEAST", 2)
    monkeypatch.setattr("webcrawl.frontier.reordering.STRETCH", 5)
    monkeypatch.setattr("webcrawl.frontier.reordering.MOVED_AT_ONCE", 2)
    redis, own = "webcrawl.storage.redis", server._client
    monkeypatch.setattr(
        f"{redis}.server._client",
        lambda params: Wire(params["line"]) if "line" in params else own(params),
    )
    monkeypatch.setattr(f"{redis}.frontier.uuid4", lambda: UUID(int=next(numbers) << 96))


def play(folder: Path, examples: int, steps: int) -> None:
    options = {"appendfsync": "no", "auto-aof-rewrite-percentage": 0, "rename-command": 'BGREWRITEAOF ""'}
    with RedisServer(folder, options) as server:
        run_state_machine_as_test(
            type("Play", (Crawl,), {"server": server}),
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                print_blob=True,
            ),
        )


@pytest.mark.usefixtures("staged", "needs_redis")
def test_together_workers_wrong_no_host_and_lose_no_url(tmp_path: Path) -> None:
    play(tmp_path, 10, 40)


@pytest.mark.soak
@pytest.mark.usefixtures("staged", "needs_redis")
def test_together_workers_wrong_no_host_and_lose_no_url_for_long(tmp_path: Path) -> None:
    play(tmp_path, 1500, 80)
