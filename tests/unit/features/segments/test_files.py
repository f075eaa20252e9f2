"""Segments: the same queue makes the same bytes, and what was written is read again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.samples import entry
from tests.rows import each_row
from webcrawl.features.segments import files
from webcrawl.features.segments.files import LineError, entry_to_line, line_to_entry
from webcrawl.frontier.records import CARRIED, UrlEntry
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host

CASES = json.loads((Path(__file__).parents[3] / "data/segments_lines.json").read_text("utf-8"))
IDENTITY = {"POLITENESS_KEY": "host"}
FULL = entry(
    "http://b.test/%C3%A9",
    -3,
    0,
    depth=4,
    via="http://a.test/",
    kind="sitemap",
    redirects=2,
    attempts=1,
    repeat=True,
    **{name: f"its {name}" for name in CARRIED},
)
QUEUE = [FULL, *(entry(f"http://{host}.test/{n}", 0, 0) for host in "cab" for n in range(3))]


def complete(url: str) -> tuple[str, int]:
    return get_host(url), fingerprint(url)


def written(folder: Path, entries: list[UrlEntry], urls_each: int) -> list[tuple[str, int]]:
    return [
        (path.name, n) for path, n in files.write(folder, files.SortedEntries(entries), IDENTITY, urls_each)
    ]


def read(path: Path, identity: dict[str, str] = IDENTITY) -> list[UrlEntry]:
    return list(files.read(path, complete, identity))


@each_row("case", CASES["right"], ids=lambda case: json.dumps(case["line"]))
def test_a_line_is_read(case: dict[str, Any]) -> None:
    found = line_to_entry(json.dumps(case["line"]), complete)
    for name, value in case["has"].items():
        assert getattr(found, name) == value
    assert line_to_entry(entry_to_line(found), complete) == found


@each_row("case", CASES["wrong"], ids=lambda case: case["line"])
def test_a_line_that_is_none_says_why(case: dict[str, str]) -> None:
    with pytest.raises(LineError, match=case["says"]):
        line_to_entry(case["line"], complete)


def test_keys_are_sorted_and_never_cut(tmp_path: Path) -> None:
    assert written(tmp_path, QUEUE, 4) == [("segment-00001.jsonl.gz", 7), ("segment-00002.jsonl.gz", 3)]
    keys = [one.key for name in sorted(tmp_path.iterdir()) for one in read(name)]
    assert keys == ["a.test"] * 3 + ["b.test"] * 4 + ["c.test"] * 3


def test_what_was_written_is_read_again_at_any_size(tmp_path: Path) -> None:
    for each in (1, 3, 5, 100):
        written(tmp_path / str(each), QUEUE, each)
        found = [one for path in sorted((tmp_path / str(each)).iterdir()) for one in read(path)]
        assert found == sorted(QUEUE, key=lambda one: one.key)


def test_the_same_queue_makes_the_same_bytes(tmp_path: Path) -> None:
    # In whatever order its keys come.
    for name, entries in (("one", QUEUE), ("two", [*QUEUE[4:7], QUEUE[0], *QUEUE[7:], *QUEUE[1:4]])):
        written(tmp_path / name, entries, 4)
    one, two = (sorted((tmp_path / name).iterdir()) for name in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_nothing_queued_makes_no_file(tmp_path: Path) -> None:
    assert written(tmp_path, [], 0) == []


def test_a_folder_with_segments_is_not_written_over(tmp_path: Path) -> None:
    written(tmp_path, QUEUE, 4)
    with pytest.raises(files.SegmentError, match="holds segment-00001"):
        written(tmp_path, QUEUE, 4)


def test_a_segment_of_other_rules_is_refused(tmp_path: Path) -> None:
    written(tmp_path, QUEUE, 100)
    path = tmp_path / "segment-00001.jsonl.gz"
    with pytest.raises(
        files.SegmentError, match="POLITENESS_KEY=host, and this crawl has POLITENESS_KEY=domain"
    ):
        read(path, {"POLITENESS_KEY": "domain"})
    path.write_bytes(gzip.compress(b'{"segment": 9}\n'))
    with pytest.raises(files.SegmentError, match="version 9"):
        read(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"url":"http://a.test/"}\n{"url":5}\n', "line 2 is no object with a url"),
        (gzip.compress(b'{"url":"http://a.test/"}\n' * 5000)[:-40], "cannot be read"),
        (b"\x1f\x8bthis is no gzip", "cannot be read"),
        (b"\x00\xff\n", "line 1 is no JSON"),
    ],
)
def test_a_damaged_file_is_told_with_its_name(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes(content)
    with pytest.raises(files.SegmentError, match=f"some.jsonl.*{says}"):
        read(path)
    with pytest.raises(files.SegmentError, match="none cannot be read"):
        read(tmp_path / "none")


def test_a_list_of_urls_by_hand_is_a_segment(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"url":"http://A.test"}\n\n{"url":"http://b.test/x","level":7}\n')
    assert [(one.url, one.key, one.level) for one in read(path)] == [
        ("http://a.test/", "a.test", 0),
        ("http://b.test/x", "b.test", 7),
    ]
