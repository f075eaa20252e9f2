"""What a crawl of a segment came to is brought home: the same on every backend, and once, however often."""

from __future__ import annotations

from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING

from tests.contract.samples import NOW, again, entry, found, pages, urls
from webcrawl.features.segments.merging import AT_ONCE, Merging
from webcrawl.frontier.order import Order
from webcrawl.frontier.records import QUEUED, State, UrlRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.driven import Driven
    from webcrawl.features.segments.merging import ImportCounts
    from webcrawl.features.segments.results import UrlStates
    from webcrawl.frontier.records import UrlEntry

DONE, FAILED, REFUSED = (
    UrlRecord(State.DONE),
    UrlRecord(State.FAILED, "timeout"),
    UrlRecord(State.REFUSED, "robots"),
)


class Came:
    """Results of a crawl that was never made."""

    def __init__(self, told: list[UrlStates], brought: list[UrlEntry]) -> None:
        self._told = told
        self._brought = brought

    def found(self) -> Iterator[UrlEntry]:
        return (copy(one) for one in self._brought)

    @contextmanager
    def opened(self) -> Iterator[Iterator[UrlStates]]:
        yield ([(copy(one), known) for one, known in told] for told in self._told)


def merge(backend: Driven, told: list[UrlStates], brought: list[UrlEntry]) -> ImportCounts:
    merging = Merging(backend.backend, Order("breadth_first", None, NOW))
    backend.run(merging.results(Came(told, brought)))
    return merging.merged


def queued(backend: Driven) -> set[str]:
    return {one.url for one in backend.queued()}


def test_what_was_fetched_is_settled_what_is_new_is_queued_and_the_rest_stays(backend: Driven) -> None:
    a, b = pages("a.test", 6), pages("b.test", 3)
    backend.commit(found(*a, *b))
    new = entry("http://c.test/new", 0, 0, depth=3, via=a[0].url)
    told = [
        [(a[0], DONE), (a[1], FAILED), (a[2], REFUSED), (a[3], QUEUED), (a[4], None)],
        [(b[0], DONE)],
    ]
    merged = merge(backend, told, [new, copy(a[5]), copy(b[0])])
    assert merged.settled == {State.DONE: 2, State.FAILED: 1, State.REFUSED: 1}
    assert (merged.left, merged.new, merged.found_known, merged.known) == (2, 1, 2, 0)
    assert queued(backend) == {new.url, *urls(a[3:]), *urls(b[1:])}
    counts = backend.run(backend.backend.read_counts())
    assert (counts.done, counts.failed, counts.refused, counts.queued) == (2, 1, 1, 6)

    repeated = merge(backend, told, [new])
    assert not repeated.settled
    assert (repeated.known, repeated.new, repeated.found_known) == (4, 0, 1)
    assert backend.run(backend.backend.read_counts()) == counts


def test_a_crawl_that_knows_nothing_of_a_segment_knows_all_of_it_afterwards(backend: Driven) -> None:
    a = pages("a.test", 3)
    merged = merge(backend, [[(a[0], DONE), (a[1], FAILED), (a[2], None)]], [])
    assert merged.settled == {State.DONE: 1, State.FAILED: 1}
    assert queued(backend) == {a[2].url}


def test_a_url_is_settled_wherever_in_its_queue_it_is_by_now(backend: Driven) -> None:
    a = pages("a.test", 2 * AT_ONCE + 9)
    backend.commit(found(*a))
    backend.commit(again(a[0]))
    backend.activate_one()
    merged = merge(backend, [[(a[0], DONE), (a[-1], DONE), (a[AT_ONCE], DONE)]], [])
    assert merged.settled == {State.DONE: 3}
    assert len(queued(backend)) == len(a) - 3


def test_levels_of_a_segment_are_kept_and_repeats_are_settled_too(backend: Driven) -> None:
    backend.commit(found(entry("http://a.test/0")))
    backend.commit(found(entry("http://a.test/0", repeat=True)))
    merging = Merging(backend.backend, Order("priority", None, NOW))
    backend.run(merging.queue([entry("http://a.test/b/c?d", 5, 0), entry("http://a.test/0", 9, 0)]))
    assert (merging.merged.new, merging.merged.found_known) == (1, 1)
    assert [one.level for one in backend.queued() if "?" in one.url] == [5]
    merge(backend, [[(entry("http://a.test/0", repeat=True), DONE)]], [])
    assert queued(backend) == {"http://a.test/b/c?d"}
