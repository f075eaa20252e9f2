"""Crawls of the web that looks like the real one, with all defaults but the delay: https, codings, sizes, robots.txt,
redirects and errors as ``tests/fakeweb/ordinary.py`` has them, and a new connection for each page.

The web needs as much CPU time for a page as the crawl, so on two cores pages a second are those of both together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tests.bench import web_truth
from tests.bench.crawls import ROUNDS, by_place, in_turn, ours, seeds_file, spread
from tests.fakeweb.config import Config
from tests.fakeweb.ordinary import OrdinaryWeb
from tests.fakeweb.process import Served, serve_in_process

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.meter import Figures

DELAY = 2
KEPT_SECONDS = 1.0
"""Less than the delay, so that each page needs a connection of its own."""
HOSTS = (1_000, 100_000, 1_000_000)
PAGES = 5_000
"""A measurement ends with so many pages, if not by its time."""
WARM_UP = 300
KNOWN_HOSTS, LONG_SITES = 200, 5_000
"""The hosts of a web whose hosts were all visited when the measurement begins, and the least pages of each."""
LONG_WARM_UP = 600


@dataclass(frozen=True, slots=True)
class Course:
    """A crawl of one web: what the meter says, and what the crawl left."""

    figures: Figures
    first_visits: float
    """The share of the pages that were the first ones of their hosts."""
    requests: float
    """Requests for each page that was measured, robots.txt and failures included."""
    kilobytes: float
    """Bytes of a page as they are sent."""
    disk: float
    """Bytes on disk for each page of the whole crawl."""
    web_cpu_ms: float
    """CPU-ms of the web for each request."""
    compared: web_truth.Found


def of_the_web(folder: Path, seconds: float) -> None:
    """Print the figures of three numbers of hosts, and of hosts that are known."""
    print(
        f"A web that looks like the real one, delay of {DELAY} s, all defaults; each crawl is measured for "
        f"{seconds:g} s or {PAGES:,} pages, {ROUNDS} times in turn:"
    )
    crawls = {f"{hosts:,} hosts": partial(_crawl, of_hosts(hosts), seconds, WARM_UP) for hosts in HOSTS} | {
        KNOWN: partial(_crawl, of_hosts(KNOWN_HOSTS, LONG_SITES), seconds, LONG_WARM_UP)
    }
    found: dict[str, list[Course]] = in_turn(folder, crawls)
    for name, courses in found.items():
        _tell(name, courses)
    _tell_of_first_visits(found[f"{HOSTS[-1]:,} hosts"], found[KNOWN])
    _stages(folder, seconds)


KNOWN = f"{KNOWN_HOSTS:,} hosts, all known"


def of_hosts(hosts: int, least: int = 1) -> Config:
    return Config(
        kind="ordinary",
        hosts=hosts,
        pages=20_000,
        least_pages=least,
        suffix="test",
        tls=True,
        dns=True,
        keep_alive_seconds=KEPT_SECONDS,
    )


def web_settings(served: Served) -> tuple[str, ...]:
    """Return the settings of a crawl of this web: all others have their defaults."""
    return (
        f"POLITENESS_MIN_DELAY={DELAY}",
        "POLITENESS_FACTOR=0",
        "FETCH_PRIVATE_ADDRESSES=1",
        "CRAWLER_CONTACT=https://crawler.example.org/",
        f"DNS_NAMESERVERS={served.nameserver}",
    )


def _crawl(config: Config, seconds: float, warm_up: int, folder: Path, *more: str) -> Course:
    folder.mkdir(parents=True, exist_ok=True)
    with serve_in_process(config, folder / "access.log") as served:
        site = served.site
        assert isinstance(site, OrdinaryWeb)
        settings = (*web_settings(served), f"METER_PAGES={PAGES}", *more)
        figures = ours(folder, seeds_file(folder, served), seconds, *settings, warm_up=warm_up)
        return _course(folder / "job", figures, served, site)


def _course(job: Path, figures: Figures, served: Served, site: OrdinaryWeb) -> Course:
    lines = [json.loads(line) for line in (job / "fetch.jsonl").read_bytes().splitlines()]
    visited: set[str] = set()
    pages = firsts = size = measured = 0
    for line in sorted(lines, key=lambda line: line["end"]):
        is_measured = figures.began_at <= line["end"] <= figures.began_at + figures.wall
        measured += is_measured
        if line["kind"] != "page" or not line.get("status") or 300 <= line["status"] < 400:
            continue
        if is_measured:
            pages += 1
            firsts += line["key"] not in visited
            size += line["bytes"]
        visited.add(line["key"])
    disk = sum(path.stat().st_size for path in job.rglob("*") if path.is_file())
    of_all = sum(line["kind"] == "page" for line in lines)
    return Course(
        figures,
        firsts / pages,
        measured / pages,
        size / pages / 1000,
        disk / of_all,
        1000 * served.cpu_seconds() / len(lines),
        web_truth.compare(job, served, site),
    )


def _tell(name: str, courses: list[Course]) -> None:
    runs = [course.figures for course in courses]
    cpu = [run.cpu_ms for run in runs]
    print(
        f"  {name}: {spread(cpu, '{:.2f}')} CPU-ms a page, {spread([1000 / each for each in cpu], '{:.0f}')} pages/s "
        f"a core ({spread([run.per_second for run in runs], '{:.0f}')} pages/s here); "
        f"{spread([course.first_visits for course in courses], '{:.0%}')} first visits, "
        f"{spread([course.requests for course in courses], '{:.2f}')} requests a page, "
        f"{spread([course.kilobytes for course in courses], '{:.0f}')} kB received a page; "
        f"{max(run.peak_memory_bytes for run in runs) / 1e6:.0f} MB resident at most, "
        f"{spread([course.disk / 1000 for course in courses], '{:.0f}')} kB on disk a page; "
        f"the web {spread([course.web_cpu_ms for course in courses], '{:.2f}')} CPU-ms a request"
    )
    print("    CPU-us a page, medians: " + "; ".join(by_place(runs)))
    compared = [course.compared for course in courses]
    print(
        f"    as served: all {sum(each.pages for each in compared):,} pages, their records and their "
        f"{sum(each.links for each in compared):,} links"
    )


def _tell_of_first_visits(many: list[Course], known: list[Course]) -> None:
    """Print what the first visit of a host costs: robots.txt and first page."""
    firsts, ratios = [], []
    for new, old in zip(many, known, strict=True):
        later = old.figures.cpu_ms
        firsts.append((new.figures.cpu_ms - (1 - new.first_visits) * later) / new.first_visits)
        ratios.append(firsts[-1] / later)
    print(
        f"  The first visit of a host, robots.txt and first page: {spread(firsts, '{:.2f}')} CPU-ms, "
        f"{spread(ratios, '{:.2f}')} times a page of a known host"
    )


def _stages(folder: Path, seconds: float) -> None:
    """Print where the time of the event loop goes, by clocks around its stages in a crawl of the largest web."""
    place = folder / "stages"
    clocks = place / "clocks.json"
    extensions = {"tests.bench.meter.Meter": 0, "tests.bench.clocks.Clocks": 1}
    more = (f"EXTENSIONS={json.dumps(extensions)}", f"+CLOCKS_FILE={clocks}")
    course = _crawl(of_hosts(HOSTS[-1]), seconds, WARM_UP, place, *more)
    taken = json.loads(clocks.read_text())
    loop = course.figures.cpu_by_place["event loop"] / course.figures.pages
    pages, parts = taken.pop("pages"), []
    for stage in sorted(taken, key=lambda stage: -taken[stage][0]):
        used, calls = taken[stage]
        parts.append(f"{stage} {used / pages * 1e6:.0f} ({calls / pages:.1f} calls)")
    print(
        f"  Of the {loop * 1e6:.0f} us of the event loop a page, {course.first_visits:.0%} first visits, by clocks: "
        + "; ".join(parts)
    )
