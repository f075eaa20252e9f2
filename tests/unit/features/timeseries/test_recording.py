"""Time series against a plain model: what is read is what the samples say, over restarts and any number of slots."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawl.features.timeseries.archives import ARCHIVES, STEPS, BlockError, Recorder, SeriesBlock, unpacked
from webcrawl.features.timeseries.reading import Slot
from webcrawl.features.timeseries.store import SeriesStore
from webcrawl.frontier.figures import COUNTERS, GAUGES
from webcrawl.storage.memory.tables import MemoryTables

NOW = 1_700_000_000.0
EVERY = tuple(range(len(ARCHIVES)))


class Process:
    """A process that samples its figures into a slot, as the feature does."""

    def __init__(self, store: SeriesStore, number: int, at: float) -> None:
        slot, blocks = asyncio.run(store.recall(number, at))
        self.store = store
        self.slot = slot or Slot(number, at, [at] * len(ARCHIVES))
        self.recorder = Recorder(at, blocks)

    def sample(self, at: float, **figures: float) -> None:
        self.recorder.sample(at, {one.name: 0 for one in GAUGES} | figures)

    def save(self, archives: tuple[int, ...] = EVERY) -> None:
        for index in archives:
            self.slot.until[index] = self.recorder.at
        asyncio.run(self.store.save(self.slot, self.recorder.rows(archives)))
        self.recorder.stored(archives)


def read(store: SeriesStore, *names: str, now: float, **options: Any) -> Any:
    given = {"from_": None, "to": None, "points": 300} | options
    return asyncio.run(store.read(names, now=now, **given))


@pytest.fixture
def store() -> SeriesStore:
    return SeriesStore(MemoryTables())


# -- against the model -------------------------------------------------------------------------------------------

RUNS = st.lists(
    st.tuples(
        st.floats(0.0, 4000.0),  # the time until the process starts
        st.lists(
            st.tuples(st.floats(0.5, 200.0), st.integers(0, 1000), st.integers(0, 50)),
            min_size=1,
            max_size=12,
        ),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True)
@given(runs=RUNS, points=st.sampled_from([1, 7, 300, 3000]))
def test_series_are_the_samples_whatever_the_times_and_the_restarts(
    runs: list[tuple[float, list[tuple[float, int, int]]]], points: int
) -> None:
    store = SeriesStore(MemoryTables())
    now, total, intervals = NOW, 0, []
    for pause, samples in runs:
        now += pause
        process, pages = Process(store, 0, now), 0
        for seconds, grown, active in samples:
            pages += grown
            total += grown
            start, now = max(now, now + seconds - 60.0), now + seconds
            process.sample(now, pages=pages, active=active)
            intervals.append((start, now, grown / (now - start), active))
        process.save()

    series = read(store, "pages", "active", now=now, points=points)

    first = intervals and NOW + runs[0][0]
    found = 0.0
    for index, (rate, active) in enumerate(zip(*series.values.values(), strict=True)):
        begin = series.start + index * series.step
        parts = [
            (part, of_pages, of_active)
            for start, end, of_pages, of_active in intervals
            if (part := min(end, begin + series.step) - max(start, begin)) > 1e-6
        ]
        elapsed = min(begin + series.step, now) - max(begin, first)
        if not parts:
            assert rate is None
            assert active is None
            continue
        covered = sum(part for part, _, _ in parts)
        assert rate == pytest.approx(sum(p * r for p, r, _ in parts) / elapsed, rel=1e-4, abs=1e-4)
        assert active == pytest.approx(sum(p * a for p, _, a in parts) / covered, rel=1e-4, abs=1e-4)
        found += rate * elapsed
    assert found == pytest.approx(total, rel=1e-4)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    counts=st.lists(st.lists(st.integers(0, 500), min_size=30, max_size=30), min_size=1, max_size=4),
    phases=st.lists(st.floats(0, 1.9), min_size=4, max_size=4),
)
def test_processes_add_up_while_they_run_together(counts: list[list[int]], phases: list[float]) -> None:
    store = SeriesStore(MemoryTables())
    for number, grown in enumerate(counts):
        process, pages = Process(store, number, NOW), 0
        for index, count in enumerate(grown, 1):
            pages += count
            process.sample(NOW + 2 * index + phases[number], pages=pages, active=10, queued=7)
        process.save()

    series = read(store, "pages", "active", "queued", "workers", now=NOW + 70, to=NOW + 60)

    assert set(series.values["queued"]) == {7.0}
    assert series.values["active"][1:-1] == [10.0 * len(counts)] * (len(series.values["active"]) - 2)
    assert sum(series.values["pages"]) * series.step == pytest.approx(sum(map(sum, counts)), rel=0.35)


# -- rings -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_space_is_bounded_and_the_old_is_kept_in_longer_steps(store: SeriesStore) -> None:
    process = Process(store, 0, NOW)
    now, pages = NOW, 0
    for _ in range(50 * 6):  # fifty hours, stored every ten minutes
        for _ in range(10):
            now, pages = now + 60, pages + 600
            process.sample(now, pages=pages, active=3)
        process.save()
    partition = store._table._partitions["0"]  # type: ignore[attr-defined]

    rings = [sum(row.startswith(b"%d:" % index) for row in partition.rows) for index in EVERY]
    assert rings[0] == ARCHIVES[0].blocks
    assert rings[1] == ARCHIVES[1].blocks
    assert all(ring <= archive.blocks for ring, archive in zip(rings, ARCHIVES, strict=True))
    hour = read(store, "pages", now=now, from_=now - 3600, points=360)
    assert hour.step == 10
    assert hour.values["pages"][5:] == [10.0] * (len(hour.values["pages"]) - 5)
    day = read(store, "pages", "pages:max", now=now, from_=now - 24 * 3600, points=1440)
    assert day.step == 60
    assert set(day.values["pages"][1:-1]) == {10.0} == set(day.values["pages:max"][1:-1])
    whole = read(store, "pages", now=now, points=300)
    assert whole.step == 900
    assert sum(whole.values["pages"]) * 900 == pytest.approx(pages, rel=0.01)


def test_maxima_are_those_of_ten_seconds(store: SeriesStore) -> None:
    start = NOW - NOW % 900
    process = Process(store, 0, start)
    for step in range(90):
        process.sample(start + 10 * (step + 1), pages=10 * (step + 1) + 990 * (step >= 30), active=step % 7)
    process.save()

    series = read(store, "pages", "pages:max", "active:max", now=start + 900, points=1)

    assert series.step == 900
    assert series.values == {"pages": [(900 + 990) / 900], "pages:max": [100.0], "active:max": [6.0]}


def test_what_is_not_known_is_null_and_not_zero(store: SeriesStore) -> None:
    process = Process(store, 0, NOW)
    process.recorder.sample(NOW + 10, {"pages": 5})
    process.save()

    series = read(store, "disk_free", "pages", "share", now=NOW + 10)

    assert set(series.values["disk_free"]) == {None} == set(series.values["share"])
    assert sum(series.values["pages"]) > 0


def test_a_clock_that_is_set_loses_no_count(store: SeriesStore) -> None:
    process = Process(store, 0, NOW)
    process.sample(NOW + 10, pages=10)
    process.sample(NOW - 5000, pages=20)
    process.sample(NOW + 10, pages=25)
    process.sample(NOW + 20, pages=30)
    process.sample(NOW + 9_000_000, pages=130)
    process.save()
    series = read(store, "pages", now=NOW + 9_000_000, points=1)
    ends = [min(series.start + series.step * (index + 1), NOW + 9_000_000) for index in range(2)]
    times = [ends[0] - NOW, ends[1] - ends[0]]
    rates = zip(series.values["pages"], times, strict=True)
    assert sum(rate * seconds for rate, seconds in rates if rate) == pytest.approx(130, rel=1e-3)

    # The next process begins before the end of the last one.
    later = Process(store, 0, NOW + 50)
    later.sample(NOW + 60, pages=7)
    later.save()
    assert sum(filter(None, read(store, "pages", now=NOW + 60).values["pages"])) > 0


def test_a_name_that_is_not_there_and_an_empty_period_are_refused(store: SeriesStore) -> None:
    for names, options, why in (
        (["pages", "cpu"], {}, "no series 'cpu'"),
        (["share:max"], {}, "no series"),
        (["pages"], {"points": 0}, "points"),
        (["pages"], {"from_": NOW, "to": NOW - 1}, "from"),
        (["pages"], {"from_": math.nan}, "from"),
        (["pages"], {"to": math.inf}, "to"),
    ):
        with pytest.raises(ValueError, match=why):
            read(store, *names, now=NOW, **options)
    assert read(store, "pages", now=NOW).values == {"pages": [None]}


# -- blocks ------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.binary(max_size=300))
def test_bytes_that_are_no_block_are_a_clear_error(stored: bytes) -> None:
    with pytest.raises(BlockError):
        unpacked(stored)


def test_a_block_of_another_version_gives_what_it_has() -> None:
    block = SeriesBlock(5, ("pages", "new"))
    block.covered[3], block.integrals[3] = 10.0, [1.0, 2.0]
    block.maxima[3] = [0.5, 0.25]
    again = unpacked(block.packed())
    assert (again.number, again.names, again.covered[3]) == (5, ("pages", "new"), 10.0)
    assert (again.integrals[3], again.maxima[3], again.integrals[4]) == ([1.0, 2.0], [0.5, 0.25], None)

    at = (5 * STEPS + 3) * 10.0
    carried = unpacked(Recorder(at + 5, [again]).rows([0])[0][2])
    values = dict(zip(carried.names, carried.integrals[3] or [], strict=True))
    assert values["pages"] == 1.0
    assert math.isnan(values["active"])
    assert len(carried.names) == len(COUNTERS) + len(GAUGES)
