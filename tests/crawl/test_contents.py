"""The same bytes under another URL: recorded and not processed, their links followed where they lead elsewhere."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from warcio.archiveiterator import ArchiveIterator

SAME = "<title>same</title><a href='leaf.html'>relative</a> <a href='/top.html'>absolute</a>"
START = "".join(f"<a href='{path}'>x</a>" for path in ("/a?s=1", "/a?s=2", "/sub/a", "/changing"))
ARTICLE = "<p>The mirror weighs two tons and was ground over eleven months, in a hall without a window.</p>"
TOLD = ("/told?1", "/told?2", "/nothing?1", "/nothing?2")
PAGES = {
    "/": START,
    "/a?s=1": SAME,
    "/a?s=2": SAME,
    "/sub/a": SAME,
    "/told": "".join(f"<a href='{path}'>x</a>" for path in TOLD),
    "/told?1": f"<title>1</title><nav><a href='/aside?1'>1</a></nav><main>{ARTICLE}</main>",
    "/told?2": f"<title>2</title><nav><a href='/aside?2'>2</a></nav>\n<main> {ARTICLE}</main>",
    "/nothing?1": "<title>1</title><img src='1.png'>",
    "/nothing?2": "<title>2</title><img src='2.png'>",
}


class Site:
    """A few pages, and which of them were asked for."""

    def __init__(self):
        self.asked = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.asked.append(self.path)
                page = PAGES.get(self.path, f"<title>{self.path}</title>{self.path}")
                if self.path == "/changing":
                    page += str(len(site.asked))
                body = b"" if self.path == "/robots.txt" else page.encode()
                self.send_response(404 if self.path == "/robots.txt" else 200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def site():
    site = Site()
    yield site
    site.server.shutdown()
    site.server.server_close()


def revisits(crawl):
    """The pages of which the archive says that it has the same bytes under another URL."""
    found = {}
    for path in sorted((crawl.path / "warc").glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "revisit":
                    headers = record.rec_headers
                    found[headers["WARC-Target-URI"]] = headers["WARC-Refers-To-Target-URI"]
    return found


def lines_of(crawl):
    return {line["url"].partition("/")[2].partition("/")[2].partition("/")[2]: line for line in crawl.lines()}


@pytest.mark.parametrize("links", ["elsewhere", "never", "always"])
@pytest.mark.parametrize("backend", ["sqlite", "redis"])
def test_a_duplicate_is_recorded_and_not_processed(site, crawl, links, backend, request, tmp_path):
    choices = {"FEEDS": json.dumps({str(tmp_path / "pages.jsonl"): {"format": "jsonlines"}})}
    if backend == "redis":
        if links != "elsewhere":
            pytest.skip("the store is the same")
        choices["REDIS_URL"] = request.getfixturevalue("serve_redis")().url
    ended = crawl([site.url], CONTENT_SEEN_LINKS=links, CONCURRENT_REQUESTS=1, **choices).assert_ended_well()
    lines = lines_of(ended)

    originals = {url: line.get("duplicate_of") for url, line in lines.items() if line.get("duplicate_of")}
    first = next(url for url in ("a?s=1", "a?s=2", "sub/a") if url not in originals)
    assert originals == {url: site.url + first for url in ("a?s=1", "a?s=2", "sub/a") if url != first}
    assert ("/sub/leaf.html" in site.asked) == (links != "never" or first == "sub/a")
    assert "/top.html" in site.asked
    items = [json.loads(line)["url"] for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert [url for url in items if url.removeprefix(site.url) in originals] == []
    assert site.url + first in items
    assert "same as others" in ended.stderr
    assert {url for url, of in revisits(ended).items()} == {site.url + url for url in originals}
    assert set(revisits(ended).values()) == {site.url + first}


def test_the_same_main_text_is_noticed_if_that_is_wanted(site, crawl, tmp_path):
    pages = tmp_path / "pages.jsonl"
    choices = {"FEEDS": json.dumps({str(pages): {"format": "jsonlines"}}), "CONCURRENT_REQUESTS": 1}
    told = f"{site.url}told"
    first = crawl([told], CONTENT_SEEN="text", **choices).assert_ended_well()
    originals = {line["url"]: line.get("duplicate_of") for line in first.lines()}
    one, other = sorted((f"{told}?1", f"{told}?2"), key=lambda url: originals[url] or "")
    assert originals == {
        told: None,
        one: None,
        other: one,
        **{f"{site.url}{name}?{n}": None for name in ("nothing", "aside") for n in (1, 2)},
    }
    assert {json.loads(line)["url"] for line in pages.read_text().splitlines()} == set(originals) - {other}
    # Other bytes: both are in the archive.
    assert revisits(first) == {}


def test_a_page_that_is_fetched_again_has_changed_or_not(serve, site, crawl):
    web = serve(hosts=1, pages=2)
    module = "tests.crawl.ordinary.settings"
    choices = {"spider": "shared", "module": module}
    origins = ",".join((web.web.origin(0), site.url.rstrip("/")))
    first = crawl(arguments={"origins": origins}, **choices)
    # Its start_urls are asked for at each start.
    again = crawl(arguments={"origins": origins}, of=first, **choices)
    starts = [line.get("changed") for line in again.lines() if line["url"].endswith("?start")]
    assert sorted(starts, key=str) == [False, False, None, None]


def test_it_can_be_switched_off(site, crawl):
    ended = crawl([site.url], CONTENT_SEEN=0).assert_ended_well()
    assert not any("duplicate_of" in line for line in ended.lines())
    assert not (ended.path / "contents.db").exists()
