from __future__ import annotations

import gzip
import logging
from typing import TYPE_CHECKING

import pytest

from tests.unit.archive.faultydisk import FaultyDisk, Killed
from tests.unit.archive.samples import record
from webcrawl.archive import fetchlog
from webcrawl.archive.disk import Disk, DiskFull
from webcrawl.archive.fetchlog import log_line, read
from webcrawl.archive.repair import repair

if TYPE_CHECKING:
    from pathlib import Path

EXPECTED = [f"http://a.test/{number}" for number in range(20)]
NAME = "fetch-20260725172000123.jsonl"
CHANGES = ["open", "write", "sync", "rename", "sync_folder", "remove"]


def rotated(directory: Path) -> Path:
    """A log whose first half is a rotated part."""
    plain = directory / NAME
    lines = [log_line(record(url=url)) for url in EXPECTED]
    plain.write_bytes(b"".join(lines[:10]))
    (directory / "fetch.jsonl").write_bytes(b"".join(lines[10:]))
    return plain


def urls(directory: Path) -> list[str]:
    return [line["url"] for line in read(directory)]


def test_a_compressed_part_takes_the_place_of_the_plain_one(tmp_path: Path) -> None:
    plain = rotated(tmp_path)
    content = plain.read_bytes()
    fetchlog.compress(plain, Disk())
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME + ".gz", "fetch.jsonl"]
    assert gzip.decompress((tmp_path / (NAME + ".gz")).read_bytes()) == content
    assert urls(tmp_path) == EXPECTED


@pytest.mark.parametrize("step", range(len(CHANGES)), ids=CHANGES)
def test_a_crash_at_any_step_loses_and_doubles_no_line(tmp_path: Path, step: int) -> None:
    disk = FaultyDisk(step, 1000, kills=True)
    with pytest.raises(Killed):
        fetchlog.compress(rotated(tmp_path), disk)
    assert disk.failed[0] == CHANGES[step]
    assert urls(tmp_path) == EXPECTED
    repair(tmp_path)
    assert urls(tmp_path) == EXPECTED
    fetchlog.Compressor(tmp_path, Disk()).run()
    assert urls(tmp_path) == EXPECTED
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME + ".gz", "fetch.jsonl"]


@pytest.mark.parametrize("step", range(len(CHANGES)), ids=CHANGES)
def test_a_full_disk_at_any_step_leaves_a_log_that_reads_whole_and_is_compressed_later(
    tmp_path: Path, step: int
) -> None:
    plain = rotated(tmp_path)
    with pytest.raises(DiskFull):
        fetchlog.compress(plain, FaultyDisk(step))
    assert urls(tmp_path) == EXPECTED
    assert not list(tmp_path.glob("*.part"))
    fetchlog.Compressor(tmp_path, Disk()).run()
    assert urls(tmp_path) == EXPECTED
    assert not plain.exists()


def test_the_compressor_works_on_a_thread_and_tells_of_a_full_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rotated(tmp_path)
    compressor = fetchlog.Compressor(tmp_path, FaultyDisk(1))
    with caplog.at_level(logging.WARNING):
        compressor.start()
        compressor.wait()
    assert "stays uncompressed" in caplog.text
    assert "No space left on device" in caplog.text
    compressor.start()
    compressor.wait()
    assert not (tmp_path / NAME).exists()


def test_a_reader_that_holds_a_part_open_keeps_its_lines(tmp_path: Path) -> None:
    plain = rotated(tmp_path)
    reader = read(tmp_path)
    first = next(reader)["url"]
    fetchlog.compress(plain, Disk())
    assert [first, *(line["url"] for line in reader)] == EXPECTED
