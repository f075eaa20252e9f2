"""What Prometheus reads: names, types, labels, and nothing that grows with the crawl."""

from __future__ import annotations

import asyncio
import itertools
import re
from typing import TYPE_CHECKING, Any

from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain_text

from webcrawl.frontier.figures import COUNTERS, FIGURES
from webcrawl.web.dashboard.metrics import metrics_view
from webcrawl.web.metrics import names
from webcrawl.web.metrics.exposition import WORKERS_MAX, CrawlMetrics, WorkerView, exposed
from webcrawl.web.metrics.process import SILENT_SECONDS, Received, make_app

if TYPE_CHECKING:
    from collections.abc import Iterable

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
FULL = {one.name: float(number) for number, one in enumerate(FIGURES, 1)}
OF_CRAWL = {"queued": 5, "hosts": 4, "parked": 1, "given_up": 0, "done": 7, "failed": 2, "refused": 3}
VIEW = CrawlMetrics(True, [WorkerView("w1", FULL, 100.0, 1.5), WorkerView("w2", FULL)], OF_CRAWL, "0.1.0")


def samples(families: Iterable[Any]) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    found: dict[Any, float] = {}
    for family in families:
        for sample in family.samples:
            place = sample.name, tuple(sorted(sample.labels.items()))
            assert place not in found
            found[place] = sample.value
    return found


def parsed(view: CrawlMetrics, accept: str = "") -> dict[Any, float]:
    body, content_type = exposed(view, accept)
    parse = open_metrics if content_type.startswith("application/openmetrics-text") else plain_text
    return samples(parse(body.decode()))


def test_all_that_is_published_is_there_once_in_both_formats() -> None:
    plain, newer = parsed(VIEW), parsed(VIEW, OPENMETRICS)
    assert plain == newer

    table = {metric.name: metric for metric in names.ALL}
    assert {name for name, _ in plain} == table.keys()
    for name, labels in plain:
        assert tuple(label for label, _ in labels) == tuple(sorted(names.label_names(table[name])))
    for metric in names.OF_WORKERS:
        for value, figure in metric.figures.items():
            own = {"worker": "w2"} | ({} if metric.label is None else {metric.label: value})
            assert plain[metric.name, tuple(sorted(own.items()))] == FULL[figure]
    of_workers = itertools.chain(*(metric.figures.values() for metric in names.OF_WORKERS))
    # Those that others add up to, and those of the whole crawl.
    rest = {"pages", "errors", "queued", "hosts", "parked", "given_up", "workers", "cores"}
    assert set(of_workers) | rest == FULL.keys()
    assert plain["webcrawl_urls", (("state", "done"),)] == 7
    assert plain["webcrawl_workers", ()] == 2
    assert plain["webcrawl_build_info", (("version", "0.1.0"),)] == 1


def test_counters_are_counters_and_units_are_base_units() -> None:
    counters = {one.name for one in COUNTERS}
    for metric in names.ALL:
        is_counter = metric.kind is names.MetricType.COUNTER
        assert metric.name.endswith("_total") == is_counter
        assert re.fullmatch(r"webcrawl_[a-z_]+", metric.name)
        assert not re.search(r"milli|kilo|mega|_ms\b|_mb\b|minutes|percent", metric.name)
        assert metric.meaning.endswith(".")
        for figure in metric.figures.values():
            assert (figure in counters) == is_counter or metric is names.URLS


def test_labels_are_from_fixed_sets_whatever_the_crawl_meets() -> None:
    many = [WorkerView(f"w{number % 9}" * 60, FULL) for number in range(3 * WORKERS_MAX)]
    found = parsed(CrawlMetrics(True, many, OF_CRAWL))
    per_worker = sum(len(metric.figures) for metric in names.OF_WORKERS)
    assert len(found) <= WORKERS_MAX * (per_worker + 2) + 20
    assert found["webcrawl_workers", ()] == 3 * WORKERS_MAX


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.text(max_size=20), max_size=4), st.text(max_size=60), st.floats())
def test_any_name_of_a_worker_and_any_accept_give_a_text_that_parses(
    workers: list[str], accept: str, number: float
) -> None:
    view = CrawlMetrics(True, [WorkerView(name, {"pages_2xx": 1, "rss": number}) for name in workers])
    found = parsed(view, accept)
    assert sum(name == "webcrawl_pages_total" for name, _ in found) == len(workers)


def test_a_version_that_is_none_is_answered() -> None:
    for accept in ("application/openmetrics-text;version=x", "text/plain;version=.", "*/*;escaping=x"):
        assert parsed(VIEW, accept) == parsed(VIEW)


def test_a_worker_without_figures_is_counted_and_a_crawl_that_does_not_answer_is_down() -> None:
    found = parsed(
        CrawlMetrics(True, [WorkerView("old", {"active": 3, "open": 1}, None, 2.0)], {"queued": 9})
    )
    assert found["webcrawl_workers", ()] == 1
    assert found["webcrawl_hosts", (("state", "active"), ("worker", "old"))] == 3
    assert not any(name == "webcrawl_pages_total" for name, _ in found)
    assert parsed(CrawlMetrics(False, version="1")) == {
        ("webcrawl_up", ()): 0.0,
        ("webcrawl_build_info", (("version", "1"),)): 1.0,
    }


def test_the_state_of_a_dashboard_gives_the_metrics_of_all_workers() -> None:
    rows = [
        {"name": "w1", "state": "running", "started_at": 5.0, "heartbeat_at": 99.0, "figures": FULL},
        {"name": "old", "state": "silent", "started_at": None, "heartbeat_at": 101.0, "figures": {"open": 2}},
        {"name": "gone", "state": "lost", "started_at": 1.0, "heartbeat_at": 2.0, "figures": FULL},
    ]
    counts = {**OF_CRAWL, "active": 3, "ready": None, "given_up": None}
    view = metrics_view({"now": 100.0, "counts": counts, "workers": rows, "version": "7"})
    found = parsed(view)
    assert [worker.name for worker in view.workers] == ["w1", "old"]
    assert found["webcrawl_worker_figures_age_seconds", (("worker", "w1"),)] == 1.0
    assert found["webcrawl_worker_figures_age_seconds", (("worker", "old"),)] == 0.0
    assert found["webcrawl_queued_urls", ()] == 5
    assert ("webcrawl_given_up_hosts", ()) not in found


def test_health_is_that_of_the_crawl_and_not_of_the_process_that_answers() -> None:
    now = 1000.0
    received = Received("w1", "1", clock=lambda: now)

    async def ask(*paths: str) -> list[tuple[int, str]]:
        async with TestClient(TestServer(make_app(received))) as client:
            answers = [await client.get(path) for path in paths]
            return [(answer.status, await answer.text()) for answer in answers]

    def states() -> list[int]:
        return [status for status, _ in asyncio.run(ask("/healthz", "/readyz"))]

    assert states() == [503, 503]
    received.take({"begun_at": 5.0, "figures": FULL | {"stalled": 0.0}})
    assert states() == [200, 200]
    [(_, text)] = asyncio.run(ask("/metrics"))
    found = samples(plain_text(text))
    assert found["webcrawl_workers", ()] == found["webcrawl_up", ()] == 1
    assert found["webcrawl_queued_urls", ()] == FULL["queued"]
    received.take({"begun_at": 5.0, "figures": FULL | {"stalled": 1.0}})
    assert states() == [200, 503]
    now += SILENT_SECONDS + 1
    assert states() == [503, 503]
    [(status, text), (other, _)] = asyncio.run(ask("/metrics", "/"))
    assert (status, other) == (200, 404)
    assert samples(plain_text(text))["webcrawl_up", ()] == 0
