"""The life cycle that the features of a crawl share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from scrapy.http import Response

    from webcrawl.config import Configuration
    from webcrawl.crawl.context import CrawlContext
    from webcrawl.crawl.feature_table import Features
    from webcrawl.crawl.rules import CrawlRules
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl
    from webcrawl.fetching.signing import HeadSigner
    from webcrawl.frontier.committer import ArchiveThread, Store
    from webcrawl.frontier.intake import Intake, Linked, Withhold
    from webcrawl.frontier.order import Scorer
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.items import Page
    from webcrawl.scope.scope import Rule
    from webcrawl.storage.contract import Backend, Counts


class Feature:
    """An optional part of a crawl. The methods are called in this order; those of this class do nothing."""

    sinks: ClassVar[tuple[str, ...]] = ()
    """Import paths of archive sinks that the feature needs."""
    records_links: ClassVar[bool] = False
    """True if it records the URLs that a URL leads to, and the crawl does not queue them."""
    reads_listings: ClassVar[bool] = False
    """True if ``listed`` is to be called."""

    rule: Rule | None = None
    """A rule of the scope, for URLs of pages and for Requests. It and the next three count for features of which
    ``Entry.is_shaping`` is true, and are fixed when these are built."""
    withhold: Withhold | None = None
    """Called with each URL that the rule has refused."""
    linked: Linked | None = None
    """Called with the links of each page."""
    scorer: Scorer | None = None
    """Gives URLs their levels."""
    results: Store | None = None
    """Takes the results of URLs before the frontier does, and passes them on to the archive."""
    signer: HeadSigner | None = None
    """Signs the requests of the crawl, just before each is sent."""

    async def open(self, counts: Counts) -> None:
        """Open the feature's state. The frontier is open, with these figures; nothing is fetched yet.

        :raises webcrawl.errors.CrawlError: the state cannot be used; the crawl does not start
        """

    def begins_paused(self) -> bool:
        """Return whether nothing may be fetched at first, since an operator has paused the crawl. Called after
        ``open``."""
        return False

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        """Start the feature's tasks: the spider is open. ``scheduler.run_beside`` runs a task."""

    async def queue_seeds(self, context: CrawlContext, scheduler: RunningCrawl) -> bool:
        """Queue the URLs of the crawl in place of the spider's seeds. Return False if there are none."""
        return False

    def refused(self, entry: UrlEntry) -> None:
        """Process a queued URL that was refused at its lease: it is not fetched."""

    async def page(
        self,
        page: Page,
        response: Response,
        flight: InFlightRequest,
        found: Sequence[UrlEntry],
        beside: Mapping[str, str],
    ) -> None:
        """Process a page of the spider. ``found``: the queue entries of its new links. ``beside``: the text around
        each link, if a focus needs it."""

    async def listed(self, entry: UrlEntry, hints: Mapping[str, str | None]) -> int:
        """Process the URLs of a sitemap or feed with its data about each. Return the number of pages that become due
        earlier."""
        return 0

    def rate(self, flight: InFlightRequest) -> None:
        """Rate the result of a URL, before the archive decides how much of it is stored."""

    def settled(self, flight: InFlightRequest) -> None:
        """Process the result of a URL, before the frontier stores it."""

    def awaits_urls(self) -> bool:
        """Return whether the feature will queue URLs at some time: the crawl is not idle until then."""
        return False

    def keeps_open(self) -> bool:
        """Return whether the crawl must stay open. Called each time that it is idle."""
        return False

    async def before_close(self) -> None:
        """End the feature's tasks. URLs can still be queued."""

    async def drained(self) -> None:
        """Store the rest: all results are in the archive, and the storage is still open."""

    async def close(self) -> None:
        """Release resources. The frontier and its storage are closed."""


@dataclass(slots=True)
class Parts:
    """The parts of a crawl of which its features are built."""

    configuration: Configuration
    spider: object
    choices: CrawlRules
    clock: Callable[[], float]
    backend: Backend
    folder: Path | None
    """The JOBDIR; None for a crawl in memory."""
    features: Features
    """The features that were built before."""
    intake: Intake = field(init=False)
    """The intake. Features that give rules or scores to it are built before it and do not have it."""
    archive: ArchiveThread | None = field(init=False)
    """The archive; None for a crawl in memory. Features that add sinks to it are built before it and lack it."""


async def stop(task: asyncio.Task[None] | None) -> None:
    """Cancel a task and wait for its end."""
    while task is not None and not task.done():
        # Again each second: a library on the way may swallow a cancellation that comes together with an answer.
        task.cancel()
        await asyncio.wait([task], timeout=1.0)
