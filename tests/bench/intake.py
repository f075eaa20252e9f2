"""Seeds that are taken in beside a crawl: how many in a second, and how long they hold the event loop."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

from tests.bench import cpu
from tests.bench.crawls import in_turn, run_crawl, spread
from tests.bench.web import of_hosts, web_settings
from tests.fakeweb.ordinary import OrdinaryWeb
from tests.fakeweb.process import serve_in_process
from webcrawl.crawl import seeding

if TYPE_CHECKING:
    from tests.fakeweb.process import Served

SEEDS = 100_000
"""Seeds, unless --seeds has another number."""
BEAT_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Taken:
    """What an ``Intake`` writes. Times in seconds."""

    seconds: float
    """From the start of the spider until all seeds were durably queued."""
    cpu: float
    """Of the crawl's processes in that time."""
    responses: int
    """Pages and files of robots.txt that came in that time."""
    hold_cpu: float
    """The most CPU time of the event loop between two beats, one of which is due every ``BEAT_SECONDS``."""
    hold_wall: float
    """The longest delay of a beat."""


class Intake(logging.Handler):
    """Writes INTAKE_FILE when all seeds are taken, and stops the crawl."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__()
        self._crawler = crawler
        self._begun: tuple[float, float] | None = None
        self._responses = 0
        self._held = (0.0, 0.0)
        self._due = self._used = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        intake = cls(crawler)
        seeding.logger.addHandler(intake)
        crawler.signals.connect(intake._opened, signal=signals.spider_opened)
        crawler.signals.connect(intake._response, signal=signals.response_downloaded)
        return intake

    def _opened(self) -> None:
        self._begun = (time.perf_counter(), cpu.seconds())
        self._arm()

    def _response(self) -> None:
        self._responses += 1

    def _arm(self) -> None:
        self._used, self._due = time.thread_time(), time.perf_counter() + BEAT_SECONDS
        asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat)

    def _beat(self) -> None:
        held, late = time.thread_time() - self._used, time.perf_counter() - self._due
        self._held = (max(self._held[0], held), max(self._held[1], late))
        self._arm()

    def emit(self, record: logging.LogRecord) -> None:
        """The line that says that all seeds are taken is the last one of the seeding."""
        if self._begun is None or " taken, " not in str(record.msg):
            return
        (wall, used), self._begun = self._begun, None
        taken = Taken(
            time.perf_counter() - wall, cpu.seconds() - used, self._responses, self._held[0], self._held[1]
        )
        Path(self._crawler.settings["INTAKE_FILE"]).write_text(json.dumps(asdict(taken)))
        deferred_from_coro(self._crawler.engine.close_spider_async(reason="measured"))


def seeds_beside_a_crawl(folder: Path, seconds: float, seeds: int = SEEDS) -> None:
    """Print seeds a second and the longest hold of the loop, with a crawl beside and with hardly any."""
    del seconds  # until all are taken
    print(f"{seeds:,} seeds, one for each host of a web that looks like the real one:")
    with serve_in_process(of_hosts(max(seeds, 1000))) as served:
        path = _seeds_file(folder, served, seeds)
        found = in_turn(
            folder,
            {
                "beside a crawl": lambda place: _take(place, path, served),
                "one request at a time": lambda place: _take(place, path, served, "CONCURRENT_REQUESTS=1"),
            },
        )
    for name, runs in found.items():
        print(
            f"  {name}: {spread([seeds / run.seconds for run in runs], '{:,.0f}')} seeds a second beside "
            f"{spread([run.responses / run.seconds for run in runs], '{:.0f}')} responses a second, "
            f"{spread([1e6 * run.cpu / seeds for run in runs], '{:.0f}')} CPU-us a seed, all included; "
            f"the loop was held {spread([1000 * run.hold_cpu for run in runs], '{:.0f}')} ms of CPU time at most, "
            f"a beat came {spread([1000 * run.hold_wall for run in runs], '{:.0f}')} ms late"
        )


def _take(place: Path, seeds: Path, served: Served, *more: str) -> Taken:
    place.mkdir(parents=True, exist_ok=True)
    result = place / "intake.json"
    settings: tuple[Any, ...] = (
        f"JOBDIR={place / 'job'}",
        'EXTENSIONS={"tests.bench.intake.Intake": 0}',
        f"+INTAKE_FILE={result}",
        *web_settings(served),
        *more,
    )
    arguments = ["broad", "-a", f"seeds={seeds}", *(word for each in settings for word in ("-s", each))]
    return Taken(**run_crawl(place, arguments, "webcrawl.settings", result))


def _seeds_file(folder: Path, served: Served, seeds: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    site = served.site
    assert isinstance(site, OrdinaryWeb)
    with (folder / "all-seeds.txt").open("w") as file:
        file.writelines(f"{site.root(number)}\n" for number in range(seeds))
    return folder / "all-seeds.txt"
