"""The store of sketches: the same sentences hold on the tables of each technology."""

from __future__ import annotations

import asyncio
import random
from array import array
from functools import cache
from typing import TYPE_CHECKING

import pytest
from xxhash import xxh3_64_intdigest

from tests.fakeweb.variants import prose
from webcrawl.errors import StorageLost
from webcrawl.features.near_duplicates.store import (
    BANDS,
    BLOCK,
    FILLING,
    REFERENCES,
    SPEC,
    SketchedPage,
    SketchStore,
)
from webcrawl.processing.text_sketch import HASHES, sketch
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.storage.tables import Row, RowId

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.conftest import OpenTables
    from webcrawl.features.near_duplicates.store import NearPage

    Opened = Callable[[], "Sketches"]

MOST = 1_000


_prose = cache(prose)


def number_of(url: str) -> int:
    """A number with a sign, as fingerprints of URLs are."""
    return xxh3_64_intdigest(url.encode()) - (1 << 63)


def page(name: str, url: str, *changed: int, words: int = 200, is_original: bool = True) -> SketchedPage:
    """A page with the text ``name``, of which the words at some places are others."""
    text = _prose(name, words).copy()
    for place in changed:
        text[place] = f"changed{place}"
    return SketchedPage(number_of(url), url, "a.test", 3, sketch(" ".join(text)), is_original=is_original)


class Sketches:
    """A store without ``await``."""

    def __init__(self, runner: asyncio.Runner, store: SketchStore) -> None:
        self._runner = runner
        self.store = store

    def add(self, *pages: SketchedPage) -> list[NearPage | None]:
        return self._runner.run(self.store.check_and_add(pages))

    def firsts(self, *pages: SketchedPage) -> list[str | None]:
        return [None if near is None else near.first.url for near in self.add(*pages)]

    def keep(self, *pages: SketchedPage) -> None:
        self._runner.run(self.store.keep(pages))


@pytest.fixture
def opened(runner: asyncio.Runner, open_tables: OpenTables) -> Opened:
    """Opens the same store, again and again."""
    return lambda: Sketches(runner, SketchStore(open_tables(SPEC), MOST))


A, B, C, D = (f"http://{name}.test/\u00fc?x= y" for name in "abcd")


def test_a_near_page_is_named_the_first_of_its_cluster(opened: Opened) -> None:
    sketches = opened()
    assert sketches.add(page("one", A), page("two", B)) == [None, None]
    [near, far] = sketches.add(page("one", C, 7), page("three", D))
    assert far is None
    assert near is not None
    assert (near.first.url, near.first.key, near.first.depth) == (A, "a.test", 3)
    assert near.first.cluster == f"{number_of(A) & (1 << 64) - 1:016x}"
    assert 0.9 < near.resemblance < 1
    assert near.is_certain


def test_within_one_question_too(opened: Opened) -> None:
    assert opened().firsts(page("one", A), page("two", B), page("one", C, 9)) == [None, None, A]


def test_clusters_do_not_drift(opened: Opened) -> None:
    """Each page is compared with the first one of a cluster, and not with the last."""
    sketches = opened()
    steps = [page("one", f"http://a.test/{n}", *range(5, 5 + 20 * n, 5)) for n in range(8)]
    firsts = [sketches.firsts(each)[0] for each in steps]
    assert firsts[:2] == [None, steps[0].url]
    assert len({first for first in firsts if first}) > 1
    assert firsts[-1] != steps[0].url


def test_only_what_is_above_the_threshold_by_its_error_is_certain(opened: Opened) -> None:
    sketches = opened()
    sketches.add(page("one", A))
    found = [sketches.add(page("one", B, *range(0, 200, 200 // count)))[0] for count in (1, 2, 4, 5, 20)]
    certain = [None if near is None else near.is_certain for near in found]
    assert certain[0] is True
    assert certain[-1] is None
    assert certain == sorted(certain, key=[True, False, None].index)
    assert False in certain


def test_a_page_that_is_fetched_again_is_no_duplicate_of_itself(opened: Opened) -> None:
    sketches = opened()
    assert sketches.firsts(page("one", A), page("one", A)) == [None, None]
    assert opened().firsts(page("one", A), page("one", A, 5), page("one", B)) == [None, None, A]
    # Of others that came before it, it is one each time.
    assert opened().firsts(page("one", B, 3), page("one", B, 3)) == [A, A]


def test_a_known_copy_is_looked_up_and_not_added(opened: Opened) -> None:
    sketches = opened()
    copy = page("one", A, is_original=False)
    assert sketches.firsts(copy, page("one", B), page("one", C, is_original=False)) == [None, None, B]
    assert copy.slot is None


def test_what_is_known_outlives_the_process_and_others_know_it_at_once(opened: Opened) -> None:
    one, other = opened(), opened()
    first = page("one", A)
    one.add(first)
    [near] = other.add(page("one", B, 3))
    assert near is not None
    assert (near.first.is_stored, near.first.is_followed) == (False, False)
    first.is_stored = first.is_followed = True
    one.keep(first)
    [near] = opened().add(page("one", C, 4))
    assert near is not None
    assert (near.first.is_stored, near.first.is_followed) == (True, True)


def test_the_oldest_makes_room(opened: Opened) -> None:
    sketches = opened()
    pages = [page(f"text {number}", f"http://a.test/{number}", words=40) for number in range(MOST + BLOCK)]
    for start in range(0, len(pages), 200):
        assert set(sketches.firsts(*pages[start : start + 200])) == {None}
    again = [
        page(f"text {number}", f"http://b.test/{number}", words=40, is_original=False)
        for number in (0, BLOCK - 1, BLOCK, MOST, MOST + BLOCK - 1)
    ]
    assert sketches.firsts(*again) == [
        None,
        None,
        *(f"http://a.test/{number}" for number in (BLOCK, MOST, MOST + BLOCK - 1)),
    ]


def test_all_of_it_has_the_stated_size(runner: asyncio.Runner) -> None:
    """Whatever comes, and however often."""
    tables, chance = MemoryTables(), random.Random(1)
    store = SketchStore(tables, MOST)
    for start in range(0, 2 * MOST, 500):
        pages = [page("any", f"http://a.test/{number}") for number in range(start, start + 500)]
        for each in pages:
            each.sketch = array("I", sorted(chance.choices(range(1 << 32), k=HASHES))).tobytes()
        runner.run(store.check_and_add(pages))
    table, buckets = tables.table(SPEC), MOST * BANDS // FILLING
    assert runner.run(table.status(0.0, 1)).rows <= MOST + buckets + 1
    longest = [
        max(len(row.value) for row in runner.run(table.get(ids)) if row is not None)
        for ids in (
            [RowId(f"b{number & 255:02x}", number.to_bytes(4, "big")) for number in range(buckets)],
            [RowId(f"s{number & 255:02x}", number.to_bytes(4, "big")) for number in range(MOST)],
        )
    ]
    assert longest[0] == 8 * REFERENCES
    assert longest[1] <= 4 * HASHES + 13 + len("a.test http://a.test/1000")


def test_processes_take_different_slots(opened: Opened) -> None:
    one, other = opened(), opened()
    pages = [page(f"{number}", f"http://a.test/{number}") for number in range(2 * BLOCK + 10)]
    for number, each in enumerate(pages):
        (one, other)[number % 2].add(each)
    assert len({each.slot for each in pages}) == len(pages)


@pytest.mark.parametrize("value", [b"", b"short", b"\0" * 11 + b"\xff\xff" + b"x", b"\0" * 13 + b"\xff"])
def test_what_is_no_record_is_an_error_of_the_storage(
    runner: asyncio.Runner, open_tables: OpenTables, value: bytes
) -> None:
    tables = open_tables(SPEC)
    store = SketchStore(tables, MOST)
    known = page("one", A)
    runner.run(store.check_and_add([known]))
    assert known.slot is not None
    change = (f"s{known.slot & 255:02x}", Row(known.slot.to_bytes(4, "big"), value))
    runner.run(tables.table(SPEC).swap([change]))
    with pytest.raises(StorageLost, match="cannot be read"):
        runner.run(store.check_and_add([page("one", B)]))
