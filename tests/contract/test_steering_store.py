"""What operators ask of a crawl: the same sentences hold in memory, in a JOBDIR, on Redis alone and as a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from webcrawl.features.steering import store as steering
from webcrawl.features.steering.store import (
    SPEC,
    ChangeNumbers,
    Excluded,
    HostDelay,
    Operation,
    Override,
    SteeringRefused,
    SteeringStore,
    WorkerState,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from tests.contract.conftest import OpenTables

ALICE, BOB = "alice@host 12", "dashboard 127.0.0.1"
DELAY = "POLITENESS_MIN_DELAY"


@pytest.fixture
def open_store(open_tables: OpenTables) -> Callable[[], SteeringStore]:
    """Opens the same store again and again, as processes of one crawl have it, or one behind the other."""
    return lambda: SteeringStore(open_tables(SPEC))


@pytest.fixture
def store(open_store):
    return open_store()


def test_an_empty_store_has_nothing(runner: asyncio.Runner, store: SteeringStore) -> None:
    run = runner.run
    assert run(store.numbers()) == ChangeNumbers()
    assert run(store.overlay()) == run(store.delays()) == {}
    assert run(store.excluded()) == run(store.requests()) == run(store.injected(9)) == []
    assert run(store.workers()) == run(store.journal()) == run(store.suggestions()) == []
    assert run(store.waiting()) == 0
    assert not run(store.readmit("a.test", ALICE, 1.0))
    assert run(store.decide("0" * 32, ALICE, 1.0, accept=True)) is None


def test_an_override_is_known_to_all_with_who_and_when_and_what_was_before(
    runner: asyncio.Runner, open_store: Callable[[], SteeringStore]
) -> None:
    run, mine, theirs = runner.run, open_store(), open_store()
    run(mine.acknowledge(WorkerState("w1", 1.0, start={DELAY: "5"})))
    run(mine.set(DELAY, "7", ALICE, 2.0))
    run(theirs.set(DELAY, "9", BOB, 3.0))
    assert run(mine.overlay()) == {DELAY: Override("9", BOB, 3.0, "7")}
    assert [(row.by, row.what, row.name, row.old, row.new) for row in run(mine.journal())] == [
        (BOB, "set", DELAY, "7", "9"),
        (ALICE, "set", DELAY, "5", "7"),
    ]
    run(mine.set(DELAY, None, ALICE, 4.0))
    assert run(theirs.overlay()) == {}
    assert run(theirs.journal(1))[0].new == "5"
    assert run(theirs.numbers()) == ChangeNumbers(last=3, overlay=3)


def test_several_overrides_are_one_step_with_one_line_each(
    runner: asyncio.Runner, store: SteeringStore
) -> None:
    runner.run(store.set_all({"A": "1", "B": "2"}, ALICE, 1.0))
    assert runner.run(store.numbers()) == ChangeNumbers(last=2, overlay=2)
    runner.run(store.set_all({"A": None, "B": None, "C": None}, ALICE, 2.0))
    assert [row.what for row in runner.run(store.journal())] == ["reset", "reset", "set", "set"]
    assert runner.run(store.overlay()) == {}


def test_a_reset_of_nothing_changes_nothing(runner: asyncio.Runner, store: SteeringStore) -> None:
    runner.run(store.set("A", None, ALICE, 1.0))
    assert runner.run(store.numbers()) == ChangeNumbers()


def test_exclusions_come_and_go(runner: asyncio.Runner, open_store: Callable[[], SteeringStore]) -> None:
    run, store = runner.run, open_store()
    assert run(store.exclude("b.test", ALICE, 1.0, "asked by mail"))
    assert run(store.exclude("https://ü.test/☃", BOB, 2.0))
    assert not run(open_store().exclude("b.test", BOB, 3.0))
    assert run(store.excluded()) == [
        Excluded("b.test", ALICE, 1.0, "asked by mail"),
        Excluded("https://ü.test/☃", BOB, 2.0),
    ]
    assert run(store.readmit("b.test", BOB, 4.0))
    assert [row.entry for row in run(open_store().excluded())] == ["https://ü.test/☃"]
    assert run(store.numbers()) == ChangeNumbers(last=3, excluded=3)


def test_delays_come_and_go(runner: asyncio.Runner, store: SteeringStore) -> None:
    run = runner.run
    assert run(store.set_delay("b.test", 30.0, ALICE, 1.0))
    assert run(store.set_delay("a.test", 2.5, BOB, 2.0))
    assert not run(store.set_delay("a.test", 2.5, ALICE, 3.0))
    assert run(store.delays()) == {
        "a.test": HostDelay("a.test", 2.5, BOB, 2.0),
        "b.test": HostDelay("b.test", 30.0, ALICE, 1.0),
    }
    assert run(store.set_delay("b.test", None, BOB, 4.0))
    assert not run(store.set_delay("b.test", None, BOB, 4.0))
    last = run(store.journal(1))[0]
    assert (last.name, last.old, last.new) == ("b.test", "30", None)


def test_injected_urls_wait_in_order_until_they_are_queued(
    runner: asyncio.Runner, open_store: Callable[[], SteeringStore]
) -> None:
    run, store = runner.run, open_store()
    urls = [f"http://a.test/{number}" for number in range(1201)]
    run(store.inject(urls, ALICE, 1.0))
    run(open_store().inject(["http://b.test/"], BOB, 2.0))
    first = run(store.injected(1000))
    assert [row.url for row in first] == urls[:1000]
    run(store.queued(first))
    run(store.queued(first))
    assert run(store.waiting()) == 202
    assert [row.url for row in run(open_store().injected(1000))] == [*urls[1000:], "http://b.test/"]
    assert [(row.what, row.name) for row in run(store.journal())] == [
        ("add", "http://b.test/"),
        ("add", "1,201 URLs"),
    ]


def test_one_worker_at_a_time_may_queue_them(
    runner: asyncio.Runner, open_store: Callable[[], SteeringStore], request: pytest.FixtureRequest
) -> None:
    first = runner.run(open_store().claim_urls("w1", 60.0))
    second = runner.run(open_store().claim_urls("w2", 60.0))
    is_shared = "redis" in request.node.callspec.id
    assert (first, second) == (True, not is_shared)


def test_commands_are_numbered_and_a_pause_lasts(runner: asyncio.Runner, store: SteeringStore) -> None:
    run = runner.run
    pause = run(store.request(Operation.PAUSE, ALICE, 1.0))
    save = run(store.request(Operation.SAVE, BOB, 2.0))
    assert [(row.number, row.command, row.by) for row in run(store.requests())] == [
        (pause, Operation.PAUSE, ALICE),
        (save, Operation.SAVE, BOB),
    ]
    assert [row.command for row in run(store.requests(pause))] == [Operation.SAVE]
    assert run(store.numbers()) == ChangeNumbers(last=save, commands=save, is_paused=True)
    run(store.request(Operation.STOP, ALICE, 3.0))
    assert not run(store.numbers()).is_paused


def test_what_a_worker_has_obeyed_is_the_last_that_it_said(
    runner: asyncio.Runner, open_store: Callable[[], SteeringStore]
) -> None:
    run, store = runner.run, open_store()
    run(store.acknowledge(WorkerState("w2", 1.0, overlay=3, start={"A": "1"}, refused={"B": "no"})))
    run(store.acknowledge(WorkerState("w1", 2.0)))
    run(store.acknowledge(WorkerState("w2", 3.0, overlay=4)))
    assert run(open_store().workers()) == [WorkerState("w1", 2.0), WorkerState("w2", 3.0, overlay=4)]
    run(store.forget_workers(1))
    assert [row.worker for row in run(store.workers())] == ["w2"]


def test_a_suggestion_is_held_until_it_is_decided_once(
    runner: asyncio.Runner, open_store: Callable[[], SteeringStore]
) -> None:
    run, store = runner.run, open_store()
    name = run(store.suggest("http://a.test/", "look here", "192.0.2.1", 1.0))
    assert run(open_store().suggest("http://a.test/", "again", "192.0.2.2", 2.0)) == name
    decided = run(store.decide(name, ALICE, 3.0, accept=True))
    assert decided is not None
    assert (decided.url, decided.note, decided.accepted, decided.decided_by) == (
        "http://a.test/",
        "look here",
        True,
        ALICE,
    )
    assert run(store.decide(name, BOB, 4.0, accept=False)) is None
    assert run(store.decide("no id", BOB, 4.0, accept=False)) is None
    assert run(open_store().suggestions()) == [decided]


def test_there_is_room_for_a_bounded_number(
    runner: asyncio.Runner, store: SteeringStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner.run
    for name, most in {"JOURNAL": 3, "COMMANDS": 2, "ENTRIES": 1, "URLS": 3, "SUGGESTIONS": 2}.items():
        monkeypatch.setattr(steering, f"{name}_MOST", most)
    for at in range(5):
        run(store.request(Operation.SAVE, ALICE, float(at)))
    assert [row.number for row in run(store.journal())] == [5, 4, 3]
    assert [row.number for row in run(store.requests())] == [4, 5]

    run(store.exclude("a.test", ALICE, 6.0))
    run(store.set_delay("a.test", 9.0, ALICE, 6.0))
    run(store.inject(["http://a.test/1", "http://a.test/2"], ALICE, 6.0))
    held = [run(store.suggest(f"http://a.test/{row}", "", ALICE, float(row))) for row in range(2)]
    for refused in (
        lambda: store.exclude("b.test", ALICE, 7.0),
        lambda: store.set_delay("b.test", 9.0, ALICE, 7.0),
        lambda: store.inject(["http://a.test/3", "http://a.test/4"], ALICE, 7.0),
        lambda: store.suggest("http://a.test/9", "", ALICE, 7.0),
    ):
        with pytest.raises(SteeringRefused):
            run(refused())
    run(store.decide(held[1], ALICE, 8.0, accept=False))
    run(store.suggest("http://a.test/9", "", ALICE, 9.0))
    assert [row.url for row in run(store.suggestions())] == ["http://a.test/0", "http://a.test/9"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda store, text: store.set("A", text, ALICE, 1.0),
        lambda store, text: store.exclude(text, ALICE, 1.0),
        lambda store, text: store.set_delay(text, 1.0, ALICE, 1.0),
        lambda store, text: store.inject([text], ALICE, 1.0),
        lambda store, text: store.suggest(text, "", ALICE, 1.0),
    ],
)
def test_two_megabytes_are_refused(runner: asyncio.Runner, store: SteeringStore, ask) -> None:
    with pytest.raises(SteeringRefused, match="2,000,000 characters; at most 10,000"):
        runner.run(ask(store, "x" * 2_000_000))
    assert runner.run(store.numbers()) == ChangeNumbers()


def test_a_long_value_is_cut_in_the_journal_alone(runner: asyncio.Runner, store: SteeringStore) -> None:
    runner.run(store.set("A", "x" * 9000, ALICE, 1.0))
    assert len(runner.run(store.overlay())["A"].value) == 9000
    assert len(runner.run(store.journal())[0].new or "") == steering.SHOWN_MOST
