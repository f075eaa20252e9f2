"""``scrapy frontier status|pause|resume|stop|check``: inspect and control a crawl, running or not.

The status and the results of ``check`` are printed as text or as JSON. Exit status 0: done, or no problems.
1: ``check`` found problems. 2: the command or a setting is wrong, or the crawl cannot be reached; a line on standard
error says why.
"""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from webcrawl.command import ProjectCommand, command_crawl
from webcrawl.commands.changes import changes_as_object, changes_as_text, read_changes
from webcrawl.config.vocabulary import hint
from webcrawl.control.selection import apply_spider_settings, require_crawl
from webcrawl.errors import CrawlError, Problem
from webcrawl.frontier.figures import STATUS_CLASSES
from webcrawl.reports import text
from webcrawl.reports.standing import ProcessState, process_state
from webcrawl.reports.totals import stored_figures
from webcrawl.storage.inspection import MEANINGS, Demand, FindingKind
from webcrawl.terminal import crawl_as_json, instead, table, tell

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from webcrawl.control.steering import SteeringState
    from webcrawl.control.stored import StoredCrawl
    from webcrawl.reports.limiting import Bottleneck, Estimate
    from webcrawl.storage.inspection import CheckResult, CrawlStatus, Findings, Worker
    from webcrawl.terminal import NamedCrawl


_HEAD = ("worker", "state", "since", "heartbeat", "pages", "pages/s", "received", "errors", "hosts", "open")
_BY_OPERATOR = {Demand.PAUSE: "paused by its operator, ", Demand.STOP: "stopped by its operator, "}
_WORDS = {ProcessState.LOST: "silent", ProcessState.IDLE: "waits", ProcessState.WORKING: "works"}
"""The states of processes that have other words here."""
_LEFT = 4
"""The number of left-aligned columns; the others are right-aligned figures."""


def status_as_text(
    crawl: NamedCrawl,
    status: CrawlStatus,
    changes: SteeringState | None = None,
    ends: Estimate | None = None,
    moved: str | None = None,
) -> str:
    """``moved``: see ``folders.elsewhere``."""
    counts = status.counts
    given_up = f"{text.count(counts.given_up_hosts)} given up"
    if counts.given_up_urls:
        given_up += f" with {text.count(counts.given_up_urls)} URLs"
    lines = [
        f"{crawl.name}: {_state(status)}",
        "",
        f"URLs   {text.count(counts.queued)} queued, {text.count(counts.done)} done, "
        f"{text.count(counts.failed)} failed, {text.count(counts.refused)} refused",
        f"hosts  {text.count(counts.hosts)} known, {text.count(status.active_hosts)} active, "
        f"{text.count(counts.parked_hosts)} parked, {given_up}",
    ]
    lines += _totals(status, ends)
    lines += _memory(status)
    if moved is not None:
        lines.append(f"moved  {moved}")
    if status.is_shared and status.workers:
        lines += ["", *table([_HEAD, *(_row(worker, status) for worker in status.workers)], _LEFT)]
    lines += changes_as_text(changes)
    return "\n".join(lines)


def _totals(status: CrawlStatus, ends: Estimate | None) -> Iterator[str]:
    """Yield lines on what all processes of all runs have counted, on what limits those that run, when they end, and
    on their memory."""
    if status.counted:
        figures = stored_figures(status.totals)
        by_class = ", ".join(f"{name} {text.count(figures[f'pages_{name}'])}" for name in STATUS_CLASSES)
        yield f"pages  {text.count(figures['pages'])}, {text.size(figures['bytes'])} received"
        yield f"errors {text.count(figures['errors'])}: requests without a response"
        yield f"status {by_class}"
    if (verdict := _verdict(status)) is not None:
        yield f"limit  {verdict.sentence}"
    if ends is not None:
        yield f"ends   {ends.sentence}"
    if used := _resident(status):
        parts = ", ".join(f"{name} {text.size(size)}" for name, size in used.items())
        yield f"memory {text.size(sum(used.values()))} resident: {parts}"


def tell_status(crawl: StoredCrawl, settings: BaseSettings, *, as_json: bool) -> None:
    """Print the status of a crawl that is read from its storage alone."""
    from webcrawl.control.folders import elsewhere

    status = crawl.status()
    ends = read_end(crawl, status, settings)
    tell(
        (status_as_json if as_json else status_as_text)(
            crawl, status, read_changes(crawl), ends, elsewhere(crawl.move_mark)
        )
    )


def read_end(crawl: StoredCrawl, status: CrawlStatus, settings: BaseSettings) -> Estimate | None:
    """Return when a crawl ends; None if it does not run, or that cannot be said or read."""
    from webcrawl.control import remaining

    try:
        return remaining.estimate_end(crawl, status, settings)
    except CrawlError:
        return None


def _verdict(status: CrawlStatus) -> Bottleneck | None:
    # Scrapy imports all commands at each start.
    from webcrawl.control.remaining import find_verdict

    return find_verdict(status)


def _resident(status: CrawlStatus) -> dict[str, float]:
    """Return the resident bytes of each worker with its children."""
    known = [(worker.name, worker.figures.get("rss_all")) for worker in status.workers]
    return {name: size for name, size in known if size}


def _memory(status: CrawlStatus) -> list[str]:
    """Return a line on the memory budget of the storage, from the most recent report of a worker."""
    reporting = [worker for worker in status.workers if worker.figures.get("budget_bytes")]
    if not reporting:
        return []
    figures = max(reporting, key=lambda worker: worker.heartbeat_at).figures
    refused = sum(int(worker.figures.get("backlog_full", 0)) for worker in reporting)
    return [
        f"Redis  {text.size(figures['used_bytes'])} used of {text.size(figures['budget_bytes'])}, "
        f"{text.count(refused)} URLs rejected for lack of space"
    ]


def _state(status: CrawlStatus) -> str:
    workers = [worker for worker in status.workers if worker_state(worker, status) != "silent"]
    by_operator = _BY_OPERATOR.get(status.demand, "")
    if not status.is_shared:
        if not status.workers:
            return f"{by_operator}not running"
        [worker] = status.workers
        return f"{by_operator}running ({worker.name}), last heartbeat {_ago(worker, status)}"
    running = f"{text.things(len(workers), 'worker')} running" if workers else "no worker is running"
    return by_operator + running


def _row(worker: Worker, status: CrawlStatus) -> tuple[str, ...]:
    figures = worker.figures
    return (
        worker.name,
        worker_state(worker, status),
        "" if worker.started_at is None else f"{datetime.fromtimestamp(worker.started_at):%Y-%m-%d %H:%M:%S}",
        _ago(worker, status),
        text.count(int(figures.get("pages", 0))),
        f"{_pages_per_second(worker):.1f}",
        text.size(figures.get("bytes", 0)),
        text.count(int(figures.get("errors", 0))),
        text.count(int(figures.get("active", 0))),
        text.count(int(figures.get("open", 0))),
    )


def worker_state(worker: Worker, status: CrawlStatus) -> str:
    """Return the state of a worker of a shared crawl, in one word."""
    state = process_state(worker, status)
    return _WORDS.get(state, str(state))


def _ago(worker: Worker, status: CrawlStatus) -> str:
    return f"{text.duration(max(status.now - worker.heartbeat_at, 0.0))} ago"


def _pages_per_second(worker: Worker) -> float:
    """Return the mean since its start; 0 if that is not known."""
    seconds = worker.heartbeat_at - (worker.started_at or worker.heartbeat_at)
    return worker.figures.get("pages", 0) / seconds if seconds > 0 else 0.0


def status_as_json(
    crawl: NamedCrawl,
    status: CrawlStatus,
    changes: SteeringState | None = None,
    ends: Estimate | None = None,
    moved: str | None = None,
) -> str:
    counts = status.counts
    urls = {name: getattr(counts, name) for name in ("queued", "done", "failed", "refused")}
    hosts = {
        "known": counts.hosts,
        "active": status.active_hosts,
        "parked": counts.parked_hosts,
        "given_up": counts.given_up_hosts,
        "given_up_urls": counts.given_up_urls,
    }
    stored: dict[str, Any] = {}
    if status.counted:
        totals = stored_figures(status.totals)
        stored = {name: totals[name] for name in ("pages", "bytes", "errors")}
        stored["statuses"] = {name: totals[f"pages_{name}"] for name in STATUS_CLASSES}
    verdict = _verdict(status)
    return crawl_as_json(
        crawl,
        now=round(status.now, 3),
        command=str(status.demand),
        urls=urls,
        hosts=hosts,
        **stored,
        limit=None if verdict is None else verdict.sentence,
        ends=None if ends is None else ends.as_object(),
        moved=moved,
        memory=_resident(status),
        workers=[_status_object(worker, status) for worker in status.workers],
        changes=changes_as_object(changes),
    )


def _status_object(worker: Worker, status: CrawlStatus) -> dict[str, Any]:
    row: dict[str, Any] = {"name": worker.name, "heard_at": worker.heartbeat_at}
    if worker.exclusions:
        row["exclusions"] = worker.exclusions
    if status.is_shared:
        row["state"] = worker_state(worker, status)
        row["started_at"] = worker.started_at
        row["pages_per_second"] = round(_pages_per_second(worker), 3)
    return {**row, **worker.figures}


SHOWN = 5
"""The number of examples of each kind."""


def check_as_text(crawl: NamedCrawl, checked: CheckResult) -> str:
    return "\n".join(_lines(crawl, checked))


def _lines(crawl: NamedCrawl, checked: CheckResult) -> Iterator[str]:
    yield (
        f"{crawl.name}: {text.count(checked.urls)} URLs known, {text.count(checked.queued)} queued, "
        f"{text.count(checked.hosts)} hosts"
    )
    if checked.running_workers:
        yield (
            f"{', '.join(sorted(checked.running_workers))} running meanwhile: the check reports only what it found "
            "twice. It is exact when no worker is running."
        )
    if checked.uncompared:
        parts = ", ".join(checked.uncompared)
        yield f"Totals that changed while they were counted were not compared: {parts}"
    for what in checked.unchecked:
        yield f"Not checked: {what}"
    if checked.repaired:
        yield f"{_number(checked.repaired)} did not agree and {_were(checked.repaired)} repaired:"
        yield from _listed(checked.repaired)
    if checked.left:
        do = "does" if _total(checked.left) == 1 else "do"
        yield f"{_number(checked.left)} {do} not agree:"
        yield from _listed(checked.left)
        yield _advice(checked)
    else:
        yield "Everything agrees: every URL is in exactly one state, and every count is right."


def _advice(checked: CheckResult) -> str:
    if FindingKind.DAMAGED in checked.left.counts:
        return "Damaged data is not repaired: resume from a checkpoint, or see docs/guides/check.md."
    if checked.repaired:
        return "The rest cannot be repaired."
    return "scrapy frontier check --repair repairs what can be repaired, while no worker is running."


def _listed(findings: Findings) -> Iterator[str]:
    for kind, number in sorted(findings.counts.items(), key=lambda item: list(FindingKind).index(item[0])):
        yield f"{text.count(number):>7}  {MEANINGS[kind]}"
        shown = findings.listed[kind][:SHOWN]
        for finding in shown:
            yield f"{'':>11}{finding}"
        if number > len(shown):
            yield f"{'':>11}and {text.count(number - len(shown))} more"


def _total(findings: Findings) -> int:
    return sum(findings.counts.values())


def _number(findings: Findings) -> str:
    return text.things(_total(findings), "thing")


def _were(findings: Findings) -> str:
    return "was" if _total(findings) == 1 else "were"


def check_as_json(crawl: NamedCrawl, checked: CheckResult) -> str:
    return crawl_as_json(
        crawl,
        agrees=checked.agrees,
        urls=checked.urls,
        queued=checked.queued,
        hosts=checked.hosts,
        left=_check_object(checked.left),
        repaired=_check_object(checked.repaired),
        running_workers=sorted(checked.running_workers),
        uncompared=checked.uncompared,
        unchecked=checked.unchecked,
    )


def _check_object(findings: Findings) -> dict[str, Any]:
    return {
        str(kind): {
            "count": number,
            "examples": [
                {"subject": finding.subject, "detail": finding.detail, "where": finding.where}
                for finding in findings.listed[kind]
            ],
        }
        for kind, number in findings.counts.items()
    }


COMMANDS = ("pause", "resume", "stop")
VERBS = ("status", *COMMANDS, "check")
_OPTIONS = {
    "json": ("status", "check"),
    "wait": tuple(COMMANDS),
    "repair": ("check",),
}


class Command(ProjectCommand):
    spider_help = "spider of the crawl on Redis"
    json_help = "status, check: one JSON object"

    def syntax(self) -> str:
        return "[options] <status|pause|resume|stop|check>"

    def short_desc(self) -> str:
        return "Show a crawl, pause or stop all its workers, check its stored state"

    def long_desc(self) -> str:
        return (
            "status: the state of the crawl and of each of its workers. pause, resume, stop: as scrapy pause, "
            "resume and stop, without waiting. check: verify that every URL is in exactly one state and that every "
            "count is right. -s REDIS_URL=... (or the settings of scrapy-redis) or, for a crawl of one process, "
            "-s JOBDIR=DIR selects the crawl."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--wait", action="store_true", help="pause, resume, stop: return when all workers have obeyed"
        )
        parser.add_argument("--repair", action="store_true", help="check: repair disagreements")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        assert self.settings is not None
        if not args:
            yield Problem("", "no command; give status, pause, resume, stop or check")
            return
        yield from _wrong_words(args, opts)
        apply_spider_settings(opts.spider, self.settings)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        assert self.settings is not None
        verb = args[0]
        crawl = require_crawl(self.settings, opts.spider)
        if verb == "status":
            tell_status(crawl, self.settings, as_json=opts.json)
            return 0
        if verb == "check":
            progress = _progress if sys.stderr.isatty() else None
            checked = crawl.repair(progress) if opts.repair else crawl.check(progress)
            tell(check_as_json(crawl, checked) if opts.json else check_as_text(crawl, checked))
            return 0 if checked.agrees else 1
        return command_crawl(crawl, verb, wait=opts.wait)


def _wrong_words(args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
    verb = args[0]
    if verb not in VERBS:
        yield Problem(verb, f"is no subcommand of frontier; {hint(verb, VERBS)}")
        return
    if len(args) > 1:
        yield Problem(args[1], f"is one argument too many after {verb}{instead(args[1])}")
    for option, verbs in _OPTIONS.items():
        if getattr(opts, option) and verb not in verbs:
            yield Problem(f"--{option}", f"is for {' and '.join(verbs)}, not for {verb}")


def _progress(done: int, total: int) -> None:
    sys.stderr.write(f"\rshard {done} of {total}" + ("\n" if done >= total else ""))
    sys.stderr.flush()
