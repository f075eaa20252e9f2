"""Commands of operators: what is said, what is waited for, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from webcrawl.control.operating import Clock, NotObeyed, operate, this_operator
from webcrawl.errors import StartRefused
from webcrawl.features.steering.store import Operation, SteeringStore, WorkerState
from webcrawl.storage.inspection import Worker
from webcrawl.storage.memory.tables import MemoryTables

BEGUN_AT = 1000.0


class Crawl:
    """A crawl of one process whose time stands still but for the caller's sleep. ``plan``: what happens when."""

    name = "the crawl in job"
    is_shared = False

    def __init__(self, *plan: tuple[float, Callable[[Crawl], None]], runs: bool = True) -> None:
        self.tables = MemoryTables()
        self.store = SteeringStore(self.tables)
        self.plan = list(plan)
        self.workers = [Worker("process 7", None, BEGUN_AT, {"open": 3}, process=7)] if runs else []
        self.seconds = 0.0
        self.said: list[str] = []

    def read_store(self, store: Callable[[Any], Any], read: Callable[[Any], Awaitable[Any]]) -> Any:
        return asyncio.run(_awaited(read(self.store)))

    def change_store(
        self, store: Callable[[Any], Any], change: Callable[[Any, float], Awaitable[Any]]
    ) -> Any:
        return asyncio.run(_awaited(change(self.store, BEGUN_AT + self.seconds)))

    def running_workers(self) -> list[Worker]:
        return self.workers

    def silent_workers(self) -> list[Worker]:
        return []

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        while self.plan and self.plan[0][0] <= self.seconds:
            self.plan.pop(0)[1](self)

    def ask(self, command: Operation, *, seconds: float | None = None) -> list[str]:
        clock = Clock(lambda: self.seconds, lambda: BEGUN_AT + self.seconds, self.sleep)
        operate(
            self,
            command,
            "me",
            self.said.append,
            seconds=seconds,
            run=("0.0.9", BEGUN_AT),
            clock=clock,
        )
        return self.said

    def beat(self) -> None:
        self.workers = [Worker("process 7", None, BEGUN_AT + self.seconds, {"open": 3}, process=7)]


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def beats(crawl: Crawl) -> None:
    crawl.beat()


def knows(crawl: Crawl) -> None:
    """The process says that it is there, and has obeyed nothing."""
    crawl.beat()
    asyncio.run(crawl.store.acknowledge(WorkerState("w", BEGUN_AT + crawl.seconds, process=7)))


def answers(why: str | None = "", result: str = "") -> Callable[[Crawl], None]:
    """The process has read the command, and answers it; None: not yet."""

    def answer(crawl: Crawl) -> None:
        number = asyncio.run(crawl.store.numbers()).commands
        given = {} if why is None else {str(number): why}
        results = {str(number): result} if result else {}
        state = WorkerState("w", BEGUN_AT + crawl.seconds, "h", 7, 0, 0, 0, number, given, results)
        asyncio.run(crawl.store.acknowledge(state))
        crawl.beat()

    return answer


obeys = answers()


def ends(crawl: Crawl) -> None:
    crawl.workers = []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            Operation.PAUSE,
            ["is asked to pause: process 7 runs. Open requests are", "it has paused, nothing is open"],
        ),
        (Operation.RESUME, ["was not paused: process 7 runs", "it goes on"]),
        (Operation.SAVE, ["is asked to save: process 7 runs. It goes on meanwhile.", "it is saved"]),
    ],
)
def test_a_process_that_obeys_is_waited_for(command: Operation, said: list[str]) -> None:
    found = Crawl((2.0, obeys)).ask(command)
    assert [said[0] in found[0], found[1]] == [True, said[1]]
    assert len(found) == 2


def test_a_stop_waits_for_the_end_of_the_process_however_long_and_says_so() -> None:
    crawl = Crawl((1.0, obeys), (9.0, beats), *((at, obeys) for at in range(10, 500, 5)), (500.0, ends))
    said = crawl.ask(Operation.STOP)
    assert said[0].startswith(
        "the crawl in job is asked to stop: process 7 runs. Open requests are finished;"
    )
    assert said[1] == "after 10.2 s: process 7 has not ended yet, 3 requests open"
    assert said[-1] == "it has ended"
    assert len(said) > 40


def test_the_storage_of_a_crawl_may_end_with_it() -> None:
    def goes_away(crawl: Crawl) -> None:
        def silent_workers() -> list[Worker]:
            raise StartRefused("Redis cannot be reached")

        crawl.silent_workers = silent_workers  # type: ignore[method-assign]

    crawl = Crawl((1.0, obeys), (2.0, ends), (2.0, goes_away))
    assert crawl.ask(Operation.STOP)[-1] == "it has ended"
    with pytest.raises(StartRefused):
        Crawl((1.0, goes_away), (2.0, obeys)).ask(Operation.PAUSE)


def test_nothing_is_waited_for_without_a_process() -> None:
    crawl = Crawl(runs=False)
    assert crawl.ask(Operation.PAUSE) == [
        "the crawl in job is paused: it is not running, and fetches nothing when it is started, until scrapy resume"
    ]
    assert crawl.ask(Operation.RESUME)[1] == "the crawl in job will go on: it is not running; start it"
    assert crawl.ask(Operation.STOP)[2] == "the crawl in job is not running: there is nothing to stop"
    assert crawl.ask(Operation.SAVE)[3] == "the crawl in job is not running: all that it has is stored"
    assert [one.command for one in asyncio.run(crawl.store.requests())] == [Operation.PAUSE, Operation.RESUME]


def test_a_second_pause_says_that_it_was_paused() -> None:
    crawl = Crawl()
    crawl.ask(Operation.PAUSE, seconds=0.0)
    assert "was paused already" in crawl.ask(Operation.PAUSE, seconds=0.0)[1]
    assert crawl.seconds == 0


def test_an_older_process_is_named_within_seconds() -> None:
    crawl = Crawl((9.0, beats))
    with pytest.raises(
        NotObeyed, match=r"process 7 does not answer: the webcrawl that runs it \(version 0.0.9\)"
    ):
        crawl.ask(Operation.PAUSE)
    assert crawl.seconds < 15


def test_the_answer_of_an_earlier_run_does_not_count() -> None:
    crawl = Crawl((9.0, beats))
    asyncio.run(crawl.store.acknowledge(WorkerState("w", BEGUN_AT - 60, process=7)))
    with pytest.raises(NotObeyed, match="knows no commands"):
        crawl.ask(Operation.SAVE)


def test_a_process_that_hangs_is_named() -> None:
    crawl = Crawl((1.0, answers(None)))
    with pytest.raises(NotObeyed, match=r"process 7 had its last heartbeat 15.* s ago: a callback blocks"):
        crawl.ask(Operation.PAUSE)


def test_a_process_that_ends_meanwhile_is_named() -> None:
    with pytest.raises(NotObeyed, match="process 7 has ended meanwhile"):
        Crawl((1.0, ends)).ask(Operation.PAUSE)


def test_a_process_that_answers_and_does_not_obey_is_left_alone_at_last() -> None:
    crawl = Crawl(*((at, knows) for at in range(1, 200, 5)))
    with pytest.raises(NotObeyed, match="process 7 has not obeyed within 2 min 00 s; it does when it can"):
        crawl.ask(Operation.SAVE)


def test_a_command_that_is_not_carried_out_is_no_success() -> None:
    """A process that has read a command is waited for as long as it works on it."""
    crawl = Crawl(
        *((at, answers(None)) for at in range(1, 200, 5)), (200.0, answers("no checkpoint: no room"))
    )
    with pytest.raises(NotObeyed, match=r"^process 7: no checkpoint: no room$"):
        crawl.ask(Operation.SAVE)
    assert not any("saved" in said for said in crawl.said)


def test_the_result_of_a_command_is_told() -> None:
    assert Crawl((1.0, answers("", "job/checkpoints/c"))).ask(Operation.SAVE)[-1] == (
        "it is saved: job/checkpoints/c"
    )


def test_a_stop_that_a_process_does_not_know_is_no_success() -> None:
    with pytest.raises(NotObeyed, match="does not know"):
        Crawl((1.0, answers("this version does not know the command")), (2.0, ends)).ask(Operation.STOP)


def test_an_operator_has_a_name() -> None:
    name, _, rest = this_operator().partition("@")
    assert name
    assert rest.split()[-1].isdigit()
