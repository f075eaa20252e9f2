"""``scrapy errors [JOBDIR|REDIS_URL]``: the last errors of a crawl, and how many there are of each kind and host.

Exit status 0: done. 2: an argument or a setting is wrong, or there is no such crawl; a line on standard error says
why.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from webcrawl.command import CrawlCommand, number
from webcrawl.commands.output import crawl_as_json, cut, table, tell, width
from webcrawl.reports import text

if TYPE_CHECKING:
    import argparse
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

    from webcrawl.control.error_log import ErrorReport
    from webcrawl.control.selection import StoredCrawl

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
            "crawl on Redis the number of each worker is shown; the URLs are in the JOBDIRs of the workers."
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
            _tell_of_workers(self.crawl(opts), as_json=opts.json)
            return
        # Scrapy imports all commands at each start.
        from webcrawl.control import error_log

        found = error_log.read(folder, limit=opts.limit, search=opts.search, kind=opts.kind)
        if opts.json:
            tell(json.dumps({"place": str(folder), **found.as_object()}))
        else:
            tell("\n".join(_as_text(folder, found, width())))


def _as_text(folder: Path, found: ErrorReport, columns: int | None) -> Iterator[str]:
    since = "" if found.since is None else f" since {text.second(found.since)} UTC"
    yield f"{folder}: {text.things(found.total, 'error')}{since}"
    if found.unanticipated:
        tracebacks = text.things(found.unanticipated, "traceback")
        yield f"{tracebacks} of the spider or the crawler in {folder / 'unanticipated.log'}"
    if not found.total:
        return
    yield from _counted("errors", found.kinds, None, columns)
    yield from _counted("most errors", found.hosts, _HOSTS, columns)
    if found.last:
        yield from ("", "last errors")
    longest = max((len(error.error) for error in found.last), default=0)
    for error in found.last:
        head = f"  {text.second(error.at)} UTC  {error.error:<{longest}}  "
        if columns is not None and columns - len(head) < len(error.url) and columns < 100:
            # A narrow terminal: the URL on a line of its own.
            yield cut(head.rstrip(), columns)
            yield cut(f"    {error.url}", columns)
        else:
            yield cut(f"{head}{error.url}", columns)


def _counted(name: str, counts: Counter[str], most: int | None, columns: int | None) -> Iterator[str]:
    yield from ("", name)
    for word, times in counts.most_common(most):
        yield cut(f"  {text.count(times):>9}  {word}", columns)
    if most is not None and len(counts) > most:
        yield f"  {'':>9}  and {text.things(len(counts) - most, 'host')} more"


def _tell_of_workers(crawl: StoredCrawl, *, as_json: bool) -> None:
    workers = crawl.status().workers
    errors = {worker.name: int(worker.figures.get("errors", 0)) for worker in workers}
    if as_json:
        found: dict[str, Any] = {"total": sum(errors.values()), "workers": errors}
        tell(crawl_as_json(crawl, **found))
        return
    tell(
        f"{crawl.name}: {text.things(sum(errors.values()), 'error')} of {text.things(len(errors), 'worker')}"
    )
    if errors:
        rows = [(name, text.count(one)) for name, one in sorted(errors.items())]
        tell("\n".join(["", *table([("worker", "errors"), *rows], 1)]))
    tell("\nThe URLs are in the JOBDIR of each worker: scrapy errors JOBDIR")
