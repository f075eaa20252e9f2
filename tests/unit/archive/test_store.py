from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.archive import strictwarc
from tests.unit.archive.faultydisk import FaultyDisk
from tests.unit.archive.groups import GROUPS, archive, archived, group, logged, urls_of
from tests.unit.archive.samples import NOW, record
from webcrawl.archive.capture import ArchiveEntry
from webcrawl.archive.disk import ArchiveError, Disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_group_is_in_the_warc_and_in_the_log(
    tmp_path: Path, warcio_accepts: Callable[[Path], bool]
) -> None:
    target = archive(tmp_path / "job", Disk())
    assert target.open().sentences == ()
    for number in range(GROUPS):
        target.append(group(number))
    target.close()
    assert logged(tmp_path / "job") == archived(tmp_path / "job") == urls_of(range(GROUPS))
    assert all(map(warcio_accepts, (tmp_path / "job" / "warc").iterdir()))


def test_what_was_appended_is_readable_before_the_end(tmp_path: Path) -> None:
    target = archive(tmp_path)
    target.open()
    target.append(group(0))
    (path,) = (tmp_path / "warc").iterdir()
    found = strictwarc.parse(path.read_bytes())
    assert [each.url for each in found if each.type == "response"] == urls_of(range(1))
    assert logged(tmp_path) == urls_of(range(1))
    target.close()


def test_a_group_is_synced_once_per_file_and_a_new_file_with_its_folder(tmp_path: Path) -> None:
    disk = FaultyDisk()
    target = archive(tmp_path, disk)
    target.open()
    assert disk.made == ["open"]
    target.append(group(0))
    assert disk.made[1:] == ["open", *["write", "sync", "sync_folder"] * 2]
    target.append(group(1))
    assert disk.made[8:] == ["write", "sync"] * 2
    target.close()
    assert disk.made[12:] == ["rename", "sync_folder"]


class ForgettingDisk(FaultyDisk):
    """Remembers what the system was told to forget, and when."""

    def __init__(self) -> None:
        super().__init__()
        self.forgotten: list[tuple[int, int, str]] = []

    def forget(self, handle: int, start: int, length: int) -> None:
        super().forget(handle, start, length)
        self.forgotten.append((start, length, self.made[-1]))


def test_warc_files_need_not_be_held_in_memory_once_they_are_durable(tmp_path: Path) -> None:
    disk = ForgettingDisk()
    target = archive(tmp_path, disk)
    target.open()
    target.append(group(0))
    first = target.position.warc_bytes
    target.append([ArchiveEntry(record())])
    target.append(group(1))
    assert disk.forgotten == [
        (0, first, "sync_folder"),
        (first, target.position.warc_bytes - first, "sync"),
    ]
    target.close()
    assert archived(tmp_path) == urls_of(range(2))


def test_an_entry_without_a_capture_is_only_logged(tmp_path: Path) -> None:
    target = archive(tmp_path)
    target.open()
    target.append([ArchiveEntry(record(status=None, error="timeout"))])
    target.append([])
    target.close()
    assert len(logged(tmp_path)) == 1
    assert list((tmp_path / "warc").iterdir()) == []


def test_without_warc_only_the_log_is_written(tmp_path: Path) -> None:
    target = archive(tmp_path, warc=False)
    target.open()
    target.append(group(0))
    assert target.position == (None, 0, (tmp_path / "fetch.jsonl").stat().st_size)
    target.close()
    assert logged(tmp_path) == urls_of(range(1))
    assert not (tmp_path / "warc").exists()


def test_position_and_bytes_written_are_those_of_the_files(tmp_path: Path) -> None:
    target = archive(tmp_path)
    target.open()
    target.append(group(0))
    (path,) = (tmp_path / "warc").iterdir()
    sizes = (path.stat().st_size, (tmp_path / "fetch.jsonl").stat().st_size)
    assert target.position == (path.name.removesuffix(".open"), *sizes)
    assert target.bytes_written == sum(sizes)
    target.close()


def test_an_invalid_record_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    target = archive(tmp_path)
    target.open()
    with pytest.raises(ValueError, match="either status or error"):
        target.append([*group(0), ArchiveEntry(record(status=None))])
    target.append(group(1))
    target.close()
    assert logged(tmp_path) == archived(tmp_path) == urls_of(range(1, 2))


def test_the_first_entries_after_a_crash_are_appended_to_what_was_repaired(tmp_path: Path) -> None:
    target = archive(tmp_path)
    target.open()
    target.append(group(0))
    (path,) = (tmp_path / "warc").iterdir()
    with path.open("ab") as file:
        file.write(path.read_bytes()[:300])
    with (tmp_path / "fetch.jsonl").open("ab") as file:
        file.write(b'{"start":17')
    again = archive(tmp_path)
    report = again.open()
    assert len(report.sentences) == 2
    again.append(group(1))
    again.close()
    assert logged(tmp_path) == archived(tmp_path) == urls_of(range(2))
    with pytest.raises(ArchiveError):
        target.close()  # its file has been given its final name meanwhile


def test_the_clock_that_is_passed_in_gives_the_names(tmp_path: Path) -> None:
    target = archive(tmp_path, clock=lambda: NOW)
    target.open()
    target.append(group(0))
    target.close()
    assert [path.name for path in (tmp_path / "warc").iterdir()] == [
        "webcrawl-20260725172000123-00000-w0.warc.gz"
    ]
