"""Wiring of WebSub: responses lead to subscriptions, these to requests, and pushes to visits."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from scrapy.http import Request

from webcrawl import request_codec
from webcrawl.errors import StartRefused, StorageAway
from webcrawl.features.websub.callback import Callback
from webcrawl.features.websub.server import Server
from webcrawl.features.websub.subscriber import Subscriber, Terms
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.storage.contract import SharedBackend
from webcrawl.storage.memory.subscriptions import MemorySubscriptions
from webcrawl.storage.sqlite.subscriptions import SqliteSubscriptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy import Spider

    from webcrawl.config import Configuration
    from webcrawl.crawl.context import CrawlContext
    from webcrawl.features.websub.discovery import Advertised
    from webcrawl.features.websub.store import SubscriptionStore
    from webcrawl.features.websub.subscription import Subscription
    from webcrawl.frontier.intake import Intake
    from webcrawl.scheduler import Scheduler
    from webcrawl.storage.contract import Backend

LEVEL = 1 << 32
"""Level of requests to hubs and of pushed pages: before all other pages."""
_FORM = "application/x-www-form-urlencoded"

logger = logging.getLogger(__name__)


class WebSubFeature:
    """Subscriptions of a running crawl, and the server at which hubs reach it."""

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
        self._intake = intake
        self._shared = shared
        self._heard: Callable[[], None] = lambda: None
        self._server = Server(
            Callback(subscriber), clock, configuration.websub_push_maxsize, lambda: self._heard()
        )

    async def open(self) -> None:
        """Open the store and listen. If several processes share the crawl, it is enough that one of a machine
        listens.

        :raises webcrawl.errors.CrawlError: the store cannot be used, or the address is in use
        """
        await self.subscriber.open()
        try:
            await self._server.start(*self._place)
        except StartRefused as error:
            if not self._shared:
                await self.subscriber.close()
                raise
            logger.warning("%s; another worker has to answer hubs", error)
        else:
            logger.info("Listening for hubs at %s:%d", self._place[0], self._server.port)

    def on_push(self, heard: Callable[[], None]) -> None:
        """Have ``heard`` called when a push may have arrived."""
        self._heard = heard

    async def close(self) -> None:
        """Stop listening and close the store."""
        await self._server.stop()
        await self.subscriber.close()

    def noted(self, entry: UrlEntry, said: Advertised | None) -> None:
        """Record topic and hubs of a page or feed. They are ignored if the topic is on another site, so that no site
        can make us visit others."""
        if said is not None:
            topic = self._intake.one(said.topic, entry.depth, entry.via)
            if isinstance(topic, str) or topic.key != entry.key:
                said = None
        if said is not None or entry.repeat:
            self.subscriber.noted(entry, said)

    async def answered(self, form: bytes, status: int | None, location: str | None, now: float) -> None:
        """Record the hub's response to a request with this body; ``location``: target of a redirect."""
        [callback] = parse_qs(form.decode("ascii"))["hub.callback"]
        await self.subscriber.answered(callback.rpartition("/")[2], status, location, now)


class Asking:
    """The ``Crawl`` of ``websub.subscriber``: queues requests to hubs and pushed topics in the frontier."""

    def __init__(self, scheduler: Scheduler, context: CrawlContext, spider: Spider) -> None:
        self._scheduler = scheduler
        self._intake = context.intake
        self._order = context.policies.order
        self._visiting = context.visiting
        self._clock = context.clock
        self._spider = spider

    async def ask(self, hub: str, form: bytes, topic: str) -> str | None:
        # The subscriber repeats the request when needed.
        request = Request(
            hub, method="POST", body=form, headers={"Content-Type": _FORM}, meta={"dont_retry": True}
        )
        entry = self._intake.request(hub, "POST", form, 0, topic, 0, followed=False)
        if isinstance(entry, str):
            return entry
        payload = request_codec.encode(request, self._spider).payload
        self._queue(replace(entry, kind=Kind.WEBSUB.value, payload=payload))
        return None

    async def hint(self, one: Subscription) -> None:
        visits = None if self._visiting is None else self._visiting.visits
        if visits is not None and await visits.hint(one.topic, self._clock()):
            return
        if one.kind == Kind.SITEMAP:
            entry = self._intake.sitemap(one.topic, one.key, one.topic, one.depth)
        else:
            entry = self._intake.one(one.topic, one.depth, None)
        if isinstance(entry, str):
            logger.info("%s was pushed, and is not visited: %s", one.topic, entry)
        else:
            self._queue(entry)

    async def keep(self) -> None:
        if not await self._scheduler.frontier.drain():
            raise StorageAway("the crawl ends")

    def _queue(self, entry: UrlEntry) -> None:
        """Queue an entry in addition to any entry of the same URL, and without changing its state."""
        entry.level, entry.repeat = LEVEL, True
        # Placed here, since a custom order would set another level.
        self._scheduler.frontier.add([self._order.place_again(entry)])


def websub_feature_of(
    configuration: Configuration,
    clock: Callable[[], float],
    backend: Backend,
    folder: Path | None,
    intake: Intake,
) -> WebSubFeature | None:
    """Return the subscriptions of a crawl; None if hubs cannot reach it. ``folder``: the JOBDIR."""
    if configuration.websub_callback_url is None:
        return None
    terms = Terms(
        configuration.websub_callback_url,
        configuration.websub_lease_seconds,
        configuration.websub_secret,  # type: ignore[arg-type]
        configuration.websub_subscriptions_max,
        configuration.websub_per_key_max,
        configuration.websub_debounce_seconds,
    )
    subscriber = Subscriber(_store(configuration, backend, folder), terms)
    return WebSubFeature(subscriber, configuration, clock, intake, shared=isinstance(backend, SharedBackend))


def _store(configuration: Configuration, backend: Backend, folder: Path | None) -> SubscriptionStore:
    if configuration.frontier_backend == "redis":
        # A crawl on one machine does not import the Redis backend.
        from webcrawl.storage.redis import RedisBackend
        from webcrawl.storage.redis.subscriptions import RedisSubscriptions

        assert isinstance(backend, RedisBackend)
        return RedisSubscriptions(backend.server, backend.spider)
    if configuration.frontier_backend == "memory" or folder is None:
        return MemorySubscriptions()
    return SqliteSubscriptions(folder)
