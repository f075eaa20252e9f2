from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.heap import KeyHeap

KEYS = st.sampled_from("abcdef")
TIMES = st.floats(0, 10)


def test_keys_come_out_by_their_times() -> None:
    heap = KeyHeap()
    for key, at in (("late", 3.0), ("early", 1.0), ("middle", 2.0)):
        heap.push(key, at)
    assert [heap.pop_ready(9.0) for _ in range(4)] == ["early", "middle", "late", None]


def test_a_key_whose_time_has_not_come_stays() -> None:
    heap = KeyHeap()
    heap.push("a", 2.0)
    assert heap.pop_ready(1.999) is None
    assert heap.pop_ready(2.0) == "a"


def test_equal_times_come_out_in_the_order_they_went_in() -> None:
    heap = KeyHeap()
    for key in "zyxabc":
        heap.push(key, 1.0)
    assert "".join(str(heap.pop_ready(1.0)) for _ in range(6)) == "zyxabc"


def test_a_key_that_is_pushed_again_has_moved() -> None:
    heap = KeyHeap()
    heap.push("a", 1.0)
    heap.push("a", 5.0)
    assert (len(heap), heap.next_at(), heap.pop_ready(4.0)) == (1, 5.0, None)
    heap.push("a", 0.5)
    assert (heap.pop_ready(0.5), heap.pop_ready(9.0)) == ("a", None)


def test_a_key_that_was_removed_never_comes_out() -> None:
    heap = KeyHeap()
    heap.push("a", 1.0)
    heap.remove("a")
    heap.remove("never in")
    assert ("a" in heap, len(heap), heap.next_at(), heap.pop_ready(9.0)) == (False, 0, None, None)


def test_the_next_time_of_an_empty_heap_is_none() -> None:
    assert KeyHeap().next_at() is None


def test_ready_keys_are_counted_without_those_that_moved_or_went() -> None:
    heap = KeyHeap()
    for number in range(100):
        heap.push(str(number), float(number))
    heap.push("0", 1000.0)
    heap.remove("1")
    assert heap.count_ready(9.0) == 8
    assert heap.count_ready(9.0, at_most=3) == 3
    assert heap.count_ready(-1.0) == 0


def test_a_heap_whose_keys_move_for_ever_does_not_grow() -> None:
    heap = KeyHeap()
    for moment in range(10_000):
        heap.push(str(moment % 10), float(moment))
    assert len(heap) == 10
    assert len(heap._entries) <= 66


class Model:
    """What a heap is: a table of times."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}

    def earliest(self) -> float | None:
        return min(self.times.values(), default=None)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("push"), KEYS, TIMES),
            st.tuples(st.just("remove"), KEYS, TIMES),
            st.tuples(st.just("pop"), KEYS, TIMES),
        ),
        max_size=300,
    )
)
def test_it_behaves_as_a_table_of_times(steps: list[tuple[str, str, float]]) -> None:
    heap, model = KeyHeap(), Model()
    for what, key, at in steps:
        if what == "push":
            heap.push(key, at)
            model.times[key] = at
        elif what == "remove":
            heap.remove(key)
            model.times.pop(key, None)
        else:
            popped = heap.pop_ready(at)
            earliest = model.earliest()
            if earliest is None or earliest > at:
                assert popped is None
            else:
                assert popped is not None
                assert model.times.pop(popped) == earliest
        assert len(heap) == len(model.times)
        assert heap.next_at() == model.earliest()
        assert all((key in heap) == (key in model.times) for key in "abcdef")
        assert heap.count_ready(5.0) == sum(at <= 5.0 for at in model.times.values())
