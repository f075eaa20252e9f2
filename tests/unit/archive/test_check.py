"""``scrapy archive check``: each problem that is planted is found, and nothing is found where none is."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from isal import igzip_lib

from tests.unit.archive.groups import GROUP, archive, group
from tests.unit.archive.samples import NOW, capture, record
from webcrawl.archive.capture import ArchiveEntry, Revisit
from webcrawl.archive.cdxj import INDEX_FOLDER
from webcrawl.archive.check import Check
from webcrawl.archive.records import digest

if TYPE_CHECKING:
    from collections.abc import Callable

    Change = Callable[[list[bytes]], list[bytes]]

DATA = Path(__file__).parents[2] / "data/archive"
TARGET = Revisit("identical-payload-digest", "http://example.test/0", NOW)
"""The first page of the first group."""


def revisiting(target: Revisit = TARGET) -> ArchiveEntry:
    url, payload = "http://example.test/again", group(0)[0].capture.payload  # type: ignore[union-attr]
    return ArchiveEntry(
        record(url=url, start=NOW + 50), capture(url=url, started_at=NOW + 50, payload=payload), target
    )


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """An archive of two groups and a revisit, closed."""
    made = archive(tmp_path / "job", index=True, metadata=True)
    made.open()
    made.append(group(0))
    made.append([*group(1), revisiting()])
    made.close()
    return tmp_path / "job"


def check(*folders: Path, **more: Any) -> tuple[list[str], list[str]]:
    """The problems and the remarks."""
    checked = Check(folders, NOW + 3600, **more)
    problems = [f"{problem.where}: {problem.what}" for problem in checked.problems()]
    assert checked.totals.problems == len(problems)
    return problems, checked.totals.remarks


def warc_of(job: Path) -> Path:
    [path] = (job / "warc").iterdir()
    return path


def index_of(job: Path) -> Path:
    [path] = (job / INDEX_FOLDER).iterdir()
    return path


def members(path: Path) -> list[bytes]:
    """The plain records of a file."""
    data, found = path.read_bytes(), []
    while data:
        unpacker = zlib.decompressobj(31)
        found.append(unpacker.decompress(data))
        data = unpacker.unused_data
    return found


def rewrite(job: Path, change: Change) -> None:
    """The file with other records, and an index that fits it."""
    path = warc_of(job)
    records = change(members(path))
    packed = [igzip_lib.compress(each, 1, igzip_lib.COMP_GZIP) for each in records]
    path.write_bytes(b"".join(packed))
    index_of(job).unlink()
    index_of_folder = job / INDEX_FOLDER
    index_of_folder.rmdir()


def replaced(old: bytes, new: bytes, of: bytes = b"WARC-Type: response") -> Change:
    """In the first record that has ``of`` in its head."""

    def change(records: list[bytes]) -> list[bytes]:
        at = next(number for number, each in enumerate(records) if of in each)
        assert old in records[at]
        assert len(old) == len(new) or b"\r\n" in new + old
        return [*records[:at], records[at].replace(old, new, 1), *records[at + 1 :]]

    return change


def without(number: int) -> Change:
    return lambda records: records[:number] + records[number + 1 :]


def test_nothing_is_wrong_with_what_a_crawl_wrote(job: Path) -> None:
    checked = Check([job], NOW + 3600)
    assert list(checked.problems()) == []
    assert checked.totals.records == {
        "warcinfo": 1, "response": 2 * GROUP, "revisit": 1, "request": 2 * GROUP + 1, "metadata": 2 * GROUP + 1,
    }  # fmt: skip
    assert (checked.totals.lines, checked.totals.indexed, checked.totals.files) == (7, 7, 1)
    assert checked.totals.bytes == warc_of(job).stat().st_size
    assert checked.totals.remarks == []


def test_sorting_on_the_disk_finds_the_same(job: Path) -> None:
    assert check(job, chunk_bytes=100) == ([], [])
    rewrite(job, without(1))
    assert check(job, chunk_bytes=100) == check(job)


PLANTED: dict[str, dict[str, Any]] = json.loads((DATA / "faults.json").read_text(encoding="utf-8"))
"""What is changed, and what is said of it: in the first record of a type the text ``old`` for ``new``, or the number
of a record that is ``left_out``, or that comes ``again`` behind others.
"""


def change_of(planted: dict[str, Any]) -> Change:
    if "left_out" in planted:
        return without(planted["left_out"])
    if "again" in planted:
        number, at = planted["again"], planted["at"]
        return lambda records: [*records[:at], records[number], *records[at:]]
    of = f"WARC-Type: {planted['record']}".encode()
    return replaced(planted["old"].encode(), planted["new"].encode(), of)


@pytest.mark.parametrize("planted", PLANTED)
def test_a_fault_in_a_record_is_found(job: Path, planted: str) -> None:
    rewrite(job, change_of(PLANTED[planted]))
    problems, _ = check(job)
    expected = PLANTED[planted]["said"]
    assert [problem for problem in problems if expected in problem and str(warc_of(job)) in problem], problems


@pytest.mark.parametrize("at", [0, 30, 300, -20])
def test_bytes_that_were_damaged_are_found_and_the_rest_is_read(job: Path, at: int) -> None:
    path = warc_of(job)
    data = bytearray(path.read_bytes())
    for each in range(at, at + 4):
        data[each] ^= 0x55
    path.write_bytes(data)
    problems, _ = check(job)
    assert any(f"{path} byte" in problem for problem in problems), problems
    if at < 300:
        assert not any("no record in the WARC" in problem for problem in problems)


def test_a_file_that_is_cut_off_is_wrong_when_it_has_its_final_name(job: Path) -> None:
    path = warc_of(job)
    path.write_bytes(path.read_bytes()[:-5])
    assert any("the file ends in the middle of a record" in problem for problem in check(job)[0])
    path.rename(f"{path}.open")
    assert not any("ends in the middle" in problem for problem in check(job)[0])


def test_a_line_without_its_record_and_a_record_without_its_line_are_found(job: Path) -> None:
    log = job / "fetch.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0].replace(b"example.test/0", b"example.test/x"), *lines[1:]]))
    problems, _ = check(job)
    assert len(problems) == 2
    assert "the request of http://example.test/x at 20260725172000123456 has no record" in problems[0]
    assert "the record of http://example.test/0 has no line in the fetch log" in problems[1]


def test_what_a_crash_leaves_is_no_fault(tmp_path: Path) -> None:
    made = archive(tmp_path, index=True)
    made.open()
    made.append(group(0))
    made._warc.write(group(1))  # type: ignore[union-attr]
    made._warc._file.sync()  # type: ignore[union-attr]
    again = archive(tmp_path, index=True)
    again.open()
    again.close()
    problems, remarks = check(tmp_path)
    assert problems == []
    assert [remark for remark in remarks if "without a line in the fetch log: 3, as after a crash" in remark]


@pytest.mark.parametrize(
    ("damaged", "expected"),
    [(b'{"start":1}\n', "invalid line"), (b"nonsense\n", "is no JSON object")],
)
def test_a_line_that_is_none_is_found(job: Path, damaged: bytes, expected: str) -> None:
    with (job / "fetch.jsonl").open("ab") as log:
        log.write(damaged)
    [problem] = check(job)[0]
    assert expected in problem


def test_a_revisit_of_nothing_is_found_and_one_of_another_workers_record_is_not(tmp_path: Path) -> None:
    for worker, entries in (("a", group(0)[:1]), ("b", [revisiting()])):
        made = archive(tmp_path / worker, worker=worker)
        made.open()
        made.append(entries)
        made.close()
    assert check(tmp_path / "a", tmp_path / "b") == ([], [])
    [problem] = check(tmp_path / "b")[0]
    assert "refers to a record of http://example.test/0 that is in none of these files" in problem


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: lines[1:], "lacks the line test,example)/0 "),
        (lambda lines: lines[:-1], "lacks the line"),
        (lambda lines: [*lines, b"zz)/ 20260725172000 {}\n"], "has a line without a record: zz)/"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "is not sorted"),
    ],
)
def test_an_index_that_is_not_that_of_its_file_is_found(job: Path, change: Change, expected: str) -> None:
    path = index_of(job)
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    assert any(expected in problem for problem in check(job)[0])


def test_an_index_that_is_missing_is_found(job: Path) -> None:
    index_of(job).unlink()
    [problem] = check(job)[0]
    assert "does not exist; scrapy archive index rebuilds it" in problem


def test_files_that_were_moved_away_are_told_and_their_lines_are_not_missed(job: Path) -> None:
    warc_of(job).unlink()
    problems, remarks = check(job)
    assert problems == []
    assert len(remarks) == 1
    assert "does not exist: only its index was checked" in remarks[0]


def test_a_304_has_no_line_in_the_index_and_is_not_missed_in_a_file_that_was_moved_away(
    tmp_path: Path,
) -> None:
    made = archive(tmp_path, index=True)
    made.open()
    again = capture(
        url="http://example.test/0",
        started_at=NOW + 50,
        response_head=b"HTTP/1.1 304 Not Modified\r\n\r\n",
        payload=b"",
    )
    line = record(url="http://example.test/0", start=NOW + 50, status=304)
    made.append(
        [*group(0), ArchiveEntry(line, again, Revisit("server-not-modified", "http://example.test/0", NOW))]
    )
    made.close()
    assert check(tmp_path) == ([], [])
    assert len(index_of(tmp_path).read_bytes().splitlines()) == GROUP
    warc_of(tmp_path).unlink()
    assert check(tmp_path)[0] == []


def test_a_revisit_of_another_payload_or_of_a_revisit_is_found(job: Path) -> None:
    other = Revisit("identical-payload-digest", "http://example.test/1", NOW + 1)
    chained = Revisit("identical-payload-digest", "http://example.test/again", NOW + 50)
    made = archive(job, index=True)
    made.open()
    for number, target in enumerate((other, chained), 60):
        entry = revisiting(target)
        assert entry.capture is not None
        entry.record.start = entry.capture.started_at = NOW + number
        made.append([entry])
    made.close()
    one, two = check(job)[0]
    assert "the record refers to a record of http://example.test/1 with another payload" in one
    assert "the record refers to a record of http://example.test/again that is a revisit itself" in two
    # The indexes know as much of files that are not here.
    first, _ = sorted((job / "warc").iterdir())
    first.unlink()
    assert check(job)[0] == [one, two]


def test_a_merged_index_has_the_lines_of_all(job: Path, tmp_path: Path) -> None:
    merged = tmp_path / "all.cdxj"
    written = index_of(job).read_bytes()
    merged.write_bytes(written)
    assert check(job, merged_index=merged) == ([], [])
    merged.write_bytes(written + b"zz)/ 20260725172000 {}\n")
    [problem] = check(job, merged_index=merged)[0]
    assert f"{merged}: has a line without a record: zz)/" in problem
    merged.write_bytes(b"")
    assert len(check(job, merged_index=merged)[0]) == len(written.splitlines())


def test_digests_are_those_of_the_writer(job: Path) -> None:
    assert digest(b"a", b"b") == digest(b"ab")
