"""The crawl that a dashboard shows. All methods block."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from webcrawl.archive import fetchlog
from webcrawl.config import Configuration
from webcrawl.control.selection import require_crawl
from webcrawl.features.dashboard.state import StateReader
from webcrawl.features.timeseries.store import SeriesStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.settings import BaseSettings

    from webcrawl.features.timeseries.reading import Series

LOG_BYTES_MAX = 256 << 20
"""A fetch log of more bytes is not searched for a URL: that would take more than some seconds."""


class CrawlSource:
    """A crawl by its settings, which name its JOBDIR or its Redis."""

    def __init__(
        self,
        settings: BaseSettings,
        spider: str,
        arguments: Mapping[str, str] | None = None,
        allowed_domains: object = None,
    ) -> None:
        """``spider``, ``arguments`` and ``allowed_domains``: of the crawl; its rules depend on them.

        :raises CrawlError: the settings are wrong, or name no crawl that other processes can read
        """
        self.settings = settings
        self.spider = spider
        self.arguments = dict(arguments or {})
        self.allowed_domains = allowed_domains
        self.configuration = Configuration.from_settings(settings)
        self.crawl = require_crawl(settings, spider)
        self.folder = self.configuration.jobdir
        self.is_shared = self.configuration.storage.is_shared
        self._state = StateReader(self)

    @property
    def name(self) -> str:
        """The name of the crawl: its folder's, or its spider's in Redis."""
        return self.spider if self.is_shared or self.folder is None else self.folder.resolve().name

    def state(self, *, public: bool) -> dict[str, Any]:
        """Return the object of the endpoint ``crawl``. :raises CrawlError: it cannot be read"""
        return self._state.read(public=public)

    def series(self, names: Sequence[str], from_: float | None, to: float | None, points: int) -> Series:
        """Return time series; see ``SeriesStore.read``. :raises CrawlError: :raises ValueError:"""
        now = self.crawl.status().now if self.is_shared else time.time()
        found: Series = self.crawl.read_store(
            SeriesStore, lambda store: store.read(names, from_, to, points, now)
        )
        return found

    def explanation(self, url: str) -> dict[str, Any]:
        """Return what ``scrapy explain --json URL`` says. :raises CrawlError: or a ValueError that names the cause"""
        # It imports the parts of a crawl.
        from webcrawl.commands.explain import Inquiry, Question

        question = Question(
            url, spider=self.spider, arguments=self.arguments, allowed_domains=self.allowed_domains
        )
        found: dict[str, Any] = json.loads(Inquiry(self.settings, self.configuration, question).as_json())
        return found

    def has_long_log(self) -> bool:
        """Return True if searching the fetch log takes too long for an answer."""
        if self.folder is None:
            return False
        total = 0
        for path in [self.folder / fetchlog.NAME, *self.folder.glob("fetch-*.jsonl.gz")]:
            with suppress(OSError):
                total += path.stat().st_size * (10 if path.suffix == ".gz" else 1)
        return total > LOG_BYTES_MAX
