"""From what documents say to subscriptions, and from the time to what hubs are asked.

On which terms a crawl subscribes, and what came of it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, Protocol
from urllib.parse import urlencode, urlsplit

from webcrawl.features.websub import subscription as become
from webcrawl.features.websub.discovery import Advertised
from webcrawl.features.websub.store import SubscriptionStore
from webcrawl.features.websub.subscription import Mode, State, Subscription, secret_of, token_of

SecretChoice = Literal["https", "always", "never"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the operator chose."""

    callback_url: str
    """Where hubs reach us; a token is appended behind a slash."""
    lease_seconds: int = 864_000
    """That are asked for; the hub decides."""
    secret: SecretChoice = "https"
    """Which hubs are given a secret: those asked by HTTPS, all, none."""
    subscriptions_max: int = 10_000
    per_key_max: int = 100
    """Of the topics of one politeness key."""
    pause_seconds: float = 60.0
    """Between two fetches of a topic for pushes."""

    def callback(self, token: str) -> str:
        return f"{self.callback_url.rstrip('/')}/{token}"

    def signs(self, asked_at: str) -> bool:
        """Whether a hub that is asked at this URL is given a secret: over HTTP anybody could read it."""
        return self.secret == "always" or (self.secret == "https" and asked_at.startswith("https:"))


@dataclass(slots=True)
class Counts:
    """What came of it in this process."""

    asked: int = 0
    """Requests to hubs, to renew and to leave too."""
    verified: int = 0
    denied: int = 0
    refused: int = 0
    """Questions of hubs that we did not confirm."""
    pushes: int = 0
    """That counted."""
    ignored: int = 0
    """Without the right signature, or too long."""
    hints: int = 0
    """Topics queued for pushes."""


def favoured(hub: str) -> str:
    """Where a hub is asked first: by HTTPS, also where its URL says HTTP (section 8.2)."""
    parts = urlsplit(hub)
    if parts.scheme == "http" and parts.port is None:
        return parts._replace(scheme="https").geturl()
    return hub


AT_ONCE = 200
"""Subscriptions looked at, and documents taken in, in one step."""
NEWS_MAX = 10_000
"""Documents that wait to be taken in; what is over it is found again when it is fetched again."""
RACES = 20
"""How often a change is tried that others make at the same time."""
LEFT_TRIES = 3
"""How often a hub is asked to forget us."""
DAY_SECONDS = 86_400.0
BACK_OFF_SECONDS = 600.0
"""Before a hub is asked again that could not be had; twice as long each time."""

logger = logging.getLogger(__name__)


class Crawl(Protocol):
    """What is wanted of the crawl. Each may raise a CrawlError: then it is to be wanted again."""

    async def ask(self, hub: str, form: bytes, topic: str) -> str | None:
        """Queue the POST of a form to a hub. Returns why that may not be, None if it may."""
        ...

    async def hint(self, one: Subscription) -> None:
        """Its topic may have changed: queue it, or have it be due."""
        ...

    async def keep(self) -> None:
        """Wait until all that was queued outlives the process."""
        ...


class Document(Protocol):
    """A page or feed as it was fetched; an entry of the frontier is one."""

    url: str
    key: str
    """Its politeness key."""
    kind: str
    depth: int
    repeat: bool
    """It was fetched before."""


class Subscriber:
    """Subscribes to what documents advertise, renews, and tells the crawl of pushes.

    Several processes may do so with one store: what each does is first taken in the store, which lets one have it.
    """

    def __init__(self, store: SubscriptionStore, terms: Terms) -> None:
        self.terms = terms
        self.counts = Counts()
        self.store = store
        self._key = b""
        self._found: dict[str, tuple[Document, tuple[str, ...]]] = {}
        """Topic to a document that says so, and its hubs."""
        self._vanished: set[str] = set()
        self._is_full = self._ends = False

    async def open(self) -> None:
        """:raises webcrawl.errors.CrawlError: the store cannot be used"""
        await self.store.open()
        self._key = await self.store.key()

    async def close(self) -> None:
        await self.store.close()

    def secret(self, one: Subscription) -> str:
        """What its pushes are signed with."""
        return secret_of(self._key, one.token)

    # -- what documents say ----------------------------------------------------------------------------------

    def noted(self, document: Document, said: Advertised | None) -> None:
        """A document was fetched, and says this of itself. What follows from it is done by ``step``."""
        vanished = document.repeat and (said is None or said.topic != document.url)
        if vanished and len(self._vanished) < NEWS_MAX:
            self._vanished.add(document.url)
        if said is not None and len(self._found) < NEWS_MAX:
            self._found[said.topic] = document, said.hubs

    async def step(self, crawl: Crawl, now: float) -> bool:
        """Do what is to be done now, at most so much at once. Whether there is more.

        :raises webcrawl.errors.CrawlError: what is left is done by a later call
        """
        if self._ends:
            self._found.clear()
            async for one in self._all():
                await self._leave(one, now)
        await self._take_in(now)
        due = await self.store.due(now, AT_ONCE)
        told: list[Subscription] = []
        for one in due:
            await self._turn(one, crawl, told, now)
        if due:
            await crawl.keep()
        for one in told:
            # A push that came meanwhile has changed it, and is told of when the claim has ended.
            await self.store.change(one, become.hinted(one, now))
        return len(due) == AT_ONCE or bool(self._found or self._vanished)

    async def _take_in(self, now: float) -> None:
        """What documents said since the last step."""
        found = dict(islice(self._found.items(), AT_ONCE))
        known = await self.store.of_topics(list(found)) if found else ()
        for topic, (document, hubs) in found.items():
            own = [one for one in known if one.topic == topic]
            await self._advertised(topic, document, hubs, own, now)
            # Unless it was said again meanwhile.
            if self._found.get(topic) == (document, hubs):
                del self._found[topic]
        vanished = list(islice(self._vanished, AT_ONCE))
        for one in await self.store.of_topics(vanished) if vanished else ():
            await self._leave(one, now)
        self._vanished.difference_update(vanished)

    async def _advertised(
        self, topic: str, document: Document, hubs: tuple[str, ...], known: list[Subscription], now: float
    ) -> None:
        for one in known:
            if one.hub not in hubs:
                await self._leave(one, now)
        if any(one.hub in hubs and one.state not in (State.DENIED, State.LEAVING) for one in known):
            return
        denied = {one.hub for one in known if one.state is State.DENIED}
        # HTTPS first, and then as the document has them; False sorts before True.
        for hub in sorted(hubs, key=lambda hub: not hub.startswith("https:")):
            if hub not in denied and await self._has_room(document.key):
                # The first of a day that has no other: a callback is not used again when it is long forgotten.
                last = max((one.generation for one in known if one.hub == hub), default=0)
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
        self, topic: str, document: Document | Subscription, hub: str, generation: int, now: float
    ) -> None:
        token, asked_at = token_of(self._key, topic, hub, generation), favoured(hub)
        signed, kind, depth = self.terms.signs(asked_at), document.kind, document.depth
        wanted = Subscription(
            token, topic, document.key, hub, asked_at, generation, signed, now, now, kind, depth
        )
        await self.store.change(None, wanted)

    def end(self) -> None:
        """Have all hubs forget us, and make no subscriptions any more."""
        self._ends = True

    async def is_leaving(self) -> bool:
        """Whether hubs have still to be asked to forget us, or to ask back."""
        async for one in self._all():
            if one.state is not State.DENIED and one.state is not State.REPLACED:
                return True
        return False

    async def _all(self) -> AsyncIterator[Subscription]:
        after = ""
        while some := await self.store.some(after, AT_ONCE):
            for one in some:
                yield one
            after = some[-1].token

    async def _leave(self, one: Subscription, now: float) -> None:
        if one.state is State.WANTED and not one.tries:
            await self.store.change(one, None)
        elif one.state not in (State.DENIED, State.REPLACED):
            await self.change(one.token, lambda as_now: become.leave(as_now, now))

    # -- what the time says ----------------------------------------------------------------------------------

    async def _turn(self, one: Subscription, crawl: Crawl, told: list[Subscription], now: float) -> None:
        if one.hint_at is not None and one.hint_at <= now:
            mine = become.claimed(one, now)
            if await self.store.change(one, mine):
                await crawl.hint(mine)
                self.counts.hints += 1
                told.append(mine)
            return
        match one.state:
            case State.WANTED | State.ASKED if become.is_hopeless(one):
                await self._deny(one, "the hub never asked back", now)
            case State.WANTED | State.ASKED:
                await self._ask(one, Mode.SUBSCRIBE, crawl, now)
            case State.LEAVING if one.tries < LEFT_TRIES:
                await self._ask(one, Mode.UNSUBSCRIBE, crawl, now)
            case State.ACTIVE:
                await self._renew(one, crawl, now)
            case State.LEAVING | State.ENDING | State.REPLACED | State.DENIED:
                await self.store.change(one, None)

    async def _ask(self, one: Subscription, mode: Mode, crawl: Crawl, now: float) -> None:
        if one.state is State.ASKED and one.asked_at != one.hub:
            # Where it was asked last it did not answer as a hub does.
            signed = self.terms.signs(one.hub)
            moved = replace(one, asked_at=one.hub, signed=signed)
            if not await self.store.change(one, moved):
                return
            one = moved
        asked = become.ask(one, now)
        if await self.store.change(one, asked):
            self.counts.asked += 1
            why = await crawl.ask(asked.asked_at, self.form(asked, mode), asked.topic)
            if why is not None:
                await self._deny(asked, f"may not be asked: {why}", now)

    def form(self, one: Subscription, mode: Mode) -> bytes:
        """The body of a request to its hub (section 5.1)."""
        said = {"hub.mode": str(mode), "hub.topic": one.topic, "hub.callback": self.terms.callback(one.token)}
        if mode is Mode.SUBSCRIBE:
            said["hub.lease_seconds"] = str(self.terms.lease_seconds)
            if one.signed:
                said["hub.secret"] = self.secret(one)
        return urlencode(said, errors="surrogatepass").encode("ascii")

    async def _renew(self, one: Subscription, crawl: Crawl, now: float) -> None:
        """By a new subscription with a URL of its own. The topic is fetched again too: it may have moved, or have
        another hub by now (section 6.1)."""
        await self._begin(one.topic, one, one.hub, one.generation + 1, now)
        if await self.store.change(one, become.run_out(one)):
            await crawl.hint(one)

    async def _deny(self, one: Subscription, why: str, now: float) -> None:
        if await self.store.change(one, become.denied(one, why, now)):
            self.counts.denied += 1
            logger.info("No subscription to %s at %s: %s", one.topic, one.hub, why)

    # -- what hubs answer ------------------------------------------------------------------------------------

    async def answered(self, token: str, status: int | None, location: str | None, now: float) -> None:
        """What a hub answered to a request of ours: a status and, of 307 and 308, where to ask; None for none."""
        if status is not None and 200 <= status < 300:
            return  # it asks back, or is asked again
        await self.change(token, lambda one: self._after(one, status, location, now))

    def _after(self, one: Subscription, status: int | None, location: str | None, now: float) -> Subscription:
        leaves = one.state is State.LEAVING
        if one.state is not State.ASKED and not leaves:
            return one
        if location is not None and not become.is_hopeless(one):
            return become.redirected(one, location, self.terms.signs(location), now)
        if one.asked_at != one.hub and not leaves:
            return replace(one, turn_at=now)
        final = status is not None and 400 <= status < 500 and status not in (408, 425, 429)
        if final and not leaves:
            self.counts.denied += 1
            return become.denied(one, f"the hub answered {status}", now)
        return replace(one, turn_at=now + BACK_OFF_SECONDS * 2.0 ** (one.tries - 1))

    async def change(
        self, token: str, step: Callable[[Subscription], Subscription | None]
    ) -> Subscription | None:
        """Make of a subscription what ``step`` makes of it, as it is then; as it was, None where there is none."""
        for _ in range(RACES):
            before = await self.store.get(token)
            if before is None:
                return None
            after = step(before)
            if after == before or await self.store.change(before, after):
                return before
        logger.warning("The subscription to %s is changed by many at once", before.topic if before else token)
        return None
