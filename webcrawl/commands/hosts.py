"""``scrapy hosts [JOBDIR|REDIS_URL]``: the hosts of a crawl as a table, sorted and searched.

Exit status 0: done. 2: an argument or a setting is wrong, or there is no such crawl; a line on standard error says
why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawl.command import CrawlCommand
from webcrawl.config.vocabulary import hint
from webcrawl.errors import CrawlError, Problem
from webcrawl.reports import text
from webcrawl.terminal import crawl_as_json, cut, table, tell, width
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

SORTS = ("host", "state", "queued", "requests", "pages", "delay", "next_at", "failures", "health")
STATES = ("active", "ready", "waiting", "parked", "given_up", "empty")
LIMIT = 20
_HEAD = ("host", "state", "queued", "pages", "requests", "delay", "next request", "failures", "last error")
_NARROW = (0, 1, 2, 6)
"""The columns on a terminal of less than 100 columns."""
_HOST_LEAST = 12


class Command(CrawlCommand):
    def short_desc(self) -> str:
        return "Show the hosts of a crawl: queues, delays, health"

    def long_desc(self) -> str:
        return (
            "Show hosts (politeness keys) with their state, queued URLs, pages, requests, delay, the time of the "
            "next request, failures in a row and the last error. The crawl may be running or not; a process that "
            "runs may know more than it has stored."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--sort", metavar="COLUMN", default="queued", help=f"{', '.join(SORTS)} (default: %(default)s)")
        add("--ascending", action="store_true", help="the lowest first, not the highest")
        add("--state", metavar="STATE", default="", help=f"only hosts in this state: {', '.join(STATES)}")
        add("--search", metavar="TEXT", default="", help="only hosts whose name has this text")
        add("--limit", metavar="N", type=int, default=LIMIT, help="so many hosts (default: %(default)s)")
        add("--offset", metavar="N", type=int, default=0, help="leave out the first N")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        yield from super().wrong_words(args, opts)
        for option, value, allowed in (("--sort", opts.sort, SORTS), ("--state", opts.state, ("", *STATES))):
            if value not in allowed:
                yield Problem(option, f"must not be {value!r}; {hint(value, filter(None, allowed))}")

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from webcrawl.web.dashboard.host_index import HostIndex

        crawl = self.crawl(opts)
        index = HostIndex(crawl.hosts)
        try:
            index.refresh()
            listing = index.page(
                search=opts.search,
                state=opts.state,
                sort=opts.sort,
                order="asc" if opts.ascending else "desc",
                limit=opts.limit,
                offset=opts.offset,
            )
        except ValueError as error:
            raise CrawlError(str(error)) from error
        finally:
            index.close()
        if opts.json:
            tell(crawl_as_json(crawl, **listing))
            return
        total = f"{crawl.name}: {text.things(listing['total'], 'host')}"
        tell(f"{total} selected" if opts.search or opts.state else total)
        if listing["rows"]:
            tell("\n".join(["", *_as_text(listing, width())]))
        left = listing["total"] - opts.offset - len(listing["rows"])
        if left > 0:
            tell(f"and {text.count(left)} more: --limit N, --offset {opts.offset + len(listing['rows'])}")


def _as_text(listing: Mapping[str, Any], columns: int | None) -> Iterator[str]:
    kept = _NARROW if columns is not None and columns < 100 else range(len(_HEAD))
    rows = [_HEAD, *(_row(row, listing["as_of"]) for row in listing["rows"])]
    rows = [tuple(row[at] for at in kept) for row in rows]
    if columns is not None:
        others = max(len(line) for line in table([row[1:] for row in rows], 1))
        room = max(columns - others - 2, _HOST_LEAST)
        rows = [(cut(row[0], room), *row[1:]) for row in rows]
    yield from (cut(line, columns) for line in table(rows, 2))


def _row(row: Mapping[str, Any], now: float) -> tuple[str, ...]:
    return (
        printable(row["key"], None),
        row["state"].replace("_", " "),
        text.count(row["queued"]),
        text.count(row["pages"]),
        text.count(row["requests"]),
        text.duration(row["delay"]),
        _next(row, now),
        text.count(row["failures"]),
        printable(row["health"], None) if row["health"] else "",
    )


def _next(row: Mapping[str, Any], now: float) -> str:
    """Return when the host may be contacted next; empty for one that is in memory, whose time is not stored yet."""
    if row["state"] in ("active", "empty", "given_up"):
        return ""
    return text.moment_ahead(max((row["next_at"] or 0.0) - now, 0.0))
