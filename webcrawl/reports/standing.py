"""The state of a crawl and of each of its processes: pure functions of what is stored and published.

The dashboard, the service, the report and all commands say what these functions return.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from webcrawl.reports.limiting import Situation
from webcrawl.storage.inspection import Demand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webcrawl.reports.run_log import Run
    from webcrawl.storage.inspection import CrawlStatus, Worker

SILENT_SECONDS = 10.0
"""A worker of a shared crawl sends a heartbeat each second: one that is silent for more seconds than this hangs, is
disconnected, or dead.
"""
HANGING_SECONDS = 15.0
"""The same for the process of a folder, which has a heartbeat every five seconds."""
LOST_LEASES = 2
"""A worker of a shared crawl that was silent for so many lease times does not come back."""
STALLED = "it is full or cannot be reached"
"""The reason, as seen from outside, of a storage in which nothing can be stored."""


class CrawlState(StrEnum):
    """The state of a crawl, or of the part of it that one folder has."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    """The crawl was asked to stop, and finishes its open requests."""
    ENDED = "ended"
    KILLED = "killed"
    """No end is recorded: its process was killed, or its machine went down."""
    NOT_RUNNING = "not running"
    """No process works on it; how its last run ended is recorded elsewhere or nowhere."""

    @property
    def is_live(self) -> bool:
        """True if a process works on it."""
        return self in (CrawlState.RUNNING, CrawlState.PAUSED, CrawlState.STOPPING)


def folder_state(last: Run | None, held_at: float | None) -> CrawlState:
    """Return the state of the crawl in a folder, without what operators want of it. ``last``: its last run.
    ``held_at``: the last heartbeat of the process that holds the folder, in epoch seconds; None if there is none.

    A process that has recorded its end may still hold the folder, to write its report. One that has just started
    holds it before it is on record.
    """
    if held_at is not None and (last is None or last.ended_at is None or held_at > last.ended_at):
        return CrawlState.RUNNING
    if last is None:
        return CrawlState.NOT_RUNNING
    return CrawlState.KILLED if last.ended_at is None else CrawlState.ENDED


def crawl_state(status: CrawlStatus, in_folder: CrawlState | None = None) -> CrawlState:
    """Return the state of a crawl. ``in_folder``: of a crawl of one process, the state by its folder; None if only
    its status is known."""
    if in_folder is None:
        in_folder = CrawlState.RUNNING if status.workers else CrawlState.NOT_RUNNING
    present = [worker for worker in status.workers if process_state(worker, status) is not ProcessState.LOST]
    if status.is_shared and not present:
        return CrawlState.NOT_RUNNING
    if not status.is_shared and not in_folder.is_live:
        return in_folder
    if status.demand is Demand.STOP:
        return CrawlState.STOPPING
    all_paused = bool(present) and all(worker.figures.get("paused") for worker in present)
    return CrawlState.PAUSED if status.demand is Demand.PAUSE or all_paused else CrawlState.RUNNING


class ProcessState(StrEnum):
    """The state of a process that works on a crawl."""

    LOST = "lost"
    """A worker of a shared crawl whose leases have ended: its hosts are those of others now."""
    SILENT = "silent"
    """The worker sends no heartbeat: it hangs, is disconnected, or dead."""
    STOPPING = "stopping"
    PAUSING = "pausing"
    """The worker is paused, and a request is still open."""
    PAUSED = "paused"
    STALLED = "stalled"
    """The storage of the worker is full or cannot be reached."""
    IDLE = "idle"
    """The worker has nothing to fetch."""
    WORKING = "working"


def process_state(worker: Worker, status: CrawlStatus) -> ProcessState:
    """Return the state of one process of a crawl."""
    figures = worker.figures
    if status.is_shared and leases_missed(worker, status.now) >= LOST_LEASES:
        return ProcessState.LOST
    if status.now - worker.heartbeat_at > (SILENT_SECONDS if status.is_shared else HANGING_SECONDS):
        return ProcessState.SILENT
    if status.demand is Demand.STOP:
        return ProcessState.STOPPING
    if figures.get("paused"):
        return ProcessState.PAUSING if figures.get("open") else ProcessState.PAUSED
    if figures.get("stalled"):
        return ProcessState.STALLED
    # A worker with few hosts asks for more while it waits for their delays: that is work.
    is_idle = figures.get("waiting") and not figures.get("open") and not figures.get("active")
    return ProcessState.IDLE if is_idle else ProcessState.WORKING


def leases_missed(worker: Worker, now: float) -> float:
    """Return the lease times for which a worker of a shared crawl was silent. After one it has lost its hosts."""
    return (now - worker.heartbeat_at) / worker.lease_seconds if worker.lease_seconds else 0.0


def opening_time(figures: Sequence[Mapping[str, float]], now: float) -> float | None:
    """Return when the hours begin for which all processes wait, by the figures that they published last."""
    times = [process.get("opens_at", 0.0) for process in figures]
    return min(times) if times and min(times) > now else None


def situation(status: CrawlStatus, state: CrawlState) -> Situation | None:
    """Return the figures that say what limits a crawl, as its processes published them last; None without these.
    Rates are not known from one look."""
    figures = [worker.figures for worker in status.workers if "open_max" in worker.figures]
    if not figures or not state.is_live:
        return None

    def total(name: str) -> float:
        return sum(process.get(name, 0.0) for process in figures)

    return Situation(
        queued=status.counts.queued,
        hosts=status.counts.hosts,
        with_urls=int(total("active")),
        ready=total("ready"),
        open=total("open"),
        open_max=total("open_max"),
        unsettled=total("unsettled"),
        parked=status.counts.parked_hosts,
        bandwidth_used=total("bandwidth_used"),
        bandwidth_limit=max(process.get("bandwidth_limit", 0.0) for process in figures),
        stalled=STALLED if all(process.get("stalled") for process in figures) else None,
        opens_at=opening_time(figures, status.now),
        is_paused=state is CrawlState.PAUSED,
        is_closing=state is CrawlState.STOPPING,
    )
