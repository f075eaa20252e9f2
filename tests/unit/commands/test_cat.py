"""``scrapy cat`` shows what was stored, and nothing that could harm a terminal."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from tests.commands import in_process
from tests.unit.archive.groups import archive
from tests.unit.archive.samples import NOW, capture, record
from webcrawl.archive.capture import ArchiveEntry, Revisit
from webcrawl.archive.fetchlog import log_line

PAGE = "http://example.test/page"
HOSTILE = "<p>\x1b[2Jgone\u202e\x07 caf\xe9\u00a0ok\tend</p>\n"
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
OF_OTHER_SCHEMES = ("ftp://f.test/pub/a.txt", "gopher://g.test/0/a", "data:text/plain,a", "s3://bucket/a")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def stored(url: str, head: bytes, payload: bytes, at: float = 0.0, **changes: object) -> ArchiveEntry:
    made = capture(url=url, response_head=head + b"\r\n", payload=payload, started_at=NOW + at, **changes)
    return ArchiveEntry(record(url=url, start=NOW + at), made)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    job = tmp_path_factory.mktemp("cat") / "job"
    made = archive(job, index=True)
    made.open()
    hostile = HOSTILE.encode()
    latin = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=iso-8859-1\r\n"
    bidi = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nX-Evil: \x1b]0;x\x07\r\n"
    made.append(
        [
            stored(PAGE, HTML, b"old"),
            stored(PAGE, HTML + b"Content-Encoding: gzip\r\n", gzip.compress(hostile), 86_400),
            stored("http://example.test/bidi", bidi, "a\u202eb".encode()),
            stored("http://example.test/latin", latin, b"caf\xe9"),
            stored("http://example.test/image", b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n", PNG),
            stored("http://www.example.test/only-www/", HTML, b"x"),
            *(stored(url, HTML, url.encode()) for url in OF_OTHER_SCHEMES),
        ]
    )
    same = stored("http://example.test/same", HTML, b"old", 90_000)
    same.revisit = Revisit("identical-payload-digest", PAGE, NOW)
    cached = capture(
        url="http://example.test/cached",
        request_head=b"",
        response_head=b"",
        payload=b"<p>from a cache",
        resource_type="text/html",
        source="cache",
    )
    made.append([same, ArchiveEntry(record(url=cached.url), cached)])
    made.close()
    failed = record(url="http://example.test/failed", start=NOW, status=None, error="dns")
    left = record(url="http://example.test/left", start=NOW, extra={"archived": False})
    with (job / "fetch.jsonl").open("ab") as log:
        log.write(log_line(failed) + log_line(left))
    return job


@pytest.fixture
def cat(capsys, job):
    run = in_process("cat", capsys, FRONTIER_BACKEND="memory")
    return lambda url, *options: run(url, str(job), *options)


@pytest.fixture
def terminal(monkeypatch, capsys):
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True)


def test_the_last_capture_is_shown_with_its_headers_and_without_its_coding(cat):
    head, body = cat(PAGE).said.split("\n\n", 1)
    about, where, *headers = head.splitlines()
    assert about == f"WARC: {PAGE}"
    assert "2026-07-26T" in where
    assert headers[0] == "HTTP/1.1 200 OK"
    assert "Content-Encoding: gzip" in headers
    assert body.startswith("<p>\x1b[2Jgone\u202e\x07")


def test_parts(cat):
    assert cat("http://example.test/same", "--body").said == "old"
    assert "old" not in cat(PAGE, "--headers").said
    assert cat(PAGE, "--headers", "--body").status == 2


def test_all_captures_are_listed(cat):
    first, second = cat(PAGE, "--all").said.splitlines()
    assert first.split()[2:5] == ["200", "text/html", "3"]
    assert first < second
    [same] = cat("http://example.test/same", "--all").said.splitlines()
    assert same.endswith(f"the same body as {PAGE} of {first[:19]}")
    assert same.split()[2:5] == ["200", "text/html", "3"]
    [cached] = cat("http://example.test/cached", "--all").said.splitlines()
    assert cached.endswith("from cache")


def test_the_capture_of_a_date(cat):
    first = cat(PAGE, "--all").said[:19]
    assert cat(PAGE, "--body", "--at", first[:10]).said == "old"
    assert cat(PAGE, "--body", "--at", first.replace(" ", "T")).said == "old"
    assert cat(PAGE, "--body", "--at", "2000-01-01").said == "old"
    assert cat(PAGE, "--body", "--at", "20990101000000").said != "old"
    assert cat(PAGE, "--at", "tomorrow").status == 2


def test_a_terminal_gets_no_control_characters(cat, terminal):
    said = cat(PAGE).said
    assert said.endswith("<p>\\x1b[2Jgone\\u202e\\x07 café\u00a0ok\tend</p>\n")
    assert cat("http://example.test/latin", "--body").said == "café\n"
    said = cat("http://example.test/bidi").said
    assert "X-Evil: \\x1b]0;x\\x07\n" in said
    assert said.endswith("a\\u202eb\n")


def test_a_terminal_gets_no_image(cat, terminal):
    done = cat("http://example.test/image")
    assert (done.status, "PNG" in done.out) == (0, False)
    assert "image/png, 264 B: not shown on a terminal" in done.err
    assert cat("http://example.test/image", "--body").status == 2


def test_bytes_are_as_they_were(capsysbinary, job):
    run = in_process("cat", capsysbinary, FRONTIER_BACKEND="memory")
    assert run("http://example.test/image", str(job), "--body").out == PNG
    assert run("http://example.test/latin", str(job), "--body").out == b"caf\xe9"


def test_a_resource_record_is_shown(cat):
    said = cat("http://example.test/cached").said
    assert said.endswith("Content-Type: text/html\nX-Crawler-Source: cache\n\n<p>from a cache")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.test/only-www", "there are captures of http://www.example.test/only-www/"),
        ("http://example.test/failed", "UTC: it failed (dns)"),
        ("http://example.test/left", "status 200, not archived"),
        ("http://example.test/unknown", "not known; queued when it is found, by the settings given here"),
    ],
)
def test_why_there_is_no_capture(cat, url, words):
    done = cat(url)
    assert (done.status, done.out) == (1, "")
    assert f"there is no capture of {url}" in done.err
    assert words in done.err


def test_wrong_words(cat, capsys, tmp_path, monkeypatch):
    def forbidden(path):
        raise PermissionError(13, "Permission denied", str(path))

    run = in_process("cat", capsys)
    assert "holds no archive" in run(PAGE, str(tmp_path)).err
    assert "is no folder" in run(PAGE, str(tmp_path / "none")).err
    with monkeypatch.context() as patch:
        patch.setattr(Path, "is_dir", forbidden)
        done = run(PAGE, "of-another")
    assert (done.status, done.err) == (2, "scrapy cat: of-another cannot be used: Permission denied\n")
    assert "which crawl?" in run(PAGE).err
    assert "is no URL" in cat("not a url").err


@pytest.mark.parametrize("url", OF_OTHER_SCHEMES)
def test_what_a_handler_of_any_scheme_fetched_is_shown(cat, url):
    assert cat(url, "--body").said == url


def test_the_forms_of_ftp_urls_are_one(cat):
    assert cat("FTP://user:word@F.test:21/pub/a.txt#x", "--body").said == "ftp://f.test/pub/a.txt"
    assert "there is no capture of ftp://f.test/" in cat("ftp://f.test").err
