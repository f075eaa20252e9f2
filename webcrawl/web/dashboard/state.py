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
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, TypedDict

from webcrawl.archive.disk import disk_usage
from webcrawl.control.remaining import Remaining
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.features.steering.store import SteeringStore
from webcrawl.features.timeseries.store import SeriesStore
from webcrawl.frontier.figures import STATUS_CLASSES
from webcrawl.politeness.refusals import KINDS
from webcrawl.reports import progress_log, run_log
from webcrawl.reports.counting import number_in
from webcrawl.reports.limiting import EstimateObject, limiting
from webcrawl.reports.standing import CrawlState, ProcessState, crawl_state, process_state, situation
from webcrawl.reports.totals import stored_figures
from webcrawl.version import __version__
from webcrawl.web.answers import Figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from webcrawl.config import Configuration
    from webcrawl.control.stored import StoredCrawl
    from webcrawl.features.steering.store import Override, WorkerState
    from webcrawl.features.timeseries.store import Latest
    from webcrawl.reports.limiting import Bottleneck, Situation
    from webcrawl.reports.run_log import Run
    from webcrawl.storage.contract import Counts
    from webcrawl.storage.inspection import CrawlStatus
    from webcrawl.storage.tables import Tables

LIVE_SECONDS = 30.0
"""A process that has published nothing for this long does not run any more, or has no time to publish."""
RATE_SECONDS = 10.0
"""Rates are means of this time."""
STEP_SECONDS = 40.0
"""Figures that are read now and then are kept for this time."""
SIZE_SECONDS = 60.0
"""The size of a crawl's folder is measured at most this often: it may have many files."""
HAS_SECONDS = 15.0
"""Seconds between two readings of whether there are traps and suggestions."""
_TAIL_BYTES = 8192


class VerdictAnswer(TypedDict):
    """The answer to what limits the speed of a crawl."""

    by: str
    words: str
    sentence: str


class OverrideAnswer(TypedDict):
    """The value of a setting that an operator has changed."""

    value: str
    by: str
    at: float


class WorkerAnswer(TypedDict):
    """A process of a crawl."""

    name: str
    state: str
    host: str | None
    pid: int | None
    version: str | None
    started_at: float | None
    heartbeat_at: float
    figures: dict[str, float]


class CrawlAnswer(TypedDict):
    """The object of the endpoint ``crawl``."""

    name: str
    spider: str
    state: CrawlState
    has: Annotated[dict[str, bool], "Whether lists have rows, by the name of their endpoint."]
    limit: VerdictAnswer | None
    ends: EstimateObject | None
    reason: str | None
    begun_at: float | None
    now: Annotated[float, "Time of these figures, by the clock of the crawl."]
    user_agent: str | None
    jobdir: str | None
    storage: str
    version: str
    counts: Figures
    rates: Figures
    totals: Figures
    politeness: Figures
    disk: Figures
    memory: Figures
    bandwidth: Figures
    limits: Figures
    refusals: Annotated[
        Figures, "Responses by which sites refused, by kind, that the processes that run have counted."
    ]
    workers: list[WorkerAnswer]
    overlay: dict[str, OverrideAnswer]
    public: bool


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
        kept = {}
        for process in latest:
            samples = self._samples.get((process.worker, process.begun_at), deque())
            # A process that has just begun had counted nothing.
            if not samples and process.at - process.begun_at <= RATE_SECONDS:
                samples.append(_Sample(process.begun_at, {}))
            if not samples or process.at > samples[-1].at:
                samples.append(_Sample(process.at, process.figures))
            while len(samples) > 2 and samples[1].at <= process.at - STEP_SECONDS:
                samples.popleft()
            kept[process.worker, process.begun_at] = samples
        self._samples = kept

    def of(self, name: str) -> float | None:
        """Return the rate of a counter, of all processes together; None if it is not known yet."""
        rates = [
            (last.figures.get(name, 0.0) - first.figures.get(name, 0.0)) / (last.at - first.at)
            for first, last in map(_window, self._samples.values())
            if last.at > first.at
        ]
        return max(sum(rates), 0.0) if rates else None

    def of_steps(self, name: str) -> float | None:
        """Return the same for a counter that is read less often than samples are published."""
        rates = []
        for samples in self._samples.values():
            known = [(sample.at, sample.figures[name]) for sample in samples if name in sample.figures]
            steps = [new for old, new in pairwise(known) if new[1] != old[1]]
            if len(steps) > 1:
                rates.append((steps[-1][1] - steps[0][1]) / (steps[-1][0] - steps[0][0]))
        return max(sum(rates), 0.0) if rates else None

    def mean(self, name: str) -> float:
        """Return the mean of a gauge over the last seconds, the sum of all processes."""
        total = 0.0
        for samples in self._samples.values():
            since = samples[-1].at - RATE_SECONDS
            values = [
                sample.figures[name] for sample in samples if sample.at > since and name in sample.figures
            ]
            total += sum(values) / len(values) if values else 0.0
        return total


def _window(samples: deque[_Sample]) -> tuple[_Sample, _Sample]:
    """Return the first and the last sample of the last seconds."""
    last = samples[-1]
    first = next((sample for sample in reversed(samples) if sample.at <= last.at - RATE_SECONDS), samples[0])
    return first, last


class _Stores:
    """The stores of features that the state is from, read together."""

    def __init__(self, tables: Tables) -> None:
        self._series = SeriesStore(tables)
        self._steering = SteeringStore(tables)

    async def read(self) -> tuple[list[Latest], dict[str, Override], list[WorkerState]]:
        steering = self._steering
        return (
            await self._series.latest(),
            await steering.overlay(),
            await steering.workers(),
        )


class ReadableCrawl(Protocol):
    """A crawl whose state is read; see ``CrawlSource``."""

    crawl: StoredCrawl
    configuration: Configuration
    spider: str
    folder: Path | None
    folders: Sequence[Path]
    is_shared: bool
    is_whole: bool

    @property
    def name(self) -> str: ...

    def started(self, workers: Sequence[WorkerState]) -> Configuration: ...


class StateReader:
    """Reads the state of one crawl. All methods block; ``read`` may be called by one thread at a time."""

    def __init__(self, source: ReadableCrawl) -> None:
        self._source = source
        self._configuration = source.configuration
        """The configuration with which the crawl was started last."""
        self._rates = _Rates()
        self._remaining = Remaining(source.crawl)
        self._size: tuple[float, int] | None = None
        self._has_at = -HAS_SECONDS
        self._has_rows: dict[str, bool] = {}

    def read(self, *, public: bool) -> CrawlAnswer:
        """Return the object of the endpoint ``crawl``. :raises CrawlError: it cannot be read"""
        source = self._source
        status = source.crawl.status()
        published, overlay, workers = source.crawl.read_store(_Stores, _Stores.read)
        self._configuration = source.started(workers)
        latest = _live(published, status)
        self._rates.add(latest)
        run, begun_at = self._run()
        counts = status.counts
        progress = self._progress(run)
        state, politeness = self._state(status, run), self._politeness(latest, overlay)
        totals = _totals(status, latest, progress)
        verdict, ends = None, None
        if latest and (known := self._situation(status, latest, state)) is not None:
            verdict = limiting(replace(known, capacity=politeness["capacity_per_second"]))
            if state is CrawlState.RUNNING:
                ends = self._remaining.look(status, politeness["min_delay"] or 0.0)
        return {
            "name": source.name,
            "spider": source.spider if run is None else run.spider or source.spider,
            "state": state,
            "has": self._has(status.now, counts, totals["errors"]),
            "limit": _verdict(verdict),
            "ends": None if ends is None else ends.as_object(),
            "reason": None if run is None or state.is_live else run.reason,
            "begun_at": begun_at or min((process.begun_at for process in latest), default=None),
            "now": status.now,
            "user_agent": self._configuration.user_agent if run is None else run.user_agent,
            "jobdir": None if source.folder is None else str(source.folder),
            "storage": source.crawl.storage,
            "version": __version__,
            "counts": _counts(status, latest, progress),
            "rates": self._speed(latest, status.now, progress),
            "totals": totals,
            "politeness": politeness,
            "disk": self._disk(status.now, latest),
            "memory": {name: _sum(latest, name) for name in ("rss", "rss_all")},
            "bandwidth": {
                "limit": max((process.figures.get("bandwidth_limit", 0) for process in latest), default=None),
                "used": _sum(latest, "bandwidth_used"),
            },
            "limits": self._limits(overlay),
            "refusals": {kind: _sum(latest, f"site_refusals_{kind}") for kind in KINDS},
            "workers": self._workers(status, latest),
            "overlay": {
                name: {"value": override.value, "by": override.by, "at": override.at}
                for name, override in overlay.items()
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

    def _state(self, status: CrawlStatus, run: Run | None) -> CrawlState:
        folder = self._source.folder if self._source.is_whole else None
        in_folder = None if folder is None else Jobdir(folder).state(run)
        state = crawl_state(status, in_folder)
        if state is CrawlState.NOT_RUNNING and in_folder is not None and not in_folder.is_live:
            # Several workers in one folder: it says how they ended.
            return in_folder
        return state

    def _workers(self, status: CrawlStatus, latest: list[Latest]) -> list[WorkerAnswer]:
        published = {
            (process.worker if self._source.is_shared else f"process {process.process}"): process
            for process in latest
        }
        rows: list[WorkerAnswer] = []
        for worker in status.workers:
            process = published.get(worker.name)
            figures = {**worker.figures, **({} if process is None else process.figures)}
            state = process_state(replace(worker, figures=figures), status)
            rows.append(
                {
                    "name": worker.name if process is None else process.worker,
                    "state": _WORDS.get(state, str(state)),
                    "host": None if process is None else process.host,
                    "pid": None if process is None else process.process,
                    "version": None if process is None else process.version,
                    "started_at": worker.started_at if process is None else process.begun_at,
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
        seconds = now - min(process.begun_at for process in latest)
        pages = _sum(latest, "pages")
        return {
            "pages": self._rates.of("pages"),
            "bytes": self._rates.of("bytes"),
            "pages_mean": None if pages is None or seconds <= 0 else pages / seconds,
        }

    def _politeness(self, latest: list[Latest], overlay: Mapping[str, Override]) -> dict[str, float | None]:
        capacity, requests = _sum(latest, "capacity"), self._rates.of("requests")
        return {
            "min_delay": _changed(overlay, "POLITENESS_MIN_DELAY", self._configuration.politeness_min_delay),
            "capacity_per_second": capacity,
            "share": requests / capacity if capacity and requests is not None else None,
        }

    def _has(self, now: float, counts: Counts, errors: float | None) -> dict[str, bool]:
        """Return for views whether they have something to show; True if that is not known."""
        sections = {"parked": counts.parked_hosts > 0, "errors": errors != 0}
        folder = self._source.folder
        if folder is not None and self._source.is_whole:
            folders = self._source.folders
            sections["pages"] = any((one / "warc").exists() for one in folders)
            sections["search"] = any(any(one.glob("search*")) for one in folders)
        if not 0 <= now - self._has_at < HAS_SECONDS:
            # A crawl without traps does not need this import.
            from webcrawl.features.traps.store import TrapStore

            self._has_at = now
            crawl = self._source.crawl
            self._has_rows = {
                "traps": bool(crawl.read_store(TrapStore, TrapStore.beliefs)),
                "suggestions": bool(crawl.read_store(SteeringStore, SteeringStore.suggestions)),
            }
        return sections | self._has_rows

    def _situation(self, status: CrawlStatus, latest: list[Latest], state: CrawlState) -> Situation | None:
        """Return the figures that say what limits the crawl, with means and rates of the last seconds."""
        known, rates = situation(status, state), self._rates
        if known is None:
            return None
        # Processes of one machine have the same cores.
        machines = {process.host: process.figures.get("cores", 0.0) for process in latest}
        cores, cpu, loop = sum(machines.values()), rates.of_steps("cpu_seconds"), rates.of("loop_seconds")
        return replace(
            known,
            ready=rates.mean("ready"),
            open=rates.mean("open"),
            unsettled=rates.mean("unsettled"),
            rate=rates.of("requests"),
            cpu_share=cpu / cores if cpu is not None and cores else None,
            loop_share=None if loop is None else loop / len(latest),
        )

    def _limits(self, overlay: Mapping[str, Override]) -> dict[str, float | None]:
        configuration = self._configuration
        pages = _changed(overlay, "CLOSESPIDER_PAGECOUNT", configuration.closespider_pagecount)
        seconds = _changed(overlay, "CLOSESPIDER_TIMEOUT", configuration.closespider_timeout)
        return {"pages": pages or None, "seconds": seconds or None}

    def _disk(self, now: float, latest: list[Latest]) -> dict[str, float | None]:
        free, total = (
            min((process.figures[name] for process in latest if name in process.figures), default=None)
            for name in ("disk_free", "disk_total")
        )
        sizes = {"free": free, "total": total, "crawl_bytes": _sum(latest, "crawl_bytes")}
        folder = self._source.folder
        if folder is None or not self._source.is_whole:
            return sizes
        if sizes["crawl_bytes"] is None:
            if self._size is None or not 0 <= now - self._size[0] < SIZE_SECONDS:
                self._size = (now, disk_usage(folder))
            sizes["crawl_bytes"] = self._size[1]
        with suppress(OSError):
            usage = shutil.disk_usage(folder)
            sizes |= {"free": usage.free, "total": usage.total}
        return sizes

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
        progress = {name: number_in(last.get(name)) for name in (*_TOTALS, "refusing_hosts", "withheld")}
        if began is not None and at is not None and pages is not None and at > began:
            progress["pages_mean"] = pages / (at - began)
        return progress


_WORDS = {
    ProcessState.PAUSING: "paused",
    ProcessState.IDLE: "running",
    ProcessState.WORKING: "running",
}
"""The states of processes that have other words here."""


def _verdict(verdict: Bottleneck | None) -> VerdictAnswer | None:
    if verdict is None:
        return None
    return {"by": str(verdict.bound), "words": verdict.short, "sentence": verdict.sentence}


def _changed(overlay: Mapping[str, Override], name: str, value: float) -> float:
    """Return the value of a setting that operators may have changed."""
    if name in overlay:
        with suppress(ValueError):
            return float(overlay[name].value)
    return value


def _live(published: Iterable[Latest], status: CrawlStatus) -> list[Latest]:
    """Return what the processes that run have published last."""
    if not status.workers:
        return []
    return [process for process in published if status.now - process.at < LIVE_SECONDS]


def _sum(latest: list[Latest], name: str) -> float | None:
    values = [process.figures[name] for process in latest if name in process.figures]
    return sum(values) if values else None


def _counts(status: CrawlStatus, latest: list[Latest], progress: Mapping[str, float | None]) -> Figures:
    """Return the numbers of URLs and hosts in their states."""
    counts = status.counts
    return {
        "queued": counts.queued,
        "done": counts.done,
        "failed": counts.failed,
        "refused": counts.refused,
        "hosts": counts.hosts,
        "active": status.active_hosts if (active := _sum(latest, "active")) is None else active,
        "ready": _sum(latest, "ready"),
        "parked": counts.parked_hosts,
        "given_up": counts.given_up_hosts,
        "refusing": _of_run(latest, progress, "refusing_hosts"),
        "withheld": _of_run(latest, progress, "withheld"),
    }


def _of_run(latest: list[Latest], progress: Mapping[str, float | None], name: str) -> float | None:
    """Return what the processes that run have counted; without any, what the last run had."""
    return _sum(latest, name) if latest else progress.get(name)


_TOTALS = ("pages", "bytes", "errors", *(f"pages_{name}" for name in STATUS_CLASSES))


def _totals(status: CrawlStatus, latest: list[Latest], progress: Mapping[str, float | None]) -> Figures:
    """Return the totals of all runs; of a crawl whose storage has no such figures, those of the processes that run or
    of the last run."""
    if status.counted:
        return {**stored_figures(status.totals)}
    return {name: _sum(latest, name) if latest else progress.get(name) for name in _TOTALS}


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
