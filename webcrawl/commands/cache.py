"""``scrapy cache [JOBDIR|REDIS_URL]``: what each process of a running crawl holds in memory and caches.

Exit status 0: done. 2: an argument or a setting is wrong, there is no such crawl, or it is not running; a line on
standard error says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.command import CrawlCommand
from webcrawl.errors import CrawlError
from webcrawl.reports import text
from webcrawl.terminal import crawl_as_json, cut, table, tell, width

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from webcrawl.features.timeseries.store import Latest

_BEGINNING = "cache_"
_HEAD = ("", "held", "at most", "hits", "misses", "hit rate")


class Held(NamedTuple):
    """A row: what is held, in words, and whether it is counted in bytes."""

    words: str
    in_bytes: bool = False


HELD = {
    "active": Held("active hosts"),
    "urls": Held("URLs of active hosts (about)"),
    "unstored": Held("results being stored"),
    "robots": Held("robots.txt, parsed"),
    "dns": Held("host names (DNS)"),
    "connections": Held("idle connections"),
    "tls": Held("TLS sessions"),
    "bodies": Held("bodies of pages", in_bytes=True),
}
"""By the name in the published figures."""


class Command(CrawlCommand):
    def short_desc(self) -> str:
        return "Show what a running crawl holds in memory and caches"

    def long_desc(self) -> str:
        return (
            "Show what each process of a running crawl holds in memory: active hosts and their URLs, parsed "
            "robots.txt, DNS answers, idle connections, TLS sessions, bodies of pages; with the limits and the hits "
            "of the caches. The figures are some seconds old."
        )

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from webcrawl.features.timeseries.store import SeriesStore

        crawl = self.crawl(opts)
        processes = crawl.read_store(SeriesStore, SeriesStore.latest)
        if not processes:
            if not crawl.running_workers():
                raise CrawlError(f"{crawl.name} is not running: nothing is held in memory")
            raise CrawlError(
                f"{crawl.name} publishes no figures: it has just begun, or is of an older version"
            )
        if opts.json:
            tell(crawl_as_json(crawl, processes=list(map(_object, processes))))
            return
        columns = width()
        for number, process in enumerate(processes):
            tell("\n".join(["", *_as_text(process, columns)][0 if number else 1 :]))


def _as_text(process: Latest, columns: int | None) -> Iterator[str]:
    figures = process.figures
    memory = f", {text.size(figures['rss'])} of memory" if figures.get("rss") else ""
    yield cut(f"{process.worker}: process {process.process} on {process.host}{memory}", columns)
    yield ""
    rows = [
        _row(held, _select_figures(name, figures))
        for name, held in HELD.items()
        if _select_figures(name, figures)
    ]
    # A narrow terminal has no room for the counts of hits, which the rate says.
    kept = (0, 1, 2, 5) if columns is not None and columns < 72 else range(len(_HEAD))
    yield from (cut(line, columns) for line in table([[row[at] for at in kept] for row in (_HEAD, *rows)], 1))


def _row(held: Held, figures: Mapping[str, float]) -> tuple[str, ...]:
    hits, misses = figures.get("hits"), figures.get("misses")
    asked = (hits or 0) + (misses or 0)

    def shown(number: float | None) -> str:
        if number is None:
            return ""
        return text.size(number) if held.in_bytes else text.count(int(number))

    return (
        held.words,
        shown(figures.get("entries")),
        shown(figures.get("max")),
        "" if hits is None else text.count(int(hits)),
        "" if misses is None else text.count(int(misses)),
        f"{100 * (hits or 0) / asked:.1f} %" if asked else "",
    )


def _select_figures(name: str, figures: Mapping[str, float]) -> dict[str, float]:
    """Return the published figures on one kind, by their last words."""
    beginning = f"{_BEGINNING}{name}_"
    return {
        key.removeprefix(beginning): figure for key, figure in figures.items() if key.startswith(beginning)
    }


def _object(process: Latest) -> dict[str, Any]:
    figures_by_cache = {name: _select_figures(name, process.figures) for name in HELD}
    return {
        "name": process.worker,
        "process": process.process,
        "host": process.host,
        "at": process.at,
        "memory": process.figures.get("rss"),
        "held": {
            name: {key: int(figure) for key, figure in figures.items()}
            for name, figures in figures_by_cache.items()
        },
    }
