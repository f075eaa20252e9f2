"""Every capture of a URL is found, whatever state the files of its crawl are in, and has the payload it had."""

from __future__ import annotations

import shutil

import pytest

from tests.unit.archive.groups import GROUP, archive
from tests.unit.archive.samples import NOW, capture, entry, record
from webcrawl.archive.capture import ArchiveEntry, Revisit
from webcrawl.archive.captures import find_captures, read_capture
from webcrawl.archive.disk import ArchiveError

PAGES = 40


def urls() -> list[str]:
    return [f"http://example.test/{number}" for number in range(PAGES)]


def fill(made) -> None:
    for first in range(0, PAGES, GROUP):
        made.append([entry(number) for number in range(first, min(first + GROUP, PAGES))])


def assert_all_found(folder) -> None:
    for number, url in enumerate(urls()):
        [found] = find_captures(url, [folder])
        assert (found.url, found.status, found.mime) == (url, "200", "text/html")
        content = read_capture(found, [folder])
        assert content.payload == b"page %d " % number * 20
        assert content.head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert find_captures("http://example.test/", [folder]) == []
    assert find_captures("http://example.test/400", [folder]) == []
    assert find_captures("http://zzz.test/", [folder]) == []


@pytest.mark.parametrize("roll_bytes", [1500, 1_000_000])
def test_in_files_that_are_closed_or_written_with_an_index_or_without(tmp_path, roll_bytes) -> None:
    job = tmp_path / "job"
    crawl_archive = archive(job, index=True, roll_bytes=roll_bytes)
    crawl_archive.open()
    fill(crawl_archive)
    assert_all_found(job)  # while the crawl runs
    crawl_archive.close()
    assert_all_found(job)
    shutil.rmtree(job / "index")
    assert_all_found(job)


def test_of_a_file_that_is_written_only_what_its_index_lacks_is_read(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("webcrawl.archive.cdxj.LINES_MAX", 10)
    crawl_archive = archive(tmp_path / "job", index=True)
    crawl_archive.open()
    fill(crawl_archive)
    assert len(list((tmp_path / "job/index").glob("*.open-*"))) >= 1
    starts = []
    read = find_captures.__globals__["records"]
    monkeypatch.setattr(
        "webcrawl.archive.captures.records", lambda stream, start: starts.append(start) or read(stream, start)
    )
    assert_all_found(tmp_path / "job")
    assert min(starts) > 0
    crawl_archive.close()


def test_captures_of_several_workers_come_in_the_order_of_their_times(tmp_path) -> None:
    for worker, at in (("a", 30.0), ("b", 10.0), ("c", 20.0)):
        crawl_archive = archive(tmp_path / worker, worker=worker, index=True)
        crawl_archive.open()
        later = capture(started_at=NOW + at, payload=worker.encode())
        crawl_archive.append([ArchiveEntry(record(start=NOW + at), later)])
        crawl_archive.close()
    folders = [tmp_path / worker for worker in "abc"]
    captures = find_captures("http://example.test/page", folders)
    assert [read_capture(one, folders).payload for one in captures] == [b"b", b"c", b"a"]


def test_similar_urls_have_the_same_key(tmp_path) -> None:
    crawl_archive = archive(tmp_path / "job", index=True)
    crawl_archive.open()
    similar = ["http://example.test/a/", "http://www.example.test/a", "https://example.test/A"]
    crawl_archive.append([ArchiveEntry(record(url=url, start=NOW), capture(url=url)) for url in similar])
    crawl_archive.close()
    assert sorted(
        capture.url for capture in find_captures("http://example.test/a", [tmp_path / "job"])
    ) == sorted(similar)


def test_a_revisit_has_the_payload_of_its_original(tmp_path) -> None:
    job = tmp_path / "job"
    crawl_archive = archive(job, index=True)
    crawl_archive.open()
    again = capture(url="http://example.test/again", started_at=NOW + 50, payload=b"page 3 " * 20)
    revisit = Revisit("identical-payload-digest", "http://example.test/3", NOW + 3)
    crawl_archive.append([entry(3), ArchiveEntry(record(url=again.url, start=NOW + 50), again, revisit)])
    crawl_archive.close()
    [found] = find_captures(again.url, [job])
    content = read_capture(found, [job])
    assert content.payload == b"page 3 " * 20
    assert content.original is not None
    assert content.original.url == "http://example.test/3"


def test_what_cannot_be_read_is_said(tmp_path) -> None:
    job = tmp_path / "job"
    crawl_archive = archive(job, index=True)
    crawl_archive.open()
    lost = Revisit("identical-payload-digest", "http://elsewhere.test/", NOW)
    again = capture(url="http://example.test/again", payload=b"x")
    crawl_archive.append([entry(1), ArchiveEntry(record(url=again.url), again, lost)])
    crawl_archive.close()
    [revisit] = find_captures(again.url, [job])
    with pytest.raises(ArchiveError, match="which is not in these folders"):
        read_capture(revisit, [job])
    [found] = find_captures("http://example.test/1", [job])
    [warc] = (job / "warc").iterdir()
    data = bytearray(warc.read_bytes())
    data[found.offset + 60] ^= 255
    warc.write_bytes(data)
    with pytest.raises(ArchiveError, match="see scrapy archive check"):
        read_capture(found, [job])
    warc.unlink()
    with pytest.raises(ArchiveError, match="moved away"):
        read_capture(found, [job])


@pytest.mark.parametrize(
    "line",
    [
        "test,example)/1",
        "test,example)/1 20230101000000",
        "test,example)/1 20230101000000 no json",
        "test,example)/1 20230101000000 []",
        "test,example)/1 20230101000000 {}",
        'test,example)/1 20230101000000 {"url":"","filename":"","length":"1","offset":"x"}',
        "test,example)/1 20230101000000 " + "[" * 100_000,
    ],
    ids=lambda line: line[:60],
)
@pytest.mark.parametrize("name", ["a.cdxj", "a.open-1.cdxj"])
def test_a_line_that_is_no_cdxj_is_an_error_of_the_archive_that_shows_it(tmp_path, line, name) -> None:
    crawl_archive = archive(tmp_path / "job", index=True)
    crawl_archive.open()
    crawl_archive.close()
    (tmp_path / "job/index").mkdir(exist_ok=True)
    (tmp_path / "job/index" / name).write_text(f"{line} \n")
    with pytest.raises(ArchiveError, match=r"index.*is no CDXJ: b'test,example\)/1"):
        find_captures("http://example.test/1", [tmp_path / "job"])
