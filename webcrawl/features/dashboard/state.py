"""The state of a crawl as one object: what a person wants to see at a glance.

Counts are those of the frontier, everything else is what the processes of the crawl published a moment ago
(``features/timeseries``). A crawl without these figures, because it has ended or they are off, has those of its
``progress.jsonl``.
"""

from __future__ import annotations

import json
import shutil
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import webcrawl
from webcrawl.control import folders
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.features.steering.store import SteeringStore
from webcrawl.features.timeseries.store import SeriesStore
from webcrawl.reports import progress_log, run_log
from webcrawl.reports.counting import number_in
from webcrawl.reports.run_log import State
from webcrawl.storage.contract import OperatorCommand

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from webcrawl.features.dashboard.source import CrawlSource
    from webcrawl.features.steering.store import Numbers, Override
    from webcrawl.features.timeseries.store import Latest
    from webcrawl.reports.run_log import Run
    from webcrawl.storage.inspection import CrawlStatus, Worker
    from webcrawl.storage.tables import Tables

LIVE_SECONDS = 30.0
"""A process that has published nothing for this long does not run any more, or has no time to publish."""
RATE_SECONDS = 10.0
"""Rates are means of this time."""
SIZE_SECONDS = 60.0
"""The size of a crawl's folder is measured at most this often: it may have many files."""
_TAIL_BYTES = 8192


class _Sample(NamedTuple):
    """Counters of a process. ``at``: epoch seconds."""

    at: float
    figures: Mapping[str, float]


@dataclass(slots=True)
class _Rates:
    """The rates of each process: what its counters grew by within the last seconds."""

    _samples: dict[tuple[str, float], deque[_Sample]] = field(default_factory=dict)

    def add(self, latest: Iterable[Latest]) -> None:
        """Add what the processes published, and forget those that have ended."""
        found = {}
        for one in latest:
            samples = self._samples.get((one.worker, one.begun_at), deque())
            # A process that has just begun had counted nothing.
            if not samples and one.at - one.begun_at <= RATE_SECONDS:
                samples.append(_Sample(one.begun_at, {}))
            if not samples or one.at > samples[-1].at:
                samples.append(_Sample(one.at, one.figures))
            while len(samples) > 2 and samples[1].at <= one.at - RATE_SECONDS:
                samples.popleft()
            found[one.worker, one.begun_at] = samples
        self._samples = found

    def of(self, name: str) -> float | None:
        """Return the rate of a counter, of all processes together; None if it is not known yet."""
        rates = [
            (samples[-1].figures.get(name, 0.0) - samples[0].figures.get(name, 0.0))
            / (samples[-1].at - samples[0].at)
            for samples in self._samples.values()
            if len(samples) > 1
        ]
        return max(sum(rates), 0.0) if rates else None


class _Stores:
    """The stores of features that the state is from, read together."""

    def __init__(self, tables: Tables) -> None:
        self._series = SeriesStore(tables)
        self._steering = SteeringStore(tables)

    async def read(self) -> tuple[list[Latest], dict[str, Override], Numbers]:
        return await self._series.latest(), await self._steering.overlay(), await self._steering.numbers()


class StateReader:
    """Reads the state of one crawl. All methods block; ``read`` may be called by one thread at a time."""

    def __init__(self, source: CrawlSource) -> None:
        self._source = source
        self._rates = _Rates()
        self._size: tuple[float, int] | None = None

    def read(self, *, public: bool) -> dict[str, Any]:
        """Return the object of the endpoint ``crawl``. :raises CrawlError: it cannot be read"""
        source = self._source
        status = source.crawl.status()
        published, overlay, numbers = source.crawl.read_store(_Stores, _Stores.read)
        latest = [one for one in published if status.now - one.at < LIVE_SECONDS and status.workers]
        self._rates.add(latest)
        run, begun_at = self._run()
        counts = status.counts
        progress = self._progress(run)
        return {
            "name": source.name,
            "spider": source.spider if run is None else run.spider or source.spider,
            "state": self._state(status, latest, numbers, run),
            "reason": None if run is None or status.workers else run.reason,
            "begun_at": begun_at or min((one.begun_at for one in latest), default=None),
            "now": status.now,
            "user_agent": source.configuration.user_agent if run is None else run.user_agent,
            "jobdir": None if source.folder is None else str(source.folder),
            "storage": source.crawl.storage,
            "version": webcrawl.__version__,
            "counts": {
                "queued": counts.queued,
                "done": counts.done,
                "failed": counts.failed,
                "refused": counts.refused,
                "hosts": counts.hosts,
                "active": status.active_hosts,
                "ready": _sum(latest, "ready"),
                "parked": counts.parked_hosts,
                "given_up": counts.given_up_hosts,
            },
            "rates": self._speed(latest, status.now, progress),
            "totals": _totals(latest, progress),
            "politeness": self._politeness(latest, overlay),
            "disk": self._disk(status.now, latest),
            "memory": {name: _sum(latest, name) for name in ("rss", "rss_all")},
            "bandwidth": {
                "limit": max((one.figures.get("bandwidth_limit", 0) for one in latest), default=None),
                "used": _sum(latest, "bandwidth_used"),
            },
            "limits": self._limits(overlay),
            "workers": self._workers(status, latest),
            "overlay": {
                name: {"value": one.value, "by": one.by, "at": one.at} for name, one in overlay.items()
            },
            "public": public,
        }

    # -- state -------------------------------------------------------------------------------------------------

    def _run(self) -> tuple[Run | None, float | None]:
        """Return the last run of the crawl in the folder, and when the first one began."""
        folder = self._source.folder
        runs: list[Run] = []
        if folder is not None:
            with suppress(OSError):
                runs = run_log.read(folder)
        return (runs[-1], runs[0].begun_at) if runs else (None, None)

    def _state(self, status: CrawlStatus, latest: list[Latest], numbers: Numbers, run: Run | None) -> str:
        source = self._source
        if any(not self._is_silent(one, status.now) for one in status.workers):
            if status.command is OperatorCommand.STOP:
                return "stopping"
            is_paused = status.command is OperatorCommand.PAUSE or numbers.is_paused
            return "paused" if is_paused or _all(latest, "paused") else "running"
        if run is None or source.is_shared:
            return "not running"
        held = source.folder is not None and Jobdir(source.folder).holder() is not None
        found = run.state(is_held=held)
        return "running" if found is State.RUNNING else str(found)

    def _is_silent(self, worker: Worker, now: float) -> bool:
        """Return True for a worker of a shared crawl whose leases have ended."""
        lease = self._source.configuration.lease_seconds
        return self._source.is_shared and now - worker.heartbeat_at >= 2 * lease

    def _workers(self, status: CrawlStatus, latest: list[Latest]) -> list[dict[str, Any]]:
        published = {
            (one.worker if self._source.is_shared else f"process {one.process}"): one for one in latest
        }
        rows = []
        for worker in status.workers:
            one = published.get(worker.name)
            figures = {**worker.figures, **({} if one is None else one.figures)}
            state = "paused" if figures.get("paused") else "stalled" if figures.get("stalled") else "running"
            rows.append(
                {
                    "name": worker.name if one is None else one.worker,
                    "state": "silent" if self._is_silent(worker, status.now) else state,
                    "host": None if one is None else one.host,
                    "pid": None if one is None else one.process,
                    "version": None if one is None else one.version,
                    "started_at": worker.started_at if one is None else one.begun_at,
                    "heartbeat_at": worker.heartbeat_at,
                    "figures": figures,
                }
            )
        return rows

    # -- figures -----------------------------------------------------------------------------------------------

    def _speed(
        self, latest: list[Latest], now: float, progress: Mapping[str, float | None]
    ) -> dict[str, float | None]:
        if not latest:
            return {"pages": None, "bytes": None, "pages_mean": progress.get("pages_mean")}
        seconds = now - min(one.begun_at for one in latest)
        pages = _sum(latest, "pages")
        return {
            "pages": self._rates.of("pages"),
            "bytes": self._rates.of("bytes"),
            "pages_mean": None if pages is None or seconds <= 0 else pages / seconds,
        }

    def _politeness(self, latest: list[Latest], overlay: Mapping[str, Override]) -> dict[str, float | None]:
        capacity, requests = _sum(latest, "capacity"), self._rates.of("requests")
        return {
            "min_delay": _changed(
                overlay, "POLITENESS_MIN_DELAY", self._source.configuration.politeness_min_delay
            ),
            "capacity_per_second": capacity,
            "share": requests / capacity if capacity and requests is not None else None,
        }

    def _limits(self, overlay: Mapping[str, Override]) -> dict[str, float | None]:
        configuration = self._source.configuration
        pages = _changed(overlay, "CLOSESPIDER_PAGECOUNT", configuration.closespider_pagecount)
        seconds = _changed(overlay, "CLOSESPIDER_TIMEOUT", configuration.closespider_timeout)
        return {"pages": pages or None, "seconds": seconds or None}

    def _disk(self, now: float, latest: list[Latest]) -> dict[str, float | None]:
        free, total = (
            min((one.figures[name] for one in latest if name in one.figures), default=None)
            for name in ("disk_free", "disk_total")
        )
        found = {"free": free, "total": total, "crawl_bytes": _sum(latest, "crawl_bytes")}
        folder = self._source.folder
        if folder is None or self._source.is_shared:
            return found
        if found["crawl_bytes"] is None:
            if self._size is None or not 0 <= now - self._size[0] < SIZE_SECONDS:
                self._size = (now, folders.size_of(folder))
            found["crawl_bytes"] = self._size[1]
        with suppress(OSError):
            usage = shutil.disk_usage(folder)
            found |= {"free": usage.free, "total": usage.total}
        return found

    def _progress(self, run: Run | None) -> dict[str, float | None]:
        """Return figures of the last run in the folder's progress log, which are at most a minute old."""
        folder = self._source.folder
        if folder is None or run is None or self._source.is_shared:
            return {}
        lines = _last_lines(folder / progress_log.NAME)
        if not lines:
            return {}
        last = lines[-1]
        began, at, pages = (number_in(last.get(name)) for name in ("run", "at", "pages"))
        found = {"pages": pages, "bytes": number_in(last.get("bytes"))}
        if began is not None and at is not None and pages is not None and at > began:
            found["pages_mean"] = pages / (at - began)
        return found


def _changed(overlay: Mapping[str, Override], name: str, value: float) -> float:
    """Return the value of a setting that operators may have changed."""
    if name in overlay:
        with suppress(ValueError):
            return float(overlay[name].value)
    return value


def _sum(latest: list[Latest], name: str) -> float | None:
    found = [one.figures[name] for one in latest if name in one.figures]
    return sum(found) if found else None


def _all(latest: list[Latest], name: str) -> bool:
    return bool(latest) and all(one.figures.get(name) for one in latest)


def _totals(latest: list[Latest], progress: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return the totals of the processes that run, or of the last run."""
    if latest:
        return {name: _sum(latest, name) for name in ("pages", "bytes", "errors")}
    return {"pages": progress.get("pages"), "bytes": progress.get("bytes"), "errors": None}


def _last_lines(path: Path) -> list[dict[str, Any]]:
    """Return the last complete lines of a file of JSON lines."""
    lines: list[dict[str, Any]] = []
    with suppress(OSError), path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(end - _TAIL_BYTES, 0))
        for text in file.read().splitlines():
            with suppress(ValueError):
                line = json.loads(text)
                if isinstance(line, dict):
                    lines.append(line)
    return lines
