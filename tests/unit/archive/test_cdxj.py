"""The CDXJ index: current while files are written, whole when they are closed, made again after a crash."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from isal import igzip

from tests.unit.archive.faultydisk import FaultyDisk
from tests.unit.archive.groups import GROUP, GROUPS, archive, group, urls_of
from tests.unit.archive.samples import NOW, RESPONSE_HEAD, capture, entry, record
from webcrawl.archive import cdxj as index_room
from webcrawl.archive.capture import ArchiveEntry, Revisit
from webcrawl.archive.cdxj import INDEX_FOLDER, Index, build, index_line, index_lines
from webcrawl.archive.disk import Disk, DiskFull
from webcrawl.external_sort import Sorter

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.archive.store import Archive


def target(directory: Path, **changes: Any) -> Archive:
    crawl_archive = archive(directory, **({"index": True, "metadata": True} | changes))
    crawl_archive.open()
    return crawl_archive


def lines(directory: Path) -> list[tuple[str, dict[str, str]]]:
    """Key with time, and the rest, of all files of the index; each must be sorted."""
    parsed = []
    for path in sorted((directory / INDEX_FOLDER).iterdir()):
        assert path.suffix == ".cdxj"
        of_one = path.read_bytes().splitlines()
        assert of_one == sorted(of_one)
        for line in of_one:
            key, at, rest = line.decode("ascii").split(" ", 2)
            parsed.append((f"{key} {at}", json.loads(rest)))
    return parsed


def assert_all_found(directory: Path, urls: list[str]) -> None:
    """Every line leads to the record of its URL, in a file that is there."""
    facts = [about for _, about in lines(directory)]
    assert sorted(about["url"] for about in facts) == sorted(urls)
    for about in facts:
        with (directory / "warc" / about["filename"]).open("rb") as file:
            file.seek(int(about["offset"]))
            member = file.read(int(about["length"]))
        head = igzip.decompress(member).decode("latin-1").partition("\r\n\r\n")[0]
        assert f"\r\nWARC-Target-URI: {about['url']}\r\n" in head
        assert f"\r\nWARC-Payload-Digest: sha1:{about['digest']}\r\n" in f"{head}\r\n"


@pytest.fixture
def every_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits in memory."""
    monkeypatch.setattr(index_room, "LINES_MAX", 1)


@pytest.mark.usefixtures("every_group")
def test_what_a_crawl_has_fetched_is_found_while_it_goes_on(tmp_path: Path) -> None:
    crawl_archive = target(tmp_path)
    for number in range(GROUPS):
        crawl_archive.append(group(number))
        assert_all_found(tmp_path, urls_of(range(number)))
    crawl_archive.append([])
    assert_all_found(tmp_path, urls_of(range(GROUPS)))
    assert all(about["filename"].endswith(".open") for _, about in lines(tmp_path))
    crawl_archive.close()
    assert_all_found(tmp_path, urls_of(range(GROUPS)))
    [path] = (tmp_path / INDEX_FOLDER).iterdir()
    assert path.name == next((tmp_path / "warc").iterdir()).name.removesuffix(".warc.gz") + ".cdxj"


def test_there_is_one_file_for_each_warc_file(tmp_path: Path) -> None:
    crawl_archive = target(tmp_path, roll_bytes=3000)
    for number in range(GROUPS):
        crawl_archive.append(group(number))
    crawl_archive.close()
    names = {path.name.removesuffix(".warc.gz") for path in (tmp_path / "warc").iterdir()}
    assert {path.stem for path in (tmp_path / INDEX_FOLDER).iterdir()} == names
    assert len(names) > 1
    assert_all_found(tmp_path, urls_of(range(GROUPS)))


def test_lines_wait_no_longer_than_some_seconds(tmp_path: Path) -> None:
    now = [100.0]
    (tmp_path / "warc").mkdir()
    index = Index(tmp_path, tmp_path / "warc", Disk(), clock=lambda: now[0])
    writer = archive(tmp_path)._warc
    assert writer is not None
    writer._index = index
    index.open()
    writer.write(group(0))
    writer.sync()
    for part in (writer, index):
        part.keep()
    index.roll_if_full()
    assert lines(tmp_path) == []
    now[0] += index_room.SECONDS_MAX
    index.roll_if_full()
    assert len(lines(tmp_path)) == GROUP
    writer.close()
    index.close()


@pytest.mark.usefixtures("every_group")
def test_runs_stay_few_and_their_number_is_the_binary_one(tmp_path: Path) -> None:
    crawl_archive = target(tmp_path)
    for number in range(12):
        crawl_archive.append([entry(number)])
    crawl_archive.append([])
    assert len(list((tmp_path / INDEX_FOLDER).iterdir())) == 2  # twelve are eight and four
    crawl_archive.close()


def test_a_group_that_was_taken_back_is_not_in_the_index(tmp_path: Path) -> None:
    crawl_archive = target(tmp_path)
    crawl_archive.append(group(0))
    with pytest.raises(ValueError, match="either status or error"):
        crawl_archive.append([*group(1), ArchiveEntry(record(status=None))])
    crawl_archive.append(group(2))
    crawl_archive.close()
    assert_all_found(tmp_path, urls_of(range(1)) + urls_of(range(2, 3)))


@pytest.mark.usefixtures("every_group")
def test_an_index_for_which_there_is_no_room_stops_the_archive_and_loses_nothing(tmp_path: Path) -> None:
    disk = FaultyDisk()
    crawl_archive = target(tmp_path, disk=disk)
    crawl_archive.append(group(0))
    for ahead in (0, 1, 2):  # the file of the index cannot be opened, written, named
        disk._failing = range(disk.calls + ahead, disk.calls + ahead + 1)
        with pytest.raises(DiskFull):
            crawl_archive.append(group(1))
    assert disk.failed == ["open", "write", "rename"]
    crawl_archive.append(group(1))
    crawl_archive.close()
    assert_all_found(tmp_path, urls_of(range(2)))


@pytest.mark.usefixtures("every_group")
def test_after_a_crash_the_index_is_made_again(tmp_path: Path) -> None:
    crawl_archive = target(tmp_path)
    for number in range(GROUPS):
        crawl_archive.append(group(number))
    again = archive(tmp_path, index=True)
    sentences = again.open().sentences
    assert any(f"rebuilt, {GROUPS * GROUP} lines" in sentence for sentence in sentences)
    assert_all_found(tmp_path, urls_of(range(GROUPS)))
    again.close()


def test_an_archive_that_never_had_an_index_is_not_read_at_the_start(tmp_path: Path) -> None:
    crawl_archive = archive(tmp_path)
    crawl_archive.open()
    crawl_archive.append(group(0))
    crawl_archive.close()
    again = target(tmp_path)
    again.close()
    assert lines(tmp_path) == []


def test_what_is_made_again_is_what_was_written(tmp_path: Path) -> None:
    crawl_archive = target(tmp_path)
    crawl_archive.append(group(0))
    crawl_archive.append(of_every_kind())
    crawl_archive.close()
    [warc], [index] = (list((tmp_path / name).iterdir()) for name in ("warc", INDEX_FOLDER))
    written = index.read_bytes()
    assert build(warc, index, Disk()) == len(written.splitlines())
    assert index.read_bytes() == written
    kinds = [about["mime"] for _, about in lines(tmp_path)]
    assert sorted(kinds) == ["application/zip", *["text/html"] * (GROUP + 1), "warc/revisit"]


def test_answers_with_odd_heads_are_found_by_what_a_reader_takes_for_the_head(tmp_path: Path) -> None:
    heads = [
        b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n",
        b"HTTP/1.1 200 OK\r\n \r\nContent-Type: a/b\r\n\r\n",
    ]
    bodies = [b"", b"<p>hello</p>", b"HTTP/1.1 304 \r\n\r\nContent-Type: c/d"]
    answers = [capture(response_head=head, payload=body) for head in heads for body in bodies]
    answers += [capture(response_head=b"", resource_type="text/plain", payload=body) for body in bodies]
    crawl_archive = target(tmp_path)
    crawl_archive.append([ArchiveEntry(record(), each) for each in answers])
    crawl_archive.close()
    [warc], [index] = (list((tmp_path / name).iterdir()) for name in ("warc", INDEX_FOLDER))
    written = index.read_bytes()
    assert build(warc, index, Disk()) == len(answers)
    assert index.read_bytes() == written


def of_every_kind() -> list[ArchiveEntry]:
    """A revisit, a 304, another method, another protocol, a page without its request."""
    same = Revisit("identical-payload-digest", "http://example.test/0", NOW)
    old = Revisit("server-not-modified", "http://example.test/0", NOW)
    not_modified = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    file = {"request_head": b"", "response_head": b"", "resource_type": "application/zip", "ip": None}
    return [
        ArchiveEntry(record(), capture(url="http://example.test/same"), same),
        ArchiveEntry(record(status=304), capture(response_head=not_modified, payload=b""), old),
        ArchiveEntry(
            record(), capture(method="POST", request_head=b"POST / HTTP/1.1\r\n\r\n", request_body=b"a=b")
        ),
        ArchiveEntry(record(url="ftp://example.test/a.zip"), capture(url="ftp://example.test/a.zip", **file)),
        ArchiveEntry(record(), capture(request_head=b"")),
    ]


def test_a_key_has_no_space_and_a_line_is_ascii() -> None:
    fields = {
        "warc-type": "response",
        "warc-target-uri": "data:a b\u00e9",
        "warc-date": "2026-01-02T03:04:05.678901Z",
    }
    line = index_line(fields, RESPONSE_HEAD, "x.warc.gz", 7, 9)
    assert line is not None
    assert line.startswith(b"data:a%20b%E9 20260102030405 {")
    assert line.isascii()


def test_more_lines_than_fit_are_sorted(tmp_path: Path) -> None:
    numbers = [b"%d\n" % (number * 7919 % 5003) for number in range(5003)]
    with Sorter(chunk_bytes=64) as sorter:
        for line in numbers:
            sorter.add(line)
        assert list(sorter.sorted()) == sorted(numbers)


def test_lines_of_a_file_come_in_the_order_of_its_records(tmp_path: Path) -> None:
    crawl_archive = target(tmp_path)
    crawl_archive.append(group(0))
    crawl_archive.close()
    [warc] = (tmp_path / "warc").iterdir()
    offsets = [json.loads(line.split(b" ", 2)[2])["offset"] for line in index_lines(warc, warc.name)]
    assert offsets == sorted(offsets, key=int)
