"""``scrapy move``: what is at both places before, meanwhile and afterwards."""

from __future__ import annotations

import itertools
import json
import re
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.commands import ROOT
from tests.contract.driven import DrivenSqlite
from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import entry, found, pages, robots
from tests.unit.commands.conftest import local_crawl
from webcrawl.control import moving
from webcrawl.control.local import LocalCrawl
from webcrawl.control.selection import select_crawl_in
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.crawl.moved import read_mark
from webcrawl.crawl.seeded_hosts import NAME as SEED_ADDRESSES
from webcrawl.crawl.seeded_hosts import read_kept
from webcrawl.errors import CrawlError, StartRefused, StorageLost
from webcrawl.features.focus.learner import Learner
from webcrawl.features.focus.store import LearnerFile, load
from webcrawl.features.steering.store import SPEC as STEERING
from webcrawl.frontier.records import State, UrlRecord
from webcrawl.storage import technology_in
from webcrawl.storage.contract import Batch, Counted, Settled
from webcrawl.storage.move_mark import CrawlMoved, MoveMark, MoveState
from webcrawl.storage.redis.frontier import HEARTBEAT_SECONDS, RedisBackend
from webcrawl.storage.tables import HEADER, Change, Row

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.commands import Command, Done
    from tests.redis_server import RedisServer
    from webcrawl.storage.inspection import WholeCrawl

KEY = {"POLITENESS_KEY": "host"}
HOUR = 3600.0


@pytest.fixture
def move(command: Callable[..., Command], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setattr(moving, "DURABLE_SECONDS", 0.0)
    monkeypatch.setattr(moving, "SILENCE_POLL_SECONDS", 0.01)
    return command("move", **KEY)


def refused(done: Done) -> str:
    """The only line of a command that did nothing."""
    assert (done.status, done.out) == (2, ""), done
    [line] = done.err.splitlines()
    return line.removeprefix("scrapy move: ")


@pytest.fixture
def begun(runner: asyncio.Runner, tmp_path: Path) -> Iterator[DrivenSqlite]:
    """A stopped crawl of one process with URLs in all states, a queue in an order, hosts with clocks, and rows of a
    table of each kind."""
    with local_crawl(runner, tmp_path) as made:
        made.close()
        made.backend = made._made()
        tables = {spec: made.backend.tables.table(spec) for spec in moving.TABLES}
        made.open()
        made.commit(found(*pages("a.test", 700), *pages("b.test", 1)))
        by_key = {active.record.key: active for active in made.activate_keys(2)}
        held = by_key["a.test"]
        states = [
            UrlRecord(State.DONE, status=200),
            UrlRecord(State.FAILED, "timeout"),
            UrlRecord(State.REFUSED, "too-deep"),
            UrlRecord(State.DONE, status=404),
        ]
        settled = [Settled(one, state) for one, state in zip(held.queue.entries, states, strict=False)]
        first = entry("http://a.test/first", level=3, position=10_000_000, depth=2)
        again = entry("http://a.test/again", position=10_000_001, kind="sitemap", via="http://a.test/")
        counted = Counted("w1", 1.0, {"pages": 17})
        made.commit(Batch([first, again], settled, [], [robots("http://a.test")], counted))
        held.record.next_fetch_at, held.record.pages = 4e9, 17
        by_key["b.test"].record.given_up = True
        made.release_keys(held.record, by_key["b.test"].record)
        for spec, table in tables.items():
            if spec == STEERING:
                continue
            at = 5e9 if spec.is_timed else None
            rows = [Row(b"%d" % number, spec.name.encode(), at) for number in range(3)]
            change = Change(
                "a.test", [Row(HEADER, b"head"), *rows], not_before=6e9 if spec.is_timed else None
            )
            assert made.run(table.update([change, Change("b.test", rows[:1])])) == [True, True]
        made.close()
        (made.directory / SEED_ADDRESSES).write_text('["a.test"]\n["b.test", ["192.0.2.1"]]\n')
        learner = Learner()
        learner.learn([([1, 2, 3], 0.7)])
        runner.run(LearnerFile(made.directory, "stars").step(learner, 0.0, last=True))
        yield made


def content(whole: WholeCrawl) -> dict[str, Any]:
    """All that a storage keeps, comparable with another one."""
    hosts, urls = {}, {}
    for record in whole.hosts(0.0):
        record.fence = 0
        # Redis adds what clocks may differ.
        record.next_fetch_at = round(record.next_fetch_at, 0)
        hosts[record.key] = record
        queue = list(itertools.chain(*whole.queue(record.key, 100)))
        urls[record.key] = queue, dict(itertools.chain(*whole.settled(record.key, 100)))
    tables = {
        (spec.name, change.partition, row)
        for spec in moving.TABLES
        for change in whole.rows(spec, 100)
        for row in change.put
    }
    resting = {
        (spec.name, change.partition, change.not_before)
        for spec in moving.TABLES
        for change in whole.rows(spec, 100)
    }
    answers = {answer.origin: answer for some in whole.robots(10) for answer in some}
    return {
        "hosts": hosts,
        "urls": urls,
        "tables": tables,
        "resting": resting,
        "robots": answers,
        "counted": [one.numbers for one in whole.counted()],
    }


def crawl_in(folder: Path) -> LocalCrawl:
    technology = technology_in(folder)
    assert technology is not None
    crawl = select_crawl_in(folder, technology)
    assert isinstance(crawl, LocalCrawl)
    return crawl


def test_all_that_is_kept_goes_to_redis_and_comes_back(
    begun: DrivenSqlite,
    runner: asyncio.Runner,
    redis_server: RedisServer,
    move: Command,
    command: Callable[..., Command],
    tmp_path: Path,
) -> None:
    job, url, back = begun.directory, redis_server.url, tmp_path / "back"
    assert command("set")("DEPTH_LIMIT=7", str(job)).status == 0
    with crawl_in(job).whole() as whole:
        before = content(whole)

    done = move(str(job), url)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[:3] == [
        "URLs    699 queued, 2 done, 1 failed, 1 refused",
        "hosts   2",
        "robots  1 answer",
    ]
    assert "scores  learned from 1 page" in done.out
    with crawl_in(job).whole() as whole:
        assert content(whole) == before
    told = json.loads(command("frontier")("status", "--json", REDIS_URL=url).out)
    assert told["urls"] == {"queued": 699, "done": 2, "failed": 1, "refused": 1}
    assert told["changes"]["settings"]["DEPTH_LIMIT"]["value"] == "7"

    done = move(url, str(back))
    assert (done.status, done.err) == (0, "")
    with crawl_in(back).whole() as whole:
        assert content(whole) == before
    assert read_kept(back / SEED_ADDRESSES) == {"a.test": [], "b.test": ["192.0.2.1"]}
    loaded = load(back)
    assert loaded is not None
    assert (loaded[0].weights.learned, loaded[1]) == (1, "stars")


def test_the_crawl_goes_on_at_one_place_alone(
    begun: DrivenSqlite,
    runner: asyncio.Runner,
    redis_server: RedisServer,
    move: Command,
    command: Callable[..., Command],
) -> None:
    job, url = begun.directory, redis_server.url
    assert move(str(job), url).status == 0
    with pytest.raises(CrawlMoved, match=r"was moved on .* and goes on as broad on Redis at"):
        Jobdir(job).refuse_moved()
    for words in (("add", "http://a.test/new"), ("pause",), ("set", "DEPTH_LIMIT=3")):
        done = command(words[0])(*words[1:], str(job))
        assert done.status == 2
        assert "was moved on" in done.err
    assert command("checkpoint")(str(job), str(job.parent / "copy")).status == 2
    assert "moved    to broad on Redis at" in command("status")(str(job)).out
    assert "was moved on" in refused(move(str(job), url))
    shared = DrivenRedis(runner, url, "broad", delay_seconds=5.0)
    shared.open()
    try:
        for number in range(2):
            # Shared clocks rest from the move on. The clock of this worker is not that of the server.
            assert shared.client.hdel(f"{{broad:{number}}}:totals", "quiet_until") == 1
        there = shared.run(shared.backend.acquire_key("a.test", 5e9))
        assert there.queue.entries[0].url == "http://a.test/first"
        assert round(there.record.next_fetch_at) == 4_000_000_000
    finally:
        shared.close()

    # Back to where it was: what is there is of no use any more.
    assert move(url, str(job)).status == 0
    Jobdir(job).refuse_moved()
    worker = DrivenRedis(runner, url, "broad", delay_seconds=5.0)
    with pytest.raises(StartRefused, match="was moved on"):
        worker.open()
    assert command("add")("http://a.test/new", url).status == 2
    assert command("frontier")("check", JOBDIR=str(job)).status == 0
    assert f"moved  to the crawl in {job}" in command("status")(url).out
    # And there again.
    assert move(str(job), url).status == 0


def test_a_worker_that_was_frozen_meanwhile_begins_nothing(
    begun: DrivenSqlite, runner: asyncio.Runner, redis_server: RedisServer, move: Command, tmp_path: Path
) -> None:
    assert move(str(begun.directory), redis_server.url).status == 0
    frozen = DrivenRedis(runner, redis_server.url, "broad", delay_seconds=5.0)
    frozen.open()
    try:
        mark = MoveMark(MoveState.MOVED, "the crawl in elsewhere", 1.0, "1")
        frozen.client.hset("broad:meta", "move", mark.packed())
        with pytest.raises(StorageLost, match="goes on as the crawl in elsewhere"):
            frozen.run(frozen.backend.heartbeat({}))
    finally:
        frozen.dispose()


def interrupted(*_: object) -> None:
    raise CrawlError("interrupted")


def test_a_move_that_was_interrupted_begins_anew_and_its_source_goes_on_meanwhile(
    begun: DrivenSqlite,
    runner: asyncio.Runner,
    redis_server: RedisServer,
    move: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job, url = begun.directory, redis_server.url

    with monkeypatch.context() as patched:
        patched.setattr(moving._Copy, "rest", interrupted)
        assert refused(move(str(job), url)) == "interrupted"
    Jobdir(job).refuse_moved()
    worker = DrivenRedis(runner, url, "broad", delay_seconds=5.0)
    with pytest.raises(StartRefused, match="is not complete: it is being moved from the crawl in"):
        worker.open()
    begun.backend = begun._made()
    begun.open()
    begun.commit(found(*pages("c.test", 2)))
    begun.close()
    done = move(str(job), url)
    assert done.out.startswith("URLs    701 queued")


def test_a_move_that_was_interrupted_at_its_very_end_is_completed(
    begun: DrivenSqlite,
    runner: asyncio.Runner,
    redis_server: RedisServer,
    move: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job, url = begun.directory, redis_server.url

    with monkeypatch.context() as patched:
        patched.setattr(moving.ServerEnd, "set_mark", interrupted)
        assert refused(move(str(job), url)) == "interrupted"
    with pytest.raises(CrawlMoved):
        Jobdir(job).refuse_moved()
    done = move(str(job), url)
    assert (done.status, done.err) == (0, "")
    worker = DrivenRedis(runner, url, "broad", delay_seconds=5.0)
    worker.open()
    worker.dispose()


def test_a_copy_that_lacks_something_leaves_the_crawl_where_it_is(
    begun: DrivenSqlite, redis_server: RedisServer, move: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, url = begun.directory, redis_server.url
    whole = moving._Copy.rest

    def without_robots(self: moving._Copy) -> None:
        monkeypatch.setattr(self._whole, "robots", lambda at_once: iter(()))
        whole(self)

    with monkeypatch.context() as patched:
        patched.setattr(moving._Copy, "rest", without_robots)
        done = move(str(job), url)
    assert done.status == 1
    assert "answers of robots.txt: 1 and 0" in done.err
    Jobdir(job).refuse_moved()
    mark = read_mark(job)
    assert mark is None


def test_a_crawl_on_redis_is_held_while_it_is_moved(
    begun: DrivenSqlite,
    runner: asyncio.Runner,
    redis_server: RedisServer,
    move: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    url = redis_server.url
    assert move(str(begun.directory), url).status == 0
    rest = moving._Copy.rest
    met: list[str] = []

    def start_meanwhile(self: moving._Copy) -> None:
        worker = DrivenRedis(runner, url, "broad", delay_seconds=5.0)
        try:
            worker.open()
        except StartRefused as error:
            met.append(str(error))
        rest(self)

    monkeypatch.setattr(moving._Copy, "rest", start_meanwhile)
    assert move(url, str(tmp_path / "back")).status == 0
    [said] = met
    assert "is being moved to the crawl in" in said


def test_a_running_crawl_is_not_moved(
    begun: DrivenSqlite, runner: asyncio.Runner, redis_server: RedisServer, move: Command, tmp_path: Path
) -> None:
    job = Jobdir(begun.directory)
    job.hold()
    try:
        assert "is in use by process" in refused(move(str(begun.directory), redis_server.url))
    finally:
        job.leave()
    assert not redis_server.client().keys("*")


def test_a_long_move_renews_its_lease(
    begun: DrivenSqlite, redis_server: RedisServer, move: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed: list[object] = []
    beat = RedisBackend.heartbeat

    async def heartbeat(self: RedisBackend, figures: dict[str, float]) -> object:
        renewed.append(figures)
        return await beat(self, figures)

    ticks = itertools.count(0.0, HEARTBEAT_SECONDS)
    monkeypatch.setattr(RedisBackend, "heartbeat", heartbeat)
    # The clock of the move alone: the event loop has another.
    clock = SimpleNamespace(monotonic=lambda: next(ticks), time=time.time, sleep=time.sleep)
    monkeypatch.setattr(moving, "time", clock)
    assert move(str(begun.directory), redis_server.url).status == 0
    assert len(renewed) >= 5


STAY = {"series", "runs"}
"""Tables that are of the processes that wrote them."""


def test_every_table_of_a_feature_moves_or_is_known_to_stay() -> None:
    names = set()
    for path in (ROOT / "webcrawl").rglob("*.py"):
        if "TableSpec(" in (source := path.read_text()) and "class TableSpec" not in source:
            names |= set(re.findall(r'TableSpec\(\s*"(\w+)"', source))
    assert len(names) > len(STAY)
    assert {spec.name for spec in moving.TABLES} == names - STAY


def test_what_is_wrong_is_told(
    begun: DrivenSqlite, redis_server: RedisServer, move: Command, tmp_path: Path
) -> None:
    job, url = str(begun.directory), redis_server.url
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("")
    assert refused(move(job)).startswith("a move needs two places")
    assert refused(move(job, job)).endswith("is the place where the crawl is")
    assert refused(move(str(tmp_path / "nowhere"), url)).endswith("is no folder")
    assert refused(move(job, "http://x.test/")).startswith("http://x.test/: is no REDIS_URL")
    assert refused(move(job, url, "--workers")).startswith("--workers: is for a JOBDIR")
    assert "exists; give another place" in refused(move(job, str(other)))
    assert "there is no crawl 'broad'" in refused(move(url, str(tmp_path / "new")))
    assert "POLITENESS_KEY=host, not domain" in refused(move(job, url, POLITENESS_KEY="domain"))
    assert not redis_server.client().keys("*")
