"""The crawl that a dashboard shows. All methods block."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from webcrawl.archive import fetchlog
from webcrawl.config import Configuration
from webcrawl.control.selection import require_crawl
from webcrawl.control.steering import Steering
from webcrawl.crawl.jobdir import folder_of_all, folders_with_files, worker_folders
from webcrawl.features.steering.kept_settings import settings_of_crawl
from webcrawl.features.steering.store import SteeringStore
from webcrawl.features.timeseries.runs import SILENT_SECONDS, RunStore, with_killed
from webcrawl.features.timeseries.store import SeriesStore
from webcrawl.reports.summary import how_it_ended
from webcrawl.web.dashboard.host_index import HostIndex, HostsAnswer
from webcrawl.web.dashboard.one_host import describe_host
from webcrawl.web.dashboard.state import CrawlAnswer, StateReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from webcrawl.features.steering.store import JournalEntry, Suggestion, WorkerState
    from webcrawl.features.timeseries.reading import Series
    from webcrawl.features.timeseries.runs import ProcessRun
    from webcrawl.features.timeseries.store import Latest
    from webcrawl.storage.tables import Tables

MARKS_MAX = 200
LOG_BYTES_MAX = 256 << 20
"""A fetch log of more bytes is not searched for a URL: that would take more than some seconds."""


class _Runs:
    """The stores that the runs of processes are from, read together."""

    def __init__(self, tables: Tables) -> None:
        self._runs = RunStore(tables)
        self._series = SeriesStore(tables)

    async def read(self) -> tuple[list[ProcessRun], list[Latest]]:
        return await self._runs.runs(), await self._series.latest()


MarkKind = Literal["run", "end", "change"]


class GraphMark(TypedDict):
    """A moment that explains a bend in a graph."""

    at: float
    kind: MarkKind
    text: str


class CrawlSource:
    """A crawl by its settings, which name its JOBDIR or its Redis."""

    def __init__(
        self,
        settings: BaseSettings,
        spider: str,
        arguments: Mapping[str, str] | None = None,
        allowed_domains: object = None,
    ) -> None:
        """``spider``, ``arguments`` and ``allowed_domains``: of the crawl; its rules depend on them.

        :raises CrawlError: the settings are wrong, or name no crawl that other processes can read
        """
        self.settings = settings
        self.spider = spider
        self.arguments = dict(arguments or {})
        self.allowed_domains = allowed_domains
        folder = Configuration.from_settings(settings).jobdir
        if folder is not None and (whole := folder_of_all(folder)) != folder:
            # The dashboard of the first worker shows what all of them have.
            self.settings = settings = settings.copy()
            settings.frozen = False
            settings.set("JOBDIR", str(whole), priority=max(settings.getpriority("JOBDIR") or 0, 0))
        self.configuration = Configuration.from_settings(settings)
        self.crawl = require_crawl(settings, spider)
        self.ends_with_crawl = False
        """True in a process that a crawl has started, and that ends with it."""
        self.folder = self.configuration.jobdir
        """The JOBDIR of the crawl, or of one of its workers."""
        self.folders: Sequence[Path] = [] if self.folder is None else folders_with_files([self.folder])
        """The folders with fetch logs and archives."""
        self.is_shared = self.crawl.is_shared
        self.is_whole = not self.is_shared or (self.folder is not None and bool(worker_folders(self.folder)))
        """True if the folder has what all processes of the crawl keep."""
        self.steering = Steering(self.crawl, settings, spider, self.arguments, allowed_domains)
        self._state = StateReader(self)
        self._hosts: HostIndex | None = None
        self._lock = threading.Lock()
        self._started: tuple[list[Mapping[str, str]], Configuration] = [], self.configuration

    @property
    def name(self) -> str:
        """The name of the crawl: its folder's, or its spider's in Redis."""
        return self.folder.resolve().name if self.is_whole and self.folder is not None else self.spider

    def started(self, workers: Sequence[WorkerState]) -> Configuration:
        """Return the configuration with which the crawl was started last, as its workers have published it; other
        values that were given on the command line of the dashboard are stronger.

        :raises CrawlError: the two together are wrong
        """
        texts = [text for worker in workers for text in (worker.start, worker.kept)]
        known, configuration = self._started
        if texts != known:
            configuration = Configuration.from_settings(settings_of_crawl(self.settings, workers))
            self._started = texts, configuration
        return configuration

    def state(self, *, public: bool) -> CrawlAnswer:
        """Return the object of the endpoint ``crawl``. :raises CrawlError: it cannot be read"""
        return self._state.read(public=public)

    def hosts(self, choices: Mapping[str, Any]) -> HostsAnswer:
        """Return a page of the table of hosts; see ``HostIndex.page``. The index is built when it is first asked for.

        :raises ValueError: a choice is wrong :raises CrawlError: the hosts cannot be read
        """
        with self._lock:
            if self._hosts is None:
                self._hosts = HostIndex(self.crawl.hosts)
                self._hosts.begin()
        return self._hosts.page(**choices)

    def host(self, key: str) -> dict[str, Any] | None:
        """Return what is known of a host; see ``describe_host``. :raises CrawlError: it cannot be read"""
        return describe_host(self, key)

    def close(self) -> None:
        """Release what was built."""
        with self._lock:
            if self._hosts is not None:
                self._hosts.close()

    def series(self, names: Sequence[str], from_: float | None, to: float | None, points: int) -> Series:
        """Return time series; see ``SeriesStore.read``. :raises CrawlError: :raises ValueError:"""
        return self.crawl.series(names, from_, to, points)

    def explanation(self, url: str, *, reads_logs: bool = True) -> dict[str, Any]:
        """Return what ``scrapy explain --json URL`` says. ``reads_logs``: also what only the logs have, unless they
        are so long that it would take more than some seconds.

        :raises CrawlError: or a ValueError that names the cause
        """
        # It imports the parts of a crawl.
        from webcrawl.control.inquiry import Inquiry, Question

        question = Question(
            url,
            spider=self.spider,
            arguments=self.arguments,
            allowed_domains=self.allowed_domains,
            reads_logs=reads_logs and not self.has_long_log(),
        )
        explanation: dict[str, Any] = json.loads(
            Inquiry(self.settings, self.configuration, question).as_json()
        )
        return explanation

    def suggest(self, url: str, note: str, by: str) -> str:
        """Hold a URL until an operator decides; return its id. :raises CrawlError: it is no URL, or not taken"""
        # What cannot be explained cannot be queued.
        resolved = self.explanation(url, reads_logs=False)["url"]["resolved"]
        name: str = self.crawl.change_store(
            SteeringStore, lambda store, now: store.suggest(resolved, note, by, now)
        )
        return name

    def suggestions(self) -> list[Suggestion]:
        """Return the suggestions that are kept, oldest first."""
        return self.crawl.read_store(SteeringStore, SteeringStore.suggestions)

    def decide(self, name: str, *, accept: bool, by: str) -> str | None:
        """Decide on a suggestion; an accepted one is added to the queue. Return what was done as a sentence; None if
        there is no such suggestion, or it was decided before. :raises CrawlError:"""
        suggestion = next((suggestion for suggestion in self.suggestions() if suggestion.id == name), None)
        if suggestion is None or suggestion.accepted is not None:
            return None
        # If this process ends after the first step, the suggestion is still there.
        sentence = self.steering.add([suggestion.url], by)[0].sentence if accept else "it is rejected"
        decided = self.crawl.change_store(
            SteeringStore, lambda store, now: store.decide(name, by, now, accept=accept)
        )
        return None if decided is None else f"{sentence[0].upper()}{sentence[1:]}."

    def journal(self, most: int) -> list[JournalEntry]:
        """Return the last changes by operators, the latest first."""
        return self.crawl.read_store(SteeringStore, lambda store: store.journal(most))

    def marks(self) -> list[GraphMark]:
        """Return when runs began and ended or were killed, and the last changes by operators, in the order of time.
        Of a shared crawl the runs are those of its workers."""
        marks: list[tuple[float, MarkKind, str]] = []
        for run in self._runs():
            begun, ended = f"the worker {run.worker} began", f"the worker {run.worker}"
            if not self.is_shared:
                begun, ended = "a run began", "the run"
            marks.append((run.begun_at, "run", begun))
            if run.ended_at is not None:
                how = "was killed" if run.reason is None else how_it_ended(run.reason)
                marks.append((run.ended_at, "end", f"{ended} {how}"))
        for entry in self.journal(MARKS_MAX):
            values = "" if entry.new is None else f" {entry.old or ''} -> {entry.new}".replace("  ->", " ->")
            what = f"{entry.what} {entry.name}{values}".strip().replace("  ", " ")
            marks.append((entry.at, "change", f"{what}, by {entry.by}"))
        return [{"at": at, "kind": kind, "text": text[:300]} for at, kind, text in sorted(marks)]

    def _runs(self) -> list[ProcessRun]:
        """Return the runs of the crawl's processes, in the order in which they began."""
        status = self.crawl.status()
        runs, latest = self.crawl.read_store(_Runs, _Runs.read)
        names = {
            worker.name for worker in status.workers if status.now - worker.heartbeat_at < SILENT_SECONDS
        }
        alive = [
            process.worker
            for process in latest
            if (process.worker if self.is_shared else f"process {process.process}") in names
        ]
        return with_killed(runs, latest, alive, status.now)

    def has_long_log(self) -> bool:
        """Return True if searching the fetch log takes too long for an answer."""
        total = 0
        for folder in self.folders:
            for path in [folder / fetchlog.NAME, *folder.glob("fetch-*.jsonl.gz")]:
                with suppress(OSError):
                    total += path.stat().st_size * (10 if path.suffix == ".gz" else 1)
        return total > LOG_BYTES_MAX
