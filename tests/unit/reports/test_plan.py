"""What a crawl needs grows with what it is made of, and every figure says what it rests on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.rows import each_row
from webcrawl.reports import plan as costs
from webcrawl.reports.plan import (
    BYTES,
    ItemSizes,
    Size,
    plan,
    redis_memory_bytes,
    seconds,
    warc_bytes,
    worker_bytes,
)

ONES = ItemSizes(5, 1, 10, 2, 100, 50, 20, 3)


def size(**changed: Any) -> Size:
    return replace(Size(urls=1_000_000, hosts=1_000, pages=1_000_000, queued=1_000_000), **changed)


def figures(of: Size) -> dict[str, float]:
    return {
        f"{section.name}.{figure.name}": figure.value for section in plan(of) for figure in section.figures
    }


def test_the_whole_is_its_parts() -> None:
    small = size(urls=100, hosts=10, queued=40, length=30, robots_bytes=7)
    assert [round(figure.value) for figure in ONES.figures(small)] == [100, 40 * 70, 10 * 150, 10 * 41]
    assert ONES.total(small) == 5 + 100 + 2800 + 1500 + 410
    assert ONES.total(size(urls=0, hosts=0, queued=0)) == 5


def test_hosts_without_a_queue_have_none() -> None:
    few = size(urls=100, hosts=100, queued=25, robots_bytes=0)
    assert ONES.figures(few)[2].value == 100 * 100 + 25 * 50


def test_no_more_robots_txt_are_counted_than_are_kept() -> None:
    assert ONES.figures(size(robots_max=10, robots_bytes=0))[3].value == 200


@pytest.mark.parametrize(
    ("text", "expected"), [(900, 920), (1_000, 20 + 512 + 4096), (6_000, 20 + 512 + 2 * 4096)]
)
def test_long_texts_have_pages_of_their_own_in_sqlite(text: int, expected: int) -> None:
    paged = ItemSizes(0, 0, 0, 0, 0, 0, 20, 1, page_bytes=4096)
    assert paged.total(size(hosts=1, robots_bytes=text)) == expected


def test_every_figure_says_what_it_rests_on() -> None:
    for section in plan(size()):
        assert all(figure.because and figure.value >= 0 for figure in section.figures), section.name


def test_names_are_given_once() -> None:
    found = [(section.name, figure.name) for section in plan(size()) for figure in section.figures]
    assert len(found) == len(set(found))


@each_row("name", ["urls", "hosts", "queued", "length", "workers", "robots_bytes"])
def test_more_of_anything_takes_more_of_redis(name: str) -> None:
    more = size(**{name: 2 * getattr(size(), name)})
    assert redis_memory_bytes(more) > redis_memory_bytes(size())


def test_bloom_filters_are_for_their_urls_in_series_and_take_less() -> None:
    bloom = {"seen": "bloom", "seen_capacity": 1_100_000}
    one, exact = figures(size(**bloom)), figures(size())
    assert one["redis_memory.seen"] == pytest.approx(2.83 * 1_000_000, rel=0.01)
    assert one["redis_memory.total"] < exact["redis_memory.total"]
    assert one["time.redis_cpu"] > exact["time.redis_cpu"]
    # The second filter is twice as large, and has half of the error: 20.6 and 22.1 bits a URL.
    two = figures(size(**{**bloom, "seen_capacity": 600_000}))
    assert two["redis_memory.seen"] == pytest.approx((600_000 * 20.61 + 1_200_000 * 22.06) / 8, rel=0.01)
    large = costs.REDIS_MEMORY.filter_bytes(size(urls=10**9, seen="bloom", seen_capacity=11 * 10**8))
    assert len(large) == 8
    assert figures(size(**bloom))["sqlite_disk.seen"] == pytest.approx(2.83 * 1_000_000, rel=0.01)


def test_prices_are_those_that_were_given() -> None:
    assert "cost.total" not in figures(size())
    prices = costs.PlanPrices(core_hour=0.5, memory_hour=0.1, disk_month=1.0, traffic=2.0)
    paid = figures(size(workers=4, prices=prices))
    hours = seconds(size(workers=4)) / 3600
    assert paid["cost.workers"] == pytest.approx(4 * hours * 0.5)
    assert paid["cost.traffic"] == pytest.approx(2.0 * paid["network.received"] / 1e9)
    assert paid["cost.total"] == pytest.approx(
        sum(value for name, value in paid.items() if name.startswith("cost.") and name != "cost.total")
    )


def test_a_worker_is_bounded_by_its_settings_and_not_by_the_crawl() -> None:
    large = size(urls=10**10, hosts=10**8, pages=10**9, queued=10**10)
    assert worker_bytes(large, shared=True) == worker_bytes(replace(large, urls=10**12), shared=True)
    assert worker_bytes(large, shared=True) > worker_bytes(replace(large, active_max=100), shared=True)
    assert worker_bytes(large, shared=False) > worker_bytes(replace(large, cache_bytes=1 << 20), shared=False)


def test_politeness_knows_no_number_of_workers() -> None:
    """A thousand hosts with a thousand pages each, one every 5.5 seconds."""
    assert (
        figures(size(workers=1))["time.politeness"]
        == figures(size(workers=50))["time.politeness"]
        == 1001 * 5.5
    )


def test_hosts_that_no_worker_has_in_memory_wait() -> None:
    many = size(hosts=1_000_000, active_max=10_000)
    assert figures(many)["time.politeness"] == 100 * 5.5
    assert figures(replace(many, workers=10))["time.politeness"] == 55


def test_the_slowest_decides() -> None:
    found = figures(size(delay_seconds=0, download_seconds=0))
    assert found["time.total"] == found["time.worker_cpu"] == 1_000_000 * costs.PAGE_CPU_SECONDS
    found = figures(size(delay_seconds=0, download_seconds=0, workers=1000))
    assert found["time.total"] == found["time.redis_cpu"]
    found = figures(size(hosts=1_000_000, delay_seconds=0, download_seconds=10))
    assert found["time.total"] == found["time.requests"] == 1_000_000 * 10 / 256


def test_a_robots_txt_is_fetched_again_when_it_is_too_old() -> None:
    slow = size(delay_seconds=100)
    asked = -(-seconds(slow) // slow.robots_ttl_seconds)
    assert asked > 1
    assert figures(slow)["archive.warc"] == warc_bytes(slow, int(asked) * slow.hosts)


def test_without_an_archive_the_log_is_left() -> None:
    found = figures(size(warc=False))
    assert found["archive.warc"] == 0
    assert found["archive.total"] == found["archive.fetch_log"] == 1_001_000 * costs.LOG_BYTES


def test_a_crawl_of_nothing_needs_what_the_programs_need() -> None:
    nothing = size(urls=0, hosts=0, pages=0, queued=0)
    assert figures(nothing)["time.rate"] == 0
    programs = costs.WORKER_BYTES + costs.KEEPER_BYTES + costs.READER_BYTES
    assert worker_bytes(nothing, shared=True) == programs + costs.LINKS_MET_BYTES
    sizes = [figure.value for section in plan(nothing) for figure in section.figures if figure.unit == BYTES]
    assert max(sizes) == figures(nothing)["worker_memory.alone"]
