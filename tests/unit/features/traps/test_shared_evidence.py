"""The processes of a crawl count the pages of a host together, however often it moves between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakeweb.content import word
from tests.unit.features.traps.test_copies import HOST, Repository
from tests.unit.features.traps.test_pattern_evaluator import CASES, SITE, Found, values
from tests.unit.features.traps.test_pattern_evaluator import page as page_of
from webcrawl.errors import StorageAway
from webcrawl.features.traps import shared_evidence
from webcrawl.features.traps.copies import base_without
from webcrawl.features.traps.detector import TrapDetector, TrapEvidence
from webcrawl.features.traps.novelty import Shingles
from webcrawl.features.traps.pattern import parse_shape
from webcrawl.features.traps.shared_evidence import SharedEvidence
from webcrawl.features.traps.store import SPEC
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.storage.tables import HEADER, Change, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

PLACE = "h.test"
SHORT_CASES = [case for case in CASES if case.get("pages", 100) <= (1_000 if case["trap"] else 100)]


class Worker:
    """A process of a crawl."""

    def __init__(self, runner: asyncio.Runner, tables: MemoryTables) -> None:
        self.detector = TrapDetector(lambda: 0.0, pages=12, new_share=0.1, withheld_max=10, is_shared=True)
        self.tables = tables
        self.evidence = SharedEvidence(tables, self.detector)
        self._runner = runner

    def meets(self, place: str, fence: int, show: Callable[[TrapDetector], TrapEvidence | None]) -> None:
        """Fetch a page of a host that it holds under a fence."""

        async def held() -> None:
            await self.evidence.hold(place, fence)
            learned = show(self.detector)
            assert learned is not None
            await self.evidence.keep(learned)

        self._runner.run(held())

    def visits(self, fence: int, path: str, text: str = "", found: tuple[str, ...] = ()) -> None:
        """Fetch a page of the host under a fence."""
        new = [Found(SITE + one) for one in found]
        self.meets(
            PLACE,
            fence,
            lambda detector: detector.page(
                SITE + path, f"{SITE}/", page_of(text), new, len(text), text.encode() or path.encode()
            ),
        )

    def knows(self, number: int) -> bool:
        """Return whether a page of ``copies`` is known as fetched."""
        return self.detector.quarantine._copied(base_without(parse_shape(f"{SITE}/list/{number}")))

    def withholds(self, path: str) -> bool:
        """Return whether a URL of the host is withheld."""
        return self.detector.quarantine.find_trap(SITE + path, PLACE) is not None


Workers = Callable[[int], list[Worker]]


class Turns:
    """Two processes that hold a host by turns, each for some pages. Their quarantines are always the same."""

    def __init__(self, runner: asyncio.Runner, stay: int) -> None:
        tables = MemoryTables()
        self.workers = [Worker(runner, tables) for _ in range(2)]
        self.stay, self.met = stay, 0

    @property
    def holder(self) -> Worker:
        """The one that holds the host."""
        return self.workers[self.met // self.stay % len(self.workers)]

    def meets(self, place: str, show: Callable[[TrapDetector], TrapEvidence | None]) -> None:
        """Fetch a page."""
        holder = self.holder
        holder.meets(place, self.met // self.stay, show)
        self.met += 1
        for worker in self.workers:
            worker.detector.quarantine.learn(holder.detector.quarantine.traps())


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def workers(runner: asyncio.Runner) -> Workers:
    """Return a function that makes processes of one crawl."""
    tables = MemoryTables()
    return lambda number: [Worker(runner, tables) for _ in range(number)]


class MovingRepository(Repository):
    """A repository whose host moves."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self.turns = turns

    def worker(self) -> TrapDetector:
        return self.turns.holder.detector

    def show(self, path: str, via: str | None, html: str, new: list[SimpleNamespace]) -> None:
        self.turns.meets(
            "hg.test",
            lambda detector: detector.page(
                HOST + path, via and HOST + via, lambda: Shingles(html), new, len(html), html.encode()
            ),
        )


@pytest.fixture(scope="module")
def alone() -> Repository:
    """Return a repository that one process has crawled."""
    repository = Repository()
    repository.crawl(5_000)
    return repository


@pytest.mark.parametrize("stay", [20, 200])
def test_a_site_whose_parameter_is_void_takes_as_many_requests_when_it_moves(
    runner: asyncio.Runner, alone: Repository, stay: int
) -> None:
    moving = MovingRepository(Turns(runner, stay))
    moving.crawl(5_000)
    # Which of several equal pages is fetched first may differ. Counted by each process alone, it takes up to 612.
    assert len(moving.fetched) <= 1.05 * len(alone.fetched)
    assert {path.partition("?")[0] for path in alone.fetched} <= {
        path.partition("?")[0] for path in moving.fetched
    }


@pytest.mark.parametrize("case", SHORT_CASES, ids=lambda case: case["what"])
def test_a_trap_is_found_as_soon_when_its_host_moves_and_nothing_else_is(
    runner: asyncio.Runner, case: dict[str, Any]
) -> None:
    turns, first = Turns(runner, 5), None
    for n in range(1, case.get("pages", 100) + 1):
        given = values(n)
        links = [Found(SITE + link.format(**given)) for link in case.get("links", ())]
        url, via = SITE + case["url"].format(**given), SITE + case["via"].format(**given)
        turns.meets(PLACE, methodcaller("page", url, via, page_of(case["says"].format(**given), url), links))
        if first is None and len(turns.holder.detector.quarantine):
            first = n
    patterns = [trap.pattern for trap in turns.holder.detector.quarantine.traps()]
    if case["trap"] is None:
        assert patterns == []
    else:
        assert patterns[0] == case["trap"]
        assert first is not None
        # What is fetched at a move may be examined for nothing.
        assert first <= 1.2 * case["within"]


def copies(worker: Worker, fence: int, pages: range) -> None:
    """Fetch pages that hand on a parameter."""
    for number in pages:
        worker.visits(fence, f"/list/{number}", found=(f"/list/{number}?view=1",))


def test_a_process_that_is_started_again_knows_what_was_fetched(workers: Workers) -> None:
    first, second = workers(2)
    copies(first, 1, range(40))
    for number in range(30):
        first.visits(1, f"/list/{number}?view=1", text=f"/list/{number}")
    assert first.withholds("/list/3?view=2")
    assert not first.withholds("/list/50?view=2")
    second.detector.quarantine.learn(first.detector.quarantine.traps())
    assert not second.withholds("/list/3?view=2")
    second.visits(2, "/other")
    assert second.withholds("/list/3?view=2")


def test_a_process_that_comes_late_with_a_page_harms_nothing(workers: Workers) -> None:
    late, holder, third = workers(3)
    copies(late, 1, range(2))
    copies(holder, 2, range(2, 4))
    copies(late, 1, range(4, 6))
    copies(holder, 2, range(6, 8))
    copies(late, 3, range(8, 10))
    third.visits(4, "/other")
    assert all(third.knows(number) for number in range(10))


def test_pages_are_evaluated_while_others_are_stored(runner: asyncio.Runner) -> None:
    tables = MemoryTables()
    worker, other = Worker(runner, tables), Worker(runner, tables)
    table = worker.tables.table(SPEC)
    update, may_go_on, writes = table.update, asyncio.Event(), []

    async def slowly(changes: list[Change]) -> list[bool]:
        writes.append(changes)
        await may_go_on.wait()
        return await update(changes)

    async def page(number: int) -> None:
        await worker.evidence.hold(PLACE, 1)
        url = f"{SITE}/list/{number}"
        learned = worker.detector.page(url, None, page_of("x"), [Found(f"{url}?view=1")], 1, b"x")
        assert learned is not None
        await worker.evidence.keep(learned)

    async def pages() -> list[int]:
        table.update = slowly  # type: ignore[method-assign]
        tasks = [asyncio.create_task(page(number)) for number in range(6)]
        for _ in range(50):
            await asyncio.sleep(0)
        known = [number for number in range(6) if worker.knows(number)]
        may_go_on.set()
        await asyncio.gather(*tasks)
        return known

    assert runner.run(pages()) == list(range(6))
    assert len(writes) == 2
    other.visits(2, "/other")
    assert all(other.knows(number) for number in range(6))


def test_evidence_takes_bounded_space(
    workers: Workers, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_evidence, "CHUNK", 3)
    monkeypatch.setattr(shared_evidence, "CHUNKS_MAX", 4)
    [worker] = workers(1)
    copies(worker, 1, range(100))
    rows = runner.run(worker.tables.table(SPEC).scan(f"host {PLACE}", 1000))
    assert 4 <= len(rows) <= 5
    assert sum(row.value.count(b"\n") + 1 for row in rows) <= 15


def test_a_host_that_offers_no_page_under_values_of_a_parameter_takes_no_space(
    workers: Workers, runner: asyncio.Runner
) -> None:
    [worker] = workers(1)
    for number in range(30):
        worker.visits(1, f"/article/{number}", text=f"{word(number)} {word(number + 1)}")
        worker.visits(1, f"/list?page={number}", text=f"{word(number)} and {word(number + 1)}")
    assert runner.run(worker.tables.table(SPEC).scan(f"host {PLACE}", 1000)) == []


def test_a_storage_that_fails_costs_only_what_the_process_does_not_know(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = workers(2)
    copies(first, 1, range(3))

    async def away(*_: object) -> list[bool]:
        raise StorageAway("gone")

    with monkeypatch.context() as broken:
        broken.setattr(type(first.tables.table(SPEC)), "get", away)
        broken.setattr(type(first.tables.table(SPEC)), "update", away)
        copies(first, 1, range(3, 5))
        copies(second, 2, range(5, 6))
    copies(second, 2, range(6, 8))
    known = [second.knows(number) for number in range(8)]
    assert known == [True, True, True, False, False, True, True, True]


@pytest.mark.parametrize(
    ("id_", "value"),
    [
        (b"o/000000000001", b"[]"),
        (b"o/000000000001", b"{"),
        (b"p/1", b"h.test/#\0x"),
        (b"q/1", b"h.test/#\0x"),
    ],
)
def test_what_cannot_be_read_ends_no_crawl(
    workers: Workers, runner: asyncio.Runner, id_: bytes, value: bytes
) -> None:
    [worker] = workers(1)
    rows = [Row(HEADER, b"1"), Row(id_, value)]
    runner.run(worker.tables.table(SPEC).update([Change(f"host {PLACE}", rows)]))
    copies(worker, 1, range(2))
    assert worker.knows(1)
