from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.samples import entry, robots, urls
from webcrawl.archive.capture import ArchiveEntry, Capture, FetchRecord
from webcrawl.errors import StorageFull, StorageLost
from webcrawl.frontier.committer import GROUP_BYTES, Committer, FrontierChange
from webcrawl.frontier.policies import GROUP_LEAST, FrontierLimits
from webcrawl.frontier.records import State, UrlRecord
from webcrawl.frontier.storage_retry import StorageRetry
from webcrawl.politeness.host_record import HostRecord
from webcrawl.storage.contract import Batch, Committed, Settled

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence


class Script:
    """A store and a backend that write down what is asked of them, and raise what they are told to."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.batches: list[Batch] = []
        self.archived: list[list[ArchiveEntry]] = []
        self.store_raises: list[Exception | None] = []
        """None: this one succeeds."""
        self.state_raises: list[Exception] = []
        self.gate: asyncio.Event | None = None
        """Commits wait for it."""

    async def append(self, entries: Sequence[ArchiveEntry]) -> None:
        await asyncio.sleep(0)
        if self.store_raises and (error := self.store_raises.pop(0)) is not None:
            self.steps.append("archive failed")
            raise error
        self.steps.append("archived")
        self.archived.append(list(entries))

    async def commit(self, batch: Batch) -> Committed:
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(0)
        if self.state_raises:
            self.steps.append("commit failed")
            raise self.state_raises.pop(0)
        self.steps.append("committed")
        self.batches.append(batch)
        return Committed(batch.discovered, 0, 0, 0)


class Bench:
    """A committer on a script."""

    def __init__(self, *, store: bool = True, open_max: int = 1000) -> None:
        self.script = Script()
        self.patience = StorageRetry()
        self.queued: list[str] = []
        self.failures: list[BaseException] = []
        backend: Any = self.script
        self.committer = Committer(
            backend,
            self.script if store else None,
            lambda committed: self.queued.extend(urls(committed.queued) if committed is not None else ()),
            self.failures.append,
            FrontierLimits(open_max, commit_interval_seconds=0.0),
            self.patience,
            lambda: 0.0,
        )

    def add(self, name: str, **fields: Any) -> None:
        """A change that is known by its name."""
        found = [entry(f"http://a/{name}")]
        then = fields.pop("then", lambda: self.script.steps.append(f"{name} durable"))
        self.committer.add(FrontierChange(discovered=found, then=then, **fields))


def page(url: str = "http://a/") -> ArchiveEntry:
    return ArchiveEntry(FetchRecord(0.0, 0.0, url, "a", None, "page", 200, None, None, 0, None, None, 0, "w"))


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webcrawl.frontier.storage_retry.RETRY_SECONDS", 0.0)


def play(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, within reason; nothing may be left that nobody looks at."""

    async def playing() -> None:
        unseen: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: unseen.append(context))
        async with asyncio.timeout(10):
            await work
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        gc.collect()
        assert unseen == []

    asyncio.run(playing())


def test_pages_are_archived_before_their_state_is_committed_and_only_then_told() -> None:
    async def playing() -> None:
        bench = Bench()
        bench.add("one", entry=page())
        await bench.committer.drain()
        assert bench.script.steps == ["archived", "committed", "one durable"]

    play(playing())


def test_what_is_told_is_durable_before_its_links_are_given_out() -> None:
    async def playing() -> None:
        bench = Bench()
        order: list[str] = []
        bench.committer._committed = lambda committed: order.append("links")
        bench.add("one", then=lambda: order.append("durable"))
        await bench.committer.drain()
        assert order == ["durable", "links"]

    play(playing())


def test_what_happens_during_a_commit_goes_together_in_the_next_one_in_its_order() -> None:
    async def playing() -> None:
        bench = Bench()
        bench.script.gate = asyncio.Event()
        bench.add("one", entry=page())
        await asyncio.sleep(0.01)
        for name in ("two", "three", "four"):
            bench.add(name, entry=page(f"http://a/{name}"))
        await asyncio.sleep(0.01)
        bench.add("five")
        bench.script.gate.set()
        await bench.committer.drain()
        found = [urls(batch.discovered) for batch in bench.script.batches]
        assert found[0] == ["http://a/one"]
        flat = [url.rpartition("/")[2] for group in found for url in group]
        assert flat == ["one", "two", "three", "four", "five"]
        assert len(found) <= 3
        durable = [step for step in bench.script.steps if step.endswith("durable")]
        assert durable == [f"{name} durable" for name in flat]

    play(playing())


def test_a_group_has_a_limit_and_full_groups_wait_for_nothing_more() -> None:
    async def playing() -> None:
        bench = Bench(open_max=2)
        bench.committer._interval = 3600.0
        done = asyncio.Event()
        for number in range(3 * GROUP_LEAST):
            bench.add(str(number), entry=page(), then=done.set if number == 3 * GROUP_LEAST - 1 else None)
        async with asyncio.timeout(5):
            await done.wait()
        assert [len(batch.discovered) for batch in bench.script.batches] == [GROUP_LEAST] * 3
        await bench.committer.drain()

    play(playing())


def test_large_bodies_go_to_the_archive_a_few_at_a_time_and_are_let_go_of_as_soon_as_they_are_there() -> None:
    async def playing() -> None:
        bench = Bench()
        bench.script.gate = asyncio.Event()
        for number in range(5):
            body = Capture(
                "http://a/",
                "GET",
                0.0,
                0.0,
                None,
                b"",
                b"",
                b"HTTP/1.1 200 OK\r\n\r\n",
                b"x" * (GROUP_BYTES // 2),
            )
            kept = page()
            kept.capture = body
            bench.add(
                str(number),
                entry=kept,
                archived=lambda number=number: bench.script.steps.append(f"{number} gone"),
            )
            del body, kept
        while len(bench.script.archived) < 2:  # noqa: ASYNC110 - there is nobody to tell of it
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [len(group) for group in bench.script.archived] == [2, 2]
        assert bench.script.steps[:3] == ["archived", "0 gone", "1 gone"]
        assert not [step for step in bench.script.steps if "durable" in step]
        bench.script.archived.clear()
        bench.script.gate.set()
        await bench.committer.drain()
        assert bench.script.steps.count("committed") == 3

    play(playing())


def test_the_next_group_is_archived_while_the_last_one_is_committed() -> None:
    async def playing() -> None:
        bench = Bench()
        bench.script.gate = asyncio.Event()
        bench.add("one", entry=page())
        await asyncio.sleep(0)
        bench.add("two", entry=page())
        await asyncio.sleep(0.01)
        assert bench.script.steps == ["archived", "archived"]
        bench.script.gate.set()
        await bench.committer.drain()
        assert bench.script.steps[2:] == ["committed", "one durable", "committed", "two durable"]

    play(playing())


def test_a_group_is_one_batch_of_everything_its_changes_hold() -> None:
    async def playing() -> None:
        bench = Bench()
        done, answer = entry("http://a/done"), robots("http://a")
        bench.add("one", settled=[Settled(done, UrlRecord(State.DONE))])
        bench.add("two", robots=[answer])
        await bench.committer.drain()
        [batch] = bench.script.batches
        assert [settled.entry.url for settled in batch.settled] == ["http://a/done"]
        assert batch.robots == [answer]

    play(playing())


def test_of_a_key_only_its_last_record_is_stored() -> None:
    async def playing() -> None:
        bench = Bench()
        early, late, other = HostRecord("a", 1.0), HostRecord("a", 2.0), HostRecord("b", 3.0)
        for number, record in enumerate((early, other, late)):
            bench.add(str(number), host=record)
        await bench.committer.drain()
        assert sorted(record.next_fetch_at for record in bench.script.batches[0].hosts) == [2.0, 3.0]

    play(playing())


def test_without_a_store_only_state_is_committed() -> None:
    async def playing() -> None:
        bench = Bench(store=False)
        bench.add("one", entry=page())
        await bench.committer.drain()
        assert bench.script.steps == ["committed", "one durable"]

    play(playing())


def test_a_change_without_a_page_does_not_trouble_the_store() -> None:
    async def playing() -> None:
        bench = Bench()
        bench.add("one")
        await bench.committer.drain()
        assert bench.script.archived == []

    play(playing())


def test_draining_an_idle_committer_returns_at_once_and_commits_nothing() -> None:
    async def playing() -> None:
        bench = Bench()
        await bench.committer.drain()
        assert bench.script.steps == []

    play(playing())


def test_it_is_busy_from_the_first_change_until_the_last_is_durable() -> None:
    async def playing() -> None:
        bench = Bench()
        assert not bench.committer.busy
        busy: list[bool] = []
        bench.add("one", then=lambda: busy.append(bench.committer.busy))
        assert bench.committer.busy
        await bench.committer.drain()
        await asyncio.sleep(0.01)
        assert busy == [True]
        assert not bench.committer.busy

    play(playing())


def test_a_full_disk_makes_it_wait_and_go_on_with_the_same_group() -> None:
    async def playing() -> None:
        bench = Bench()
        bench.script.store_raises = [StorageFull("full")] * 3
        bench.script.state_raises = [StorageFull("full")] * 2
        bench.add("one", entry=page())
        assert await bench.committer.drain()
        assert bench.script.steps == [
            *["archive failed"] * 3,
            "archived",
            *["commit failed"] * 2,
            "committed",
            "one durable",
        ]
        assert bench.failures == []

    play(playing())


def test_while_it_waits_it_says_why(caplog: pytest.LogCaptureFixture) -> None:
    async def playing() -> None:
        bench = Bench()
        said: list[str | None] = []
        bench.script.state_raises = [StorageFull("no room on /data")] * 5
        bench.add("one")
        for _ in range(200):
            said.append(bench.patience.stalled)
            await asyncio.sleep(0)
        assert said[0] is None
        assert "disk full" in said
        assert said[-1] is None

    play(playing())
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert "no room on /data" in messages[0]
    assert "room again" in messages[1]


def test_what_comes_in_while_the_disk_is_full_follows_in_order() -> None:
    async def playing() -> None:
        bench = Bench()
        bench.script.store_raises = [StorageFull("full")] * 20
        for number in range(10):
            bench.add(str(number), entry=page())
            await asyncio.sleep(0)
        await bench.committer.drain()
        assert bench.queued == [f"http://a/{number}" for number in range(10)]

    play(playing())


@pytest.mark.parametrize("where", ["store", "state"])
def test_storage_that_is_lost_is_told_once_and_nobody_waits_for_it(where: str) -> None:
    async def playing() -> None:
        bench = Bench()
        getattr(bench.script, f"{where}_raises").append(StorageLost("the disk is gone"))
        bench.add("one", entry=page())
        await bench.committer.drain()
        bench.add("two", entry=page())
        await bench.committer.drain()
        assert [str(failure) for failure in bench.failures] == ["the disk is gone"]
        assert "two durable" not in bench.script.steps
        assert not bench.committer.busy

    play(playing())


@pytest.mark.parametrize("where", ["store", "state"])
def test_everybody_who_waits_hears_that_storage_is_lost(where: str) -> None:
    async def playing() -> None:
        bench = Bench()
        bench.script.gate = asyncio.Event()
        getattr(bench.script, f"{where}_raises").append(OSError("the disk is gone"))
        bench.add("one", entry=page())
        waiting = [asyncio.ensure_future(bench.committer.drain()) for _ in range(3)]
        await asyncio.sleep(0.01)
        bench.add("two", entry=page())
        waiting.append(asyncio.ensure_future(bench.committer.drain()))
        bench.script.gate.set()
        await asyncio.gather(*waiting)
        assert len(bench.failures) == 1

    play(playing())


@pytest.mark.parametrize("last", [OSError, StorageFull, None])
def test_storage_lost_while_the_last_group_is_still_committed_leaves_nothing_behind(
    last: type[Exception] | None,
) -> None:
    async def playing() -> None:
        bench = Bench()
        bench.script.gate = asyncio.Event()
        bench.script.store_raises = [None, OSError("gone")]
        bench.add("one", entry=page())
        await asyncio.sleep(0)
        bench.script.state_raises += [last("for ever") for _ in range(1000) if last is not None]
        bench.add("two", entry=page())
        await asyncio.sleep(0.01)
        bench.script.gate.set()
        await bench.committer.drain()
        assert [str(failure) for failure in bench.failures] == ["gone"]

    play(playing())


def test_a_mistake_in_what_is_told_ends_the_crawl_instead_of_hanging_it() -> None:
    async def playing() -> None:
        bench = Bench()
        bench.add("one", then=lambda: {}["not there"])
        await bench.committer.drain()
        assert isinstance(bench.failures[0], KeyError)

    play(playing())
