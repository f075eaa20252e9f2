"""No input holds the event loop for 50 ms: judged by the watchdog, which counts CPU time of the loop's thread."""

from __future__ import annotations

import json

import pytest

from tests.fakeweb.behaviours import HEAVY_FORMS


def holds(crawled) -> list[str]:
    return [line for line in crawled.stderr.splitlines() if "The event loop was blocked" in line]


def last_progress(crawled):
    return json.loads((crawled.path / "progress.jsonl").read_text().splitlines()[-1])


@pytest.mark.soak
def test_no_page_holds_the_event_loop(serve, crawl):
    web = serve(hosts=len(HEAVY_FORMS), pages=100)
    seeds = [f"{web.web.origin(host)}/x/heavy?form={form}" for host, form in enumerate(HEAVY_FORMS)]

    crawled = crawl(
        seeds,
        within=600,
        DEPTH_LIMIT=1,
        CONCURRENT_REQUESTS=32,
        CLOSESPIDER_PAGECOUNT=600,
        CLOSESPIDER_TIMEOUT=60,
        REDIRECT_MAX_TIMES=1,
    ).assert_ended_well()

    assert "\n".join(holds(crawled)) == ""
    assert last_progress(crawled)["holds"] == 0
