"""What modules find in pages reaches feeds, stores and the log; what they cannot do is a word of those pages."""

from __future__ import annotations

import csv
import json
import re
import struct
from functools import partial
from io import BytesIO

import pypdf
import pytest
from pypdf.annotations import Link
from pypdf.generic import RectangleObject

from tests.crawl.crawling import ROOT
from tests.served import Files, serving

ALL = ",".join(
    f"webcrawl.processing.{name}"
    for name in (
        "modules.Head",
        "main_text.MainText",
        "main_text.Markdown",
        "modules.Language",
        "modules.JsonLd",
        "modules.TagCounter",
        "pdf.Pdf",
        "modules.PlainText",
        "modules.Feed",
        "modules.Sitemap",
        "modules.Image",
    )
)
INDEX = """<html lang=en><head><title>T\x1b[31m\u202ex</title><meta name=description content="Was es ist">
</head><body><main><h1>Hallo</h1><p>Dies ist ein Text auf Deutsch, der lang genug ist, um erkannt zu werden.</p>
<a href=a.txt>t</a><a href=feed.xml>f</a><a href=broken.pdf>b</a><a href=doc.pdf>p</a><img src=p.png alt=i>
<a href=hidden.pdf>h</a><a href=secret.html>s</a></main></body></html>"""
TEXT = "This is a plain text in the English language, and it has two lines.\nThis is the other."
RSS = "<rss><channel><title>F</title><item><link>/by-feed.html</link></item></channel></rss>"
KEEPER = """
from webcrawl.archive.line_sink import LineFile
import json

class Kept(LineFile):
    name = "kept.jsonl"
    wants_fields = True

    def lines(self, entry):
        if entry.record.kind == "page":
            yield json.dumps([entry.record.url, dict(entry.fields)]).encode()
"""
HOSTILE = """
import os

class Hostile:
    mime_types = ("text/html",)
    fields = {"pid": "whole"}

    def process(self, content):
        if content.url.endswith("/secret.html"):
            raise AssertionError("this page is not to be processed")
        if content.url.endswith("/"):
            os._exit(1)
        return {"pid": os.getpid()}

class Unbuildable(Hostile):
    def __init__(self):
        raise ImportError("No module named 'heavy'")
"""


def pdf(url):
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.add_annotation(0, Link(rect=RectangleObject((0, 0, 9, 9)), url=url))
    writer.add_metadata({"/Title": "A PDF\x07"})
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


@pytest.fixture(scope="module", autouse=True)
def _modules(folder):
    """Modules and a store of these tests are on the path of their crawls."""
    (folder / "keeper.py").write_text(KEEPER)
    (folder / "hostile.py").write_text(HOSTILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        yield


class Site(Files):
    def end_headers(self):
        if self.path.startswith("/hidden"):
            self.send_header("X-Robots-Tag", "noindex")
        super().end_headers()


@pytest.fixture(scope="module")
def origin(folder):
    """A site with a document of each kind."""
    site = folder / "site"
    site.mkdir()
    (site / "index.html").write_text(INDEX, encoding="utf-8")
    (site / "a.txt").write_text(
        "This is a plain text in the English language, and it has two lines.\nThis is the other."
    )
    (site / "feed.xml").write_text(
        "<rss><channel><title>F</title><item><link>/by-feed.html</link></item></channel></rss>"
    )
    (site / "doc.pdf").write_bytes(pdf("/by-pdf.html"))
    (site / "hidden.pdf").write_bytes(pdf("/by-hidden.html"))
    (site / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (site / "secret.html").write_text("<meta name=robots content=noindex><title>secret</title>")
    (site / "p.png").write_bytes(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 30, 40) + b"\x08\x02\0\0\0"
    )
    for name in ("feed", "pdf", "hidden"):
        (site / f"by-{name}.html").write_text(f"<title>by {name}</title>")
    with serving(partial(Site, directory=str(site))) as server:
        yield f"http://127.0.0.1:{server.server_port}"


WIDE = {
    "MIME_TYPES_WANTED": "text/*,application/*,image/*",
    "EXTENSIONS_REFUSED": "zip",
    "LINK_TYPES": "a,img",
    "RETRY_TIMES": 0,
    "PROCESSING_PROCESSES": 1,
}


@pytest.fixture(scope="module")
def crawled(origin, start, folder):
    """(crawl, pages by path) of everything with all modules."""
    feeds = [f"{folder}/pages.{name}" for name in ("jsonl", "csv")]
    done = start(
        [f"{origin}/"],
        options=[word for feed in feeds for word in ("-O", feed)],
        PROCESSING_MODULES=ALL,
        ARCHIVE_SINKS="keeper.Kept",
        **WIDE,
    ).wait()
    lines = [json.loads(line) for line in (folder / "pages.jsonl").read_text().splitlines()]
    return done.assert_ended_well(), {line["url"].removeprefix(origin): line for line in lines}


def test_documents_of_all_kinds_are_pages(crawled):
    pages = crawled[1]
    assert pages["/"]["language"] == "de"
    assert pages["/"]["language_declared"] == "en"
    assert pages["/"]["text"].startswith("Hallo\nDies ist")
    assert pages["/"]["markdown"].startswith("# Hallo\n\nDies ist")
    assert pages["/"]["tags"]["a"] == 6
    assert pages["/a.txt"]["text"].endswith("lines.\nThis is the other.")
    assert pages["/a.txt"]["language"] == "en"
    assert (pages["/feed.xml"]["title"], pages["/feed.xml"]["listing"]) == ("F", "rss")
    assert (pages["/doc.pdf"]["title"], pages["/doc.pdf"]["pages"]) == ("A PDF", 1)
    assert (pages["/p.png"]["image_width"], pages["/p.png"]["image_height"]) == (30, 40)


def test_their_links_are_followed_like_any_others(crawled):
    pages = crawled[1]
    assert pages["/by-feed.html"]["via"].endswith("/feed.xml")
    assert pages["/by-pdf.html"]["via"].endswith("/doc.pdf")
    assert pages["/by-hidden.html"]["via"].endswith("/hidden.pdf")


def test_what_is_not_to_be_indexed_is_in_no_feed_and_no_store(crawled):
    done, pages = crawled
    assert pages.keys().isdisjoint({"/hidden.pdf", "/secret.html"})
    kept = dict(json.loads(line) for line in (done.path / "kept.jsonl").read_text().splitlines())
    found = {url.partition("/")[2].rpartition("/")[2]: fields for url, fields in kept.items()}
    assert found["hidden.pdf"] == found["secret.html"] == {}
    assert found["doc.pdf"] == {"title": "A PDF", "pages": 1}


def test_a_broken_document_is_a_word_of_its_own(crawled):
    done, pages = crawled
    assert "PdfStreamError" in pages["/broken.pdf"]["error"]
    noted = (done.path / "errors.log").read_text()
    assert re.search(r" processing http://\S+/broken\.pdf via http://\S+/ \(pdf: PdfStreamError", noted)


def test_the_log_says_the_language(crawled):
    languages = {line["url"].rpartition("/")[2]: line.get("language") for line in crawled[0].lines()}
    assert languages[""] == "de"
    assert languages["a.txt"] == "en"
    assert languages["p.png"] is None


def test_nothing_that_strangers_wrote_steers_or_breaks_anything(crawled, folder):
    done, pages = crawled
    assert pages["/"]["title"] == "T[31mx"
    with (folder / "pages.csv").open(encoding="utf-8", newline="") as file:
        assert {row["url"]: row["title"] or None for row in csv.DictReader(file)} == {
            page["url"]: page["title"] for page in pages.values()
        }
    for name in ("errors.log", "fetch.jsonl", "kept.jsonl", "report.html"):
        assert "\x1b" not in (done.path / name).read_text(encoding="utf-8")


def test_the_module_of_the_documentation_does_what_it_says(origin, crawl, folder):
    page = (ROOT / "docs/internals/add-a-processing-module.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n# reading_time\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (folder / "reading_time.py").write_text(code, encoding="utf-8")
    (folder / "site/address.txt").write_text(f"see {origin}/by-text.html")
    (folder / "site/by-text.html").write_text("found")
    done = crawl(
        [f"{origin}/address.txt"],
        options=["-O", f"{folder}/times.jsonl"],
        PROCESSING_MODULES="reading_time.ReadingTime",
        RETRY_TIMES=0,
    ).assert_ended_well()

    text, found = [json.loads(line) for line in (folder / "times.jsonl").read_text().splitlines()]
    assert text["reading_minutes"] == 2 / 200
    assert text["addresses"] == [f"{origin}/by-text.html"]
    assert (found["url"], found["via"]) == (f"{origin}/by-text.html", f"{origin}/address.txt")
    assert len(code.splitlines()) <= 20
    assert done.statuses()[f"{origin}/by-text.html"] == 200


def test_a_page_that_kills_a_process_costs_its_fields_and_not_its_links(origin, crawl, folder):
    done = crawl(
        [f"{origin}/"],
        options=["-O", f"{folder}/hostile.jsonl"],
        PROCESSING_MODULES="hostile.Hostile",
        **WIDE,
    ).assert_ended_well()

    pages = [json.loads(line) for line in (folder / "hostile.jsonl").read_text().splitlines()]
    by_path = {page["url"].removeprefix(origin): page for page in pages}
    assert by_path["/"]["error"] == "hostile: ended its process (status 1)"
    assert by_path["/"]["links_count"] == 7
    assert f"{origin}/secret.html" in done.statuses()
    assert "this page is not to be processed" not in (done.path / "errors.log").read_text()


def test_a_module_that_cannot_be_built_ends_the_crawl_in_words(origin, crawl):
    done = crawl([f"{origin}/"], PROCESSING_MODULES="hostile.Unbuildable", RETRY_TIMES=0)

    assert done.status == 1
    assert (
        "a process for PROCESSING_MODULES does not start: ImportError: No module named 'heavy'" in done.stderr
    )
    assert "Traceback" not in done.stderr
