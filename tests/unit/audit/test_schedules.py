"""Any schedule that keeps its clocks passes; one request moved forward is found, and only that."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.unit.reports.log_lines import Line, audited, line, robots, told

TOLERANCE = 0.01
MILLISECONDS = st.integers(0, 20_000).map(lambda number: number / 1000)


@dataclass(frozen=True)
class Step:
    """One request of a key."""

    waits: float
    took: float
    delay: float
    worker: int
    lag: float
    """How long after its end it was logged."""


# A request takes time: two of a key that began at the same moment would have no order in a log.
TOOK = st.integers(1, 20_000).map(lambda number: number / 1000)
STEPS = st.builds(Step, MILLISECONDS, TOOK, MILLISECONDS, st.integers(0, 2), MILLISECONDS)
KEYS = st.lists(st.lists(STEPS, min_size=1, max_size=8), min_size=1, max_size=4)


def schedule(keys: list[list[Step]]) -> list[list[tuple[Line, Step]]]:
    """Lines that keep every clock, by key; a robots.txt first."""
    made = []
    for number, steps in enumerate(keys):
        at, lines, host = float(number), [], f"h{number}.test"
        for turn, step in enumerate(steps):
            at += step.waits
            facts = {"took": step.took, "delay": step.delay, "number": turn + 1, "worker": f"w{step.worker}"}
            made_line = robots(at, host, **facts) if turn == 0 else line(at, f"/{turn}", host, **facts)
            lines.append((made_line, step))
            at += step.took + step.delay
        made.append(lines)
    return made


def logs_of(keys: list[list[tuple[Line, Step]]]) -> list[list[Line]]:
    """What each worker's log has, in the order in which it was written."""
    every = sorted((pair for lines in keys for pair in lines), key=lambda pair: pair[0]["end"] + pair[1].lag)
    return [[one for one, step in every if step.worker == worker] for worker in range(3)]


@given(KEYS)
def test_a_schedule_that_keeps_its_clocks_has_no_violation(keys: list[list[Step]]) -> None:
    found, audit = audited(*logs_of(schedule(keys)), tolerance_seconds=TOLERANCE)
    assert found == []
    assert audit.totals.missing == audit.totals.unproved == audit.totals.copies == 0


@given(KEYS, st.data())
def test_one_request_moved_forward_is_found(keys: list[list[Step]], data: st.DataObject) -> None:
    made = schedule(keys)
    places = [
        (number, turn)
        for number, lines in enumerate(made)
        for turn in range(1, len(lines))
        if lines[turn - 1][0]["end"] + lines[turn - 1][0]["delay"] - lines[turn - 1][0]["start"]
        > 2 * TOLERANCE
    ]
    assume(places)
    number, turn = data.draw(st.sampled_from(places))
    before, moved = made[number][turn - 1][0], made[number][turn][0]
    allowed_at = before["end"] + before["delay"]
    room = allowed_at - before["start"] - 2 * TOLERANCE
    early = 2 * TOLERANCE + data.draw(st.floats(0, 1)) * room * 0.999
    took = moved["end"] - moved["start"]
    moved["start"] = allowed_at - early
    # Where it ended is left open; what follows is still right.
    moved["end"] = moved["start"] + took

    found, _ = audited(*logs_of(made), tolerance_seconds=TOLERANCE)

    clock = [violation for violation in found if violation.kind != "robots"]
    expected = "overlap" if moved["start"] + TOLERANCE < before["end"] else "early"
    assert [(str(one.kind), one.request.url) for one in clock] == [(expected, moved["url"])], told(found)
    assert clock[0].before is not None
    assert clock[0].before.url == before["url"]
