"""Wiring of WebSub: responses lead to subscriptions, these to requests, and pushes to visits."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from scrapy.http import Request

from webcrawl.crawl import request_codec
from webcrawl.crawl.feature import Feature, stop
from webcrawl.errors import StartRefused, StorageAway, StorageFull
from webcrawl.features.websub.callback import Callback
from webcrawl.features.websub.server import CallbackServer
from webcrawl.features.websub.store import SubscriptionStore
from webcrawl.features.websub.subscriber import Subscriber, Terms
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

    from webcrawl.config import Configuration
    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.features.revisits.feature import RevisitsFeature
    from webcrawl.features.websub.discovery import Advertised
    from webcrawl.features.websub.subscription import Subscription
    from webcrawl.frontier.intake import Intake
    from webcrawl.storage.contract import Counts

LEVEL = 1 << 32
"""Level of requests to hubs and of pushed pages: before all other pages."""
SECONDS = 1.0
"""Interval between two steps; a push starts the next one at once."""
LEAVE_SECONDS = 60.0
"""Maximum time that a finished crawl waits for hubs to end its subscriptions."""
_FORM = "application/x-www-form-urlencoded"

logger = logging.getLogger(__name__)


class WebSubFeature(Feature):
    """Subscriptions of a running crawl, and the server at which hubs reach it.

    A task sends requests, renews subscriptions and passes on pushes; it ends the subscriptions of a finished crawl.
    """

    def __init__(
        self,
        subscriber: Subscriber,
        configuration: Configuration,
        clock: Callable[[], float],
        intake: Intake,
        *,
        shared: bool,
    ) -> None:
        self.subscriber = subscriber
        self._place = configuration.websub_listen
        self._leaves = configuration.websub_unsubscribe
        self._left_at: float | None = None
        self._clock = clock
        self._intake = intake
        self._shared = shared
        self._soon = asyncio.Event()
        self._server = CallbackServer(
            Callback(subscriber), clock, configuration.websub_push_maxsize, self._soon.set
        )
        self._task: asyncio.Task[None] | None = None
        self._stepped = self._failed = False

    async def open(self, counts: Counts) -> None:
        """Load the crawl's key and listen. If several processes share the crawl, it is enough that one of a machine
        listens.

        :raises webcrawl.errors.CrawlError: the store cannot be used, or the address is in use
        """
        await self.subscriber.open()
        try:
            await self._server.start(*self._place)
        except StartRefused as error:
            if not self._shared:
                raise
            logger.warning("%s; another worker has to answer hubs", error)
        else:
            logger.info("Listening for hubs at %s:%d", self._place[0], self._server.port)

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        frontier = FrontierAccess(context, scheduler.spider)
        # Without this task, pushes would be accepted and their pages never visited.
        self._task = scheduler.run_beside(self._run(context, scheduler, frontier))

    def keeps_open(self) -> bool:
        """Return True until pushed topics are queued, and until hubs have answered requests to unsubscribe."""
        if self._task is None or self._task.done():
            return False
        return not self._stepped or (self._leaves and self._is_worth_waiting())

    async def before_close(self) -> None:
        """Stop listening."""
        await stop(self._task)
        await self._server.stop()
        counts = self.subscriber.counts
        if counts.requests or counts.pushes or counts.ignored:
            logger.info(
                "WebSub: %d requests to hubs, %d subscriptions confirmed, %d denied; %d pushes, %d ignored",
                counts.requests,
                counts.verified,
                counts.denied,
                counts.pushes,
                counts.ignored,
            )

    def note(self, entry: UrlEntry, advertised: Advertised | None) -> None:
        """Record topic and hubs of a page or feed. They are ignored if the topic is on another site, so that no site
        can make us visit others."""
        if advertised is not None:
            topic = self._intake.link_entry(advertised.topic, entry.depth, entry.via)
            if isinstance(topic, str) or topic.key != entry.key:
                advertised = None
        if advertised is not None or entry.repeat:
            self.subscriber.note(entry, advertised)

    async def responded(self, form: bytes, status: int | None, location: str | None, now: float) -> None:
        """Record the hub's response to a request with this body; ``location``: target of a redirect."""
        [callback] = parse_qs(form.decode("ascii"))["hub.callback"]
        await self.subscriber.responded(callback.rpartition("/")[2], status, location, now)

    async def _run(self, context: CrawlContext, scheduler: RunningCrawl, frontier: FrontierAccess) -> None:
        while True:
            self._soon.clear()
            if not context.frontier.is_closing():
                if await self._step(frontier):
                    self._soon.set()
                if not self._stepped or self._left_at is not None:
                    self._stepped = True
                    scheduler.wake()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._soon.wait(), SECONDS)

    async def _step(self, frontier: FrontierAccess) -> bool:
        """Run one step; return whether there is more to do at once."""
        try:
            more = await self.subscriber.step(frontier, self._clock())
            if self._left_at is not None and not await self.subscriber.is_leaving():
                self._leaves = False
        except StorageFull as error:
            if not self._failed:
                logger.warning("Subscriptions cannot be kept at the moment: %s", error)
            self._failed = True
            return False
        self._failed = False
        return more

    def _is_worth_waiting(self) -> bool:
        now = self._clock()
        if self._left_at is None:
            self._left_at = now
            self.subscriber.end()
            self._soon.set()
        return now - self._left_at < LEAVE_SECONDS


class FrontierAccess:
    """The ``Crawl`` of ``websub.subscriber``: queues requests to hubs and pushed topics in the frontier."""

    def __init__(self, context: CrawlContext, spider: Spider) -> None:
        self._frontier = context.frontier
        self._intake = context.intake
        self._order = context.policies.order
        self._revisits: RevisitsFeature | None = context.features.get("revisits")
        self._clock = context.clock
        self._spider = spider

    async def request(self, hub: str, form: bytes, topic: str) -> str | None:
        # The subscriber repeats the request when needed.
        request = Request(
            hub, method="POST", body=form, headers={"Content-Type": _FORM}, meta={"dont_retry": True}
        )
        entry = self._intake.request_entry(hub, "POST", form, 0, topic, 0, followed=False)
        if isinstance(entry, str):
            return entry
        payload = request_codec.encode(request, self._spider).payload
        self._queue(replace(entry, kind=Kind.WEBSUB.value, payload=payload))
        return None

    async def revisit(self, subscription: Subscription) -> None:
        visits = None if self._revisits is None else self._revisits.visits
        if visits is not None and await visits.hint(subscription.topic, self._clock()):
            return
        if subscription.kind == Kind.SITEMAP:
            entry = self._intake.sitemap_entry(
                subscription.topic, subscription.key, subscription.topic, subscription.depth
            )
        else:
            entry = self._intake.link_entry(subscription.topic, subscription.depth, None)
        if isinstance(entry, str):
            logger.info("%s was pushed, and is not visited: %s", subscription.topic, entry)
        else:
            self._queue(entry)

    async def drain(self) -> None:
        if not await self._frontier.drain():
            raise StorageAway("the crawl ends")

    def _queue(self, entry: UrlEntry) -> None:
        """Queue an entry in addition to any entry of the same URL, and without changing its state."""
        entry.level, entry.repeat = LEVEL, True
        # Placed here, since a custom order would set another level.
        self._frontier.add_entries([self._order.place_again(entry)])


def build(parts: Parts) -> WebSubFeature:
    """Return the subscriptions of a crawl that hubs can reach."""
    configuration = parts.configuration
    assert configuration.websub_callback_url is not None
    terms = Terms(
        configuration.websub_callback_url,
        configuration.websub_lease_seconds,
        configuration.websub_secret,  # type: ignore[arg-type]
        configuration.websub_subscriptions_max,
        configuration.websub_per_key_max,
        configuration.websub_debounce_seconds,
    )
    subscriber = Subscriber(SubscriptionStore(parts.backend.tables), terms)
    shared = isinstance(parts.backend, SharedBackend)
    return WebSubFeature(subscriber, configuration, parts.clock, parts.intake, shared=shared)
