"""Links behind what the archive keeps of a page are found, and a page that is not read to its end says so."""

from __future__ import annotations

import gzip
import re
from http.server import BaseHTTPRequestHandler

import pytest

from tests.commands import own_process
from tests.served import serving

LINKS = 30
BYTES = 1_500_000
ARCHIVED = 1 << 20


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=4, pages=4)


@pytest.fixture(scope="module")
def page(web):
    return web.web.origin(1) + "/x/huge-links"


@pytest.fixture(scope="module")
def whole(page, crawl):
    return crawl([page], DEPTH_LIMIT=1, POLITENESS_FACTOR=0)


@pytest.fixture(scope="module")
def cut(page, crawl):
    return crawl([page], DEPTH_LIMIT=1, DOWNLOAD_TEXT_MAXSIZE=0)


def behind(web, crawled):
    """Requests for what is linked behind the limit of the archive, by the server's log."""
    return {line["url"] for line in crawled.lines() if "?behind=" in line["url"]}


def test_links_behind_what_is_archived_are_followed(web, page, whole):
    whole.assert_ended_well().assert_sound()
    asked = {hit.path for hit in web.hits() if "?behind=" in hit.path}

    assert len(asked) == len(behind(web, whole)) == LINKS
    assert whole.line(page)["links"] == LINKS
    assert "cut" not in whole.line(page)
    assert "cut pages" not in whole.stderr


def test_the_archive_has_no_more_of_it_than_of_other_bodies(page, whole):
    (record,) = [one for one in whole.records() if one.url == page and one.type == "response"]

    assert len(record.content) == ARCHIVED
    assert record.headers["WARC-Truncated"] == whole.line(page)["truncated"] == "length"
    assert whole.line(page)["bytes"] == BYTES


def test_a_page_that_is_not_read_to_its_end_says_so(web, page, cut, folder):
    cut.assert_ended_well().assert_sound()

    explained = own_process(folder, "explain", page, JOBDIR=cut.path)
    assert behind(web, cut) == set()
    assert cut.line(page)["cut"] == ARCHIVED
    assert re.search(r"^  cut pages +1 ", cut.stderr, re.MULTILINE)
    assert "pages not read to their end" in (cut.path / "report.html").read_text()
    assert "cut: read for 1.0 MB, and links after that are not known" in explained.said


class Packed(BaseHTTPRequestHandler):
    """A page of 3 MB that is sent in 3 KB, with a link at its end."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b""
        if self.path == "/":
            body = gzip.compress(b"<p>word</p>" * 300_000 + b"<a href=/behind>x</a>")
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Encoding", "gzip" if body else "identity")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.mark.parametrize(("limit", "found"), [(8 << 20, True), (0, False)])
def test_a_packed_page_is_read_as_far_as_any_other(crawl, limit, found):
    with serving(Packed) as server:
        seed = f"http://127.0.0.1:{server.server_port}/"
        crawled = crawl([seed], DOWNLOAD_TEXT_MAXSIZE=limit)

    assert (f"{seed}behind" in crawled.fetched()) is found
    assert crawled.line(seed).get("cut") == (None if found else ARCHIVED)
