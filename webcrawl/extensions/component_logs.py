"""A log file for each component of the crawler in ``logs/`` of the JOBDIR, if COMPONENT_LOGS is set."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import get_configuration
from webcrawl.extensions.metrics_reader import get_folder
from webcrawl.logs import follow_level, log_level, unfollow_level
from webcrawl.rotated_log import RotatedLog

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler

FOLDER = "logs"
_ROOMS = {
    "frontier": ("scheduler", "frontier", "politeness", "storage", "crawl", "control"),
    "fetch": ("fetching", "downloadermiddlewares", "engine", "robots"),
    "pages": (
        "spiders",
        "spidermiddlewares",
        "parsing",
        "processing",
        "features.content_seen",
        "features.focus",
        "features.link_scores",
        "features.near_duplicates",
        "features.traps",
        "features.dust",
        "features.mirrors",
    ),
    "archive": ("archive", "links", "search", "export", "features.checkpoints", "features.segments"),
    "visits": ("features.revisits", "features.hints", "features.websub"),
}
_COMPONENTS = {room: component for component, rooms in _ROOMS.items() for room in rooms}


def find_component(logger: str) -> str:
    """Return the component of a logger, by its name: one of the crawler's components, ``crawl`` for the rest of it,
    ``scrapy``, or ``others``.
    """
    package, _, rest = logger.partition(".")
    if package == "webcrawl":
        parts = rest.split(".")
        room = ".".join(parts[:2]) if parts[0] == "features" else parts[0]
        return _COMPONENTS.get(room, "crawl")
    return "scrapy" if package in ("scrapy", "twisted", "py", "asyncio") else "others"


class Splitting(logging.Handler):
    """Writes each message into the file of its component, which is created with its first message."""

    def __init__(self, folder: Path, level: int, roll_bytes: int, keep_days: float) -> None:
        super().__init__(level)
        self._folder = folder
        self._roll_bytes = roll_bytes
        self._keep_days = keep_days
        self._files: dict[str, RotatedLog] = {}

    def emit(self, record: logging.LogRecord) -> None:
        component = find_component(record.name)
        file = self._files.get(component)
        if file is None:
            file = self._files[component] = RotatedLog(
                self._folder / f"{component}.log", roll_bytes=self._roll_bytes, keep_days=self._keep_days
            )
        file.handle(record)

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        super().close()


class ComponentLogs:
    """Runs from the opening of the spider until the engine has stopped."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._handler: Splitting | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not get_configuration(crawler).component_logs:
            raise NotConfigured  # without a message: they were not requested
        extension = cls(crawler)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        crawler.signals.connect(extension._stopped, signal=signals.engine_stopped)
        return extension

    def _opened(self) -> None:
        if (directory := get_folder(self._crawler)) is not None:
            folder = directory / FOLDER
            folder.mkdir(exist_ok=True)
            configuration = get_configuration(self._crawler)
            roll_bytes, keep_days = configuration.crawl_log_roll_bytes, configuration.crawl_log_keep_days
            self._handler = Splitting(folder, log_level(self._crawler.settings), roll_bytes, keep_days)
            logging.root.addHandler(self._handler)
            follow_level(self._handler)

    def _stopped(self) -> None:
        if self._handler is not None:
            unfollow_level(self._handler)
            logging.root.removeHandler(self._handler)
            self._handler.close()
            self._handler = None
