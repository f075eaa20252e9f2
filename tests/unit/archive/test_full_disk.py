"""A disk that refuses any single change, that is full, or whose process is killed at any change."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.archive.faultydisk import NEVER, FaultyDisk, Killed
from tests.unit.archive.groups import GROUP, GROUPS, archive, archived, group, logged, urls_of
from tests.unit.archive.samples import NOW, entry, noise, ticking
from webcrawl.archive.disk import ArchiveError, Disk, DiskFull

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.archive.store import Archive

PROJECT = Path(__file__).parents[3]


def test_a_group_far_larger_than_the_buffer_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    big = [entry(number, noise(700_000, seed=number)) for number in range(4)]
    disk = FaultyDisk(fails_at=3)
    target = archive(tmp_path, disk)
    target.open()
    with pytest.raises(DiskFull):
        target.append(big)
    assert disk.failed == ["write"]
    assert logged(tmp_path) == []
    assert [path.stat().st_size for path in (tmp_path / "warc").iterdir()] == [0]
    target.append(big)
    target.close()
    assert logged(tmp_path) == archived(tmp_path) == [each.record.url for each in big]


def attempts(target: Archive, number: int) -> Iterator[ArchiveError]:
    """Append a group as often as it takes; what each failure said."""
    for _ in range(20):
        try:
            target.append(group(number))
        except ArchiveError as error:
            yield error
        else:
            return
    raise AssertionError("the group was never taken")


SMALL: dict[str, Any] = {"roll_bytes": 6000, "log_roll_bytes": 1500, "index": True}


def run(directory: Path, disk: FaultyDisk) -> tuple[int, list[ArchiveError]]:
    """Put all groups into an archive that rolls and rotates. Returns how many changes, and which failures."""
    target = archive(directory, disk, **SMALL)
    failures: list[ArchiveError] = []
    target.open()
    for number in range(GROUPS):
        for error in attempts(target, number):
            failures.append(error)
            found = logged(directory)
            if "truncate" not in disk.failed:
                assert found == urls_of(range(number))
            else:  # what could not be taken back is seen until it can
                assert found == urls_of(range(number + 1))[: len(found)]
                assert len(found) >= number * GROUP
    calls = disk.calls
    target.close()
    return calls, failures


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("fails_for", [1, 4])
def test_whatever_change_the_disk_refuses_nothing_is_torn_lost_or_doubled(
    tmp_path: Path, code: int, fails_for: int
) -> None:
    changes, failures = run(tmp_path / "whole", FaultyDisk())
    assert failures == []
    kinds = set()
    for fails_at in range(1, changes):  # number 0 opens the log: a start on a full disk, tested below
        directory = tmp_path / str(fails_at)
        disk = FaultyDisk(fails_at, fails_for, code)
        _, failures = run(directory, disk)
        kinds.update(disk.failed)
        assert logged(directory) == archived(directory) == urls_of(range(GROUPS)), fails_at
        assert not list(directory.rglob("*.open"))
        assert all(isinstance(error, DiskFull) == (code != errno.EIO) for error in failures)
        assert all(os.strerror(code) in str(error) and str(directory) in str(error) for error in failures)
        shutil.rmtree(directory)
    assert kinds >= {"open", "write", "sync", "truncate", "rename", "sync_folder"} - (
        {"truncate"} if fails_for == 1 else set()
    )


def test_a_kill_at_any_change_loses_no_group_that_was_kept_and_tears_nothing(tmp_path: Path) -> None:
    changes, _ = run(tmp_path / "whole", FaultyDisk())
    for fails_at in range(changes + 4):
        directory = tmp_path / str(fails_at)
        target = archive(directory, FaultyDisk(fails_at, NEVER, kills=True), **SMALL)
        kept = 0
        try:
            target.open()
            for number in range(GROUPS):
                target.append(group(number))
                kept = number + 1
            target.close()
        except Killed:
            pass
        again = archive(directory, clock=ticking(NOW + 60).__next__, **SMALL)
        again.open()
        found = logged(directory)
        again.append([entry(99)])
        again.close()
        for urls in (found, archived(directory)[:-1]):
            assert urls[: kept * GROUP] == urls_of(range(kept)), fails_at
            assert urls == urls_of(range(GROUPS))[: len(urls)]
            assert len(urls) <= (kept + 1) * GROUP
        assert logged(directory) == [*found, "http://example.test/99"]
        shutil.rmtree(directory)


def test_a_start_on_a_full_disk_says_so(tmp_path: Path) -> None:
    target = archive(tmp_path, FaultyDisk(0))
    with pytest.raises(DiskFull, match=r"fetch\.jsonl: No space left on device"):
        target.open()


def test_a_close_that_cannot_rename_leaves_a_whole_file_for_the_next_start(tmp_path: Path) -> None:
    disk = FaultyDisk()
    target = archive(tmp_path, disk)
    target.open()
    target.append(group(0))
    disk._failing = range(disk.calls, disk.calls + 100)
    with pytest.raises(DiskFull):
        target.close()
    again = archive(tmp_path)
    (sentence,) = again.open().sentences
    assert sentence.endswith(": closed with 7 whole records.")
    again.close()
    assert archived(tmp_path) == logged(tmp_path) == urls_of(range(1))


def test_a_limit_of_the_process_on_file_sizes_tears_nothing(tmp_path: Path) -> None:
    target = archive(tmp_path, Disk())
    target.open()
    target.append(group(0))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (target.position.warc_bytes + 1500, hard))
    try:
        with pytest.raises(ArchiveError, match="File too large"):
            target.append(group(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    target.append(group(2))
    target.close()
    assert archived(tmp_path) == logged(tmp_path) == [*urls_of(range(1)), *urls_of(range(2, 3))]


ON_A_TINY_DISK = """
import pathlib, sys
from tests.unit.archive.groups import archive, archived, group, logged, urls_of
from webcrawl.archive.disk import Disk
from webcrawl.archive.disk import DiskFull

directory = pathlib.Path(sys.argv[1])
ballast = directory / "ballast"
ballast.write_bytes(bytes(180_000))
target = archive(directory, Disk(), roll_bytes=30_000, log_roll_bytes=4_000)
target.open()
refused = 0
for number in range(60):
    while True:
        try:
            target.append(group(number))
            break
        except DiskFull as error:
            refused += 1
            assert "No space left on device" in str(error)
            assert refused < 50
            left = ballast.stat().st_size - 20_000
            with ballast.open("r+b") as file:
                file.truncate(max(0, left))
target.close()
assert refused > 0
assert logged(directory) == archived(directory) == urls_of(range(60))
print("refused", refused)
"""


@pytest.mark.slow
def test_a_disk_that_is_really_full_pauses_the_archive_and_loses_nothing(tmp_path: Path) -> None:
    mount = f'mount -t tmpfs -o size=400k tiny "{tmp_path}" && exec "$@" "{tmp_path}"'
    inner = [sys.executable, "-c", ON_A_TINY_DISK]
    own_root = ["unshare", "--mount", "--map-root-user"]
    try:
        possible = subprocess.run([*own_root, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        possible = False
    if not possible:
        pytest.skip("needs unshare with a mount namespace of its own")
    done = subprocess.run(
        [*own_root, "sh", "-c", mount, "sh", *inner], capture_output=True, text=True, check=False, cwd=PROJECT
    )
    assert done.returncode == 0, done.stderr
    assert "refused" in done.stdout
