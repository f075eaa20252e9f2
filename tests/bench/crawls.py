"""Crawls of the benchmarks' web: as fast as it goes, and with a delay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.meter import Figures
from tests.fakeweb.config import Config
from tests.fakeweb.process import Served, serve_in_process
from tests.fakeweb.witness import violations

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def told(figures: Figures) -> str:
    return f"{figures.per_second:7.0f} pages/s {figures.cpu_ms:7.2f} CPU-ms a page  ({figures.pages} pages)"


def pages_per_second(folder: Path, seconds: float) -> None:
    """This crawler with everything on, and plain Scrapy, one after the other on the same pages."""
    print(f"As fast as it goes, {HOSTS} hosts, 29 KB and 100 links a page, {seconds:g} s each:")
    _side_by_side(folder / "wide", seconds, WIDE, "of 400,000 pages, most of them new")
    for fresh in (FRESH, MUCH_FRESH):
        _side_by_side(folder / str(fresh), seconds, steady(fresh), f"of a page's links {fresh} are new")


def _side_by_side(folder: Path, seconds: float, config: Config, name: str) -> None:
    print(f" {name}:")
    with serve_in_process(config) as web:
        seeds = seeds_file(folder, web)
        plain = _scrapy(
            folder / "plain", ["plain", "-a", f"seeds={seeds}"], seconds, "tests.bench.plain_settings"
        )
        print(f"  plain Scrapy {told(plain)}")
        at_once = ("POLITENESS_MIN_DELAY=0", "POLITENESS_FACTOR=0")
        mine = ours(folder / "ours", seeds, seconds, *at_once)
        print(f"  webcrawl     {told(mine)}{_beside(plain, mine)}")
        spare = ours(folder / "spare", seeds, seconds, *at_once, *SPARE)
        print(f"   of what is kept, WARC and log alone:\n{' ' * 15}{told(spare)}{_beside(plain, spare)}")
    print("   CPU-us a page, all defaults: " + "; ".join(_by_place(mine)))
    print(f"  webcrawl's memory: {mine.peak_memory_bytes / 1e6:.0f} MB at most")


def _by_place(figures: Figures) -> Iterator[str]:
    for place, used in sorted(figures.cpu_by_place.items(), key=lambda one: -one[1]):
        microseconds = used / figures.pages * 1e6
        if microseconds >= LEAST_CPU_US:
            yield f"{place} {microseconds:.0f}"


def _beside(plain: Figures, mine: Figures) -> str:
    return (
        f"  {mine.per_second / plain.per_second:.1f} times the pages/s, "
        f"{plain.cpu_ms / mine.cpu_ms:.1f} times less CPU a page"
    )


def callbacks(folder: Path, seconds: float) -> None:
    """How long a single callback holds the event loop, on asyncio's own loop since uvloop cannot be asked."""
    print("Callbacks of the event loop, delay 0:")
    with serve_in_process(WIDE) as web:
        seeds = seeds_file(folder, web)
        settings = (
            "POLITENESS_MIN_DELAY=0",
            "POLITENESS_FACTOR=0",
            "ASYNCIO_EVENT_LOOP=asyncio.SelectorEventLoop",
        )
        mine = ours(folder, seeds, seconds, *settings)
    times = (mine.callback_p50, mine.callback_p999, mine.callback_max)
    median, nearly_all, longest = (value * 1000 for value in times)
    print(f"  {median:.2f} ms in the median, {nearly_all:.1f} ms at 99.9 %, {longest:.0f} ms at most")


def with_a_delay(folder: Path, seconds: float) -> None:
    """Delays on every host, one that permits what a machine can do and one that permits half of it: how much of what
    politeness permits is used, how much of what the machine can do without it, and no violation."""
    folder.mkdir(parents=True, exist_ok=True)
    crawls: dict[int, Figures] = {}
    print(f"With a delay on {HOSTS} hosts:")
    for delay in (0, 1, 2):
        with serve_in_process(WIDE, folder / f"access-{delay}.log") as web:
            settings = (f"POLITENESS_MIN_DELAY={delay}", "POLITENESS_FACTOR=0")
            crawls[delay] = mine = ours(
                folder / str(delay), seeds_file(folder, web), seconds, *settings, warm_up=3000
            )
            hits = web.hits() if delay else []
        print(f"  {delay} s  {told(mine)}")
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


def ours(folder: Path, seeds: Path, seconds: float, *settings: str, warm_up: int = 2000) -> Figures:
    arguments = ["broad", "-a", f"seeds={seeds}", "-s", f"JOBDIR={folder / 'job'}"]
    for setting in ("FETCH_PRIVATE_ADDRESSES=1", f"METER_WARM_UP={warm_up}", *settings):
        arguments += ["-s", setting]
    return _scrapy(folder, arguments, seconds, "tests.bench.our_settings")


def _scrapy(folder: Path, arguments: list[str], seconds: float, settings: str) -> Figures:
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / "meter.json"
    command = [SCRAPY, "crawl", *arguments, "-s", f"METER_FILE={result}", "-s", f"METER_SECONDS={seconds}"]
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": settings,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with (folder / "output.txt").open("wb") as output:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=output, check=False)
    if not result.exists():
        tail = (folder / "output.txt").read_text(errors="replace")[-2000:]
        raise SystemExit(f"the crawl ended with status {done.returncode} and no figures:\n{tail}")
    return Figures(**json.loads(result.read_text()))
