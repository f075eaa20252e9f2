"""``scrapy errors [JOBDIR|REDIS_URL]``: the last errors of a crawl, and how many there are of each kind and host.

Exit status 0: done. 2: an argument or a setting is wrong, or there is no such crawl; a line on standard error says
why.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from webcrawl.command import CrawlCommand, number
from webcrawl.reports import text
from webcrawl.reports.totals import stored_errors
from webcrawl.terminal import crawl_as_json, cut, table, tell, width

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from webcrawl.control.error_log import ErrorReport, LoggedError
    from webcrawl.control.stored import StoredCrawl
    from webcrawl.features.steering.failures import FailedUrl, FailureStore
    from webcrawl.storage.inspection import CrawlStatus

LIMIT = 20
LIMIT_MOST = 10_000
_HOSTS = 5
"""The number of hosts in the text."""


class Command(CrawlCommand):
    def short_desc(self) -> str:
        return "Show the last errors of a crawl, and counts by kind and host"

    def long_desc(self) -> str:
        return (
            "Show how many URLs failed in which way, the hosts with the most errors, and the last errors with their "
            "URLs: what errors.log in the JOBDIR still has, of all runs. The crawl may be running or not. For a "
            "crawl on Redis the numbers are of all runs and workers, and the URLs those that failed for good; "
            "the others are in the JOBDIRs of the workers."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        limits = number(int, 0, LIMIT_MOST, f"a whole number from 0 to {LIMIT_MOST:,}")
        add("--limit", metavar="N", type=limits, default=LIMIT, help="so many errors (default: %(default)s)")
        add("--search", metavar="TEXT", default="", help="only errors whose URL or message has this text")
        add("--kind", metavar="WORD", default="", help="only errors of this kind, such as timeout")

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        folder = self.folder
        if folder is None:
            _tell_of_workers(self.crawl(opts), opts)
            return
        # Scrapy imports all commands at each start.
        from webcrawl.control import error_log

        report = error_log.read(folder, limit=opts.limit, search=opts.search, kind=opts.kind)
        if opts.json:
            tell(json.dumps({"place": str(folder), **report.as_object()}))
        else:
            tell("\n".join(_as_text(folder, report, width())))


def _as_text(folder: Path, report: ErrorReport, columns: int | None) -> Iterator[str]:
    since = "" if report.since is None else f" since {text.second(report.since)} UTC"
    yield f"{folder}: {text.things(report.total, 'error')}{since}"
    if report.unanticipated:
        tracebacks = text.things(report.unanticipated, "traceback")
        yield f"{tracebacks} of the spider or the crawler in {folder / 'unanticipated.log'}"
    if not report.total:
        return
    yield from _counted("errors", report.kinds, None, columns)
    yield from _remedies(report.kinds, columns)
    yield from _counted("most errors", report.hosts, _HOSTS, columns)
    if report.last:
        yield from ("", "last errors")
    yield from _last(report.last, columns)


def _last(errors: Sequence[LoggedError], columns: int | None) -> Iterator[str]:
    longest = max((len(error.error) for error in errors), default=0)
    for error in errors:
        head = f"  {text.second(error.at)} UTC  {error.error:<{longest}}  "
        if columns is not None and columns - len(head) < len(error.url) and columns < 100:
            # A narrow terminal: the URL on a line of its own.
            yield cut(head.rstrip(), columns)
            yield cut(f"    {error.url}", columns)
        else:
            yield cut(f"{head}{error.url}", columns)


def _remedies(kinds: Counter[str], columns: int | None) -> Iterator[str]:
    """Yield what would help against the refusals of sites."""
    # Scrapy imports all commands at each start.
    from webcrawl.control.error_log import remedies

    helpful = remedies(kind for kind, _ in kinds.most_common())
    if helpful:
        yield from ("", "what would help")
    longest = max(map(len, helpful), default=0)
    for kind, remedy in helpful.items():
        yield cut(f"  {kind:<{longest}}  {remedy}", columns)


def _counted(name: str, counts: Counter[str], most: int | None, columns: int | None) -> Iterator[str]:
    yield from ("", name)
    for word, times in counts.most_common(most):
        yield cut(f"  {text.count(times):>9}  {word}", columns)
    if most is not None and len(counts) > most:
        yield f"  {'':>9}  and {text.things(len(counts) - most, 'host')} more"


def _tell_of_workers(crawl: StoredCrawl, opts: argparse.Namespace) -> None:
    """Tell of a crawl on Redis the errors that its processes have counted, and the last URLs that failed for good."""
    # Scrapy imports all commands at each start.
    from webcrawl.control.error_log import LoggedError
    from webcrawl.features.steering.failures import FailureStore

    workers, kinds = _counted_by_workers(crawl.status())
    failed = crawl.read_store(FailureStore, _failures)
    chosen = [
        failure
        for failure in sorted(failed, key=lambda failure: failure.at, reverse=True)
        if opts.search in failure.entry.url and opts.kind in ("", failure.error)
    ]
    last = [LoggedError(failure.at, failure.error, failure.entry.url) for failure in chosen[: opts.limit]]
    if opts.json:
        counts: dict[str, Any] = {"total": workers.total(), "workers": dict(workers), "kinds": dict(kinds)}
        tell(crawl_as_json(crawl, **counts, failed=len(chosen), last=[asdict(error) for error in last]))
        return
    total, names = text.things(workers.total(), "error"), text.things(len(workers), "worker")
    lines = [f"{crawl.name}: {total} of {names}, in all runs"]
    if kinds:
        lines += _counted("errors", kinds, None, width())
    if workers:
        rows = [(name, text.count(count)) for name, count in sorted(workers.items())]
        lines += ["", *table([("worker", "errors"), *rows], 1)]
    lines += _remedies(Counter(failure.error for failure in chosen), width())
    if last:
        lines += ["", "last URLs that failed for good", *_last(last, width())]
    lines += ["", "The URLs of other errors are in the JOBDIR of each worker: scrapy errors JOBDIR"]
    tell("\n".join(lines))


def _counted_by_workers(status: CrawlStatus) -> tuple[Counter[str], Counter[str]]:
    """Return the errors by worker and by kind, of all runs."""
    workers: Counter[str] = Counter({worker.name: 0 for worker in status.workers})
    kinds: Counter[str] = Counter()
    for counted in status.counted:
        errors = stored_errors(counted.numbers)
        workers[counted.worker] += sum(errors.values())
        kinds.update(errors)
    return workers, kinds


async def _failures(store: FailureStore) -> list[FailedUrl]:
    failures: list[FailedUrl] = []
    while some := await store.some(failures[-1].id if failures else b""):
        failures += some
    return failures
