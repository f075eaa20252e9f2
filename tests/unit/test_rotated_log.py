"""Log files: rotated, compressed, deleted after some days; whole lines of several processes; a full disk."""

from __future__ import annotations

import errno
import gzip
import json
import logging
import os
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from webcrawl import rotated_log
from webcrawl.rotated_log import (
    AGAIN_SECONDS,
    DAY,
    MESSAGE_MAX,
    JsonLines,
    PlainLines,
    RotatedLog,
    keep_house,
    next_part,
    parts,
)

if TYPE_CHECKING:
    from pathlib import Path

NOON = 1_770_000_000.0 // DAY * DAY + DAY / 2


def record(message: str, *args: object, exception: BaseException | None = None) -> logging.LogRecord:
    given = None if exception is None else (type(exception), exception, exception.__traceback__)
    made = logging.LogRecord("webcrawl.part", logging.WARNING, __file__, 1, message, args, given)
    made.created, made.msecs = NOON + 0.25, 250.0
    return made


class Log:
    """A log, its clock, and what is in its files."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.now = NOON
        self.path = folder / "crawl.log"
        self.handler = RotatedLog(self.path, **{"roll_bytes": 10_000, "clock": lambda: self.now, **options})
        self.handler.setFormatter(logging.Formatter("%(message)s"))

    def write(self, *messages: str) -> None:
        for message in messages:
            self.handler.handle(record("%s", message))

    def close(self) -> None:
        self.handler.close()

    def lines(self) -> list[str]:
        """The lines of all files, oldest first."""
        found = []
        for path in [*parts(self.path), self.path]:
            if path.suffix == ".gz":
                found += gzip.decompress(path.read_bytes()).decode().splitlines()
            elif path.exists():
                found += path.read_text().splitlines()
        return found


def test_a_file_is_rotated_by_size_and_compressed(tmp_path: Path) -> None:
    log = Log(tmp_path, roll_bytes=1000)
    told = [f"message {number}" for number in range(300)]
    for one in told:
        log.write(one)
        log.now += 1
    log.close()
    Log(tmp_path).handler._keep_house(log.now)
    keep_house(log.path, None)
    assert log.lines() == told
    assert len(parts(log.path)) >= 3
    assert {path.suffix for path in parts(log.path)} == {".gz"}
    assert log.path.stat().st_size <= 1000


def test_a_file_is_rotated_at_midnight_utc_also_over_a_restart(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write("on the first day")
    log.now += DAY
    log.write("on the second day")
    log.close()
    os.utime(log.path, (log.now, log.now))
    later = Log(tmp_path)
    later.now = log.now + DAY
    later.write("on the third day")
    later.write("on the third day, too")
    later.close()
    assert len(parts(log.path)) == 2
    assert later.path.read_text() == "on the third day\non the third day, too\n"


def test_logs_of_errors_are_not_rotated_at_midnight(tmp_path: Path) -> None:
    log = Log(tmp_path, is_daily=False)
    log.write("one")
    log.now += 3 * DAY
    log.write("two")
    log.close()
    assert log.path.read_text() == "one\ntwo\n"


def test_rotated_files_are_deleted_when_they_are_too_old(tmp_path: Path) -> None:
    log = Log(tmp_path, keep_days=30)
    for day in range(40):
        log.now = NOON + day * DAY
        log.write(f"on day {day}")
    log.close()
    keep_house(log.path, log.now - 30 * DAY)
    assert log.lines() == [f"on day {day}" for day in range(8, 40)]
    other = tmp_path / "crawl-notes.log"
    other.write_text("not ours")
    keep_house(log.path, log.now + DAY)
    assert other.exists()


def test_no_name_is_given_twice_when_the_clock_is_set_back(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"
    names = []
    for now in (NOON, NOON, NOON - 5000, NOON + 1):
        names.append(next_part(path, now))
        names[-1].touch()
    assert len(set(names)) == 4
    assert parts(path) == names


def test_a_crash_in_a_compression_is_repaired(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write("a")
    part = next_part(log.path, NOON)
    log.path.rename(part)
    compressed = part.with_name(part.name + ".gz")
    compressed.write_bytes(gzip.compress(b"a\n"))
    (tmp_path / "crawl-20260101000000000.log.gz.part").write_bytes(b"x")
    assert parts(log.path) == [compressed]
    keep_house(log.path, None)
    assert [path.name for path in tmp_path.iterdir()] == [compressed.name]


def test_a_half_line_that_a_kill_left_is_ended(tmp_path: Path) -> None:
    (tmp_path / "crawl.log").write_text("whole\nhal")
    log = Log(tmp_path)
    os.utime(log.path, (NOON, NOON))
    log.write("next")
    log.close()
    assert log.lines() == ["whole", "hal", "next"]


def test_a_full_disk_loses_lines_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log(tmp_path, roll_bytes=60)
    log.write("before the disk was full")
    write = os.write

    def full(handle: int, data: bytes) -> int:
        if len(data) > 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data)

    def nearly_full(handle: int, data: bytes) -> int:
        return write(handle, data[:4])

    monkeypatch.setattr(rotated_log.os, "write", full)
    log.write(*["does not fit"] * 5)
    monkeypatch.setattr(rotated_log.os, "write", nearly_full)
    log.write("half of this")
    monkeypatch.setattr(rotated_log.os, "write", write)
    log.write("after it")
    log.close()
    assert log.lines() == ["before the disk was full", "half", "after it"]
    assert capsys.readouterr().err == ""


def test_a_file_that_cannot_be_rotated_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path, roll_bytes=10)
    refusal = OSError(errno.EACCES, "no")

    def refused(path: Path, now: float) -> Path:
        raise refusal

    with monkeypatch.context() as patch:
        patch.setattr(rotated_log, "next_part", refused)
        log.write("message 1", "message 2", "message 3")
    log.write("message 4")
    assert parts(log.path) == []
    log.now += AGAIN_SECONDS
    log.write("message 5")
    log.close()
    assert log.lines() == [f"message {number}" for number in range(1, 6)]
    assert log.path.read_text() == "message 5\n"


def test_a_removed_file_is_begun_anew(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write("one")
    log.path.unlink()
    log.write("two")
    log.close()
    assert log.lines() == ["two"]


def test_several_writers_of_one_file_tear_and_lose_no_line(tmp_path: Path) -> None:
    """Each has its own open file, as processes have; one rotates it for all."""
    logs = [Log(tmp_path, roll_bytes=4000) for _ in range(4)]
    messages = [[f"{writer} {number} {'x' * (number % 90)}." for number in range(200)] for writer in range(4)]

    def writes(log: Log, told: list[str]) -> None:
        log.write(*told)

    threads = [threading.Thread(target=writes, args=pair) for pair in zip(logs, messages, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    logs[0].write("last")
    for log in logs:
        log.close()
    keep_house(logs[0].path, None)
    assert Counter(logs[0].lines()) == Counter(["last", *(line for told in messages for line in told)])
    assert parts(logs[0].path)


def test_text_lines_begin_with_a_time_and_steer_no_terminal() -> None:
    try:
        raise ValueError("bad\x1b[2J\nvalue")
    except ValueError as error:
        text = PlainLines().format(record("%s\r2026-01-01 forged", "a\nb", exception=error))
    first, *others = text.splitlines()
    assert first.endswith(" [webcrawl.part] WARNING: a")
    assert first[10] == "T"
    assert first[19:23] == ".250"
    assert all(line.startswith("    ") for line in others)
    assert "\x1b" not in text
    assert "\\x1b[2J" in text


def test_json_lines_have_all_of_a_message() -> None:
    try:
        raise ValueError("bad")
    except ValueError as error:
        line = json.loads(JsonLines("w1").format(record("told %s\n", "ü", exception=error)))
    assert line.pop("exception").endswith("ValueError: bad")
    assert line == {
        "at": NOON + 0.25,
        "level": "WARNING",
        "logger": "webcrawl.part",
        "worker": "w1",
        "message": "told ü\n",
    }


@pytest.mark.parametrize("formatter", [PlainLines(), JsonLines("w1")])
def test_a_message_of_two_megabytes_is_cut(formatter: logging.Formatter) -> None:
    text = formatter.format(record("%s", "x" * 2_000_000))
    assert len(text) < MESSAGE_MAX + 300
    assert "characters more)" in text


def test_a_message_that_cannot_be_formatted_is_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log(tmp_path)
    log.handler.handle(record("%d", "no number"))
    log.write("next")
    log.close()
    assert log.lines() == ["next"]
    assert capsys.readouterr().err == ""


def test_a_file_that_is_open_gets_its_first_line_when_no_further_one_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, late = Log(tmp_path / "a"), Log(tmp_path / "b")
    for log in (opened, late):
        log.path.parent.mkdir()
    opened.handler.open()

    def none_left(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(rotated_log.os, "open", none_left)
        late.handler.open()
        for log in (opened, late):
            log.handler.handle(record("no more files"))
    assert opened.path.read_text() == "no more files\n"
    assert not late.path.exists()
    late.handler.handle(record("files again"))
    assert late.path.read_text() == "files again\n"
    for log in (opened, late):
        log.handler.close()
