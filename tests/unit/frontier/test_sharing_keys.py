"""What a frontier does with the news of others: its fair part, their URLs, silence, and the operator's word."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.properties.world import page
from tests.rows import each_row
from tests.unit.frontier.small_crawl import DELAY, SmallCrawl
from webcrawl.errors import StorageAway
from webcrawl.frontier.heartbeat import WorkerHeartbeat
from webcrawl.frontier.storage_retry import StorageRetry
from webcrawl.storage.contract import Batch, HeartbeatAnswer
from webcrawl.storage.redis.workers import fair_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HOSTS = [f"h{number}.test" for number in range(8)]


MANY_HOSTS = [f"h{number}.test" for number in range(24)]


def crawl_of(hosts: list[str]) -> SmallCrawl:
    """Two pages each, all hosts active here and none of them due."""
    crawl = SmallCrawl()
    crawl.add(*(f"{host}/{page}" for host in hosts for page in range(2)))
    for _ in hosts:
        lease = crawl.wait_for_lease()
        assert lease.entry.kind == "robots"
        crawl.answer_robots(lease)
    return crawl


@pytest.fixture
def crawl() -> Iterator[SmallCrawl]:
    crawl = crawl_of(HOSTS)
    yield crawl
    crawl.dispose()


@pytest.fixture
def large_crawl() -> Iterator[SmallCrawl]:
    crawl = crawl_of(MANY_HOSTS)
    yield crawl
    crawl.dispose()


def hear(crawl: SmallCrawl, heartbeat: HeartbeatAnswer) -> None:
    crawl.loop.call(crawl.frontier._on_heartbeat, heartbeat)
    crawl.rest()


def active(crawl: SmallCrawl) -> int:
    return crawl.frontier.snapshot().active_hosts


def test_who_has_more_than_his_part_gives_the_rest_back(crawl):
    assert active(crawl) == len(HOSTS)
    hear(crawl, HeartbeatAnswer(share=3))
    assert active(crawl) == 3


def test_what_was_given_back_is_not_taken_again_while_others_wait_for_it(crawl):
    hear(crawl, HeartbeatAnswer(share=3))
    crawl.clock.now += DELAY
    leases = [crawl.lease() for _ in range(3)]
    assert None not in leases
    assert crawl.lease() is None
    assert crawl.frontier.next_at() is None
    hear(crawl, HeartbeatAnswer())
    assert crawl.lease() is not None


def test_of_few_keys_one_too_many_is_given_back(crawl):
    hear(crawl, HeartbeatAnswer(share=len(HOSTS) - 1))
    assert active(crawl) == len(HOSTS) - 1


def test_of_many_keys_a_tenth_too_many_is_not_worth_a_move(large_crawl):
    hear(large_crawl, HeartbeatAnswer(share=len(MANY_HOSTS) - 2))
    assert active(large_crawl) == len(MANY_HOSTS)
    hear(large_crawl, HeartbeatAnswer(share=len(MANY_HOSTS) - 3))
    assert active(large_crawl) == len(MANY_HOSTS) - 3


@each_row(
    ("held", "idle", "shares"),
    [
        ({"w1": 5, "w2": 0, "w3": 0}, 0, [2, 2, 1]),
        ({"w1": 2, "w2": 3, "w3": 0}, 0, [2, 2, 1]),
        ({"w1": 2, "w2": 2, "w3": 0}, 0, [2, 1, 1]),
        ({"w1": 1, "w2": 2, "w3": 2}, 0, [1, 2, 2]),
        ({"w1": 1, "w2": 1, "w3": 1}, 1, [2, 1, 1]),
        ({"w1": 1, "w2": 0, "w3": 0}, 0, [1, 1, 1]),
        ({"w1": 900, "w2": 0}, 101, [501, 500]),
    ],
)
def test_shares_differ_by_one_at_most_and_the_larger_go_to_those_that_have_most(held, idle, shares):
    assert [fair_share(member, held, idle) for member in held] == shares


def test_a_key_whose_page_is_not_settled_stays(crawl):
    crawl.clock.now += DELAY
    lease = crawl.lease()
    assert lease is not None
    hear(crawl, HeartbeatAnswer(share=1))
    assert crawl.frontier._holding(lease) is not None
    crawl.fetch(lease)


def test_a_host_that_is_never_at_rest_is_given_back_once_its_page_is_settled(crawl):
    crawl.clock.now += DELAY
    leases = [crawl.lease() for _ in HOSTS]
    hear(crawl, HeartbeatAnswer(share=3))
    assert active(crawl) == len(HOSTS)
    for lease in leases:
        assert lease is not None
        crawl.fetch(lease)
    assert active(crawl) == 3
    hear(crawl, HeartbeatAnswer(share=3))
    assert active(crawl) == 3


def test_a_lost_key_is_not_asked_again_and_what_comes_of_it_is_no_fault(crawl):
    crawl.clock.now += DELAY
    lease = crawl.lease()
    assert lease is not None
    hear(crawl, HeartbeatAnswer(lost=[lease.entry.key]))
    crawl.fetch(lease)
    assert active(crawl) == len(HOSTS) - 1


def test_the_operator_s_word_is_obeyed(crawl):
    crawl.clock.now += DELAY
    frontier, call = crawl.frontier, crawl.loop.call
    call(lambda: frontier.pause(paused=True))
    assert (crawl.lease(), crawl.is_finished()) == (None, False)
    call(lambda: frontier.pause(paused=False))
    lease = crawl.lease()
    assert lease is not None
    assert frontier.open_requests == 1
    crawl.fetch(lease)
    assert frontier.open_requests == 0
    call(frontier.stop)
    assert (crawl.lease(), crawl.is_finished()) == (None, True)


def test_nothing_begins_while_it_is_not_known_what_operators_want(crawl):
    crawl.clock.now += DELAY
    is_unheard = True
    crawl.frontier.listen(lambda: is_unheard)
    assert (crawl.lease(), crawl.frontier.next_at(), crawl.is_finished()) == (None, None, False)
    is_unheard = False
    assert crawl.lease() is not None


class Backend:
    """Answers signs of life as it is told to."""

    heartbeat_seconds = 0.001

    def __init__(self, silence_seconds: float, *answers: HeartbeatAnswer | Exception) -> None:
        self.silence_seconds = silence_seconds
        self._answers = list(answers)
        self.signs: list[Mapping[str, float]] = []

    async def heartbeat(self, figures: Mapping[str, float]) -> HeartbeatAnswer:
        self.signs.append(figures)
        if not self._answers:
            await asyncio.sleep(1000)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def live(
    backend: Backend, pulses: int
) -> tuple[list[HeartbeatAnswer], list[bool], list[BaseException]]:
    """A membership until it heard so much: what it heard, whether it was late before and after, what broke it."""
    heard: list[HeartbeatAnswer] = []
    broken: list[BaseException] = []
    enough = asyncio.Event()

    def hear(heartbeat: HeartbeatAnswer) -> None:
        heard.append(heartbeat)
        if len(heard) == pulses:
            enough.set()

    def fail(error: BaseException) -> None:
        broken.append(error)
        enough.set()

    member = WorkerHeartbeat(backend, StorageRetry(), lambda: {"pages": 1.0}, hear, fail)
    late = [member.is_late]
    member.begin()
    await enough.wait()
    late.append(member.is_late)
    await member.end()
    return heard, late, broken


def test_nothing_is_begun_before_the_first_answer():
    backend = Backend(1000, HeartbeatAnswer())
    heard, late, broken = asyncio.run(live(backend, 1))
    assert (heard, late, broken) == ([HeartbeatAnswer()], [True, False], [])
    assert backend.signs[0] == {"pages": 1.0}


def test_an_answer_that_is_too_old_is_none():
    _, late, _ = asyncio.run(live(Backend(0.0, HeartbeatAnswer()), 1))
    assert late == [True, True]


def test_a_storage_that_is_away_is_asked_again():
    heard, late, _ = asyncio.run(live(Backend(1000, StorageAway("gone"), HeartbeatAnswer()), 1))
    assert (heard, late) == ([HeartbeatAnswer()], [True, False])


def test_what_no_time_cures_is_told():
    error = RuntimeError("wrong")
    _, late, broken = asyncio.run(live(Backend(1000, error), 1))
    assert (late, broken) == ([True, True], [error])


def test_a_worker_leaves_though_its_sign_of_life_was_answered_when_it_was_cancelled():
    """As ``asyncio.wait_for`` of Python 3.11 has it: what has ended is returned, and the cancellation lost."""

    class Answered(Backend):
        async def heartbeat(self, figures: Mapping[str, float]) -> HeartbeatAnswer:
            began.set()
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                if not lost:
                    lost.append(True)
                    return HeartbeatAnswer()
                raise
            raise AssertionError

    async def come_and_go() -> None:
        member = WorkerHeartbeat(Answered(1000), StorageRetry(), dict, heard.append, heard.append)
        member.begin()
        await began.wait()
        await asyncio.wait_for(member.end(), 10)

    began, lost, heard = asyncio.Event(), [], []
    asyncio.run(come_and_go())
    assert (lost, heard) == ([True], [HeartbeatAnswer()])


def test_a_seed_that_another_process_has_queued_meanwhile_is_work():
    crawl = SmallCrawl()
    assert crawl.is_finished()
    crawl.loop.run(crawl.backend.commit(Batch([page("h0.test", "seed")], at=crawl.clock.now)))
    crawl.add("h0.test/seed")
    assert not crawl.is_finished()
    assert crawl.wait_for_lease().entry.kind == "robots"
    crawl.dispose()
