from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from tests.unit.archive.faultydisk import FaultyDisk
from tests.unit.archive.samples import NOW, record, ticking
from webcrawl.archive.capture import ArchiveEntry
from webcrawl.archive.disk import ArchiveError
from webcrawl.archive.fetchlog import FetchLog, log_line, read

if TYPE_CHECKING:
    from pathlib import Path

CONTRACT = [
    *("start", "end", "url", "key", "ip", "kind", "status"),
    *("mime", "bytes", "location", "via", "depth", "worker"),
]


def log(directory: Path, **changes: Any) -> FetchLog:
    settings: dict[str, Any] = {"clock": ticking().__next__, "disk": FaultyDisk()}
    opened = FetchLog(directory, **(settings | changes))
    opened.open()
    return opened


def write(target: FetchLog, *urls: str) -> None:
    """One group."""
    target.roll_if_full()
    target.write([ArchiveEntry(record(url=url)) for url in urls])
    target.sync()
    target.keep()


def urls(directory: Path) -> list[str]:
    return [line["url"] for line in read(directory)]


def test_a_line_has_the_fields_of_the_contract_in_their_order() -> None:
    line = json.loads(log_line(record()))
    assert list(line) == CONTRACT
    assert list(json.loads(log_line(record(status=None, error="timeout")))) == [
        "error" if name == "status" else name for name in CONTRACT
    ]
    assert line["url"] == "http://example.test/page"


def test_further_facts_follow_the_contract() -> None:
    extra = {"truncated": "length", "attempt": 2, "rate": 1.5, "seen": False, "none": None}
    line = json.loads(log_line(record(extra=extra)))
    assert list(line) == [*CONTRACT, *extra]
    assert {name: line[name] for name in extra} == extra


def test_times_are_kept_to_the_microsecond() -> None:
    line = json.loads(log_line(record(start=NOW, end=NOW + 1.0000004)))
    assert (line["start"], line["end"]) == (1_785_000_000.123456, 1_785_000_001.123456)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_know_is_null(value: float) -> None:
    assert json.loads(log_line(record(extra={"rate": value})))["rate"] is None


@each_row(
    "changes",
    [{"error": "timeout"}, {"status": None}, {"extra": {"url": "x"}}, {"extra": {"error": "x"}}],
)
def test_a_record_that_is_no_valid_line_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="example"):
        log_line(record(**changes))


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=40))
def test_no_text_breaks_a_line_or_reaches_a_terminal(text: str) -> None:
    line = log_line(record(mime=text, location=text, extra={"note": text}))
    assert line.count(b"\n") == 1
    assert all(0x20 <= byte < 0x7F for byte in line[:-1])
    found = json.loads(line)
    assert found["mime"] == found["location"] == found["note"] == text


def test_lines_are_read_in_the_order_of_writing_over_rotated_and_current_files(tmp_path: Path) -> None:
    target = log(tmp_path, roll_bytes=500)
    expected = [f"http://a.test/{number}" for number in range(40)]
    for url in expected:
        write(target, url)
        assert urls(tmp_path)[-1] == url
    target.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names[0] == "fetch-20260725172000123.jsonl.gz"
    assert names[-1] == "fetch.jsonl"
    assert len(names) == 14
    assert all(name.endswith(".jsonl.gz") for name in names[:-1])
    assert urls(tmp_path) == expected


def test_a_clock_that_is_set_back_does_not_change_the_order(tmp_path: Path) -> None:
    expected = [f"http://a.test/{number}" for number in range(12)]
    target = log(tmp_path, roll_bytes=1, clock=ticking(step=-1000.0).__next__)
    for url in expected:
        write(target, url)
    target.close()
    assert urls(tmp_path) == expected


def test_a_log_goes_on_after_it_was_closed(tmp_path: Path) -> None:
    for number in range(3):
        target = log(tmp_path)
        write(target, f"http://a.test/{number}")
        target.close()
    assert urls(tmp_path) == [f"http://a.test/{number}" for number in range(3)]


def test_a_group_that_is_rolled_back_leaves_no_line(tmp_path: Path) -> None:
    target = log(tmp_path)
    write(target, "http://a.test/1")
    target.write([ArchiveEntry(record(url="http://a.test/" + "x" * 2_000_000))])
    target.rollback()
    write(target, "http://a.test/2")
    target.close()
    assert urls(tmp_path) == ["http://a.test/1", "http://a.test/2"]


def test_a_line_that_is_still_being_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "fetch.jsonl").write_bytes(log_line(record(url="http://a.test/1")) + b'{"url":"http://a.t')
    assert urls(tmp_path) == ["http://a.test/1"]


def test_a_folder_without_a_log_has_no_lines(tmp_path: Path) -> None:
    assert urls(tmp_path) == []


def test_a_reader_meets_a_rotation_half_way_and_misses_nothing(tmp_path: Path) -> None:
    target = log(tmp_path, roll_bytes=1)
    expected = [f"http://a.test/{number}" for number in range(6)]
    for url in expected[:3]:
        write(target, url)
    reader = read(tmp_path)
    first = next(reader)["url"]
    for url in expected[3:]:
        write(target, url)
    assert [first, *(line["url"] for line in reader)] == expected
    target.close()


@pytest.mark.parametrize("damage", [b"\0\0\0\n", b"[1]\n", b'{"url":\n', b"\xff\n"])
def test_a_damaged_line_is_told_and_does_not_end_the_reading_unless_asked(
    tmp_path: Path, damage: bytes
) -> None:
    line = log_line(record())
    (tmp_path / "fetch.jsonl").write_bytes(line + damage + line)
    with pytest.raises(ArchiveError, match=r"fetch\.jsonl: line 2 is no JSON object"):
        list(read(tmp_path))
    told: list[str] = []
    assert len(list(read(tmp_path, told.append))) == 2
    assert len(told) == 1


def test_a_damaged_compressed_part_is_named(tmp_path: Path) -> None:
    target = log(tmp_path, roll_bytes=1)
    for number in range(2):
        write(target, f"http://a.test/{number}")
    target.close()
    part = next(tmp_path.glob("*.gz"))
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(ArchiveError, match=r"fetch-\d+\.jsonl: its compressed form is damaged"):
        list(read(tmp_path))


def test_parts_are_deleted_when_they_are_older_than_lines_are_kept(tmp_path: Path) -> None:
    day = 86_400.0
    now = [1_700_000_000.0]
    target = log(tmp_path, roll_bytes=1, keep_days=31, clock=lambda: now[0])
    for number in range(5):
        write(target, f"http://a.test/{number}")
        now[0] += 10 * day
    write(target, "http://a.test/last")
    target.close()

    assert urls(tmp_path) == [
        "http://a.test/1",
        "http://a.test/2",
        "http://a.test/3",
        "http://a.test/4",
        "http://a.test/last",
    ]
    now[0] += 100 * day
    log(tmp_path, keep_days=0, clock=lambda: now[0]).close()
    assert len(urls(tmp_path)) == 5
    log(tmp_path, keep_days=31, clock=lambda: now[0]).close()
    assert urls(tmp_path) == ["http://a.test/last"]
