from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.archive.groups import GROUPS, archived, group, logged, urls_of
from tests.unit.archive.samples import INFO, record
from webcrawl.archive.capture import ArchiveEntry
from webcrawl.archive.disk import ArchiveError, DiskFull
from webcrawl.archive.process import (
    Payloads,
    RemoteArchive,
    entry_payload,
    entry_to_row,
    payload_bytes,
    row_to_entry,
)
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.errors import JobdirLocked

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[3]
KILLED = """
import os, signal, sys
from io import BytesIO
from pathlib import Path
from tests.unit.archive.groups import group
from tests.unit.archive.samples import INFO
from webcrawl.archive.process import entry_to_row, send
from webcrawl.archive.process import RemoteArchive
from webcrawl.crawl.jobdir import Jobdir

jobdir = Jobdir(Path(sys.argv[1]))
jobdir.hold()
archive = RemoteArchive(jobdir.path, held=jobdir.descriptors, worker="w0", info=INFO)
archive.open()
archive.append(group(0))
frame = BytesIO()
send(frame, [entry_to_row(entry) for entry in group(1)])
archive._archive_process.requests.write(frame.getvalue()[:-1])
archive._archive_process.requests.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def target(tmp_path: Path) -> Iterator[RemoteArchive]:
    made = RemoteArchive(tmp_path, worker="w0", info=INFO)
    yield made
    if made._archive_process is not None:
        made._archive_process.end()


def pid_of(target: RemoteArchive) -> int:
    assert target._archive_process is not None
    return target._archive_process._process.pid


@pytest.mark.parametrize("captured", [True, False])
def test_an_entry_is_the_same_at_the_other_end(captured: bool) -> None:
    entry = group(0)[0] if captured else ArchiveEntry(record(url="http://a/\ud800", extra={"attempt": 2}))
    if entry.capture is not None:
        entry.capture.protocol, entry.capture.cipher_suite = "h2", "TLS_AES_128_GCM_SHA256"
    row = entry_to_row(entry)
    assert payload_bytes(row) == len(entry_payload(entry))
    assert row_to_entry(row, entry_payload(entry)) == entry


def test_what_is_appended_is_kept_as_if_it_were_done_here(target: RemoteArchive, tmp_path: Path) -> None:
    assert target.open().sentences == ()
    for number in range(GROUPS):
        target.append(group(number))
        assert logged(tmp_path) == urls_of(range(number + 1))
    process = target._archive_process._process
    target.close()
    assert process.returncode == 0
    assert logged(tmp_path) == archived(tmp_path) == urls_of(range(GROUPS))


def test_a_process_that_has_grown_is_replaced_between_two_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webcrawl.archive.process.MEASURED_BYTES", 1)
    target = RemoteArchive(tmp_path, worker="w0", info=INFO, memory_bytes=1 << 20)
    target.open()
    processes = []
    for number in range(GROUPS):
        before = target.bytes_written
        target.append(group(number))
        processes.append(pid_of(target))
        assert target.bytes_written > before
        assert logged(tmp_path) == urls_of(range(number + 1))
    target.close()
    assert len({*processes}) == GROUPS
    assert logged(tmp_path) == archived(tmp_path) == urls_of(range(GROUPS))
    assert not any(Path(f"/proc/{process}").exists() for process in processes)


def test_the_code_is_found_where_this_process_found_it(
    target: RemoteArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook, whose path has the current folder as an empty string."""
    root = str(PROJECT)
    monkeypatch.chdir(root)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(sys, "path", ["", *(path for path in sys.path if path not in ("", root))])
    target.open()
    target.append(group(0))
    target.close()
    assert logged(tmp_path) == urls_of(range(1))


def test_a_process_that_cannot_be_started_leaves_no_file_open(
    target: RemoteArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr("webcrawl.archive.process.subprocess.Popen", refused)
    made: list[Payloads] = []
    new = Payloads.new
    monkeypatch.setattr(Payloads, "new", lambda: made.append(new()) or made[-1])
    with pytest.raises(ArchiveError, match="no more processes"):
        target.open()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(made[0].handle)


def test_what_a_crash_left_is_repaired_and_told(target: RemoteArchive, tmp_path: Path) -> None:
    (tmp_path / "fetch.jsonl").write_text('{"torn')
    [sentence] = target.open().sentences
    assert "fetch.jsonl" in sentence


def test_a_folder_that_cannot_be_used_is_named(target: RemoteArchive, tmp_path: Path) -> None:
    (tmp_path / "warc").write_text("no folder")
    with pytest.raises(ArchiveError, match="warc"):
        target.open()
    target.close()


def test_where_there_is_no_room_it_is_said_which_file_found_none(
    target: RemoteArchive, tmp_path: Path
) -> None:
    (tmp_path / "fetch.jsonl").symlink_to("/dev/full")
    target.open()
    with pytest.raises(DiskFull) as told:
        target.append(group(0))
    assert told.value.path == tmp_path / "fetch.jsonl"


def test_an_entry_that_is_no_line_is_a_mistake_with_its_traceback(
    target: RemoteArchive, tmp_path: Path
) -> None:
    target.open()
    with pytest.raises(RuntimeError, match="either status or error must be set"):
        target.append([ArchiveEntry(record(status=None, error=None))])
    target.append(group(0))
    target.close()
    assert logged(tmp_path) == urls_of(range(1))


def test_signals_that_end_the_crawl_do_not_end_its_archive(target: RemoteArchive, tmp_path: Path) -> None:
    target.open()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid_of(target), each)
    assert os.getpgid(pid_of(target)) != os.getpgid(0)
    target.append(group(0))
    target.close()
    assert archived(tmp_path) == urls_of(range(1))


def test_when_the_process_is_gone_the_crawl_hears_how_it_ended(target: RemoteArchive, tmp_path: Path) -> None:
    target.open()
    target.append(group(0))
    os.kill(pid_of(target), signal.SIGKILL)
    for step in (lambda: target.append(group(1)), target.close):
        with pytest.raises(ArchiveError, match="status -9"):
            step()
    assert logged(tmp_path) == urls_of(range(1))


def killed(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_of_a_crawl_that_is_killed_whole_groups_stay_and_files_are_closed(tmp_path: Path) -> None:
    killed(tmp_path)
    jobdir = Jobdir(tmp_path)
    jobdir.hold()
    jobdir.leave()
    assert logged(tmp_path) == archived(tmp_path) == urls_of(range(1))


def test_nobody_takes_the_folder_of_a_killed_crawl_while_somebody_still_works_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(tmp_path)
    with (tmp_path / "lock").open() as left:
        fcntl.flock(left, fcntl.LOCK_EX)
        jobdir = Jobdir(tmp_path)
        monkeypatch.setattr("webcrawl.crawl.jobdir.AFTERMATH_SECONDS", 0.2)
        with pytest.raises(JobdirLocked, match="still being written by a child of process"):
            jobdir.hold()
        monkeypatch.setattr("webcrawl.crawl.jobdir.AFTERMATH_SECONDS", 20.0)
        threading.Timer(0.2, lambda: fcntl.flock(left, fcntl.LOCK_UN)).start()
        jobdir.hold()
        jobdir.leave()


def test_a_start_waits_for_a_slow_child_of_a_killed_crawl_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    killed(tmp_path)
    waited = 0.0
    with (tmp_path / "lock").open() as left:
        fcntl.flock(left, fcntl.LOCK_EX)

        def sleep(seconds: float) -> None:
            nonlocal waited
            waited += seconds
            if waited >= 120:  # seconds that stand still here
                fcntl.flock(left, fcntl.LOCK_UN)

        monkeypatch.setattr("webcrawl.crawl.jobdir.time.sleep", sleep)
        jobdir = Jobdir(tmp_path)
        jobdir.hold()
        jobdir.leave()
    assert 120 <= waited < 121
    assert capsys.readouterr().err.count("waiting for the archive process of a killed crawl") == 1


def test_a_crawl_whose_parent_has_not_looked_after_it_is_gone(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    jobdir = Jobdir(tmp_path)
    jobdir.hold()
    jobdir.leave()
    assert child.wait() == -signal.SIGKILL


def test_a_folder_of_a_living_crawl_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Jobdir(tmp_path), Jobdir(tmp_path)
    one.hold()
    monkeypatch.setattr("webcrawl.crawl.jobdir.time.sleep", pytest.fail)
    with pytest.raises(JobdirLocked, match=f"process {os.getpid()}"):
        other.hold()
    one.leave()
