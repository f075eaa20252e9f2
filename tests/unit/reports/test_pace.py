"""Rates and the time left follow from looks at a growing tally."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.rows import each_row
from tests.unit.reports.figures import snapshot
from webcrawl.frontier.tally import Tally
from webcrawl.reports.pace import WINDOW_SECONDS, CrawlLimits, Means, PaceMeter


def test_now_is_the_mean_over_the_last_seconds_and_mean_that_since_the_start() -> None:
    pace, tally = PaceMeter(1000.0, CrawlLimits()), Tally()
    for second in range(1, 101):
        tally.pages += 1 if second <= 80 else 10
        tally.bytes += 1000
        reading = pace.read(1000.0 + second, tally, snapshot())
    assert reading.pages == 280
    assert reading.pages_rate == pytest.approx(10)
    assert reading.pages_rate_mean == pytest.approx(2.8)
    assert reading.bytes_rate == pytest.approx(1000)
    assert reading.left_seconds is None


def test_how_much_was_found_is_told_where_something_is_looked_for() -> None:
    pace, tally = PaceMeter(0.0, CrawlLimits()), Tally()
    assert pace.read(1.0, tally, snapshot()).found is None
    assert "found" not in pace.read(1.0, tally, snapshot()).line()
    for second in range(1, 101):
        tally.count_scored(second > 90)
        reading = pace.read(float(second), tally, snapshot())
    assert reading.found == "10 relevant (100.0 % now, mean 10.0 %)"
    assert "; found 10 relevant (100.0 % now, mean 10.0 %); " in reading.line()


def test_the_first_look_has_no_rate_yet() -> None:
    reading = PaceMeter(5.0, CrawlLimits(pages=10)).read(5.0, Tally(), snapshot())
    assert reading.pages_rate == reading.pages_rate_mean == 0
    assert reading.left_seconds is None


def test_the_nearest_limit_says_how_long_is_left() -> None:
    tally = Tally(pages=50)
    assert PaceMeter(0.0, CrawlLimits(pages=100, seconds=60)).read(10.0, tally, snapshot()).left_seconds == 10
    assert PaceMeter(0.0, CrawlLimits(pages=100, seconds=12)).read(10.0, tally, snapshot()).left_seconds == 2
    assert PaceMeter(0.0, CrawlLimits(pages=40, seconds=0)).read(10.0, tally, snapshot()).left_seconds == 0


def test_only_the_looks_of_the_window_are_kept() -> None:
    pace = PaceMeter(0.0, CrawlLimits())
    for look in range(10_000):
        pace.read(look * 0.5, Tally(), snapshot())
    assert len(pace._looks) <= 2 * WINDOW_SECONDS + 2


def test_the_line_names_what_stalls_the_crawl() -> None:
    tally = Tally(pages=12_345, errors=Counter(dns=4, timeout=3))
    reading = PaceMeter(0.0, CrawlLimits(seconds=100)).read(
        10.0, tally, snapshot(queued=9, stalled="disk full")
    )
    line = reading.line()
    assert "pages 12,345" in line
    assert "queued 9" in line
    assert "errors 7 (dns 4, timeout 3)" in line
    assert "10 % of the limit (of 1 min 40 s); left 1 min 30 s" in line
    assert line.endswith("STALLED: disk full")
    assert "\n" not in line


def test_a_backlog_without_room_is_told() -> None:
    pace = PaceMeter(0.0, CrawlLimits())
    assert (
        pace.read(1.0, Tally(), snapshot(crowded="87 % of 4,000 MB"))
        .line()
        .endswith("; BACKLOG FULL: 87 % of 4,000 MB")
    )


def test_on_a_shared_crawl_the_line_says_whose_figures_they_are() -> None:
    tally = Tally(pages=12)
    shown = snapshot(
        queued=9, known_hosts=5, active_hosts=2, ready_hosts=1, parked_hosts=3, workers=4, stalled="paused"
    )
    line = PaceMeter(0.0, CrawlLimits(seconds=100)).read(10.0, tally, shown).line()
    mine, _, whole = line.partition("; whole crawl: ")
    assert mine.startswith("this worker: pages 12 ")
    assert "hosts 2 active, 1 ready; in flight 0" in mine
    assert mine.endswith("left 1 min 30 s")
    assert whole == "4 workers; queued 9; hosts 5 known, 3 parked; STALLED: paused"
    assert "worker" not in PaceMeter(0.0, CrawlLimits()).read(10.0, tally, snapshot(queued=9)).line()


def test_a_crawl_that_waits_says_for_what_and_for_how_long() -> None:
    pace, tally = PaceMeter(0.0, CrawlLimits()), Tally()
    waits = pace.read(
        1.0, tally, snapshot(queued=9, next_ready_at=130.0, active_hosts=1, known_hosts=1), 100.0
    )
    assert waits.next_seconds == 30
    assert waits.line().endswith("; limited by politeness, next host in 30.0 s")
    few = pace.read(1.0, tally, snapshot(queued=9, next_ready_at=130.0, active_hosts=1, known_hosts=9), 100.0)
    assert few.line().endswith("; limited by hosts (1 of 9 hosts have URLs), next host in 30.0 s")
    parked = pace.read(1.0, tally, snapshot(queued=9, next_ready_at=130.0, parked_hosts=1), 100.0)
    assert parked.line().endswith("; waiting for parked hosts, next host in 30.0 s")
    assert pace.read(2.0, tally, snapshot(next_ready_at=100.5), 100.0).next_seconds == 0.5
    assert pace.read(2.0, tally, snapshot(next_ready_at=99.5), 100.0).next_seconds == 0
    assert pace.read(3.0, tally, snapshot(next_ready_at=130.0, in_flight=1), 100.0).next_seconds is None
    assert pace.read(4.0, tally, snapshot(next_ready_at=130.0, ready_hosts=1), 100.0).next_seconds is None
    assert pace.read(5.0, tally, snapshot(), 100.0).next_seconds is None


def test_the_line_names_what_limits_a_crawl_that_fetches() -> None:
    pace, tally = PaceMeter(0.0, CrawlLimits()), Tally()
    busy = snapshot(queued=900, known_hosts=90, active_hosts=90, ready_hosts=40, in_flight=16)
    for second in range(1, 12):
        tally.requests += 10
        reading = pace.read(
            float(second), tally, busy, means=Means(capacity=400.0, open_max=16, loop_seconds=0.2 * second)
        )
    assert reading.line().endswith("; limited by open requests (16 of 16)")
    for second in range(12, 40):
        reading = pace.read(
            float(second), tally, busy, means=Means(capacity=400.0, open_max=16, loop_seconds=float(second))
        )
    assert reading.line().endswith("; limited by the event loop (100 % of a core)")
    used = pace.read(41.0, tally, busy, means=Means(bandwidth=(4.9e6, 5e6)))
    assert "; limited by the bandwidth (4.9 MB/s of 5.0 MB/s)" in used.line()


def test_the_line_says_how_long_the_queue_takes_at_least_once_it_shrinks() -> None:
    pace, tally = PaceMeter(0.0, CrawlLimits()), Tally()
    lines = [
        pace.read(float(second), tally, snapshot(queued=1000 + abs(60 - second) * 10)).line()
        for second in range(0, 121, 5)
    ]
    assert not any("to go" in line for line in lines[:6])
    assert lines[10].endswith("; at least 1 min 50 s to go")
    # It has been growing again.
    assert "to go" not in lines[-1]


def test_the_line_says_how_well_the_crawl_goes() -> None:
    tally = Tally(
        pages=13,
        robots=4,
        refusals=9,
        statuses=Counter({200: 8, 206: 1, 301: 1, 404: 2, 503: 1}),
        refused_by_rule=Counter({"robots": 4, "extension": 2, "scope": 2, "trap": 1}),
    )
    line = PaceMeter(0.0, CrawlLimits()).read(10.0, tally, snapshot()).line()
    assert "; status 2xx 9, 3xx 1, 4xx 2, 5xx 1; " in line
    assert "; robots.txt 4; refused 9 (robots 4, extension 2, scope 2); errors 0; " in line


@each_row(
    ("limits", "share", "words"),
    [
        (CrawlLimits(), None, None),
        (CrawlLimits(pages=100), 0.5, "50 of 100 pages"),
        (CrawlLimits(pages=40), 1.0, "50 of 40 pages"),
        (CrawlLimits(items=80), 0.25, "20 of 80 items"),
        (CrawlLimits(seconds=40), 0.25, "of 40.0 s"),
        (CrawlLimits(pages=100, seconds=40, items=80), 0.5, "50 of 100 pages"),
        (CrawlLimits(pages_per_host=50), 0.2, "50 of 50 pages of each of 5 hosts"),
        (CrawlLimits(pages_per_host=50, seconds=40), 0.25, "of 40.0 s"),
    ],
)
def test_the_limit_that_is_nearest_is_shown(
    limits: CrawlLimits, share: float | None, words: str | None
) -> None:
    reading = PaceMeter(0.0, limits).read(10.0, Tally(pages=50), snapshot(known_hosts=5), items=20)
    assert (reading.limit and reading.limit.share, reading.limit and reading.limit.text) == (share, words)


def test_redirects_do_not_count_for_the_limit_of_pages() -> None:
    reading = PaceMeter(0.0, CrawlLimits(pages=100)).read(10.0, Tally(pages=50), snapshot(), responses=40)
    assert reading.limit is not None
    assert (reading.pages, reading.limit.text) == (50, "40 of 100 pages")


def test_a_host_that_answers_slowly_is_named() -> None:
    pace, opened = PaceMeter(0.0, CrawlLimits()), snapshot(oldest_open=("a.test", 100.0), in_flight=1)
    assert pace.read(1.0, Tally(), opened, 109.9).slow is None
    found = pace.read(2.0, Tally(), opened, 143.0)
    assert found.slow == ("a.test", 43.0)
    assert "; slow: a.test for 43.0 s" in found.line()


def hints(pace: PaceMeter, hosts: int, waits: list[bool]) -> list[str | None]:
    waiting, working = (
        snapshot(known_hosts=hosts, active_hosts=hosts, next_ready_at=103.0),
        snapshot(known_hosts=hosts, active_hosts=hosts, in_flight=1),
    )
    return [
        pace.read(at + 1.0, Tally(), waiting if wait else working, 100.0).hint
        for at, wait in enumerate(waits)
    ]


def test_a_crawl_of_few_hosts_that_mostly_waits_gets_advice() -> None:
    mostly = [True, True, True, False] * 4
    found = hints(PaceMeter(0.0, CrawlLimits(), 5.0), 1, mostly)
    assert found[:7] == [None] * 7
    assert found[-1] == "1 host: politeness is the limit; for your own site -s POLITENESS_MIN_DELAY=0.5"
    assert hints(PaceMeter(0.0, CrawlLimits(), 5.0), 6, mostly) == [None] * 16
    assert hints(PaceMeter(0.0, CrawlLimits(), 0.5), 1, mostly) == [None] * 16
    assert hints(PaceMeter(0.0, CrawlLimits(), 5.0), 1, [True, False] * 8) == [None] * 16
