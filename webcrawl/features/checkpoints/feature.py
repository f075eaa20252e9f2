"""Wiring of checkpoints: takes one of the crawl every ``CHECKPOINT_INTERVAL`` hours."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import shutil
import subprocess
import time
from calendar import timegm
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from webcrawl.atomic_file import UNFINISHED
from webcrawl.child_process import start_python
from webcrawl.crawl.feature import Feature
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.reports import text

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.config import Configuration
    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import RunningCrawl

logger = logging.getLogger(__name__)

FOLDER = "checkpoints"
"""Default folder of checkpoints in the JOBDIR, without CHECKPOINT_FOLDER."""
CHECK_SECONDS = 10.0
"""Interval at which it is checked whether a checkpoint is due."""
WAIT_SECONDS = 0.2
"""Interval at which it is checked whether a running checkpoint is complete."""
_STAMP = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"checkpoint-(\d{8}T\d{6}Z)").fullmatch


class CheckpointsFeature(Feature):
    """Checkpoints of one crawl: folders named after the time at which they were begun (UTC).

    Each is taken by a separate process, which takes no time of the event loop and gets the CPU time that the crawl
    leaves. It gets its name once it is complete. A failure is logged, and tried again after the interval.
    """

    def __init__(self, source: Path, configuration: Configuration) -> None:
        """``source``: the JOBDIR."""
        self._source = source
        self._folder = configuration.checkpoint_folder or source / FOLDER
        self._interval_seconds = configuration.checkpoint_interval * 3600
        self._kept = configuration.checkpoints_kept
        self._due_at = 0.0
        self._taking = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ticking = PeriodicTask(min(CHECK_SECONDS, self._interval_seconds), self._step)

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        # Due after the last checkpoint, so that a crawl that is restarted each hour has its checkpoint every day.
        # If the clock was wrong then, the next one is late by no more than the interval.
        taken = [_taken_at(path) for path in complete(self._folder)]
        self._due_at = min(max(taken, default=time.time()), time.time()) + self._interval_seconds
        self._ticking.begin()

    async def close(self) -> None:
        self._ticking.end()
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)
            await asyncio.to_thread(_remove, unfinished(self._folder))
            logger.info("The checkpoint that was being taken is not complete: the crawl ends first")

    async def take_now(self) -> Path:
        """Take a checkpoint, after the one that is being taken; return its folder.

        :raises OSError: :raises ValueError: it could not be taken, with the reason
        """
        async with self._taking:
            while (target := self._target(begun_at := time.time())).exists():  # noqa: ASYNC110
                # One was taken in this second.
                await asyncio.sleep(WAIT_SECONDS)
            self._due_at = begun_at + self._interval_seconds
            # Left by a crawl that was killed.
            await asyncio.to_thread(_remove, unfinished(self._folder))
            copied = await self._take(target)
            seconds = time.time() - begun_at
            logger.info("Checkpoint %s: %s, in %s", target, _in_words(copied), text.duration(seconds))
            await asyncio.to_thread(_remove, complete(self._folder)[: -self._kept])
            return target

    def _target(self, at: float) -> Path:
        return self._folder / time.strftime(f"checkpoint-{_STAMP}", time.gmtime(at))

    async def _step(self) -> None:
        if time.time() < self._due_at:
            return
        try:
            await self.take_now()
        except (OSError, ValueError) as error:
            logger.warning("No checkpoint: %s", error)

    async def _take(self, target: Path) -> dict[str, int]:
        """Take a checkpoint and return its content. :raises ValueError: it could not be taken, with the reason"""
        self._process = process = start_python(
            "webcrawl.features.checkpoints.checkpoint",
            *(str(self._source), str(target)),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            own_group=False,
        )
        # A waiting thread would occupy one of few, and not every event loop can wait for processes.
        while process.poll() is None:  # noqa: ASYNC110
            await asyncio.sleep(WAIT_SECONDS)
        self._process = None
        output, error_output = await asyncio.to_thread(process.communicate)
        if process.returncode:
            lines = error_output.decode("utf-8", "replace").strip().splitlines()
            raise ValueError(lines[-1] if lines else f"status {process.returncode}")
        copied: dict[str, int] = json.loads(output)
        return copied


def build(parts: Parts) -> CheckpointsFeature:
    """Return the checkpoints of a crawl with a JOBDIR."""
    assert parts.folder is not None
    return CheckpointsFeature(parts.folder, parts.configuration)


def complete(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, oldest first."""
    return sorted(path for path in _listed(folder) if _NAME(path.name))


def unfinished(folder: Path) -> list[Path]:
    """Return the remains of incomplete checkpoints."""
    return [path for path in _listed(folder) if _NAME(path.name.removesuffix(UNFINISHED)) and path.suffix]


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


def _taken_at(path: Path) -> float:
    match = _NAME(path.name)
    assert match is not None
    with suppress(ValueError):
        return timegm(time.strptime(match[1], _STAMP))
    return 0.0


def _remove(folders: list[Path]) -> None:
    for folder in folders:
        # A partly removed folder must not have the name of a checkpoint.
        gone = folder.with_name(f"{folder.name.removesuffix(UNFINISHED)}{UNFINISHED}")
        folder.replace(gone)
        shutil.rmtree(gone)


def _in_words(copied: dict[str, Any]) -> str:
    return f"{copied['copied']} files copied ({text.size(copied['bytes'])}), {copied['linked']} shared"
