from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from webcrawl.crawl.jobdir import Jobdir
from webcrawl.errors import JobdirLocked, JobdirUnusable

if TYPE_CHECKING:
    from pathlib import Path


def test_the_folder_is_made_with_all_above_it(tmp_path: Path) -> None:
    jobdir = Jobdir(tmp_path / "deep" / "crawl")
    jobdir.hold()
    assert (tmp_path / "deep" / "crawl").is_dir()
    jobdir.leave()


def test_a_folder_that_is_held_is_refused_to_others_with_the_name_of_who_holds_it(tmp_path: Path) -> None:
    first, second = Jobdir(tmp_path), Jobdir(tmp_path)
    first.hold()
    with pytest.raises(JobdirLocked, match=f"process {os.getpid()}; .*another JOBDIR"):
        second.hold()
    first.leave()
    second.hold()
    second.leave()


def test_one_who_was_refused_changes_nothing(tmp_path: Path) -> None:
    first = Jobdir(tmp_path)
    first.hold()
    before = (tmp_path / "lock").read_bytes()
    for _ in range(3):
        with pytest.raises(JobdirLocked):
            Jobdir(tmp_path).hold()
    assert (tmp_path / "lock").read_bytes() == before
    first.leave()


def test_the_lock_names_only_its_last_holder(tmp_path: Path) -> None:
    for _ in range(3):
        jobdir = Jobdir(tmp_path)
        jobdir.hold()
        jobdir.leave()
    assert (tmp_path / "lock").read_text() == f"process {os.getpid()}\n"


def test_a_folder_of_another_spider_is_refused(tmp_path: Path) -> None:
    jobdir = Jobdir(tmp_path)
    jobdir.refuse_another("books")
    jobdir.belongs_to("books")
    jobdir.belongs_to("news")
    jobdir.refuse_another("books")
    said = f"^JOBDIR {tmp_path} is a crawl of the spider books, and news would .*; give another JOBDIR$"
    with pytest.raises(JobdirUnusable, match=said):
        jobdir.refuse_another("news")


def test_a_name_that_was_not_written_to_its_end_refuses_nobody(tmp_path: Path) -> None:
    (tmp_path / "spider").touch()
    jobdir = Jobdir(tmp_path)
    jobdir.refuse_another("news")
    jobdir.belongs_to("news")
    assert (tmp_path / "spider").read_text() == "news\n"


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_name_that_cannot_be_read_is_said(tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        (tmp_path / "spider").mkdir()
    else:
        (tmp_path / "spider").write_bytes(content)
    with pytest.raises(JobdirUnusable, match=f"^{tmp_path}/spider cannot be read: "):
        Jobdir(tmp_path).refuse_another("news")


@pytest.mark.slow
def test_a_process_that_is_killed_gives_the_folder_back(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys; from webcrawl.crawl.jobdir import Jobdir; jobdir = Jobdir(pathlib.Path(sys.argv[1])); "
        "jobdir.hold(); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(JobdirLocked, match=f"process {process.pid}"):
            Jobdir(tmp_path).hold()
        process.kill()
    jobdir = Jobdir(tmp_path)
    jobdir.hold()
    jobdir.leave()


def test_leaving_twice_or_without_holding_does_nothing(tmp_path: Path) -> None:
    jobdir = Jobdir(tmp_path)
    jobdir.leave()
    jobdir.hold()
    jobdir.leave()
    jobdir.leave()


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "crawl").write_text("a file")
    with pytest.raises(JobdirUnusable, match="crawl cannot be used: "):
        Jobdir(tmp_path / "crawl").hold()


def test_a_folder_where_the_lock_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(JobdirUnusable, match="cannot be used"):
        Jobdir(tmp_path).hold()


def test_a_file_system_without_locks_is_not_taken_for_a_locked_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(JobdirUnusable, match="No locks available"):
        Jobdir(tmp_path).hold()


def test_a_full_disk_does_not_keep_the_folder_from_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", no_room)
    jobdir = Jobdir(tmp_path)
    jobdir.hold()
    with pytest.raises(JobdirLocked, match="another process"):
        Jobdir(tmp_path).hold()
    jobdir.leave()
