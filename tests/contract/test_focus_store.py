"""Where what is learned is kept: a process that comes after another one knows what that one knew, in a JOBDIR and on
Redis; and there several learn together.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import TYPE_CHECKING

import pytest

from webcrawl.errors import StorageAway
from webcrawl.features.focus import store as file
from webcrawl.features.focus.learner import Learner
from webcrawl.features.focus.link_features import pack
from webcrawl.features.focus.store import SAVE_SECONDS, LearnerFile, NoStore
from webcrawl.storage.redis.learned import SAVED_EVERY, SEND_SECONDS, SharedLearning, best_learner
from webcrawl.storage.redis.server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawl.storage.shared_parts import LearnerStore

_names = (f"focus{number}" for number in itertools.count())
LINKS = [
    (f"http://h{number}.test/a/{number}", pack("005000", f"w{'abcdefgh'[number]}", "")) for number in range(8)
]


@pytest.fixture(params=["file", "redis", pytest.param("redis-cluster", marks=pytest.mark.soak)])
def open_store(request, runner, tmp_path) -> Iterator[Callable[..., LearnerStore]]:
    """Gives the stores of processes of one crawl."""
    servers: list[RedisServer] = []
    name = next(_names)

    def one(focus: str = "stars") -> LearnerStore:
        if request.param == "file":
            return LearnerFile(tmp_path, focus)
        fixture = {"redis": "redis_server", "redis-cluster": "redis_cluster"}[request.param]
        url = request.getfixturevalue(fixture).url
        servers.append(RedisServer({"url": url}, list))
        runner.run(servers[-1].connect())
        return SharedLearning(servers[-1], name, focus)

    yield one
    for server in servers:
        runner.run(server.close())


def taught(learner: Learner, seed: int = 1, pages: int = 60) -> Learner:
    rng = random.Random(seed)
    for number in range(pages):
        url, traits = rng.choice(LINKS)
        learner.fetched(f"{url}{number}", traits, "http://hub.test/", rng.random())
    learner.learn(learner.take_examples())
    learner.learned()
    return learner


def guesses(learner: Learner) -> list[float]:
    return learner.logits(LINKS)


def test_at_first_there_is_nothing(runner: asyncio.Runner, open_store: Callable[..., LearnerStore]) -> None:
    learner = Learner()
    before = guesses(learner)
    assert not runner.run(open_store().begin(learner))
    assert guesses(learner) == before


def test_the_next_process_knows_what_was_learned(
    runner: asyncio.Runner, open_store: Callable[..., LearnerStore]
) -> None:
    learner, store = taught(Learner()), open_store()
    learner.skill.is_believed, learner.skill.area = False, 0.5
    runner.run(store.step(learner, 0.0, last=True))
    again = Learner()
    assert runner.run(open_store().begin(again))
    assert guesses(again) == pytest.approx(guesses(learner), abs=1e-5)
    assert again.weights.learned == learner.weights.learned


def test_a_process_that_is_killed_loses_the_last_seconds_alone(
    runner: asyncio.Runner, open_store: Callable[..., LearnerStore]
) -> None:
    learner, store = taught(Learner()), open_store()
    runner.run(store.step(learner, 0.0))
    runner.run(store.step(learner, SAVE_SECONDS))
    known = guesses(learner)
    taught(learner, 2)
    again = Learner()
    assert runner.run(open_store().begin(again))
    assert guesses(again) == pytest.approx(known, abs=1e-5)


def test_what_was_learned_of_something_else_is_not_taken_up(
    runner: asyncio.Runner, open_store: Callable[..., LearnerStore]
) -> None:
    runner.run(open_store("stars").step(taught(Learner()), 0.0, last=True))
    assert not runner.run(open_store("soup").begin(Learner()))


def test_a_file_that_is_damaged_is_as_good_as_none(runner: asyncio.Runner, tmp_path) -> None:
    store = LearnerFile(tmp_path, "stars")
    runner.run(store.step(taught(Learner()), 0.0, last=True))
    path = tmp_path / file.NAME
    whole = path.read_bytes()
    for broken in (whole[:100], whole[:-10], b"", b"[1]\nx", b"\0" * 50):
        path.write_bytes(broken)
        learner = Learner()
        before = guesses(learner)
        assert not runner.run(LearnerFile(tmp_path, "stars").begin(learner))
        assert guesses(learner) == before
    assert [one.name for one in tmp_path.iterdir()] == [file.NAME]


def test_a_crawl_that_leaves_nothing_behind_keeps_nothing(runner: asyncio.Runner) -> None:
    store, learner = NoStore(), taught(Learner())
    runner.run(store.step(learner, 0.0, last=True))
    assert not runner.run(store.begin(learner))
    assert learner.weights.take_news() == ({}, 0)


# -- several at once -----------------------------------------------------------------------------------------


class Worker:
    """A process of a shared crawl."""

    def __init__(self, runner: asyncio.Runner, store: LearnerStore) -> None:
        self.learner, self.store, self._runner = Learner(), store, runner
        runner.run(store.begin(self.learner))

    def step(self, now: float, *, last: bool = False) -> bool:
        return self._runner.run(self.store.step(self.learner, now, last=last))


@pytest.mark.parametrize("open_store", ["redis"], indirect=True)
def test_workers_learn_together(runner: asyncio.Runner, open_store: Callable[..., LearnerStore]) -> None:
    workers = [Worker(runner, open_store()) for _ in range(3)]
    now = 0.0
    for turn in range(40):
        worker = workers[turn % 3]
        taught(worker.learner, turn, 10)
        now += SEND_SECONDS
        worker.step(now)
    for worker in workers:
        worker.step(now + 2 * SEND_SECONDS, last=True)
    for worker in workers:
        worker.step(now + 4 * SEND_SECONDS)
    assert {worker.learner.weights.learned for worker in workers} == {400}
    first = guesses(workers[0].learner)
    assert guesses(workers[1].learner) == pytest.approx(first, abs=1e-4)
    assert guesses(workers[2].learner) == pytest.approx(first, abs=1e-4)
    late = Worker(runner, open_store())
    assert guesses(late.learner) == pytest.approx(first, abs=1e-4)


def test_who_looks_from_outside_finds_what_most_was_learned_of(runner: asyncio.Runner, redis_server) -> None:
    server, name = RedisServer({"url": redis_server.url}, list), "a*[b]?"
    runner.run(server.connect())
    assert runner.run(best_learner(server, name, Learner)) is None
    few, many = taught(Learner(), pages=5), taught(Learner(), 2)
    runner.run(SharedLearning(server, name, "few").step(few, 0.0))
    runner.run(SharedLearning(server, name, "many").step(many, 0.0, last=True))
    runner.run(SharedLearning(server, "axb", "others").step(taught(Learner(), pages=99), 0.0))
    found = runner.run(best_learner(server, name, Learner))
    assert found is not None
    assert guesses(found) == pytest.approx(guesses(many), abs=1e-4)
    runner.run(server.close())


@pytest.mark.parametrize("open_store", ["redis"], indirect=True)
def test_a_worker_that_was_away_for_long_catches_up(
    runner: asyncio.Runner, open_store: Callable[..., LearnerStore], redis_server
) -> None:
    away, busy = Worker(runner, open_store()), Worker(runner, open_store())
    client = redis_server.client()
    taught(away.learner, 9)
    away.step(0.0)
    busy.step(0.0)
    for turn in range(1, 6):
        taught(busy.learner, turn)
        client.delete("", *client.keys("*lock"))
        busy.step(turn * SAVED_EVERY)
    taught(away.learner, 10)
    assert away.step(6 * SAVED_EVERY)
    busy.step(7 * SAVED_EVERY)
    assert guesses(away.learner) == pytest.approx(guesses(busy.learner), abs=1e-4)
    assert away.learner.weights.learned == busy.learner.weights.learned == 7 * 60
    [deltas] = client.keys("*deltas")
    assert client.xlen(deltas) <= 5
    client.close()


@pytest.mark.parametrize("open_store", ["redis"], indirect=True)
def test_what_redis_did_not_take_is_told_when_it_is_back(
    runner: asyncio.Runner, open_store: Callable[..., LearnerStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, other = Worker(runner, open_store()), Worker(runner, open_store())
    taught(worker.learner)

    async def away(self: RedisServer, commands: object, *, failing: bool = True) -> list[object]:
        raise StorageAway("Redis is away")

    with monkeypatch.context() as patch:
        patch.setattr(RedisServer, "commands", away)
        with pytest.raises(StorageAway):
            worker.step(0.0)
    taught(worker.learner, 2)
    worker.step(SEND_SECONDS)
    assert other.step(SEND_SECONDS)
    assert guesses(other.learner) == pytest.approx(guesses(worker.learner), abs=1e-4)
