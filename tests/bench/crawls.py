"""Crawls of the benchmarks' web: at full speed, and with a delay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

from tests.bench import engine_parts
from tests.bench.meter import Figures
from tests.fakeweb.config import Config
from tests.fakeweb.process import Served, serve_in_process
from tests.fakeweb.witness import violations

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

SCRAPY = str(Path(sys.executable).with_name("scrapy"))
ROOT = Path(__file__).resolve().parents[2]
HOSTS = 1000
WIDE = Config(kind="bench", hosts=HOSTS, pages=400)
"""400,000 pages: while few of them are known, most links of a page are new."""
FRESH = 10
"""Links of a page that nobody has met before, of its hundred, in the midst of a long crawl."""
MUCH_FRESH = 30
LEAST_CPU_US = 5
"""CPU-us a page that a thread must take to be told of."""

AT_ONCE = ("POLITENESS_MIN_DELAY=0", "POLITENESS_FACTOR=0")
SPARE = (
    "WARC_METADATA=False",
    "WARC_INDEX=False",
    "LINK_LOG_ENABLED=False",
    "TRAPS_QUARANTINE=False",
    "CONTENT_SEEN=False",
    "PROCESSING_MODULES=",
)
"""What leaves robots.txt, politeness, scope, seen test, state in SQLite, titles, links, WARC and fetch log."""


def steady(fresh: int = FRESH) -> Config:
    """So many links of a page are new however long it goes on; the others are known after the first seconds."""
    return Config(kind="bench", hosts=HOSTS, pages=20, fresh=fresh)


ROUNDS = 3
"""Times that each crawl of a part is measured, in turn with the crawls that it is compared with."""


def told(runs: Sequence[Figures]) -> str:
    """Return CPU time a page and pages a second: the median of the runs, and their range."""
    cpu = spread([run.cpu_ms for run in runs], "{:.2f}")
    return f"{cpu} CPU-ms a page, {spread([run.per_second for run in runs], '{:.0f}')} pages/s"


def spread(values: Sequence[float], form: str) -> str:
    """Return the median of values, with the least and the greatest if there are several."""
    middle = form.format(median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({form.format(min(values))} to {form.format(max(values))})"


def in_turn(folder: Path, crawls: Mapping[str, Callable[[Path], T]]) -> dict[str, list[T]]:
    """Measure each of the crawls ``ROUNDS`` times. The order is reversed each time: what runs first has no
    advantage."""
    found: dict[str, list[T]] = {name: [] for name in crawls}
    for number in range(ROUNDS):
        for name in list(crawls)[:: -1 if number % 2 else 1]:
            found[name].append(crawls[name](folder / f"{name}-{number}"))
    return found


def pages_per_second(folder: Path, seconds: float) -> None:
    """This crawler with all defaults, and plain Scrapy, in turn on the same pages."""
    print(f"At full speed, {HOSTS} hosts, 29 KB and 100 links a page, {ROUNDS} crawls of {seconds:g} s each:")
    _side_by_side(folder / "wide", seconds, WIDE, "of 400,000 pages, most of them new")
    for fresh in (FRESH, MUCH_FRESH):
        _side_by_side(folder / str(fresh), seconds, steady(fresh), f"of a page's links {fresh} are new")


def _side_by_side(folder: Path, seconds: float, config: Config, name: str) -> None:
    print(f" {name}:")
    with serve_in_process(config) as web:
        seeds = seeds_file(folder, web)
        arguments = ["plain", "-a", f"seeds={seeds}"]
        found = in_turn(
            folder,
            {
                "plain": lambda place: _scrapy(place, arguments, seconds, "tests.bench.plain_settings"),
                "ours": lambda place: ours(place, seeds, seconds, *AT_ONCE),
                "spare": lambda place: ours(place, seeds, seconds, *AT_ONCE, *SPARE),
            },
        )
    plain, mine, spare = found["plain"], found["ours"], found["spare"]
    print(f"  plain Scrapy                 {told(plain)}")
    print(f"  webcrawl, all defaults       {told(mine)}{_beside(plain, mine)}")
    print(f"  webcrawl, WARC and log alone {told(spare)}{_beside(plain, spare)}")
    print("   CPU-us a page, all defaults, medians: " + "; ".join(by_place(mine)))
    peak = max(one.peak_memory_bytes for one in mine)
    print(f"  memory of webcrawl: at most {peak / 1e6:.0f} MB")


def by_place(runs: Sequence[Figures]) -> Iterator[str]:
    """Yield the threads and processes that use CPU, each with the median of its time a page."""
    places = {place for run in runs for place in run.cpu_by_place}
    used = {place: median(run.cpu_by_place.get(place, 0.0) / run.pages for run in runs) for place in places}
    for place, seconds in sorted(used.items(), key=lambda one: -one[1]):
        if seconds * 1e6 >= LEAST_CPU_US:
            yield f"{place} {seconds * 1e6:.0f}"


def ratios(before: Sequence[Figures], after: Sequence[Figures], form: str = "{:.3f}") -> str:
    """Return how many times as much CPU a page ``after`` took, run by run: median and range."""
    return spread([new.cpu_ms / old.cpu_ms for old, new in zip(before, after, strict=True)], form)


def _beside(plain: Sequence[Figures], mine: Sequence[Figures]) -> str:
    faster = [new.per_second / old.per_second for old, new in zip(plain, mine, strict=True)]
    return f"; {ratios(mine, plain, '{:.1f}')} times less CPU, {spread(faster, '{:.1f}')} times the pages/s"


def callbacks(folder: Path, seconds: float) -> None:
    """How long a single callback holds the event loop, on asyncio's own loop since uvloop cannot be asked."""
    print("Callbacks of the event loop, delay 0:")
    with serve_in_process(WIDE) as web:
        seeds = seeds_file(folder, web)
        mine = ours(folder, seeds, seconds, *AT_ONCE, "ASYNCIO_EVENT_LOOP=asyncio.SelectorEventLoop")
    times = (mine.callback_p50, mine.callback_p999, mine.callback_max)
    median, nearly_all, longest = (value * 1000 for value in times)
    print(f"  {median:.2f} ms in the median, {nearly_all:.1f} ms at 99.9 %, {longest:.0f} ms at most")


def with_a_delay(folder: Path, seconds: float) -> None:
    """Delays on every host, one that permits what a machine can do and one that permits half of it: how much of what
    politeness permits is used, how much of what the machine can do without it, and no violation."""
    folder.mkdir(parents=True, exist_ok=True)
    crawls: dict[int, Figures] = {}
    print(f"With a delay on {HOSTS} hosts, one crawl each:")
    for delay in (0, 1, 2):
        with serve_in_process(WIDE, folder / f"access-{delay}.log") as web:
            settings = (f"POLITENESS_MIN_DELAY={delay}", "POLITENESS_FACTOR=0")
            crawls[delay] = mine = ours(
                folder / str(delay), seeds_file(folder, web), seconds, *settings, warm_up=3000
            )
            hits = web.hits() if delay else []
        print(f"  {delay} s  {told([mine])}")
        if delay:
            wrong = violations(hits, lambda hit, delay=delay: float(delay))
            print(
                f"       {mine.per_second * delay / HOSTS:.1%} of the {HOSTS // delay} pages/s that are permitted, "
                f"{mine.per_second / crawls[0].per_second:.1%} of those without a delay; "
                f"{len(wrong)} violations in the server's log"
            )


def seeds_file(folder: Path, web: Served) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "seeds.txt"
    path.write_text("\n".join(web.seeds) + "\n")
    return path


def ours(
    folder: Path,
    seeds: Path,
    seconds: float,
    *settings: str,
    warm_up: int = 2000,
    without: str = "",
) -> Figures:
    """Measure a crawl with ``settings``. ``without``: a part of the engine that is replaced by Scrapy's own; see
    ``engine_parts``."""
    arguments = ["broad", "-a", f"seeds={seeds}", "-s", f"JOBDIR={folder / 'job'}"]
    for setting in ("FETCH_PRIVATE_ADDRESSES=1", f"METER_WARM_UP={warm_up}", *settings):
        arguments += ["-s", setting]
    return _scrapy(folder, arguments, seconds, "tests.bench.our_settings", without)


def _scrapy(folder: Path, arguments: list[str], seconds: float, settings: str, without: str = "") -> Figures:
    result = folder / "meter.json"
    meter = ["-s", f"METER_FILE={result}", "-s", f"METER_SECONDS={seconds}"]
    return Figures(**run_crawl(folder, [*arguments, *meter], settings, result, without))


def run_crawl(
    folder: Path, arguments: Sequence[str], settings: str, result: Path, without: str = ""
) -> dict[str, Any]:
    """Run ``scrapy crawl`` with a settings module, and return what it left in ``result``."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [SCRAPY, "crawl", *arguments]
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": settings,
        engine_parts.WITHOUT: without,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with (folder / "output.txt").open("wb") as output:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=output, check=False)
    if not result.exists():
        tail = (folder / "output.txt").read_text(errors="replace")[-2000:]
        raise SystemExit(f"the crawl ended with status {done.returncode} and no figures:\n{tail}")
    figures: dict[str, Any] = json.loads(result.read_text())
    return figures
