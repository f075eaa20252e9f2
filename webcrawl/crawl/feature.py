"""The features of a crawl: their life cycle, the parts of the crawl that they are built of, and the context that they
are given."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from scrapy.http import Response

    from webcrawl.config import Configuration
    from webcrawl.crawl.jobdir import Jobdir
    from webcrawl.crawl.rules import CrawlRules
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl
    from webcrawl.crawl.seeded_hosts import SeededHosts
    from webcrawl.fetching.bandwidth import Bandwidth
    from webcrawl.fetching.signing import HeadSigner
    from webcrawl.frontier.committer import ArchiveThread, Store
    from webcrawl.frontier.frontier import Frontier
    from webcrawl.frontier.intake import Intake, Linked, StandsFor, Withhold
    from webcrawl.frontier.order import Scorer
    from webcrawl.frontier.policies import Policies
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.frontier.tally import Tally
    from webcrawl.items import Page
    from webcrawl.processing.chain import Chain
    from webcrawl.processing.text_digest import TextDigests
    from webcrawl.robots.rules import ReadUsage, RulesCache
    from webcrawl.robots.site_files import SiteFileChoice
    from webcrawl.scope.exclusion import ExclusionList
    from webcrawl.scope.scope import Rule
    from webcrawl.storage.contract import Backend, ClockStore, Counts
    from webcrawl.urls.politeness_key import PolitenessKey


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
    stands_for: StandsFor | None = None
    """Names the known pages of which links are other URLs, for ``linked``. It counts like ``rule``."""
    scorer: Scorer | None = None
    """Gives URLs their levels."""
    results: Store | None = None
    """Takes the results of URLs before the frontier does, and passes them on to the archive."""
    signer: HeadSigner | None = None
    """Signs the requests of the crawl, just before each is sent."""
    site_files: SiteFileChoice | None = None
    """Chooses files of each origin that are requested after its robots.txt, before its pages."""
    read_usage: ReadUsage | None = None
    """Called with the text of each robots.txt that is parsed; see ``RulesCache``."""

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
        discovered: Sequence[UrlEntry],
        beside: Mapping[str, str],
    ) -> None:
        """Process a page of the spider. ``discovered``: the queue entries of its new links. ``beside``: the text
        around each link, if a focus needs it."""

    async def listed(self, entry: UrlEntry, hints: Mapping[str, str | None]) -> int:
        """Process the URLs of a sitemap or feed with its data about each. Return the number of pages that become due
        earlier."""
        return 0

    def rate(self, flight: InFlightRequest) -> None:
        """Rate the result of a URL, before the archive decides how much of it is stored."""

    def settled(self, flight: InFlightRequest) -> None:
        """Process the result of a URL, before the frontier stores it."""

    async def before_commit(self) -> None:
        """Store what must be durable before the states of URLs are: called before each commit of the frontier, also
        with URLs that were refused, and again if it raises StorageFull.

        :raises webcrawl.errors.CrawlError: anything but StorageFull ends the crawl
        """

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


class Features:
    """The features of a crawl that are on, in the order of the table."""

    def __init__(self) -> None:
        self._by_name: dict[str, Feature] = {}

    def add(self, name: str, feature: Feature) -> None:
        """Add a feature behind those that are there."""
        self._by_name[name] = feature

    def refused(self, entry: UrlEntry) -> None:
        """Pass a queued URL that was refused at its lease to all features."""
        for feature in self:
            feature.refused(entry)

    def find_before_commit(self) -> Callable[[], Awaitable[None]] | None:
        """Return what calls ``before_commit`` of the features that have something to do then; None if none has."""
        concerned = [feature for feature in self if type(feature).before_commit is not Feature.before_commit]

        async def before_commit() -> None:
            for feature in concerned:
                await feature.before_commit()

        return before_commit if concerned else None

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._by_name.values())

    def __reversed__(self) -> Iterator[Feature]:
        return reversed(self._by_name.values())

    def get(self, name: str) -> Any:
        """Return a feature by its name in the table; None if it is off."""
        return self._by_name.get(name)


@dataclass(slots=True, weakref_slot=True)
class CrawlContext:
    """The parts of a crawl that its components share."""

    configuration: Configuration
    clock: Callable[[], float]
    key: PolitenessKey
    intake: Intake
    policies: Policies
    rules: RulesCache
    jobdir: Jobdir | None
    backend: Backend
    archive: ArchiveThread | None
    exclusions: ExclusionList | None
    seeded: SeededHosts
    bandwidth: Bandwidth
    """The bandwidth limit; ``bandwidth.set_limit(bytes_per_second)`` changes it."""
    features: Features
    """The features that are on."""
    store: Store | None
    """Takes the results of URLs before the frontier does: the archive, or the visits, which pass them on to it."""
    clocks: ClockStore | None = None
    """The store of the clocks that keys share with keys of other processes; None if there are none."""
    processing: Chain | None = None
    """The modules that find fields in pages; None if there are none."""
    texts: TextDigests | None = None
    """Computes digests of the main text of pages; None if no setting needs them."""
    trouble: BaseException | None = None
    """The error that ended the crawl."""
    doing: str | None = None
    """The step by which the crawl is being opened or closed, as a noun; None while it runs."""
    frontier: Frontier = field(init=False)
    """The frontier, from the moment when the scheduler is built."""

    @property
    def tally(self) -> Tally:
        """The figures of the crawl, which its parts count."""
        return self.frontier.tally

    @property
    def spool(self) -> str:
        """The folder for payloads that are read from files."""
        return tempfile.gettempdir() if self.jobdir is None else str(self.jobdir.spool)


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
