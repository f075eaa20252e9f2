"""A host that asks for a longer Crawl-delay than is obeyed is skipped, and everybody who looks is told so."""

from __future__ import annotations

import pytest

from tests.commands import own_process
from tests.crawl import expectation
from tests.crawl.crawling import ROOT
from tests.fakeweb import Placement, witness

FRACTION = 0.125
SKIPPED = "h0001.localhost"


@pytest.fixture(scope="module")
def web(serve):
    parts = (
        Placement("robots-delay", hosts=("h0000.localhost",), options={"seconds": FRACTION}),
        Placement("robots-delay", hosts=(SKIPPED,), options={"seconds": "300.5"}),
    )
    return serve(hosts=3, pages=24, zipf=0.1, placements=parts)


@pytest.fixture(scope="module")
def crawled(web, crawl):
    return crawl(expectation.roots(web)).assert_ended_well()


def test_none_of_its_pages_is_fetched_and_a_fraction_of_a_second_is_obeyed(web, crawled):
    crawled.assert_sound()
    asked = [hit for hit in web.hits() if hit.host == SKIPPED]
    assert [hit.path for hit in asked] == ["/robots.txt"]
    hits = [hit for hit in web.hits() if hit.host == "h0000.localhost"]
    assert len(hits) > 5
    assert witness.violations(hits, lambda hit: FRACTION) == []


def test_it_is_named_in_the_log_the_summary_the_report_and_the_fetch_log(web, crawled):
    origin = web.web.origin(1)
    assert f"Skips {origin}: its robots.txt asks for a Crawl-delay of 300.5 s" in crawled.stderr
    [line] = [line for line in crawled.stderr.splitlines() if "hosts skipped" in line]
    assert SKIPPED in line
    told = {
        line["origin"]: (line.get("crawl_delay"), line.get("skipped")) for line in crawled.lines("robots")
    }
    assert told == {
        origin: (300.5, True),
        web.web.origin(0): (FRACTION, None),
        web.web.origin(2): (None, None),
    }
    report = (crawled.path / "report.html").read_text()
    assert report.partition(">Skipped hosts</h2>")[2].count(origin) == 1


def test_explain_says_it_of_each_of_its_urls(web, crawled):
    url = f"{web.web.origin(1)}/"
    given = {"JOBDIR": crawled.path, "FETCH_PRIVATE_ADDRESSES": 1}
    explained = own_process(ROOT, "explain", url, "--json", **given).told
    assert (explained["conclusion"]["fate"], explained["conclusion"]["rule"]) == ("refused", "crawl-delay")
    assert explained["robots"]["crawl_delay_seconds"] == 300.5
