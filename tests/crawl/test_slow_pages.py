"""Large pages that take long to be read hold up nobody: others are fetched meanwhile, and all are read in the end."""

from __future__ import annotations

import pytest

from tests.crawl import expectation

LARGE = 600_000
HOSTS = 8
"""With large pages, three each: far more than Scrapy would have in its hands at a time, and more than there are
processes."""
WAITS = """
import pathlib, time

from webcrawl.processing import pool

# A page is slow by its size alone: on a busy machine small ones take long, too.
pool._WEIGHT = 0.0

class Waits:
    mime_types = ("text/html",)
    fields = {"waited": "flag"}

    def process(self, content):
        if len(content.body) < 300_000:
            return {"waited": False}
        while not pathlib.Path(__file__).with_name("go").exists():
            time.sleep(0.02)
        return {"waited": True}
"""


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=HOSTS + 6, pages=60, zipf=0.1, seed=4)


def large_pages(web):
    return [
        # Each of another length: what another URL had is not read again.
        f"{web.web.origin(host)}/x/huge-announced?bytes={LARGE + 3 * host + number}"
        for host in range(HOSTS)
        for number in range(3)
    ]


def test_pages_that_wait_for_a_slow_module_hold_up_no_others(web, start, folder, monkeypatch):
    (folder / "waits.py").write_text(WAITS)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    large = large_pages(web)
    ordinary = set(expectation.depths(web))
    crawl = start(
        [*large, *web.seeds],
        PROCESSING_MODULES="waits.Waits",
        PROCESSING_TIMEOUT=300,
        CONCURRENT_REQUESTS=64,
    )

    def asked():
        return {f"http://{hit.host}:{web.port}{hit.path}" for hit in web.hits()}

    crawl.until(lambda: {*ordinary, *large} <= asked(), 120)
    done = {line["url"] for line in crawl.lines()}
    assert not done & set(large)
    (folder / "go").touch()
    crawl.wait().assert_ended_well().assert_sound()
    assert {line["url"] for line in crawl.lines()} == {*ordinary, *large}
