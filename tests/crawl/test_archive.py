"""What a crawl leaves behind: WARC files that others read, and a log that keeps its contract."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from collections import Counter

import pytest

from tests.crawl import expectation
from tests.fakeweb import Placement
from tests.unit.archive import strictwarc
from webcrawl.archive import fetchlog

CONTRACT = [
    "start", "end", "url", "key", "ip", "kind", "status", "mime", "bytes", "location", "via", "depth", "worker",
]  # fmt: skip
ROLL = 20_000


@pytest.fixture(scope="module")
def web(serve):
    trouble = (
        Placement("gzip", share=0.1),
        Placement("reset", share=0.1),
        Placement("redirect-chain", share=0.1, options={"hops": 1}),
        Placement("status", share=0.1),
    )
    return serve(hosts=8, pages=160, seed=4, placements=trouble)


@pytest.fixture(scope="module")
def times():
    return []


@pytest.fixture(scope="module")
def crawled(web, crawl, times):
    times.append(time.time())
    done = crawl(
        web.seeds, WARC_ROLL_BYTES=ROLL, FETCH_LOG_ROLL_BYTES=ROLL // 2, RETRY_TIMES=0, CONCURRENT_REQUESTS=4
    )
    times.append(time.time())
    return done.assert_ended_well()


@pytest.fixture(scope="module")
def log(crawled):
    """Every line, rotated parts included, by the reader that all reports use."""
    return list(fetchlog.read(crawled.path))


def test_every_line_keeps_the_contract(log, times):
    for line in log:
        names = CONTRACT if "status" in line else ["error" if name == "status" else name for name in CONTRACT]
        assert list(line)[: len(names)] == names
        assert times[0] <= line["start"] <= line["end"] <= times[1]
        assert line["ip"] == "127.0.0.1"
        assert line["worker"] == "w0"
        assert line["key"] in line["url"]
        assert line["kind"] in ("page", "robots")


def test_every_request_of_the_servers_log_has_its_line(web, log):
    asked = Counter(expectation.address(web, hit) for hit in web.hits())
    assert Counter(line["url"] for line in log) == asked


def test_lines_tell_what_the_server_did(web, log):
    status = {expectation.address(web, hit): hit.status for hit in web.hits()}

    for line in log:
        assert line.get("status") == status[line["url"]]
    assert {line["error"] for line in log if "error" in line} == {"reset"}
    assert {line["mime"] for line in log if line.get("status") == 200 and line["kind"] == "page"} == {
        "text/html"
    }
    assert all(line["location"] for line in log if line.get("status") == 302)


def test_via_is_a_page_that_links_there(web, log):
    links = {
        web.web.url(page): {link.origin + link.path for link in web.web.links(page)}
        for page in web.web.pages()
    }
    moved = {line["url"]: {line["location"]} for line in log if line.get("location")}
    for line in log:
        if line["kind"] == "page" and line["via"] is not None:
            assert line["url"] in links[line["via"]] | moved.get(line["via"], set())
    assert [line["url"] for line in log if line["kind"] == "page" and line["via"] is None] == web.seeds


def test_the_log_is_rotated_and_rotated_parts_are_compressed(crawled, log):
    parts = list(crawled.path.glob("fetch-*.jsonl*"))
    lines = [line for part in parts for line in gzip.decompress(part.read_bytes()).splitlines()]

    assert len(parts) > 1
    assert all(part.name.endswith(".jsonl.gz") for part in parts)
    assert len(lines) + len(crawled.log()) == len(log)
    assert json.loads(lines[0])["start"]


def test_warc_files_roll_and_none_stays_open(crawled):
    assert len(crawled.warcs()) > 2
    assert not [path for path in crawled.warcs() if path.name.endswith(".open")]


def test_every_warc_file_passes_the_check_of_warcio(crawled):
    check = [sys.executable, "-m", "warcio.cli", "check", *map(str, crawled.warcs())]
    done = subprocess.run(check, capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr


def test_every_warc_file_passes_a_stricter_one(crawled):
    for path in crawled.warcs():
        strictwarc.strict_records(path)


def test_every_response_is_kept_as_it_was_received(web, crawled, log):
    records = crawled.records()
    responses = {record.url: record for record in records if record.type == "response"}
    truth = web.web.truth()

    answered = {line["url"]: line for line in log if "status" in line}
    assert set(responses) == set(answered)
    assert Counter(record.type for record in records)["request"] == len(responses)
    for url, fact in truth.items():
        if fact.status == 200 and fact.behaviour is None:
            page = web.web.geography.find(web.web.hosts.index(fact.host), url.partition(f":{web.port}")[2])
            assert responses[url].content == web.web.html(page)[1]
        if url in responses:
            assert len(responses[url].content) == answered[url]["bytes"]
            assert responses[url].status == answered[url]["status"]


def test_where_a_page_would_be_had_without_negotiation_is_recorded(serve, crawl):
    web = serve(hosts=1, pages=1)
    url = f"{web.seeds[0]}x/header-content-location"
    crawled = crawl([url]).assert_ended_well()

    assert crawled.line(url)["content_location"] == "/page.de.html"
    assert "content_location" not in crawled.line(web.seeds[0])
    [said] = [record for record in crawled.records() if record.type == "metadata" and record.url == url]
    assert b"content-location: /page.de.html\r\n" in said.content
