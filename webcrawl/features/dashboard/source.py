"""The crawl that a dashboard shows, and its state as one object. All methods block."""

from __future__ import annotations

import json
import shutil
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import webcrawl
from webcrawl.archive import fetchlog
from webcrawl.config import Configuration
from webcrawl.control import folders
from webcrawl.control.selection import require_crawl
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.reports import progress_log, run_log
from webcrawl.reports.counting import number_in
from webcrawl.reports.run_log import State
from webcrawl.storage.contract import OperatorCommand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

    from webcrawl.reports.run_log import Run
    from webcrawl.storage.inspection import CrawlStatus, Worker

SIZE_SECONDS = 60.0
"""The size of a crawl's folder is measured at most this often: it may have many files."""
LOG_BYTES_MAX = 256 << 20
"""A fetch log of more bytes is not searched for a URL: that would take more than some seconds."""
_TAIL_BYTES = 8192


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
        self.configuration = Configuration.from_settings(settings)
        self.crawl = require_crawl(settings, spider)
        self.folder = self.configuration.jobdir
        self.is_shared = self.configuration.storage.is_shared
        self._size: tuple[float, int] | None = None

    @property
    def name(self) -> str:
        """The name of the crawl: its folder's, or its spider's in Redis."""
        return self.spider if self.is_shared or self.folder is None else self.folder.resolve().name

    def state(self, *, public: bool) -> dict[str, Any]:
        """Return the object of the endpoint ``crawl``. :raises CrawlError: it cannot be read"""
        status = self.crawl.status()
        run, runs_begun_at = self._run()
        counts = status.counts
        pages = self._progress(run)
        return {
            "name": self.name,
            "spider": self.spider if run is None else run.spider or self.spider,
            "state": self._state(status, run),
            "reason": None if run is None else run.reason,
            "begun_at": runs_begun_at,
            "now": status.now,
            "user_agent": self.configuration.user_agent if run is None else run.user_agent,
            "jobdir": None if self.folder is None else str(self.folder),
            "storage": self.crawl.storage,
            "version": webcrawl.__version__,
            "counts": {
                "queued": counts.queued,
                "done": counts.done,
                "failed": counts.failed,
                "refused": counts.refused,
                "hosts": counts.hosts,
                "active": status.active_hosts,
                "ready": _sum(status.workers, "ready"),
                "parked": counts.parked_hosts,
                "given_up": counts.given_up_hosts,
            },
            "rates": {name: pages.get(name) for name in ("pages", "bytes", "pages_mean")},
            "totals": {
                "pages": pages.get("total_pages"),
                "bytes": pages.get("total_bytes"),
                "errors": counts.failed,
            },
            "politeness": {"min_delay": self.configuration.politeness_min_delay},
            "disk": self._disk(status.now),
            "limits": self._limits(),
            "workers": [_worker(worker) for worker in status.workers],
            "public": public,
        }

    def explanation(self, url: str) -> dict[str, Any]:
        """Return what ``scrapy explain --json URL`` says. :raises CrawlError: or a ValueError that names the cause"""
        # It imports the parts of a crawl.
        from webcrawl.commands.explain import Inquiry, Question

        question = Question(
            url, spider=self.spider, arguments=self.arguments, allowed_domains=self.allowed_domains
        )
        found: dict[str, Any] = json.loads(Inquiry(self.settings, self.configuration, question).as_json())
        return found

    def has_long_log(self) -> bool:
        """Return True if searching the fetch log takes too long for an answer."""
        if self.folder is None:
            return False
        total = 0
        for path in [self.folder / fetchlog.NAME, *self.folder.glob("fetch-*.jsonl.gz")]:
            with suppress(OSError):
                total += path.stat().st_size * (10 if path.suffix == ".gz" else 1)
        return total > LOG_BYTES_MAX

    # -- parts of the state --------------------------------------------------------------------------------

    def _run(self) -> tuple[Run | None, float | None]:
        """Return the last run of the crawl in the folder, and when the first one began."""
        runs: list[Run] = []
        if self.folder is not None:
            with suppress(OSError):
                runs = run_log.read(self.folder)
        return (runs[-1], runs[0].begun_at) if runs else (None, None)

    def _state(self, status: CrawlStatus, run: Run | None) -> str:
        recent = [
            one
            for one in status.workers
            if not self.is_shared or status.now - one.heartbeat_at < 2 * self.configuration.lease_seconds
        ]
        if recent:
            if status.command is OperatorCommand.STOP:
                return "stopping"
            if status.command is OperatorCommand.PAUSE:
                return "paused"
            return "running"
        if run is None or self.is_shared:
            return "not running"
        held = self.folder is not None and Jobdir(self.folder).holder() is not None
        found = run.state(is_held=held)
        return "running" if found is State.RUNNING else str(found)

    def _progress(self, run: Run | None) -> dict[str, float | None]:
        """Return figures of the folder's progress log: of its last lines, which are at most a minute old."""
        if self.folder is None or run is None:
            return {}
        lines = _last_lines(self.folder / progress_log.NAME)
        mine = [line for line in lines if number_in(line.get("run")) == number_in(lines[-1].get("run"))]
        if not mine:
            return {}
        last = mine[-1]
        found: dict[str, float | None] = {
            "total_pages": number_in(last.get("pages")),
            "total_bytes": number_in(last.get("bytes")),
        }
        if len(mine) > 1:
            found["pages"] = _rate(mine[-2], last, "pages")
            found["bytes"] = _rate(mine[-2], last, "bytes")
        began, at = number_in(last.get("run")), number_in(last.get("at"))
        total = found["total_pages"]
        if began is not None and at is not None and total is not None and at > began:
            found["pages_mean"] = total / (at - began)
        return found

    def _disk(self, now: float) -> dict[str, int | None]:
        if self.folder is None:
            return {"free": None, "total": None, "crawl_bytes": None}
        if self._size is None or not 0 <= now - self._size[0] < SIZE_SECONDS:
            self._size = (now, folders.size_of(self.folder))
        try:
            usage = shutil.disk_usage(self.folder)
        except OSError:
            return {"free": None, "total": None, "crawl_bytes": self._size[1]}
        return {"free": usage.free, "total": usage.total, "crawl_bytes": self._size[1]}

    def _limits(self) -> dict[str, float | None]:
        configuration = self.configuration
        return {
            "pages": configuration.closespider_pagecount or None,
            "seconds": configuration.closespider_timeout or None,
        }


def _worker(worker: Worker) -> dict[str, Any]:
    return {
        "name": worker.name,
        "started_at": worker.started_at,
        "heartbeat_at": worker.heartbeat_at,
        "figures": dict(worker.figures),
    }


def _sum(workers: list[Worker], name: str) -> float | None:
    found = [worker.figures[name] for worker in workers if name in worker.figures]
    return sum(found) if found else None


def _last_lines(path: Path) -> deque[dict[str, Any]]:
    """Return the last complete lines of a file of JSON lines."""
    lines: deque[dict[str, Any]] = deque(maxlen=8)
    with suppress(OSError), path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(end - _TAIL_BYTES, 0))
        for text in file.read().splitlines():
            with suppress(ValueError):
                line = json.loads(text)
                if isinstance(line, dict):
                    lines.append(line)
    return lines


def _rate(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> float | None:
    begun, ended = number_in(before.get("at")), number_in(after.get("at"))
    had, has = number_in(before.get(name)), number_in(after.get(name))
    if begun is None or ended is None or had is None or has is None or ended <= begun:
        return None
    return (has - had) / (ended - begun)
