"""The sign of life that a crawl leaves in its JOBDIR."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import TYPE_CHECKING

import pytest

from webcrawl.crawl.jobdir import Jobdir
from webcrawl.extensions.heartbeat import Heartbeat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG_AGO = 1_000_000_000


@pytest.fixture
def jobdir(tmp_path: Path) -> Iterator[Jobdir]:
    """A folder that is held, with a lock file that looks old."""
    jobdir = Jobdir(tmp_path)
    jobdir.hold()
    os.utime(tmp_path / "lock", (LONG_AGO, LONG_AGO))
    yield jobdir
    jobdir.leave()


def age_of(jobdir: Jobdir) -> float:
    return time.time() - (jobdir.path / "lock").stat().st_mtime


def beating(jobdir: Jobdir, turns: int = 50) -> None:
    """Run it for a moment, without a pause between two beats."""

    async def run() -> None:
        heartbeat = Heartbeat(jobdir, every_seconds=0)
        heartbeat.begin()
        for _ in range(turns):
            await asyncio.sleep(0.001)
        heartbeat.end()

    asyncio.run(run())


def test_the_lock_file_is_young_while_the_loop_turns(jobdir: Jobdir) -> None:
    beating(jobdir)
    assert age_of(jobdir) < 60
    assert (jobdir.path / "lock").read_text() == f"process {os.getpid()}\n"


def test_it_stops_with_the_crawl(jobdir: Jobdir) -> None:
    beating(jobdir)
    os.utime(jobdir.path / "lock", (LONG_AGO, LONG_AGO))
    assert age_of(jobdir) > 60


def test_a_folder_that_was_left_belongs_to_whoever_takes_it_next(jobdir: Jobdir) -> None:
    jobdir.leave()
    beating(jobdir)
    assert age_of(jobdir) > 60


def test_a_folder_that_is_gone_is_told_once(jobdir: Jobdir, caplog: pytest.LogCaptureFixture) -> None:
    (jobdir.path / "lock").unlink()
    with caplog.at_level(logging.WARNING):
        beating(jobdir)
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "The heartbeat in the JOBDIR cannot be written"
    ]
