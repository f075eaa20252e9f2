"""The estimated end of a stored crawl: from its time series, its hosts, and one look after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from webcrawl.control.remaining import HOSTS_MAX, Remaining
from webcrawl.errors import StorageAway
from webcrawl.features.timeseries.reading import Series
from webcrawl.storage.contract import Counts
from webcrawl.storage.inspection import Activity, CrawlStatus, HostSummary, Worker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOW = 1_700_000_000.0
STEP = 10.0


def host(key: str, queued: int, delay: float, activity: Activity = Activity.ACTIVE) -> HostSummary:
    return HostSummary(key, activity, False, queued, delay, NOW, 1, 1, 0, None)


@dataclass
class Crawl:
    """A crawl whose queue had these lengths in the steps before now."""

    lately: Sequence[float | None]
    found: Sequence[HostSummary] = (host("a.test", 10, 1.0),)
    asked: list[float | None] = field(default_factory=list)
    is_away: bool = False

    def hosts(self) -> Iterator[Sequence[HostSummary]]:
        yield self.found

    def series(self, names: Sequence[str], from_: float | None, to: float | None, points: int) -> Series:
        if self.is_away:
            raise StorageAway("it is away")
        self.asked.append(from_)
        return Series(STEP, NOW - STEP * len(self.lately), {name: list(self.lately) for name in names})


def status(
    queued: int, *, at: float = NOW, hosts: int = 3, began: float = NOW - 600, given_up: int = 0
) -> CrawlStatus:
    counts = Counts(queued, 0, 0, 0, hosts, 0, 0, given_up)
    return CrawlStatus(at, counts, 1, [Worker("w1", began, at)])


def test_one_look_knows_the_last_two_minutes() -> None:
    falling = [2000.0 - 50 * step for step in range(12)]
    found = Remaining(Crawl(falling)).look_once(status(1425), 0.5)
    assert found is not None
    # 2000 URLs were queued 115 s ago, in the middle of the first step.
    assert found.seconds == pytest.approx(1425 / (575 / 115))
    assert not found.is_least
    assert found.sentence == "About 4 min 45 s to go, if the queue goes on shrinking by 5.0 URLs/s."


def test_the_host_that_takes_longest_decides_and_those_that_are_given_up_do_not() -> None:
    hosts = [
        host("new.test", 1000, 0.0),
        host("dead.test", 9000, 60.0, Activity.GIVEN_UP),
        host("a.test", 5, 9.0),
    ]
    falling = [12_000.0 - 80 * step for step in range(12)]
    found = Remaining(Crawl(falling, hosts)).look_once(status(11_000, given_up=9000), 2.0)
    assert found is not None
    assert (found.seconds, found.is_least) == (2000.0, True)
    assert "new.test has 1,000 URLs and a delay of 2.0 s" in found.sentence


def test_a_single_look_does_not_read_a_million_hosts() -> None:
    falling = [2000.0 - 80 * step for step in range(12)]
    found = Remaining(Crawl(falling)).look_once(status(1000, hosts=HOSTS_MAX + 1), 0.5)
    assert found is not None
    assert found.is_least


@each_row(
    ("lately", "began"),
    [
        pytest.param([100.0] * 12, NOW - 600, id="the queue grew"),
        pytest.param([510.0] * 11 + [900.0], NOW - 600, id="it grew until a moment ago"),
        pytest.param([], NOW - 600, id="there are no series"),
        pytest.param([None] * 12, NOW - 600, id="nothing is known"),
        pytest.param([900.0] * 12, NOW - 20, id="the process has just begun"),
    ],
)
def test_an_end_that_cannot_be_known_is_not_told(lately: Sequence[float | None], began: float) -> None:
    crawl = Crawl(lately)
    assert Remaining(crawl).look_once(status(500, began=began), 0.5) is None
    assert crawl.asked == [max(began, NOW - 120)]


def test_looks_that_follow_measure_themselves_also_without_series() -> None:
    remaining = Remaining(Crawl([], is_away=True))
    assert remaining.look(status(1000), 0.5) is None
    assert remaining.look(status(900, at=NOW + 20), 0.5) is None
    found = remaining.look(status(800, at=NOW + 40), 0.5)
    assert found is not None
    assert found.seconds == pytest.approx(160.0)
