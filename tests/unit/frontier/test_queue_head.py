from __future__ import annotations

import itertools

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.contract.samples import entry
from webcrawl.frontier.queue_head import QueueHead, QueuePosition, expected_place
from webcrawl.frontier.records import UrlEntry

LIMIT = 4


def queue(*places: tuple[int, int]) -> list[UrlEntry]:
    return [entry("http://a/", level, position) for level, position in places]


def left(head: QueueHead) -> list[tuple[int, int]]:
    """(level, position) of what can still be taken, by taking it."""
    return [(one.level, one.position) for one in iter(lambda: head.take() if head else None, None)]


def test_entries_are_taken_in_their_order() -> None:
    assert left(QueueHead(queue((2, 5), (2, 6), (0, 1)), False, LIMIT)) == [(2, 5), (2, 6), (0, 1)]


def test_taking_from_an_empty_head_is_an_error() -> None:
    with pytest.raises(IndexError):
        QueueHead([], True, LIMIT).take()


def test_a_new_entry_before_the_tail_takes_its_place_in_the_order() -> None:
    head = QueueHead(queue((0, 1), (0, 9)), True, LIMIT)
    head.offer(entry("http://a/", 0, 5))
    head.offer(entry("http://a/", 3, 99))
    assert left(head) == [(3, 99), (0, 1), (0, 5), (0, 9)]


def test_a_new_entry_behind_the_tail_is_left_to_a_load_when_more_is_there() -> None:
    head = QueueHead(queue((0, 1)), True, LIMIT)
    head.offer(entry("http://a/", 0, 5))
    assert (len(head), head.more) == (1, True)


def test_a_new_entry_behind_the_tail_is_held_when_nothing_lies_between() -> None:
    head = QueueHead([], False, LIMIT)
    head.offer(entry("http://a/", 0, 5))
    assert (head.more, left(head)) == (False, [(0, 5)])


def test_a_full_head_holds_no_more_at_its_end() -> None:
    head = QueueHead(queue(*((0, position) for position in range(LIMIT))), False, LIMIT)
    head.offer(entry("http://a/", 0, 50))
    assert (len(head), head.more) == (LIMIT, True)


def test_a_head_stays_short_however_much_comes_in_before_its_tail() -> None:
    head = QueueHead(queue((0, 1), (0, 2)), False, LIMIT)
    for position in range(100):
        head.offer(entry("http://a/", 1, position))
    assert len(head) <= 2 * LIMIT
    assert head.more


def test_what_is_queued_while_a_load_is_under_way_is_not_forgotten() -> None:
    head = QueueHead(queue((0, 1)), True, LIMIT)
    head.loading = True
    head.offer(entry("http://a/", 0, 9))
    head.loaded(queue((0, 2)), more=False)
    assert head.more
    assert left(head) == [(0, 1), (0, 2)]


def test_what_is_passed_over_before_the_tail_is_reached_by_the_next_load() -> None:
    head = QueueHead(queue((5, 1), (0, 1), (0, 9)), False, LIMIT)
    head.pass_over(entry("http://a/", 0, 5))
    assert head.more
    assert head.tail is not None
    assert head.tail < (0, 5)
    assert left(head) == [(5, 1), (0, 1)]


def test_an_entry_that_is_out_is_not_brought_a_second_time() -> None:
    head = QueueHead(queue((0, 1), (0, 2)), False, LIMIT)
    head.take()
    head.pass_over(entry("http://a/", 7, 1))
    head.loading = True
    head.loaded(queue((7, 1), (0, 1), (0, 2)), more=False)
    assert left(head) == [(7, 1), (0, 2)]


def test_a_load_that_looked_before_an_entry_left_its_queue_does_not_bring_it_back() -> None:
    """On a shared storage answers may overtake each other."""
    head = QueueHead(queue((0, 1)), True, LIMIT)
    taken = head.take()
    head.reopen((0, 0))
    head.loading = True
    head.gone(taken)
    head.loaded(queue((0, 1), (0, 2)), False)
    assert left(head) == [(0, 2)]


def test_an_entry_that_a_load_brought_is_not_held_twice_when_we_are_told_of_it() -> None:
    head = QueueHead(queue((0, 1), (0, 2)), False, LIMIT)
    taken = head.take()
    for one in queue((0, 1), (0, 2)):
        head.offer(one)
    assert left(head) == [(0, 2)]
    head.gone(taken)


def test_an_entry_that_left_its_queue_and_came_back_to_it_is_held_again() -> None:
    [one] = queue((0, 1))
    head = QueueHead([one], False, LIMIT)
    head.take()
    head.gone(one)
    head.offer(entry("http://a/", 0, 2))
    assert left(head) == [(0, 2)]


def test_what_others_queued_behind_an_entry_that_a_load_brought_is_not_passed_over() -> None:
    """The news say only what the first of several was, and we queued something behind them all meanwhile."""
    head = QueueHead(queue((0, 1)), False, LIMIT)
    head.offer(entry("http://a/", 0, 9))
    head.reopen((0, 1))
    head.loading = True
    head.loaded([one for one in queue((0, 1), (0, 5), (0, 9)) if expected_place(one) > head.tail], False)
    assert left(head) == [(0, 1), (0, 5), (0, 9)]


class Head(RuleBasedStateMachine):
    """A queue in a backend, and the head that must be a sorted prefix of it through all races."""

    @initialize(levels=st.lists(st.integers(0, 2), max_size=12))
    def activate(self, levels: list[int]) -> None:
        self.numbers = itertools.count()
        self.queue: dict[QueuePosition, UrlEntry] = {}
        self.out: dict[QueuePosition, UrlEntry] = {}
        for level in levels:
            self.new(level, 50)
        self.snapshot: list[UrlEntry] | None = None
        self.unacknowledged: set[QueuePosition] = set()
        """What others queued and we have not heard of."""
        entries = self.behind(None)
        self.head = QueueHead(entries[:LIMIT], len(entries) > LIMIT, LIMIT)

    def new(self, level: int, position: int) -> UrlEntry:
        one = entry("http://a/", level, position * 1000 + next(self.numbers))
        self.queue[expected_place(one)] = one
        return one

    def behind(self, place: QueuePosition | None) -> list[UrlEntry]:
        return [self.queue[each] for each in sorted(self.queue) if place is None or each > place]

    @rule(
        spots=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 99)), min_size=1, max_size=4),
        held=st.booleans(),
    )
    def queue_some(self, spots: list[tuple[int, int]], held: bool) -> None:
        for one in self.head.within([self.new(level, position) for level, position in spots]):
            if held:
                self.head.offer(one)
            else:
                self.head.pass_over(one)

    @rule(level=st.integers(0, 2), position=st.integers(0, 99))
    def others_queue_one(self, level: int, position: int) -> None:
        self.unacknowledged.add(expected_place(self.new(level, position)))

    @precondition(lambda self: self.unacknowledged)
    @rule()
    def hear(self) -> None:
        self.head.reopen(min(self.unacknowledged))
        self.unacknowledged.clear()

    @precondition(lambda self: self.head)
    @rule(count=st.integers(1, 5))
    def take(self, count: int) -> None:
        for _ in range(count):
            if self.head:
                one = self.head.take()
                place = expected_place(one)
                assert place in self.queue, "it left the queue before"
                assert place not in self.out, "it is out already"
                self.out[place] = one

    @precondition(lambda self: self.out)
    @rule(choice=st.integers(0, 9))
    def put_back(self, choice: int) -> None:
        self.head.put_back([self.out.pop(sorted(self.out)[choice % len(self.out)])])

    @precondition(lambda self: self.out)
    @rule(choice=st.integers(0, 9))
    def settle(self, choice: int) -> None:
        place = sorted(self.out)[choice % len(self.out)]
        del self.queue[place]
        self.head.gone(self.out.pop(place))

    @precondition(lambda self: self.head.more and not self.head.loading)
    @rule()
    def ask(self) -> None:
        self.head.loading = True
        self.after = self.head.tail

    @precondition(lambda self: self.head.loading and self.snapshot is None)
    @rule()
    def read(self) -> None:
        self.snapshot = self.behind(self.after)

    @precondition(lambda self: self.snapshot is not None)
    @rule()
    def answer(self) -> None:
        assert self.snapshot is not None
        # What was settled since the reading was out then, and the answers to both come in their order.
        entries = [one for one in self.snapshot if expected_place(one) in self.queue]
        self.head.loaded(entries[:LIMIT], len(entries) > LIMIT)
        self.snapshot = None

    @invariant()
    def what_it_holds_is_a_prefix(self) -> None:
        held = [expected_place(one) for one in self.head._entries[self.head._next :]]
        assert held == sorted(set(held))
        told = [place for place in sorted(self.queue) if place not in self.unacknowledged or place in held]
        free = [place for place in told if place not in self.out]
        if not self.head.loading:
            assert held == free[: len(held)]
            assert self.head.more or len(held) == len(free)
        else:
            assert set(held) <= set(free)
        assert all(self.head.tail is not None and place <= self.head.tail for place in held)

    def teardown(self) -> None:
        """Whatever happened before, loading and taking gives every entry in its order."""
        if not hasattr(self, "head"):
            return
        if self.head.loading:
            if self.snapshot is None:
                self.read()
            self.answer()
        if self.unacknowledged:
            self.hear()
        given = []
        free = [place for place in sorted(self.queue) if place not in self.out]
        while self.head or self.head.more:
            while self.head:
                given.append(expected_place(self.head.take()))
            if self.head.more:
                self.ask()
                self.read()
                self.answer()
        assert given == free


TestHead = Head.TestCase
TestHead.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_entries_that_were_taken_are_let_go_of() -> None:
    head = QueueHead(queue(*((0, number) for number in range(60))), False, LIMIT)
    for _ in range(60):
        head.take()
        assert len(head._entries) - len(head) <= 8
    assert head._entries == []
