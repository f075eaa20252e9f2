"""``scrapy plan --urls N --hosts H``: predict the resources that a crawl of that size needs."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from webcrawl.command import ProjectCommand, number
from webcrawl.config import Configuration
from webcrawl.errors import Problem
from webcrawl.reports import text as units
from webcrawl.reports.plan import (
    BYTES,
    DOLLARS,
    PER_SECOND,
    SECONDS,
    PlanPrices,
    Prediction,
    Section,
    Size,
    plan,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_SHOWN: Mapping[str, Callable[[float], str]] = {
    BYTES: units.size,
    SECONDS: units.duration,
    PER_SECOND: units.rate,
    DOLLARS: lambda value: f"${value:,.2f}",
}
_DIGITS = {PER_SECOND: 3, DOLLARS: 2}
_TIMES = {"k": 1000, "m": 1000**2, "g": 1000**3}


class Command(ProjectCommand):
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "--urls N --hosts N [options]"

    def short_desc(self) -> str:
        return "Predict the memory, disk and time that a crawl of a given size needs"

    def long_desc(self) -> str:
        return (
            "Predict the resources that a crawl of a given size needs, and show the assumptions behind each "
            "figure. Numbers may be written as 2_000_000 or 2M. Delay and limits are those of the settings."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--urls", type=whole, required=True, metavar="N", help="number of URLs that the crawl finds")
        add("--hosts", type=whole, required=True, metavar="N", help="number of their hosts (politeness keys)")
        add("--pages", type=whole, metavar="N", help="number of URLs that are fetched (all)")
        add("--queued", type=whole, metavar="N", help="maximum number of queued URLs (all)")
        add("--length", type=whole, default=60, metavar="N", help="mean length of a URL in characters (60)")
        add("--workers", type=whole, default=1, metavar="N", help="number of processes, one core each (1)")
        add(
            "--delay",
            type=seconds,
            metavar="S",
            help="seconds between two requests to a host (the setting's)",
        )
        add("--download", type=seconds, default=0.5, metavar="S", help="seconds that a response takes (0.5)")
        add("--page-bytes", type=whole, default=30_000, metavar="N", help="size of a page (30,000)")
        add("--robots-bytes", type=whole, default=600, metavar="N", help="size of a robots.txt (600)")
        add("--cpu", type=millis, default=1.5, metavar="MS", help="CPU of a worker for a page (1.5 ms)")
        add("--core-hour", type=dollars, metavar="D", help="dollars for a core of a worker, an hour")
        add("--memory-hour", type=dollars, metavar="D", help="dollars for a GB of memory of Redis, an hour")
        add("--disk-month", type=dollars, metavar="D", help="dollars for a GB on a disk, a month")
        add("--traffic", type=dollars, metavar="D", help="dollars for a GB received")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if args:
            return iter([Problem(args[0], "is one argument too many; plan takes options alone")])
        return _contradictions(opts)

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        size = crawl_size(opts, self.configuration)
        sections = plan(size)
        print(as_json(size, sections) if opts.json else as_text(size, sections), end="")


def crawl_size(opts: argparse.Namespace, configuration: Configuration) -> Size:
    """Return the size of the crawl that the options and the settings describe."""
    delay = configuration.politeness_min_delay if opts.delay is None else opts.delay
    return Size(
        urls=opts.urls,
        hosts=opts.hosts,
        pages=opts.urls if opts.pages is None else opts.pages,
        queued=opts.urls if opts.queued is None else opts.queued,
        length=opts.length,
        workers=opts.workers,
        delay_seconds=delay,
        download_seconds=opts.download,
        page_bytes=opts.page_bytes,
        robots_bytes=opts.robots_bytes,
        robots_max=configuration.robots_cache_size,
        robots_ttl_seconds=configuration.robots_ttl_seconds,
        active_max=configuration.frontier_active_max,
        open_max=configuration.concurrent_requests,
        cache_bytes=configuration.frontier_cache_bytes,
        warc=configuration.warc_enabled,
        page_cpu_seconds=opts.cpu / 1000,
        seen=configuration.frontier_seen,
        seen_capacity=configuration.frontier_seen_capacity,
        seen_error_rate=configuration.frontier_seen_error_rate,
        prices=_prices(opts),
    )


def _prices(opts: argparse.Namespace) -> PlanPrices | None:
    """Return the prices on the command line; None if there are none."""
    names = ("core_hour", "memory_hour", "disk_month", "traffic")
    given = {name: price for name in names if (price := getattr(opts, name)) is not None}
    return PlanPrices(**given) if given else None


def as_text(size: Size, sections: Sequence[Section]) -> str:
    """Format the plan as text."""
    lines = [
        f"{units.count(size.urls)} URLs of {size.length} characters on {units.count(size.hosts)} hosts, "
        f"{units.count(size.queued)} queued at most; {units.count(size.pages)} pages fetched by "
        f"{units.count(size.workers)} workers"
    ]
    for section in sections:
        lines += ["", section.label]
        lines += [f"  {figure.label:<24}{_value(figure):>12}  {figure.because}" for figure in section.figures]
    return "\n".join(lines) + "\n"


def as_json(size: Size, sections: Sequence[Section]) -> str:
    """Format the plan as JSON: bytes, seconds, or pages per second."""
    by_section = {
        section.name: {
            figure.name: {
                figure.unit: round(figure.value, _DIGITS.get(figure.unit)),
                "because": figure.because,
            }
            for figure in section.figures
        }
        for section in sections
    }
    return json.dumps({"size": asdict(size), **by_section}, indent=2) + "\n"


def whole(text: str) -> int:
    """Parse ``2_000_000``, ``2M`` or ``1.5k``."""
    times = _TIMES.get(text[-1:].lower(), 1)
    number = _number(text[:-1] if times > 1 else text) * times
    if not 0 <= number <= 1e15 or number != int(number):
        raise argparse.ArgumentTypeError(f"must be a whole number such as 2000000 or 2M, not {text!r}")
    return int(number)


millis = number(float, 0.001, 10_000, "a number of milliseconds from 0.001 to 10000")
dollars = number(float, 0, 1e6, "a number of dollars from 0 to 1000000")
seconds = number(float, 0, 86_400, "a number of seconds from 0 to 86400")


def _number(text: str) -> float:
    """Return the number, or a negative one if the text is not a number."""
    try:
        return float(text)
    except ValueError:
        return -1.0


def _contradictions(opts: argparse.Namespace) -> Iterator[Problem]:
    for name in ("urls", "hosts", "workers", "length"):
        if getattr(opts, name) < 1:
            yield Problem(f"--{name}", "must be at least 1")
    for name in ("hosts", "pages", "queued"):
        value = getattr(opts, name)
        if value is not None and value > opts.urls:
            yield Problem(f"--{name}", f"must be at most --urls, which is {opts.urls:,}, not {value:,}")


def _value(figure: Prediction) -> str:
    return _SHOWN[figure.unit](figure.value)
