"""How a crawl stands, as a table for people or an object for programs."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from webcrawl.frontier.backend import Command
from webcrawl.reports import units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.frontier.backends.standing import Standing, Worker

SILENT_SECONDS = 10.0
"""A worker gives a sign of life each second: who is silent for longer hangs, is cut off, or dead."""

_HEAD = ("worker", "state", "since", "heard of", "pages", "pages/s", "received", "errors", "hosts", "open")
_LEFT = 4
"""Columns that begin at the left; figures end at the right."""


class Named(Protocol):
    """A crawl, as it is called."""

    storage: str

    @property
    def name(self) -> str: ...

    @property
    def place(self) -> str: ...


def as_text(crawl: Named, standing: Standing) -> str:
    counts = standing.counts
    given_up = f"{units.count(counts.given_up_hosts)} given up"
    if counts.given_up_urls:
        given_up += f" with {units.count(counts.given_up_urls)} URLs"
    lines = [
        f"{crawl.name}: {_state(standing)}",
        "",
        f"URLs   {units.count(counts.queued)} queued, {units.count(counts.done)} done, "
        f"{units.count(counts.failed)} failed, {units.count(counts.refused)} refused",
        f"hosts  {units.count(counts.hosts)} known, {units.count(standing.active_hosts)} active, "
        f"{units.count(counts.parked_hosts)} parked, {given_up}",
    ]
    lines += _memory(standing)
    if standing.command is not None and standing.workers:
        lines += ["", *_table([_HEAD, *(_row(worker, standing) for worker in standing.workers)])]
    return "\n".join(lines)


def _memory(standing: Standing) -> list[str]:
    """How much of its budget the storage uses, as the worker told who was heard of last."""
    told = [worker for worker in standing.workers if worker.figures.get("budget_bytes")]
    if not told:
        return []
    figures = max(told, key=lambda worker: worker.heard_at).figures
    refused = sum(int(worker.figures.get("backlog_full", 0)) for worker in told)
    return [
        f"memory {units.size(figures['used_bytes'])} used of {units.size(figures['budget_bytes'])}, "
        f"{units.count(refused)} times no place for a URL"
    ]


def _state(standing: Standing) -> str:
    workers = [worker for worker in standing.workers if not _is_silent(worker, standing)]
    if standing.command is None:
        if not standing.workers:
            return "not running"
        [worker] = standing.workers
        return f"{worker.name} works on it, last sign of life {_ago(worker, standing)}"
    at_work = f"{units.count(len(workers))} at work" if workers else "nobody is at work"
    told = {Command.PAUSE: "paused by its operator, ", Command.STOP: "stopped by its operator, "}
    return told.get(standing.command, "") + at_work


def _row(worker: Worker, standing: Standing) -> tuple[str, ...]:
    figures = worker.figures
    return (
        worker.name,
        state_of(worker, standing),
        "" if worker.started_at is None else f"{datetime.fromtimestamp(worker.started_at):%Y-%m-%d %H:%M:%S}",
        _ago(worker, standing),
        units.count(int(figures.get("pages", 0))),
        f"{_pages_per_second(worker):.1f}",
        units.size(figures.get("bytes", 0)),
        units.count(int(figures.get("errors", 0))),
        units.count(int(figures.get("active", 0))),
        units.count(int(figures.get("open", 0))),
    )


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if at < _LEFT else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def state_of(worker: Worker, standing: Standing) -> str:
    """What a worker of a shared crawl is doing, in one word."""
    figures = worker.figures
    if _is_silent(worker, standing):
        return "silent"
    if standing.command is Command.STOP:
        return "stopping"
    if figures.get("paused"):
        return "pausing" if figures.get("open") else "paused"
    return "waits" if figures.get("waiting") and not figures.get("open") else "works"


def _is_silent(worker: Worker, standing: Standing) -> bool:
    return standing.now - worker.heard_at > SILENT_SECONDS


def _ago(worker: Worker, standing: Standing) -> str:
    return f"{units.duration(max(standing.now - worker.heard_at, 0.0))} ago"


def _pages_per_second(worker: Worker) -> float:
    """On average since its start; 0 where that is not known."""
    seconds = worker.heard_at - (worker.started_at or worker.heard_at)
    return worker.figures.get("pages", 0) / seconds if seconds > 0 else 0.0


def as_json(crawl: Named, standing: Standing) -> str:
    counts = standing.counts
    urls = {name: getattr(counts, name) for name in ("queued", "done", "failed", "refused")}
    hosts = {
        "known": counts.hosts,
        "active": standing.active_hosts,
        "parked": counts.parked_hosts,
        "given_up": counts.given_up_hosts,
        "given_up_urls": counts.given_up_urls,
    }
    found: dict[str, Any] = {
        "storage": crawl.storage,
        "place": crawl.place,
        "now": round(standing.now, 3),
        "command": None if standing.command is None else str(standing.command),
        "urls": urls,
        "hosts": hosts,
        "workers": [_as_object(worker, standing) for worker in standing.workers],
    }
    return json.dumps(found)


def _as_object(worker: Worker, standing: Standing) -> dict[str, Any]:
    found: dict[str, Any] = {"name": worker.name, "heard_at": worker.heard_at}
    if worker.exclusions:
        found["exclusions"] = worker.exclusions
    if standing.command is not None:
        found["state"] = state_of(worker, standing)
        found["started_at"] = worker.started_at
        found["pages_per_second"] = round(_pages_per_second(worker), 3)
    return {**found, **worker.figures}
