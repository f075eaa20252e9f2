"""The SQLite backend does what the memory backend does, whatever is asked of them, in whatever order."""

from __future__ import annotations

import asyncio
import copy
import shutil
import tempfile
from pathlib import Path

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

from tests.contract.driven import Driven, DrivenSqlite, make
from tests.contract.samples import NOW, robots
from webcrawl.frontier.queue_head import QueuePosition, expected_place
from webcrawl.frontier.records import Kind, State, UrlEntry, UrlRecord
from webcrawl.politeness.host_record import HostRecord
from webcrawl.storage.contract import Activated, Batch, Settled, Unavailable
from webcrawl.urls.fingerprint import fingerprint

KEYS = ("a", "b", "c")
MOMENTS = st.sampled_from([NOW - 50, NOW, NOW + 10, NOW + 70])


class Twins(RuleBasedStateMachine):
    """Two backends that are told the same must answer the same."""

    kind = "exact"

    @initialize(queue_max=st.sampled_from([0, 0, 3]))
    def open(self, queue_max: int) -> None:
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        suffix = "" if self.kind == "exact" else "-bloom"
        options = {"queue_max": queue_max, "delay_seconds": 5.0}
        self.memory = make(f"memory{suffix}", self.runner, self.folder, **options)
        self.sqlite = make(f"sqlite{suffix}", self.runner, self.folder, **options)
        for backend in (self.memory, self.sqlite):
            backend.open()
        self.hurry()
        self.position = 0
        self.active: dict[str, HostRecord] = {}
        self.held: dict[tuple[str, QueuePosition], UrlEntry] = {}

    def hurry(self) -> None:
        """Nothing here outlives a power cut, so nothing waits for the disk."""
        assert isinstance(self.sqlite, DrivenSqlite)
        self.sqlite.connection.execute("PRAGMA synchronous = OFF")

    def both(self, call) -> object:
        """What both answer to the same call; they must not share what they are given."""
        answers = [call(backend, copy.deepcopy) for backend in (self.memory, self.sqlite)]
        assert answers[0] == answers[1]
        return answers[0]

    # -- what a frontier does ----------------------------------------------------------------------------------

    @rule(
        key=st.sampled_from(KEYS),
        found=st.lists(
            st.tuples(
                st.sampled_from(KEYS),
                st.integers(0, 5),
                st.integers(-1, 2),
                st.booleans(),
                st.sampled_from([Kind.PAGE, Kind.PAGE, Kind.PAGE, Kind.ROBOTS]),
            ),
            max_size=6,
        ),
        ends=st.lists(
            st.tuples(
                st.sampled_from([State.DONE, State.FAILED, State.REFUSED, State.QUEUED]),
                st.integers(0, 20),
                st.sampled_from([None, 200, 404, 503]),
            ),
            max_size=3,
        ),
        answer=st.booleans(),
        failures=st.integers(0, 3),
    )
    def commit(self, key: str, found: list, ends: list, answer: bool, failures: int) -> None:
        batch = Batch([self.entry(*words) for words in found])
        for state, choice, status in ends:
            if self.held:
                place = sorted(self.held)[choice % len(self.held)]
                batch.settled.append(self.ended(self.held.pop(place), state, status))
        if answer:
            batch.robots.append(robots(f"http://{key}", "Disallow: /" + "x" * failures))
        if key in self.active:
            self.active[key].failures = failures
            batch.hosts.append(self.active[key])

        def call(backend: Driven, own) -> object:
            committed = backend.commit(own(batch))
            queued = sorted(committed.queued, key=lambda one: (one.key, expected_place(one)))
            return queued, committed.pruned, committed.total_queued, committed.total_hosts

        self.both(call)

    @rule(count=st.integers(0, 4), now=MOMENTS)
    def activate(self, count: int, now: float) -> None:
        def call(backend: Driven, own) -> list[Activated]:
            activated = backend.activate_keys(count, now)
            for one in activated:
                one.queue.robots.sort(key=lambda record: record.origin)
            return activated

        for one in self.both(call):
            self.active[one.record.key] = one.record
            self.hold(one.queue.entries)

    @rule(key=st.sampled_from([*KEYS, "unknown"]), given_up=st.booleans())
    def acquire(self, key: str, given_up: bool) -> None:
        def call(backend: Driven, own) -> Activated | Unavailable:
            found = backend.acquire_key(key, given_up=given_up)
            if isinstance(found, Activated):
                found.queue.robots.sort(key=lambda record: record.origin)
            return found

        found = self.both(call)
        if isinstance(found, Activated):
            self.active[key] = found.record
            self.hold(found.queue.entries)

    @precondition(lambda self: self.active)
    @rule(choice=st.integers(0, 2), count=st.integers(1, 4), start=st.integers(0, 5))
    def load(self, choice: int, count: int, start: int) -> None:
        key = sorted(self.active)[choice % len(self.active)]
        after = (0, start * 2) if start else None

        def call(backend: Driven, own) -> object:
            loaded = backend.read_queue(key, after, count)
            return loaded.entries, loaded.more, sorted(loaded.robots, key=lambda record: record.origin)

        self.hold(self.both(call)[0])

    @precondition(lambda self: self.active)
    @rule(
        choice=st.integers(0, 2),
        at=MOMENTS,
        delay=st.sampled_from([0.0, 5.0]),
        fate=st.sampled_from(["rests", "rests", "parked", "blocked", "given_up"]),
    )
    def release(self, choice: int, at: float, delay: float, fate: str) -> None:
        record = self.active.pop(sorted(self.active)[choice % len(self.active)])
        record.next_fetch_at, record.delay_seconds = at, delay
        record.parked, record.given_up = fate in ("parked", "blocked"), fate == "given_up"
        record.blocked_until = NOW + 65 if fate == "blocked" else 0.0
        self.both(lambda backend, own: backend.release_keys(own(record)))

    @rule(keys=st.lists(st.sampled_from([*KEYS, "unknown"]), max_size=2))
    def wake(self, keys: list[str]) -> None:
        self.both(lambda backend, own: backend.run(backend.backend.end_robots_wait(keys)))

    @rule(clean=st.booleans(), now=MOMENTS)
    def restart(self, clean: bool, now: float) -> None:
        self.both(lambda backend, own: backend.reopen(now) if clean else backend.crash(now))
        self.hurry()
        self.active.clear()
        self.held.clear()

    # -- what must be the same -----------------------------------------------------------------------------------

    @invariant()
    def they_tell_the_same(self) -> None:
        self.both(lambda backend, own: (backend.read_counts(), backend.read_idle_times()))

    @invariant()
    def they_hold_the_same(self) -> None:
        self.both(lambda backend, own: (backend.queued(), backend.states(), backend.records()))

    @invariant()
    def their_states_are_consistent(self) -> None:
        self.memory.check_consistency()
        self.sqlite.check_consistency()

    def teardown(self) -> None:
        self.memory.dispose()
        self.sqlite.dispose()
        self.runner.close()
        shutil.rmtree(self.folder)

    # -- the words of the rules ------------------------------------------------------------------------------------

    def entry(self, key: str, path: int, level: int, repeat: bool, kind: Kind) -> UrlEntry:
        self.position += 1
        url = f"http://{key}/{path}"
        if kind is Kind.ROBOTS:
            return UrlEntry(url, key, 0, 9, self.position, kind=kind, repeat=True, payload="{}")
        return UrlEntry(url, key, fingerprint(url), level, self.position, repeat=repeat)

    def ended(self, entry: UrlEntry, state: State, status: int | None) -> Settled:
        record = UrlRecord(state, "some-rule" if state is State.REFUSED else None, status)
        if state is not State.QUEUED:
            return Settled(entry, record)
        self.position += 1
        again = copy.copy(entry)
        again.position, again.attempts = self.position, entry.attempts + 1
        return Settled(entry, record, again=again)

    def hold(self, entries: list[UrlEntry]) -> None:
        """These were brought by the backends and may be settled, once each."""
        for one in entries:
            self.held[one.key, expected_place(one)] = one


@pytest.mark.parametrize(
    ("kind", "examples"),
    [("exact", 15), ("bloom", 8), pytest.param("exact", 500, marks=pytest.mark.soak)],
)
def test_both_backends_answer_the_same_to_the_same(kind: str, examples: int) -> None:
    context = type(f"Twins_{kind}", (Twins,), {"kind": kind})
    run_state_machine_as_test(
        context,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
