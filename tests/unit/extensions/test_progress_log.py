"""Now and then a crawl writes down how it stands and what it has taken, and misses nothing if it cannot."""

from __future__ import annotations

import asyncio
import errno
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings

from webcrawl.config import Configuration
from webcrawl.extensions import progress_log as extension
from webcrawl.extensions.progress_log import ProgressLog
from webcrawl.frontier.tally import Snapshot, Tally
from webcrawl.processes import cpu_seconds
from webcrawl.reports import progress_log

if TYPE_CHECKING:
    from collections.abc import Iterator


def snapshot(workers: int | None = None) -> Snapshot:
    return Snapshot(5, 4, 3, 2, 1, 0, 0, 7, 0, None, None, workers=workers)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProgressLog:
    frontier: Any = SimpleNamespace(tally=Tally(pages=9, bytes=99), snapshot=snapshot)
    monkeypatch.setattr(extension, "get_frontier", lambda crawler: frontier)
    monkeypatch.setattr(extension, "get_folder", lambda crawler: tmp_path)
    crawler: Any = SimpleNamespace()
    return ProgressLog(crawler, Configuration(progress_log_seconds=0.01, worker_name="w1"))


async def opened_for(log: ProgressLog, lines: int, folder: Path) -> None:
    log.spider_opened()
    for _ in range(2_000):
        if len(list(progress_log.read(folder))) >= lines:
            break
        await asyncio.sleep(0.005)
    await log.spider_closed()


UNTOLD = ("at", "run", "cpu_seconds", "memory")
NO_PAGES = dict.fromkeys(("pages_2xx", "pages_3xx", "pages_4xx", "pages_5xx", "pages_other"), 0)


def test_lines_say_how_the_crawl_stands(made: ProgressLog, tmp_path: Path) -> None:
    asyncio.run(opened_for(made, 2, tmp_path))
    lines = list(progress_log.read(tmp_path))
    assert len(lines) >= 3
    told = {name: value for name, value in lines[-1].items() if name not in UNTOLD}
    assert told == {
        "worker": "w1", "pages": 9, "bytes": 99, "errors": 0, **NO_PAGES,
        "queued": 5, "hosts": 4, "active": 3, "ready": 2, "open": 7,
        "holds": 0, "longest_hold": 0.0, "refusing_hosts": 0, "withheld": 0
    }  # fmt: skip
    assert lines[0]["run"] <= lines[0]["at"] <= lines[-1]["at"]
    assert 0 <= lines[0]["cpu_seconds"] <= lines[-1]["cpu_seconds"]


def test_a_disk_without_room_is_told_once(
    made: ProgressLog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "progress.jsonl").mkdir()

    async def twice() -> None:
        made.spider_opened()
        await asyncio.sleep(0.05)
        await made.spider_closed()

    asyncio.run(twice())
    assert [record.getMessage()[:27] for record in caplog.records] == ["No line in progress.jsonl: "]


def test_when_no_file_can_be_opened_lines_are_left_out_and_written_again_later(
    made: ProgressLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = 0

    def iterdir(path: Path) -> Iterator[Path]:
        nonlocal asked
        asked += 1
        if asked <= 3:
            raise OSError(errno.EMFILE, "Too many open files", str(path))
        return iter(())

    monkeypatch.setattr(Path, "iterdir", iterdir)
    monkeypatch.setattr("webcrawl.extensions.progress_log.memory", lambda: None)
    asyncio.run(opened_for(made, 1, tmp_path))
    assert asked > 3
    assert len(list(progress_log.read(tmp_path))) == asked - 3
    [record] = caplog.records
    assert record.getMessage().startswith("No line in progress.jsonl: ")
    assert "Too many open files" in record.getMessage()


def test_it_can_be_left_out() -> None:
    crawler: Any = SimpleNamespace(settings=Settings({"PROGRESS_LOG_SECONDS": 0}))
    with pytest.raises(NotConfigured):
        ProgressLog.from_crawler(crawler)


@pytest.mark.slow
def test_the_time_of_children_counts_while_they_run_and_when_they_have_ended() -> None:
    before = cpu_seconds()
    busy = "n = sum(i * i for i in range(2_000_000)); print(n, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        while_it_runs = cpu_seconds()
        child.communicate(b"\n")
    assert while_it_runs - before > 0.04
    assert cpu_seconds() >= while_it_runs - 0.011
