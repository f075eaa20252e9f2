"""A crawl that looks for certain pages tells of each how relevant it is."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from webcrawl.focus.judge import ALLOWED

STARS = "<title>Stars</title><p>The telescope shows a star. Another telescope shows another."
PLAIN = "<title>Soup</title><p>Onions, salt and water."
OWN = """
from webcrawl.spiders.broad import BroadSpider

class Own(BroadSpider):
    name = "own"

    def relevance(self, page):
        if page.url.endswith("b.html"):
            raise ValueError("no idea")
        return 2.0 if "Onions" in page.text else page.depth / 4
"""


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def origin(folder):
    """A site of pages about stars, pages about soup, a copy, and a document that is not read."""
    site = folder / "site"
    site.mkdir()
    names = ("a.html", "b.html", "copy.html", "d.bin", "missing.html", "moved")
    links = "".join(f"<a href={name}>{name}</a>" for name in names)
    (site / "index.html").write_text(f"<title>Home</title>{links}")
    (site / "a.html").write_text(STARS)
    (site / "b.html").write_text(PLAIN)
    (site / "copy.html").write_text(STARS)
    (site / "d.bin").write_bytes(b"\0telescope")
    (site / "moved").mkdir()
    (site / "moved/index.html").write_text(PLAIN + STARS)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def relevances(crawled, origin):
    """What the log says of each page that came."""
    return {
        line["url"].removeprefix(origin): line.get("relevance")
        for line in crawled.lines()
        if line.get("status") == 200
    }


def test_the_log_says_how_relevant_each_page_is(origin, crawl):
    crawled = crawl([f"{origin}/"], arguments={"focus": "telescope"}, EXTENSIONS_REFUSED="zip")
    found = relevances(crawled.assert_ended_well(), origin)
    assert {path for path, value in found.items() if value} in (
        {"/a.html", "/moved/"},
        {"/copy.html", "/moved/"},
    )
    assert found.keys() == {"/", "/a.html", "/b.html", "/copy.html", "/d.bin", "/moved/"}
    assert 0.3 < found["/moved/"] < 0.5
    assert found["/d.bin"] == found["/b.html"] == 0


def test_a_spider_says_it_by_one_method(origin, folder, crawl):
    (folder / "own_spiders.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        crawled = crawl(
            [f"{origin}/"], spider="own", SPIDER_MODULES="own_spiders", CONTENT_SEEN=0, ROBOTS_TTL_SECONDS=9
        )
    assert crawled.status == 0, crawled.stderr[-3000:]
    found = relevances(crawled, origin)
    assert found["/moved/"] == 1
    assert found["/a.html"] == 0.25
    assert found["/b.html"] == found["/"] == 0
    assert "no idea" in (crawled.path / "errors.log").read_text()


def test_a_focus_that_is_none_is_told_in_one_line(origin, crawl):
    refused = crawl([f"{origin}/"], arguments={"focus": "mime:pdf"}, FOCUS="re:(")
    assert refused.status == 2
    assert len(refused.stderr.splitlines()) == 2
    assert refused.stderr.count(f"must be {ALLOWED} (") == 2
