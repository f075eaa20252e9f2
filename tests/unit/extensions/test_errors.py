"""Anticipated errors in one log, unanticipated in another, and a brake for when the latter become many."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from webcrawl import fetch_errors
from webcrawl.extensions.errors import Brake, Counting, ErrorFile, Tracebacks, is_no_abandoned_lookup
from webcrawl.rotated_log import parts

if TYPE_CHECKING:
    from pathlib import Path


def test_the_brake_lets_so_many_pass_within_the_window_and_no_more() -> None:
    brake = Brake(most=3, window_seconds=10)
    assert [brake.event(now) for now in (0, 1, 2)] == [False] * 3
    assert brake.event(3)


def test_errors_that_come_one_by_one_never_brake() -> None:
    brake = Brake(most=3, window_seconds=10)
    assert not any(brake.event(now * 4.0) for now in range(1000))


def test_without_any_allowance_the_first_brakes() -> None:
    assert Brake(most=0, window_seconds=10).event(0)


def record(level: int, *, raised: bool) -> logging.LogRecord:
    error = ValueError("bad")
    info = (ValueError, error, None) if raised else None
    return logging.LogRecord("some.logger", level, "file.py", 1, "what %s", ("happened",), info)


@each_row(
    ("level", "raised", "passes"),
    [
        (logging.ERROR, True, True),
        (logging.CRITICAL, True, True),
        (logging.WARNING, True, False),
        (logging.ERROR, False, False),
    ],
)
def test_unanticipated_are_exceptions_logged_as_errors(level: int, raised: bool, passes: bool) -> None:
    assert Tracebacks().filter(record(level, raised=raised)) is passes
    counted: list[int] = []
    Counting(lambda: counted.append(1)).handle(record(level, raised=raised))
    assert bool(counted) is passes


def test_the_log_file_is_made_with_its_first_line_and_has_the_traceback(tmp_path: Path) -> None:
    file = ErrorFile(tmp_path / "unanticipated.log", 10_000, 0)
    assert not (tmp_path / "unanticipated.log").exists()
    file.handle(record(logging.ERROR, raised=True))
    file.close()
    text = (tmp_path / "unanticipated.log").read_text()
    assert "what happened\nValueError: bad\n" in text


def test_log_files_have_a_limit(tmp_path: Path) -> None:
    file = ErrorFile(tmp_path / "errors.log", 1000, 0)
    for _ in range(500):
        file.handle(record(logging.INFO, raised=False))
    file.close()
    assert len(parts(tmp_path / "errors.log")) > 3
    assert (tmp_path / "errors.log").stat().st_size <= 1000


def test_a_line_that_cannot_be_written_is_lost_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = ErrorFile(tmp_path / "no/such/folder/errors.log", 1000, 0)
    file.handle(record(logging.INFO, raised=False))
    assert capsys.readouterr().err == ""


def test_what_servers_sent_cannot_end_the_line_or_steer_a_terminal(tmp_path: Path) -> None:
    file = ErrorFile(tmp_path / "errors.log", 10_000, 0)
    fetch_errors.keep(file)
    try:
        assert fetch_errors.is_kept()
        fetch_errors.note("protocol", "http://a.test/\x1b[2J", via="http://b.test/\n", detail="x\r\ny" * 1000)
    finally:
        fetch_errors.leave(file)
    (line,) = (tmp_path / "errors.log").read_text().splitlines()
    assert line.endswith("protocol http://a.test/\\x1b[2J via http://b.test/\\n (" + line.partition(" (")[2])
    assert line.isprintable()
    assert len(line) < 1500


def test_anticipated_errors_stay_out_of_the_main_log() -> None:
    heard: list[str] = []

    class Main(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    main = Main()
    logging.root.addHandler(main)
    try:
        fetch_errors.note("timeout", "http://a.test/")
    finally:
        logging.root.removeHandler(main)
    assert not fetch_errors.is_kept()
    assert heard == []


@pytest.mark.parametrize(
    ("error", "is_logged"), [(socket.gaierror(-2, "unknown"), False), (OSError("a"), True)]
)
def test_a_look_up_that_fails_when_nobody_waits_any_more_is_no_error_of_the_crawl(
    error: OSError, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def abandon() -> None:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(error)
        del future
        gc.collect()

    logging.getLogger("asyncio").addFilter(is_no_abandoned_lookup)
    try:
        asyncio.run(abandon())
    finally:
        logging.getLogger("asyncio").removeFilter(is_no_abandoned_lookup)
    assert ("never retrieved" in caplog.text) is is_logged
