"""Subscriber: makes subscriptions of the hubs that documents name, and sends, repeats and renews the requests to
hubs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, Protocol
from urllib.parse import urlencode, urlsplit

from webcrawl.features.websub.discovery import Advertised
from webcrawl.features.websub.store import SubscriptionStore
from webcrawl.features.websub.subscription import (
    Mode,
    Subscription,
    SubscriptionState,
    callback_token,
    hub_secret,
)

SecretChoice = Literal["https", "always", "never"]


@dataclass(frozen=True, slots=True)
class Terms:
    """Settings of the operator."""

    callback_url: str
    """URL at which hubs reach the crawl; a token is appended after a slash."""
    lease_seconds: int = 864_000
    """Requested lease; the hub decides."""
    secret: SecretChoice = "https"
    """Hubs that are given a secret: those reached by HTTPS, all, or none."""
    subscriptions_max: int = 10_000
    per_key_max: int = 100
    """Maximum number of subscriptions to topics of one politeness key."""
    debounce_seconds: float = 60.0
    """Minimum time between two fetches of a topic because of pushes."""

    def callback(self, token: str) -> str:
        return f"{self.callback_url.rstrip('/')}/{token}"

    def signs(self, request_url: str) -> bool:
        """Return whether a hub at this URL is given a secret: over HTTP anyone could read it."""
        return self.secret == "always" or (self.secret == "https" and request_url.startswith("https:"))


@dataclass(slots=True)
class WebsubCounts:
    """Counts of this process."""

    requests: int = 0
    """Requests to hubs, including renewals and unsubscribing."""
    verified: int = 0
    denied: int = 0
    refused: int = 0
    """Verifications by hubs that were not confirmed."""
    pushes: int = 0
    """Accepted pushes."""
    ignored: int = 0
    """Pushes without the right signature, or too long."""
    topics: int = 0
    """Topics queued because of pushes."""


def first_request_url(hub: str) -> str:
    """Return the URL to which the first request to a hub is sent: HTTPS, even if its URL says HTTP (section 8.2)."""
    parts = urlsplit(hub)
    if parts.scheme == "http" and parts.port is None:
        return parts._replace(scheme="https").geturl()
    return hub


AT_ONCE = 200
"""Maximum number of subscriptions and of documents processed in one step."""
NEWS_MAX = 10_000
"""Maximum number of documents that wait for processing; others are found again when they are fetched again."""
RACES = 20
"""Number of attempts to change a subscription that others change at the same time."""
LEFT_TRIES = 3
"""Number of requests to unsubscribe."""
DAY_SECONDS = 86_400.0
BACK_OFF_SECONDS = 600.0
"""Time before the request to an unreachable hub is repeated; twice as long each time."""

logger = logging.getLogger(__name__)


class SubscribingCrawl(Protocol):
    """The parts of the crawl that are used here. Each method may raise a CrawlError: then the call is
    repeated later."""

    async def request(self, hub: str, form: bytes, topic: str) -> str | None:
        """Queue the POST of a form to a hub. Return the reason if that is not allowed, otherwise None."""
        ...

    async def revisit(self, subscription: Subscription) -> None:
        """Queue the topic, or make it due, since it may have changed."""
        ...

    async def drain(self) -> None:
        """Wait until all that was queued is durable."""
        ...


class FetchedDocument(Protocol):
    """A fetched page or feed; an entry of the frontier is one."""

    url: str
    key: str
    """The politeness key of the topic."""
    kind: str
    depth: int
    repeat: bool
    """True if it was fetched before."""


class Subscriber:
    """Subscribes to the topics that documents advertise, renews subscriptions, and passes pushes to the crawl.

    Several processes may use one store: each action is first claimed in the store, by exactly one process.
    """

    def __init__(self, store: SubscriptionStore, terms: Terms) -> None:
        self.terms = terms
        self.counts = WebsubCounts()
        self.store = store
        self._key = b""
        self._documents: dict[str, tuple[FetchedDocument, tuple[str, ...]]] = {}
        """A document that names the topic, and its hubs, by the topic; they are not processed yet."""
        self._vanished: set[str] = set()
        """URLs of pages that no longer name themselves as a topic with a hub."""
        self._is_full = self._ends = False

    async def open(self) -> None:
        """Load the crawl's key. :raises webcrawl.errors.CrawlError: the store cannot be used"""
        self._key = await self.store.key()

    def secret(self, subscription: Subscription) -> str:
        """Return the secret with which its pushes are signed."""
        return hub_secret(self._key, subscription.token)

    # -- documents -------------------------------------------------------------------------------------------

    def note(self, document: FetchedDocument, advertised: Advertised | None) -> None:
        """Record topic and hubs of a fetched document; ``step`` processes them."""
        vanished = document.repeat and (advertised is None or advertised.topic != document.url)
        if vanished and len(self._vanished) < NEWS_MAX:
            self._vanished.add(document.url)
        if advertised is not None and len(self._documents) < NEWS_MAX:
            self._documents[advertised.topic] = document, advertised.hubs

    async def step(self, crawl: SubscribingCrawl, now: float) -> bool:
        """Process what is due now, up to a limit. Return whether there is more.

        :raises webcrawl.errors.CrawlError: a later call does the rest
        """
        if self._ends:
            self._documents.clear()
            async for subscription in self.store.all():
                await self._leave(subscription, now)
        await self._handle_documents(now)
        due = await self.store.due(now, AT_ONCE)
        passed_on: list[Subscription] = []
        for subscription in due:
            await self._act(subscription, crawl, passed_on, now)
        if due:
            await crawl.drain()
        for subscription in passed_on:
            # A push that arrived meanwhile has changed the subscription, and is passed on when the claim has ended.
            await self.store.change(subscription, subscription.push_passed_on(now))
        return len(due) == AT_ONCE or bool(self._documents or self._vanished)

    async def _handle_documents(self, now: float) -> None:
        """Process the documents recorded since the last step."""
        documents = dict(islice(self._documents.items(), AT_ONCE))
        known = await self.store.of_topics(list(documents)) if documents else ()
        for topic, (document, hubs) in documents.items():
            own = [subscription for subscription in known if subscription.topic == topic]
            await self._subscribe(topic, document, hubs, own, now)
            # Keep it if it was recorded again meanwhile.
            if self._documents.get(topic) == (document, hubs):
                del self._documents[topic]
        vanished = list(islice(self._vanished, AT_ONCE))
        for subscription in await self.store.of_topics(vanished) if vanished else ():
            await self._leave(subscription, now)
        self._vanished.difference_update(vanished)

    async def _subscribe(
        self,
        topic: str,
        document: FetchedDocument,
        hubs: tuple[str, ...],
        known: list[Subscription],
        now: float,
    ) -> None:
        for subscription in known:
            if subscription.hub not in hubs:
                await self._leave(subscription, now)
        if any(
            subscription.hub in hubs
            and subscription.state not in (SubscriptionState.DENIED, SubscriptionState.LEAVING)
            for subscription in known
        ):
            return
        denied = {
            subscription.hub for subscription in known if subscription.state is SubscriptionState.DENIED
        }
        # HTTPS first, then the order of the document; False sorts before True.
        for hub in sorted(hubs, key=lambda hub: not hub.startswith("https:")):
            if hub not in denied and await self._has_room(document.key):
                # Start at the number of the day: the callback URL of a subscription deleted long ago is not used
                # again.
                last = max(
                    (subscription.generation for subscription in known if subscription.hub == hub), default=0
                )
                generation = max(last + 1, int(now // DAY_SECONDS))
                await self._begin(topic, document, hub, generation, now)
                return

    async def _has_room(self, key: str) -> bool:
        if await self.store.count() >= self.terms.subscriptions_max:
            if not self._is_full:
                logger.warning("There are %d subscriptions: no more are made", self.terms.subscriptions_max)
            self._is_full = True
            return False
        self._is_full = False
        return await self.store.count(key) < self.terms.per_key_max

    async def _begin(
        self, topic: str, document: FetchedDocument | Subscription, hub: str, generation: int, now: float
    ) -> None:
        token, request_url = callback_token(self._key, topic, hub, generation), first_request_url(hub)
        signed, kind, depth = self.terms.signs(request_url), document.kind, document.depth
        wanted = Subscription(
            token, topic, document.key, hub, request_url, generation, signed, now, now, kind, depth
        )
        await self.store.change(None, wanted)

    def end(self) -> None:
        """Unsubscribe from all hubs, and make no more subscriptions."""
        self._ends = True

    async def is_leaving(self) -> bool:
        """Return whether requests to unsubscribe have still to be sent or to be verified."""
        async for subscription in self.store.all():
            if (
                subscription.state is not SubscriptionState.DENIED
                and subscription.state is not SubscriptionState.REPLACED
            ):
                return True
        return False

    async def _leave(self, subscription: Subscription, now: float) -> None:
        if subscription.state is SubscriptionState.WANTED and not subscription.tries:
            await self.store.change(subscription, None)
        elif subscription.state not in (SubscriptionState.DENIED, SubscriptionState.REPLACED):
            await self.change(subscription.token, lambda current: current.leaving(now))

    # -- due subscriptions -----------------------------------------------------------------------------------

    async def _act(
        self, subscription: Subscription, crawl: SubscribingCrawl, passed_on: list[Subscription], now: float
    ) -> None:
        if subscription.hint_at is not None and subscription.hint_at <= now:
            claimed = subscription.push_claimed(now)
            if await self.store.change(subscription, claimed):
                await crawl.revisit(claimed)
                self.counts.topics += 1
                passed_on.append(claimed)
            return
        match subscription.state:
            case SubscriptionState.WANTED | SubscriptionState.ASKED if subscription.is_hopeless:
                await self._deny(subscription, "the hub never asked back", now)
            case SubscriptionState.WANTED | SubscriptionState.ASKED:
                await self._request(subscription, Mode.SUBSCRIBE, crawl, now)
            case SubscriptionState.LEAVING if subscription.tries < LEFT_TRIES:
                await self._request(subscription, Mode.UNSUBSCRIBE, crawl, now)
            case SubscriptionState.ACTIVE:
                await self._renew(subscription, crawl, now)
            case (
                SubscriptionState.LEAVING
                | SubscriptionState.ENDING
                | SubscriptionState.REPLACED
                | SubscriptionState.DENIED
            ):
                await self.store.change(subscription, None)

    async def _request(
        self, subscription: Subscription, mode: Mode, crawl: SubscribingCrawl, now: float
    ) -> None:
        if subscription.state is SubscriptionState.ASKED and subscription.request_url != subscription.hub:
            # At the URL requested last, the hub did not answer as a hub does.
            signed = self.terms.signs(subscription.hub)
            moved = replace(subscription, request_url=subscription.hub, signed=signed)
            if not await self.store.change(subscription, moved):
                return
            subscription = moved
        requested = subscription.requested(now)
        if await self.store.change(subscription, requested):
            self.counts.requests += 1
            refusal = await crawl.request(requested.request_url, self.form(requested, mode), requested.topic)
            if refusal is not None:
                await self._deny(requested, f"may not be asked: {refusal}", now)

    def form(self, subscription: Subscription, mode: Mode) -> bytes:
        """Return the body of a request to its hub (section 5.1)."""
        fields = {
            "hub.mode": str(mode),
            "hub.topic": subscription.topic,
            "hub.callback": self.terms.callback(subscription.token),
        }
        if mode is Mode.SUBSCRIBE:
            fields["hub.lease_seconds"] = str(self.terms.lease_seconds)
            if subscription.signed:
                fields["hub.secret"] = self.secret(subscription)
        return urlencode(fields, errors="surrogatepass").encode("ascii")

    async def _renew(self, subscription: Subscription, crawl: SubscribingCrawl, now: float) -> None:
        """Renew by a new subscription with its own callback URL. The topic is fetched again too: it may have moved,
        or have another hub by now (section 6.1)."""
        await self._begin(
            subscription.topic, subscription, subscription.hub, subscription.generation + 1, now
        )
        if await self.store.change(subscription, subscription.not_renewed()):
            await crawl.revisit(subscription)

    async def _deny(self, subscription: Subscription, reason: str, now: float) -> None:
        if await self.store.change(subscription, subscription.denied(reason, now)):
            self.counts.denied += 1
            logger.info("No subscription to %s at %s: %s", subscription.topic, subscription.hub, reason)

    # -- responses of hubs -----------------------------------------------------------------------------------

    async def responded(self, token: str, status: int | None, location: str | None, now: float) -> None:
        """Record the response of a hub to a request: its status, None without a response, and the target of a 307 or
        308."""
        if status is not None and 200 <= status < 300:
            return  # it verifies the request, or the request is repeated
        await self.change(token, lambda subscription: self._after(subscription, status, location, now))

    def _after(
        self, subscription: Subscription, status: int | None, location: str | None, now: float
    ) -> Subscription:
        leaves = subscription.state is SubscriptionState.LEAVING
        if subscription.state is not SubscriptionState.ASKED and not leaves:
            return subscription
        if location is not None and not subscription.is_hopeless:
            return subscription.redirected(location, self.terms.signs(location), now)
        if subscription.request_url != subscription.hub and not leaves:
            return replace(subscription, action_at=now)
        final = status is not None and 400 <= status < 500 and status not in (408, 425, 429)
        if final and not leaves:
            self.counts.denied += 1
            return subscription.denied(f"the hub answered {status}", now)
        return replace(subscription, action_at=now + BACK_OFF_SECONDS * 2.0 ** (subscription.tries - 1))

    async def change(
        self, token: str, step: Callable[[Subscription], Subscription | None]
    ) -> Subscription | None:
        """Apply ``step`` to the current state of a subscription; return the state before, None if there is none."""
        for _ in range(RACES):
            before = await self.store.get(token)
            if before is None:
                return None
            after = step(before)
            if after == before or await self.store.change(before, after):
                return before
        logger.warning(
            "The subscription to %s is changed by several processes at once",
            before.topic if before else token,
        )
        return None
