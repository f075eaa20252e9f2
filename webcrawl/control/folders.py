"""The folders of crawls, as other processes see them: what each is, its state, and its removal."""

from __future__ import annotations

import os
import shutil
from collections import deque
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.archive import fetchlog
from webcrawl.archive.disk import disk_usage
from webcrawl.control.selection import select_crawl_in
from webcrawl.crawl.jobdir import SPIDER, Jobdir
from webcrawl.crawl.moved import read_mark
from webcrawl.errors import CrawlError, JobdirUnusable
from webcrawl.frontier.figures import STATUS_CLASSES
from webcrawl.reports import progress_log, run_log
from webcrawl.reports.counting import number_in
from webcrawl.reports.standing import CrawlState
from webcrawl.reports.totals import stored_figures
from webcrawl.storage import technology_in
from webcrawl.storage.move_mark import MoveState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawl.storage.inspection import CrawlStatus
    from webcrawl.storage.move_mark import MoveMark

ERRORS = "errors.log"
_TAIL_BYTES = 65_536
_LAST = 5
"""The number of last errors."""


@dataclass(frozen=True, slots=True)
class CrawlFolder:
    """A JOBDIR. Times are epoch seconds; None for what the folder does not have."""

    path: Path
    spider: str | None
    state: CrawlState
    """By the folder alone: what operators want of the crawl is in its storage."""
    begun_at: float | None
    """The start of its first run."""
    ended_at: float | None
    reason: str | None
    """The close reason of its last run."""
    shared: str | None
    """The name of the crawl of which this is the folder of one worker."""
    size_bytes: int
    status: CrawlStatus | None
    """The counts of its frontier; None if they are elsewhere, or cannot be read."""
    unreadable: str | None
    """The reason why the frontier cannot be read."""
    elsewhere: str | None = None
    """The words for why the crawl cannot go on here, if it was moved."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def queued(self) -> int | None:
        return None if self.status is None else self.status.counts.queued

    @property
    def is_resumable(self) -> bool | None:
        """Return True if the same command would go on with it; None if that is stored elsewhere, or unknown."""
        if self.elsewhere is not None:
            return False
        return None if self.queued is None or self.state.is_live else self.queued > 0


@dataclass(frozen=True, slots=True)
class Rates:
    """The pages of a crawl, from ``progress.jsonl``: without those since its last line, at most a minute ago."""

    pages: int
    """Pages of all runs."""
    per_second: float | None
    """Pages per second between the last two lines of the last run."""
    mean_per_second: float | None
    """Pages per second of the last run."""
    bytes: int
    memory: dict[str, int]
    """Resident bytes of each process of the last run, by its name."""


def is_crawl(path: Path) -> bool:
    """Return True if the folder is that of a crawl, or of a worker."""
    names = (run_log.NAME, SPIDER, fetchlog.NAME)
    return path.is_dir() and (
        technology_in(path) is not None or any((path / name).is_file() for name in names)
    )


def crawls_in(root: Path) -> list[CrawlFolder]:
    """Return the crawls directly below ``root``, the one that began last at the end. :raises OSError:"""
    found = [crawl for path in root.iterdir() if (crawl := _look_if_crawl(path)) is not None]
    return sorted(found, key=lambda crawl: (crawl.begun_at or 0.0, crawl.name))


def _look_if_crawl(path: Path) -> CrawlFolder | None:
    """Return what a folder says if it is a crawl's. One that cannot be read, maybe of another user, is unreadable."""
    try:
        return look(path) if is_crawl(path) else None
    except OSError as error:
        why = f"{error.filename or path} cannot be used: {error.strerror or error}"
        return CrawlFolder(
            path, None, CrawlState.NOT_RUNNING, None, None, None, None, disk_usage(path), None, unreadable=why
        )


def look(path: Path) -> CrawlFolder:
    """Return what the folder of a crawl says. :raises OSError: it cannot be read"""
    runs = run_log.read(path)
    last = runs[-1] if runs else None
    state = Jobdir(path).state(last)
    ended = None if last is None or state.is_live else last
    status, unreadable = _status(path)
    return CrawlFolder(
        path=path,
        spider=last.spider if last is not None else _spider(path),
        state=state,
        begun_at=runs[0].begun_at if runs else None,
        ended_at=None if ended is None else ended.ended_at,
        reason=None if ended is None else ended.reason,
        shared=None if last is None else last.crawl,
        size_bytes=disk_usage(path),
        status=status,
        unreadable=unreadable,
        elsewhere=elsewhere(lambda: read_mark(path)),
    )


def elsewhere(read: Callable[[], MoveMark | None]) -> str | None:
    """Return where a crawl went, or from where it is coming, by its mark, which ``read`` returns; None if it goes on
    where it is."""
    try:
        mark = read()
    except CrawlError:
        return None
    if mark is None or mark.state is MoveState.ARRIVED:
        return None
    return f"to {mark.place}" if mark.state is MoveState.MOVED else f"from {mark.place}, not complete"


def rates(path: Path, status: CrawlStatus | None = None) -> Rates | None:
    """Return the rates of a crawl; None if it has no progress log. ``status`` has its pages and bytes, which that log
    lacks of a run that was killed. :raises OSError: it cannot be read"""
    course, last = progress_log.Course(), deque[dict[str, Any]](maxlen=2)
    for line in progress_log.read(path):
        course.add(line)
        last.append(line)
    totals = None if status is None or not status.counted else stored_figures(status.totals)
    if not course.runs:
        return None if totals is None else Rates(totals["pages"], None, None, totals["bytes"], {})
    run = max(course.runs.items(), key=lambda item: item[1].at)
    (_, began_at), figures = run
    lines = [line for line in last if line.get("run") == began_at]
    return Rates(
        course.pages if totals is None else totals["pages"],
        _rate(lines[0], lines[-1]) if len(lines) == 2 else None,
        figures.pages / (figures.at - began_at) if figures.at > began_at else None,
        sum(run.bytes for run in course.runs.values()) if totals is None else totals["bytes"],
        _memory(lines[-1]) if lines else {},
    )


def _memory(line: dict[str, Any]) -> dict[str, int]:
    """Return the resident bytes of each process in a line of the progress log."""
    given = line.get("memory")
    numbers = ((name, number_in(size)) for name, size in given.items()) if isinstance(given, dict) else ()
    return {name: int(size) for name, size in numbers if size is not None}


def read_numbers(path: Path, status: CrawlStatus | None) -> dict[str, int] | None:
    """Return ``errors`` and the pages by class of status (``2xx``...) of all runs; None if these are not known. Of a
    crawl whose storage has no such figures, those of the last run. :raises OSError: they cannot be read"""
    if status is not None and status.counted:
        found = stored_figures(status.totals)
        return {"errors": found["errors"]} | {name: found[f"pages_{name}"] for name in STATUS_CLASSES}
    last = next(iter(deque(progress_log.read(path), maxlen=1)), {})
    statuses = {name: number_in(last.get(f"pages_{name}")) for name in STATUS_CLASSES}
    numbers = {"errors": number_in(last.get("errors")), **statuses}
    if None in numbers.values():
        return None
    return {name: int(number or 0) for name, number in numbers.items()}


def last_errors(path: Path) -> list[str]:
    """Return the last lines of ``errors.log``: time, error, URL. Empty if there is none."""
    try:
        with (path / ERRORS).open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(end - _TAIL_BYTES, 0))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    # The first line may be cut.
    return (lines if end <= _TAIL_BYTES else lines[1:])[-_LAST:]


def remove(path: Path) -> None:
    """Delete the folder of a crawl that is not running.

    :raises JobdirLocked: it is running :raises JobdirUnusable: it cannot be deleted
    """
    if path.is_symlink():
        raise JobdirUnusable(f"{path} is a link; remove the folder that it points to, {path.resolve()}")
    jobdir = Jobdir(path)
    jobdir.hold()
    try:
        shutil.rmtree(path)
    except OSError as error:
        name = error.filename or path
        raise JobdirUnusable(f"{name} cannot be removed: {error.strerror or error}") from error
    finally:
        jobdir.leave()


def _status(path: Path) -> tuple[CrawlStatus | None, str | None]:
    technology = technology_in(path)
    if technology is not None and technology.keeper is not None and Jobdir(path).holder() is None:
        # Its server does not run.
        return None, None
    # It may end at any moment, and must not be started again by a process that runs for days.
    crawl = None if technology is None else select_crawl_in(path, technology, starts=False)
    try:
        return (None if crawl is None else crawl.status()), None
    except CrawlError as error:
        return None, " ".join(str(error).split())


def _spider(path: Path) -> str | None:
    try:
        return (path / SPIDER).read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError):
        return None


def _rate(before: dict[str, Any], after: dict[str, Any]) -> float | None:
    numbers = chain(*((number_in(line.get("at")), number_in(line.get("pages"))) for line in (before, after)))
    begun, had, ended, has = numbers
    if begun is None or had is None or ended is None or has is None or ended <= begun:
        return None
    return (has - had) / (ended - begun)


def as_object(crawl: CrawlFolder) -> Iterator[tuple[str, Any]]:
    """Yield the facts of a crawl, for JSON."""
    yield "name", crawl.name
    yield "path", str(crawl.path)
    yield "spider", crawl.spider
    yield "state", None if crawl.state is CrawlState.NOT_RUNNING else str(crawl.state)
    yield "reason", crawl.reason
    yield "begun_at", crawl.begun_at
    yield "ended_at", crawl.ended_at
    yield "crawl", crawl.shared
    yield "queued", crawl.queued
    yield "resumable", crawl.is_resumable
    yield "moved", crawl.elsewhere
    yield "size_bytes", crawl.size_bytes


def errors_as_objects(lines: list[str]) -> list[dict[str, str]]:
    """Return lines of ``errors.log`` as objects with ``at``, ``error``, ``url``, and the rest as ``detail``."""
    names = ("at", "error", "url", "detail")
    return [dict(zip(names, line.split(" ", 3), strict=False)) for line in lines]
