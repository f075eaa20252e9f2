"""Answers to hubs at the callback URLs: verification of intent (sections 5.2 and 5.3), and pushes with their
signature.

The signature of a push (sections 7 and 7.1) is an HMAC of its body with a secret that only the hub was given.
"""

from __future__ import annotations

import hmac
import logging
from dataclasses import dataclass
from urllib.parse import parse_qsl

from webcrawl.features.websub.subscriber import Subscriber
from webcrawl.features.websub.subscription import OVER, PUSHING, Mode, Subscription, SubscriptionState

METHODS = frozenset({"sha1", "sha256", "sha384", "sha512"})


class Signature:
    """A claimed signature, verified while the body arrives, so that the body is not kept."""

    def __init__(self, header: str | None, secret: str) -> None:
        """``header``: the value of X-Hub-Signature, if there is one."""
        method, _, self._claimed = (header or "").strip().partition("=")
        method = method.strip().lower()
        self._mac = hmac.new(secret.encode("ascii"), digestmod=method) if method in METHODS else None

    @property
    def can_hold(self) -> bool:
        """True if there is a signature by a known method, so that the body has to be read."""
        return self._mac is not None

    def feed(self, part: bytes) -> None:
        """Add the next part of the body."""
        if self._mac is not None:
            self._mac.update(part)

    def holds(self) -> bool:
        """Return whether the body was signed with the secret. Takes constant time."""
        if self._mac is None:
            return False
        claimed = self._claimed.strip().lower().encode("utf-8", "replace")
        return hmac.compare_digest(self._mac.hexdigest().encode("ascii"), claimed)


CHALLENGE_MAX = 1_024
"""Maximum length of a challenge in characters. A longer one is not echoed, nor one that is not plain text (section
8.2)."""
LEASE_MAX = 366 * 86_400
"""Maximum lease in seconds that is accepted; a perpetual one is not allowed (section 5.3)."""
FIELDS_MAX = 50
"""Maximum number of query parameters of a verification."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallbackResponse:
    """A status and, for a confirmed verification, the challenge."""

    status: int
    body: bytes = b""


OK = CallbackResponse(200)
NOT_FOUND = CallbackResponse(404)
GONE = CallbackResponse(410)
ACCEPTED = CallbackResponse(202)
"""Answer to every push for an active subscription, accepted or ignored, so that trying signatures reveals nothing."""


@dataclass(slots=True)
class Push:
    """A push whose body is being received. ``signature`` is None if it needs none."""

    token: str
    signature: Signature | None
    too_long: bool = False

    @property
    def wants_body(self) -> bool:
        return self.signature is not None and self.signature.can_hold


class Callback:
    """Confirms only intents of this crawl, and receives pushes.

    Its methods may raise the CrawlError of the store: then the hub should try again.
    """

    def __init__(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber
        self._counts = subscriber.counts

    # -- intents ---------------------------------------------------------------------------------------------

    async def intent(self, token: str, query: str, now: float) -> CallbackResponse:
        """Return the answer to a GET with this query string."""
        parameters = _parameters(query)
        subscription = await self._subscriber.store.get(token)
        if subscription is None or parameters is None or parameters.get("hub.topic") != subscription.topic:
            return self._refused()
        if parameters.get("hub.mode") == "denied":
            return await self._denied(subscription, parameters.get("hub.reason", ""), now)
        challenge = parameters.get("hub.challenge", "")
        if not challenge or len(challenge) > CHALLENGE_MAX or not challenge.isprintable():
            return self._refused()
        match parameters.get("hub.mode"):
            case Mode.SUBSCRIBE:
                is_intended = await self._subscribed(token, parameters.get("hub.lease_seconds"), now)
            case Mode.UNSUBSCRIBE:
                is_intended = (
                    subscription.state is SubscriptionState.LEAVING
                    and await self._subscriber.store.change(subscription, None)
                )
            case _:
                is_intended = False
        return CallbackResponse(200, challenge.encode("utf-8", "replace")) if is_intended else self._refused()

    def _refused(self) -> CallbackResponse:
        self._counts.refused += 1
        return NOT_FOUND

    async def _denied(self, subscription: Subscription, reason: str, now: float) -> CallbackResponse:
        reason = " ".join(reason.split())[:200] or "the hub denied it"
        if subscription.state is SubscriptionState.LEAVING:
            await self._subscriber.store.change(subscription, None)
        else:
            await self._subscriber.change(
                subscription.token, lambda subscription: subscription.denied(reason, now)
            )
            self._counts.denied += 1
            logger.info(
                "No subscription to %s at %s: %s", subscription.topic, subscription.hub, ascii(reason)
            )
        return OK

    async def _subscribed(self, token: str, lease: str | None, now: float) -> bool:
        """Return whether the crawl requested the subscription. A hub may verify it again later."""
        seconds = self._subscriber.terms.lease_seconds if lease is None else _lease(lease)
        if seconds is None:
            return False
        asked = (SubscriptionState.ASKED, SubscriptionState.ACTIVE, SubscriptionState.ENDING)
        before = await self._subscriber.change(
            token,
            lambda subscription: (
                subscription.verified(seconds, now) if subscription.state in asked else subscription
            ),
        )
        if before is None or before.state not in asked:
            return False
        self._counts.verified += 1
        if before.state is SubscriptionState.ASKED:
            logger.info("Subscribed to %s at %s for %d s", before.topic, before.hub, seconds)
            for older in await self._subscriber.store.of_topics([before.topic]):
                if older.hub == before.hub and older.generation < before.generation:
                    await self._subscriber.change(older.token, Subscription.replaced)
        return True

    # -- pushes ----------------------------------------------------------------------------------------------

    async def begin(self, token: str, signature: str | None) -> Push | CallbackResponse:
        """Begin a POST with this value of X-Hub-Signature: return the push to be received, or the answer.

        Hub and topic in the headers of the push are ignored (section 7).
        """
        subscription = await self._subscriber.store.get(token)
        if subscription is None:
            return NOT_FOUND
        if subscription.state not in PUSHING:
            return GONE if subscription.state in OVER else NOT_FOUND
        if not subscription.signed:
            return Push(token, None)
        return Push(token, Signature(signature, self._subscriber.secret(subscription)))

    async def end(self, push: Push, now: float) -> CallbackResponse:
        """End a push whose body has been received, or was not needed. When this returns, the push is
        stored durably."""
        counts = not push.too_long and (push.signature is None or push.signature.holds())
        debounce_seconds = self._subscriber.terms.debounce_seconds
        before = await self._subscriber.change(
            push.token,
            lambda subscription: (
                subscription.pushed(debounce_seconds, now) if counts else subscription.push_ignored()
            ),
        )
        if before is None:
            return NOT_FOUND
        if counts:
            self._counts.pushes += 1
            return ACCEPTED
        self._counts.ignored += 1
        if not before.ignored:
            flaw = "is too long" if push.too_long else "has no signature of ours"
            logger.warning("A push for %s %s and is ignored, as all like it will be", before.topic, flaw)
        return ACCEPTED


def _parameters(query: str) -> dict[str, str] | None:
    """Return the parameters; None if one occurs twice, since the request is ambiguous then."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError:
        return None
    parameters = dict(pairs)
    return parameters if len(parameters) == len(pairs) else None


def _lease(text: str) -> int | None:
    """Return the lease in seconds; None if it is no positive number."""
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        return None
    return min(int(text), LEASE_MAX) or None
