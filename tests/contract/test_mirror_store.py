"""The store of mirrors: the same sentences hold on the tables of each technology."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from webcrawl.errors import StorageLost
from webcrawl.features.mirrors.evidence import PageMark, Sign
from webcrawl.features.mirrors.pair import MirrorPair, MirrorState
from webcrawl.features.mirrors.store import BY_HAND, SHARED_MAX, SPEC, MirrorStore, WithheldMirrorUrl
from webcrawl.storage.tables import HEADER, Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.conftest import OpenTables

A, B = "http://a.test", "http://b.test:8080"


def pair(state: MirrorState = MirrorState.PROVING, first: str = A, mirror: str = B) -> MirrorPair:
    return MirrorPair(first, mirror, state, 5.0, ("address",), {"0f": "/ü"}, 1, 3, samples=4, why="because")


def withheld(number: int) -> WithheldMirrorUrl:
    return WithheldMirrorUrl(f"{B}/{number}", number, f"{B}/" if number % 2 else None)


@pytest.fixture
def open_store(open_tables: OpenTables) -> Callable[[], MirrorStore]:
    """Gives the same store again and again, as processes of one crawl have it."""
    return lambda: MirrorStore(open_tables(SPEC))


@pytest.fixture
def store(open_store: Callable[[], MirrorStore]) -> MirrorStore:
    return open_store()


def test_a_pair_that_was_stored_is_known_to_all(
    runner: asyncio.Runner, open_store: Callable[[], MirrorStore]
) -> None:
    store = open_store()
    assert (runner.run(store.beliefs()), runner.run(store.version())) == ([], "")
    runner.run(store.put([pair()]))
    [stored] = runner.run(open_store().beliefs())
    for name in ("first", "mirror", "state", "since", "signs", "equal", "later", "probes", "samples", "why"):
        assert getattr(stored, name) == getattr(pair(), name)


def test_a_pair_never_goes_back_and_what_proves_it_is_added_up(
    runner: asyncio.Runner, store: MirrorStore
) -> None:
    states = [MirrorState.PROVING, MirrorState.CONFIRMED, MirrorState.REFUTED, MirrorState.UNDONE]
    wrong = []
    for number, one in enumerate(states):
        for later, other in enumerate(states):
            origin = f"http://{one}-{other}.test"
            runner.run(store.put([pair(one, mirror=origin)]))
            new = pair(other, mirror=origin)
            new.equal = {"0e": "/x"}
            runner.run(store.put([new]))
            [stored] = [each for each in runner.run(store.beliefs()) if each.mirror == origin]
            if (stored.state, set(stored.equal)) != (states[max(number, later)], {"0e", "0f"}):
                wrong.append((one, other, stored))
    assert wrong == []


def test_of_two_first_hosts_the_one_that_was_stored_stays(runner: asyncio.Runner, store: MirrorStore) -> None:
    runner.run(store.put([pair(MirrorState.CONFIRMED)]))
    runner.run(store.put([pair(MirrorState.CONFIRMED, first=B, mirror=A)]))
    [stored] = runner.run(store.beliefs())
    assert stored.first == A


def test_a_pair_is_undone_by_hand(runner: asyncio.Runner, store: MirrorStore) -> None:
    runner.run(store.put([pair(MirrorState.CONFIRMED)]))
    before = runner.run(store.version())
    runner.run(store.undo([pair().id, "0123abcd"], 9.0))
    assert runner.run(store.version()) != before
    [undone] = runner.run(store.beliefs())
    assert (undone.state, undone.why, undone.since) == (MirrorState.UNDONE, BY_HAND, 9.0)


def test_hosts_with_the_same_signs_find_each_other_unless_there_are_many(
    runner: asyncio.Runner, store: MirrorStore
) -> None:
    signs = {Sign.ROBOTS: "1", Sign.ADDRESS: "192.0.2.1"}
    assert runner.run(store.publish(A, signs)) == {}
    common = runner.run(store.publish(B, {**signs, Sign.HOME: "1"}))
    assert {host: set(shared) for host, shared in common.items()} == {A: {Sign.ROBOTS, Sign.ADDRESS}}
    for number in range(SHARED_MAX):
        runner.run(store.publish(f"http://{number}.test", {Sign.ADDRESS: "192.0.2.1"}))
    common = runner.run(store.publish(A, signs))
    assert common == {B: [Sign.ROBOTS]}


def test_pages_are_stored_under_their_hosts_and_paths(runner: asyncio.Runner, store: MirrorStore) -> None:
    page, newer = PageMark("/ü?x=1", 1 << 63, 2, 3.5, 4), PageMark("/ü?x=1", 5, 6, 7.0)
    runner.run(store.keep_pages([(A, page), (B, page)]))
    runner.run(store.keep_pages([(A, newer)]))
    assert runner.run(store.pages([(A, "/ü?x=1"), (B, "/ü?x=1"), (A, "/other")])) == [newer, page, None]
    assert runner.run(store.some_pages(A, 5)) == [newer]


def test_withheld_urls_are_stored_once_until_they_are_finished(
    runner: asyncio.Runner, store: MirrorStore
) -> None:
    runner.run(store.put([pair(MirrorState.CONFIRMED)]))
    version = runner.run(store.version())
    urls = [withheld(number) for number in range(5)]
    key = pair().id
    assert runner.run(store.withhold(key, urls[:3])) == ({each.url for each in urls[:3]}, 3)
    assert runner.run(store.withhold(key, urls)) == ({each.url for each in urls}, 5)
    runner.run(store.owe(key, [urls[0].url, "http://b.test/unknown"]))
    assert runner.run(store.withhold(key, urls[:2])) == ({urls[1].url}, 5)
    assert runner.run(store.find_withheld(key, [urls[0].url, f"{B}/9"])) == [urls[0]._replace(is_owed=True)]
    runner.run(store.finished(key, [urls[0].url, urls[3].url]))
    found, after = runner.run(store.withheld(key, HEADER, 10))
    assert (sorted(each.depth for each in found), after) == ([1, 2, 4], None)
    assert [each.withheld for each in runner.run(store.beliefs())] == [3]
    assert runner.run(store.version()) == version


def test_rows_that_cannot_be_read_are_reported(
    runner: asyncio.Runner, store: MirrorStore, open_tables: OpenTables
) -> None:
    runner.run(open_tables(SPEC).table(SPEC).add([("pairs", Row(b"0123abcd", b'{"first": 1}'))]))
    with pytest.raises(StorageLost, match="mirrors cannot be read"):
        runner.run(store.beliefs())
