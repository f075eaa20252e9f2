"""The metrics endpoint beside a crawl, as Prometheus and a health check ask it."""

from __future__ import annotations

import signal
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import processes
from tests.crawl.test_dashboard import reserved_port

SLOW = {"POLITENESS_MIN_DELAY": 300, "POLITENESS_MAX_DELAY": 300}
"""A crawl that waits for its second page for longer than any test."""


def ask(port, path, crawl=None):
    """``crawl``: the one whose dashboard is asked, with its token."""
    headers = {}
    if crawl is not None:
        headers["Authorization"] = f"Bearer {(crawl.path / 'dashboard.token').read_text().strip()}"
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def scraped(port, crawl=None):
    status, text = ask(port, "/metrics", crawl)
    assert status == 200
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=2, pages=6, zipf=0.0)


def test_a_crawl_answers_for_itself_and_its_dashboard_says_the_same(web, start):
    with reserved_port() as port, reserved_port() as other:
        crawl = start(web.seeds, METRICS_PORT=port, DASHBOARD_PORT=other, **SLOW)
        crawl.until(lambda: "Metrics: http" in crawl.stderr and "Dashboard: http" in crawl.stderr)
        assert f"Metrics: http://127.0.0.1:{port}/metrics" in crawl.stderr
        crawl.until_logged(1)
        crawl.until(lambda: ask(port, "/readyz")[0] == 200)
        crawl.until(lambda: scraped(port).get(("webcrawl_robots_fetches_total", "w0")) == 1)
        found = scraped(port)
        assert found["webcrawl_up",] == found["webcrawl_workers",] == 1
        assert found["webcrawl_disk_free_bytes", "w0"] > 0
        assert ask(port, "/healthz") == (200, "ok\n")
        assert ask(port, "/other")[0] == 404

        crawl.until(lambda: scraped(other, crawl).get(("webcrawl_robots_fetches_total", "w0")) == 1)
        shown = scraped(other, crawl)
        # It also knows the counts of the storage.
        assert shown.keys() - found.keys() == {
            ("webcrawl_urls", state) for state in ("done", "failed", "refused")
        }
        assert found.keys() <= shown.keys()
        assert ask(other, "/readyz")[0] == ask(other, "/healthz")[0] == 200

        children = processes.children_of(crawl.process.pid)
        [child] = [one for one in children if "metrics.process" in processes.name_of(one)]
        crawl.signal(signal.SIGTERM)
        crawl.wait().assert_ended_well()
        processes.wait_for_end(child, 30)


@pytest.mark.soak
def test_a_crawl_in_memory_has_metrics_and_a_port_in_use_is_a_warning(web, start):
    with reserved_port() as port:
        crawl = start(web.seeds, FRONTIER_BACKEND="memory", METRICS_PORT=port, **SLOW)
        crawl.until(lambda: "Metrics: http" in crawl.stderr)
        crawl.until(lambda: ask(port, "/readyz")[0] == 200)
        assert scraped(port)["webcrawl_workers",] == 1
        second = start(web.seeds, METRICS_PORT=port, **SLOW)
        second.until(lambda: "There are no metrics" in second.stderr)
        assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in second.stderr
        for one in (second, crawl):
            one.signal(signal.SIGTERM)
            one.wait().assert_ended_well()
