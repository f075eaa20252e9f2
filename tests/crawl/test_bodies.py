"""Bodies: cut where they are too long, cancelled where nobody wants them, kept as received and marked."""

from __future__ import annotations

import pytest

from tests.rows import each_row

LIMIT = 20_000


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=16, pages=16)


@pytest.fixture(scope="module")
def cases(web):
    paths = {
        "announced": "/x/huge-announced?bytes=1000000",
        "oversize": "/x/huge-announced?bytes=5000000000",
        "chunked": "/x/huge-chunked",
        "endless": "/x/huge-until-close",
        "one-chunk": "/x/huge-chunk",
        "bomb": "/x/gzip-bomb?megabytes=50",
        "image": "/x/image",
        "pdf": "/x/mime?type=application/pdf",
        "gzip": "/x/gzip",
        "br": "/x/br",
        "drip": "/x/drip",
        "stall": "/x/stall",
        "dataloss": "/x/length-too-long",
        "page": "/x/ok",
    }
    return {name: web.web.origin(host) + path for host, (name, path) in enumerate(paths.items(), start=1)}


@pytest.fixture(scope="module")
def crawled(cases, crawl):
    return crawl(
        list(cases.values()),
        arguments={"allow": "^$"},
        DOWNLOAD_MAXSIZE=LIMIT,
        DOWNLOAD_TEXT_MAXSIZE=0,
        DOWNLOAD_ANNOUNCED_MAXSIZE=2_000_000,
        DOWNLOAD_TIMEOUT=2,
    )


@pytest.fixture(scope="module")
def responses(crawled):
    return {record.url: record for record in crawled.records() if record.type == "response"}


def test_the_crawl_ends_well(cases, crawled):
    figures = crawled.assert_ended_well().assert_sound()
    assert figures.states == {1: len(cases)}


@each_row("name", ["announced", "chunked", "endless", "one-chunk"])
def test_a_long_body_is_cut_and_marked_in_log_and_archive(cases, crawled, responses, name):
    line, record = crawled.line(cases[name]), responses[cases[name]]

    assert (line["status"], line["bytes"], line["truncated"]) == (200, LIMIT, "length")
    assert len(record.content) == LIMIT
    assert record.headers["WARC-Truncated"] == "length"


def test_the_connection_of_a_cut_body_is_closed(web, crawled, cases):
    sent = {hit.path: hit.sent for hit in web.hits()}
    assert all(sent[cases[name].partition(f":{web.port}")[2]] < 30_000_000 for name in ("chunked", "endless"))


@pytest.mark.parametrize(("name", "reason"), [("oversize", "length"), ("image", None), ("pdf", None)])
def test_what_is_not_wanted_is_not_read(cases, crawled, responses, name, reason):
    line, record = crawled.line(cases[name]), responses[cases[name]]

    assert (line["status"], line["bytes"]) == (200, 0)
    assert record.headers["WARC-Truncated"] == (reason or "unspecified")
    assert line["truncated"] == record.headers["WARC-Truncated"]
    assert record.content == b""


@pytest.mark.parametrize(("name", "word"), [("drip", "time"), ("stall", "time"), ("dataloss", "disconnect")])
def test_what_came_of_a_body_that_did_not_end_is_kept(cases, crawled, responses, name, word):
    assert crawled.line(cases[name])["truncated"] == word
    assert responses[cases[name]].headers["WARC-Truncated"] == word
    assert crawled.line(cases[name])["bytes"] == len(responses[cases[name]].content) > 0


@pytest.mark.parametrize("name", ["gzip", "br", "bomb"])
def test_a_coded_body_is_kept_as_it_was_received(cases, crawled, name):
    line = crawled.line(cases[name])

    assert line["status"] == 200
    assert line["mime"] == "text/html"
    assert line["bytes"] <= LIMIT


def test_a_whole_page_bears_no_mark(cases, crawled, responses):
    assert "truncated" not in crawled.line(cases["page"])
    assert "WARC-Truncated" not in responses[cases["page"]].headers
