"""Stored pages of a crawl: what the archive has of a URL, and hostile pages as a browser gets them."""

from __future__ import annotations

import asyncio
import gzip
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from tests.contract.driven import IDENTITY
from tests.contract.samples import NOW
from tests.unit.archive.groups import archive
from tests.unit.archive.samples import capture, record
from webcrawl.archive.capture import ArchiveEntry
from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions
from webcrawl.web.dashboard import stored_pages
from webcrawl.web.dashboard.source import CrawlSource
from webcrawl.web.dashboard.stored_pages import NoVersion, describe, search, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Store = Callable[..., None]

URL = "http://example.test/page"
TITLE = "<script>alert(1)</script> &amp; \u202e"


@pytest.fixture
def source(tmp_path: Path) -> Iterator[CrawlSource]:
    """Of a crawl that has an archive, but no search index."""

    async def begin() -> None:
        backend = SqliteBackend(tmp_path, SqliteOptions(delay_seconds=5.0), IDENTITY)
        await backend.open(NOW)
        await backend.close()

    asyncio.run(begin())
    settings = Settings()
    settings.setmodule("webcrawl.settings", "project")
    settings.set("JOBDIR", str(tmp_path), "cmdline")
    made = CrawlSource(settings, "broad")
    yield made
    made.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Archives answers to ``URL``, or another one, a minute apart."""

    def one(*answers: tuple[str, bytes], url: str = URL, **facts: str) -> None:
        target = archive(tmp_path)
        target.open()
        for number, (head, payload) in enumerate(answers):
            at = NOW + 60 * number
            text = f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode("latin-1")
            exchange = capture(url=url, response_head=text, payload=payload, started_at=at, ended_at=at + 1)
            target.append([ArchiveEntry(record(url=url, start=at, end=at + 1, extra=facts), exchange)])
        target.close()

    return one


def last(source: CrawlSource, url: str = URL) -> str:
    return str(describe(source, url)["record"])


def test_a_url_is_shown_with_its_versions_headers_and_fields(source: CrawlSource, store: Store) -> None:
    html = f"<title>\n {TITLE}\n</title><p>there".encode()
    store(
        ("Content-Type: text/html\r\nX-Odd: \xe4 <b>\r\n  folded", b"<p>first"),
        ("Content-Type: text/html", html),
    )
    found = describe(source, URL)
    assert (found["url"], len(found["versions"])) == (URL, 2)
    newest, oldest = found["versions"]
    assert newest["record"] == found["record"]
    assert newest["at"] - oldest["at"] == 60
    assert (newest["status"], newest["mime"], newest["revisit"]) == (200, "text/html", False)
    assert found["fields"]["title"] == "<script>alert(1)</script> & \u202e"
    assert found["fields"]["bytes"] == len(html)
    first = describe(source, URL, oldest["record"])
    assert first["record"] == oldest["record"]
    assert first["headers"][0] == ["", "HTTP/1.1 200 OK"]
    assert ["Content-Type", "text/html"] in first["headers"]
    assert dict(map(tuple, first["headers"]))["X-Odd"].startswith("\xe4 <b>")


def test_duplicates_are_those_of_the_fetch_log(source: CrawlSource, store: Store) -> None:
    store(("Content-Type: text/html", b"<p>one"))
    copy = "http://example.test/copy"
    store(("Content-Type: text/html", b"<p>one"), url=copy, duplicate_of=URL)
    assert describe(source, URL)["duplicates"] == [copy]
    assert describe(source, copy)["duplicate_of"] == URL


def test_a_page_is_html_in_utf8_that_looks_up_no_host(source: CrawlSource, store: Store) -> None:
    page = '<LINK rel="preconnect" href="//x.test"><link/rel=dns-prefetch href=//x.test><p>Stra\xdfe <links>'
    store(("Content-Type: text/html; charset=iso-8859-1", page.encode("latin-1")))
    shown = show(source, last(source))
    assert shown.content_type == "text/html; charset=utf-8"
    assert shown.body.decode() == (
        '<wbr rel="preconnect" href="//x.test"><wbr/rel=dns-prefetch href=//x.test><p>Stra\xdfe <links>'
    )


@pytest.mark.parametrize(
    ("head", "payload", "kind"),
    [
        ("Content-Type: image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "text/plain"),
        ("Content-Type: application/xml", b"<?xml version='1.0'?><?xml-stylesheet href='x'?><a/>", "text/plain"),
        ("Content-Type: text/javascript", b"alert(1)", "text/plain"),
        ("Content-Type: application/pdf", b"%PDF-1.7\n\0\0", "application/octet-stream"),
        ("Content-Type: application/x-shockwave-flash", b"CWS\0\0", "application/octet-stream"),
        ("Content-Type: image/png", b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
    ],
)  # fmt: skip
def test_only_html_and_images_are_more_than_text_or_a_download(
    source: CrawlSource, store: Store, head: str, payload: bytes, kind: str
) -> None:
    store((head, payload))
    shown = show(source, last(source))
    assert shown.content_type.partition(";")[0] == kind
    assert shown.is_download == (kind == "application/octet-stream")


def test_of_a_body_that_unpacks_to_a_gigantic_one_a_part_is_shown(
    source: CrawlSource, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_pages, "BODY_BYTES_MAX", 100_000)
    store(("Content-Type: text/html\r\nContent-Encoding: gzip", gzip.compress(b"<p>" + b"a" * 5_000_000)))
    found = describe(source, URL)
    assert found["truncated"] == "only 100,000 bytes are shown"
    assert len(show(source, found["record"]).body) == 100_000


def test_a_record_that_is_longer_than_allowed_is_told(
    source: CrawlSource, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_pages, "RECORD_BYTES_MAX", 10_000)
    store(("Content-Type: text/plain", b"a" * 20_000))
    found = describe(source, URL)
    assert "more than 10,000 bytes" in found["fields"]["unreadable"]
    with pytest.raises(NoVersion, match="more than 10,000 bytes"):
        show(source, found["record"])


def test_a_broken_content_coding_is_no_error(source: CrawlSource, store: Store) -> None:
    store(("Content-Type: text/html\r\nContent-Encoding: gzip", b"<p>never compressed"))
    assert b"never compressed" in show(source, last(source)).body


def test_what_the_archive_does_not_have_is_told(source: CrawlSource, store: Store, tmp_path: Path) -> None:
    with pytest.raises(NoVersion, match="has no version of this URL"):
        describe(source, URL)
    store(("Content-Type: text/html", b"<p>there"))
    found = last(source)
    [path] = (tmp_path / "warc").glob("*.warc.gz")
    path.rename(tmp_path / "elsewhere.warc.gz")
    with pytest.raises(NoVersion):
        show(source, found)
    with pytest.raises(NoVersion):
        describe(source, URL)


@pytest.mark.parametrize(
    "name",
    ["x", "../crawl.db@0", "..%2f@1", "/etc/passwd@0", "a.warc.gz@-1", "a.warc.gz@1@2", "a/b.warc.gz@0"],
)  # fmt: skip
def test_only_names_that_were_given_are_taken(source: CrawlSource, name: str) -> None:
    with pytest.raises(ValueError, match="names no stored version"):
        show(source, name)


def test_a_place_between_records_is_no_version(source: CrawlSource, store: Store) -> None:
    store(("Content-Type: text/html", b"<p>there"))
    name, _, place = last(source).partition("@")
    for number in (int(place) + 1, 10**14):
        with pytest.raises(NoVersion):
            show(source, f"{name}@{number}")


def test_the_record_of_a_file_that_is_still_written_can_be_read(source: CrawlSource, tmp_path: Path) -> None:
    target = archive(tmp_path)
    target.open()
    target.append([ArchiveEntry(record(), capture())])
    assert show(source, last(source)).body == capture().payload
    target.close()


def test_a_crawl_without_an_index_says_so(source: CrawlSource) -> None:
    with pytest.raises(NoVersion, match="holds no search index"):
        search(source, "words", 10)
    with pytest.raises(ValueError, match="the query"):
        search(source, '"', 10)
