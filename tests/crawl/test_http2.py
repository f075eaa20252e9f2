"""Hosts that answer HTTP/2 alone, as their logs, the fetch log and the archive have it."""

from __future__ import annotations

from collections import defaultdict

import pytest

pytest.importorskip("h2")

from tests.crawl.auditing import audited
from tests.fakeweb import witness

WAYS = ("both", "426", "505", "close")
DELAY = 0.1


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=len(WAYS), pages=32, zipf=0.0, tls=True, https=1.0, http2=WAYS)


@pytest.fixture(scope="module")
def crawled(web, crawl):
    seeds = [f"https://{name}:{web.ports.https}/" for name in web.web.hosts]
    settings = {"POLITENESS_MIN_DELAY": DELAY, "POLITENESS_FACTOR": 0, "POLITENESS_KEY": "host"}
    return crawl(seeds, **settings).assert_ended_well()


def test_a_host_that_needs_http2_is_asked_once_in_http11(web, crawled):
    asked = defaultdict(list)
    for hit in web.hits():
        if hit.scheme == "https":
            asked[hit.host].append(hit)
    for host, way in zip(web.web.hosts, WAYS, strict=True):
        first, *others = asked[host]
        protocols = {hit.protocol for hit in others}
        assert (first.path, first.protocol) == ("/robots.txt", "http/1.1"), way
        assert protocols == ({"http/1.1"} if way == "both" else {"h2"}), way
        assert first.status == {"both": 200, "close": None}.get(way, int(way) if way.isdigit() else None)
        if way != "both":
            # robots.txt is asked for again before anything else is.
            assert (others[0].path, others[0].status) == ("/robots.txt", 200)
        assert len(others) > 2
    assert witness.violations([hit for hits in asked.values() for hit in hits], lambda hit: DELAY) == []


def test_all_pages_are_fetched(web, crawled):
    pages = {web.web.url(page) for page in web.web.pages()}
    fetched = crawled.statuses()
    assert {url for url in pages if fetched.get(url) != 200} == set()


def test_the_fetch_log_names_the_protocol(web, crawled):
    told = defaultdict(set)
    first = {}
    for line in crawled.log():
        host = line["url"].split("/")[2].partition(":")[0]
        if not line["url"].startswith("https:"):
            continue
        if line.get("resent"):
            first[host] = (line.get("status"), line.get("error"), line["number"])
        else:
            told[host].add(line.get("protocol"))
    hosts = dict(zip(WAYS, web.web.hosts, strict=True))
    assert told == {host: {None if way == "both" else "h2"} for way, host in hosts.items()}
    assert first == {
        hosts["426"]: (426, None, 1),
        hosts["505"]: (505, None, 1),
        hosts["close"]: (None, "empty", 1),
    }


def test_records_have_the_form_of_http11(web, crawled):
    hosts = dict(zip(WAYS, web.web.hosts, strict=True))
    seen = defaultdict(set)
    for record in crawled.records():
        if record.type not in ("response", "request", "revisit") or not record.url.startswith("https:"):
            continue
        protocol = record.headers.get("WARC-Protocol")
        host = record.url.split("/")[2].partition(":")[0]
        seen[host].add((record.type, record.status, protocol is not None))
    for way, host in hosts.items():
        answers = {(status, is_http2) for kind, status, is_http2 in seen[host] if kind == "response"}
        first = {(int(way), False)} if way.isdigit() else set()
        assert answers == {(200, way != "both")} | first, way


def test_the_logs_and_the_archive_are_sound(crawled):
    crawled.assert_sound()
    violations, totals = audited(crawled.path)
    assert violations == []
    assert totals.requests == len(crawled.log())
