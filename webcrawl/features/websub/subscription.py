"""A subscription: its state, and the transitions that each event causes. Times are epoch seconds."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256

ANSWER_SECONDS = 3_600.0
"""Time that a hub has to verify a request before it is repeated; twice as long each time."""
TRIES = 5
"""Maximum number of requests to a hub that does not verify them."""
FORGET_SECONDS = 14 * 86_400.0
"""Time for which a topic that a hub denied is not requested from it again."""
LEASE_LEAST = 600.0
"""A shorter lease is renewed only after this time, so that a hub cannot set our request rate."""
CLAIM_SECONDS = 60.0
"""Time that the process that claimed a push has to pass it to the crawl before another process may."""


class SubscriptionState(StrEnum):
    """State of a subscription."""

    WANTED = "wanted"
    """A request to the hub is due."""
    ASKED = "asked"
    """A request was sent to the hub, or is about to be, and the hub has not verified it yet."""
    ACTIVE = "active"
    """The hub has verified the request and pushes."""
    ENDING = "ending"
    """The subscription is active, but not renewed: a successor was requested, or the topic no longer names this
    hub."""
    REPLACED = "replaced"
    """The successor is active; the hub may drop this one."""
    DENIED = "denied"
    """The hub denied it, or does not answer."""
    LEAVING = "leaving"
    """A request to unsubscribe is due, or was sent to the hub."""


class Mode(StrEnum):
    """Kind of a request to a hub."""

    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"


PUSHING = frozenset({SubscriptionState.ACTIVE, SubscriptionState.ENDING})
"""States in which pushes are accepted."""
OVER = frozenset({SubscriptionState.REPLACED, SubscriptionState.DENIED, SubscriptionState.LEAVING})
"""States in which the hub should drop the subscription."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """One callback URL at one hub for one topic; a renewal is a separate one, with its own generation."""

    token: str
    """Last part of the callback URL."""
    topic: str
    key: str
    """Politeness key of the topic."""
    hub: str
    """Hub as the document names it."""
    request_url: str
    """URL to which requests to the hub are sent: by HTTPS if that may work, or the target of a redirect."""
    generation: int
    signed: bool
    """True if the hub was given a secret, so that unsigned pushes are ignored."""
    since: float
    action_at: float
    """Time of the next action, which depends on the state."""
    kind: str = "page"
    """Kind of request by which the topic is fetched, see ``frontier.records.Kind``."""
    depth: int = 0
    """Depth of the topic."""
    state: SubscriptionState = SubscriptionState.WANTED
    tries: int = 0
    """Number of requests since the hub last verified one."""
    lease_ends_at: float = 0.0
    hint_at: float | None = None
    """Time at which the crawl is notified of a push that it does not know of; None if there is none."""
    hinted_at: float = 0.0
    pushes: int = 0
    """Number of accepted pushes."""
    ignored: int = 0
    """Number of pushes without a signature, with a wrong one, or too long."""
    reason: str = ""
    """Reason of the denial."""

    @property
    def due_at(self) -> float:
        """Time of the next action or notification."""
        return self.action_at if self.hint_at is None else min(self.action_at, self.hint_at)

    @property
    def is_hopeless(self) -> bool:
        """True if the maximum number of requests was sent."""
        return self.tries >= TRIES

    # -- actions of the crawl ----------------------------------------------------------------------------------

    def requested(self, now: float) -> Subscription:
        """Record a request to the hub. The state determines its mode."""
        state = self.state if self.state is SubscriptionState.LEAVING else SubscriptionState.ASKED
        tries = self.tries + 1
        action_at = now + ANSWER_SECONDS * 2.0 ** (tries - 1)
        return replace(self, state=state, tries=tries, action_at=action_at)

    def not_renewed(self) -> Subscription:
        """End an active subscription without renewal."""
        if self.state is not SubscriptionState.ACTIVE:
            return self
        return replace(self, state=SubscriptionState.ENDING, action_at=self.lease_ends_at)

    def replaced(self) -> Subscription:
        """Record that its successor is active."""
        if self.state not in PUSHING:
            return self
        return replace(self, state=SubscriptionState.REPLACED, action_at=self.lease_ends_at)

    def leaving(self, now: float) -> Subscription:
        """Mark the subscription for unsubscribing."""
        if self.state is SubscriptionState.LEAVING:
            return self
        return replace(self, state=SubscriptionState.LEAVING, tries=0, action_at=now)

    # -- actions of the hub ------------------------------------------------------------------------------------

    def redirected(self, url: str, signed: bool, now: float) -> Subscription:
        """Record that the hub redirects requests to another URL."""
        state = self.state if self.state is SubscriptionState.LEAVING else SubscriptionState.WANTED
        return replace(self, request_url=url, signed=signed, state=state, action_at=now)

    def denied(self, reason: str, now: float) -> Subscription:
        """Record that the hub denied it, or does not answer."""
        return replace(self, state=SubscriptionState.DENIED, reason=reason, action_at=now + FORGET_SECONDS)

    def verified(self, lease_seconds: float, now: float) -> Subscription:
        """Record a verification: the hub pushes from now on. Renewal is due when three quarters of the lease
        have passed."""
        ends_at = now + lease_seconds
        # A verification of an ending subscription does not cause its renewal.
        state = self.state if self.state is SubscriptionState.ENDING else SubscriptionState.ACTIVE
        action_at = (
            ends_at if state is SubscriptionState.ENDING else now + max(lease_seconds * 0.75, LEASE_LEAST)
        )
        return replace(self, state=state, lease_ends_at=ends_at, action_at=action_at, tries=0, reason="")

    def pushed(self, debounce_seconds: float, now: float) -> Subscription:
        """Record a push. Pushes in quick succession are passed to the crawl together, ``debounce_seconds`` apart."""
        hint_at = max(now, self.hinted_at + debounce_seconds) if self.hint_at is None else self.hint_at
        return replace(self, hint_at=hint_at, pushes=self.pushes + 1)

    def push_ignored(self) -> Subscription:
        """Record a push that does not count."""
        return replace(self, ignored=self.ignored + 1)

    def push_claimed(self, now: float) -> Subscription:
        """Claim a push, to pass it to the crawl."""
        return replace(self, hint_at=now + CLAIM_SECONDS)

    def push_passed_on(self, now: float) -> Subscription:
        """Record that the push was passed to the crawl."""
        return replace(self, hint_at=None, hinted_at=now)


_TOKEN = re.compile(r"[0-9a-f]{64}")


def is_token(text: str) -> bool:
    """Return whether a text has the form of a token."""
    return _TOKEN.fullmatch(text) is not None


def callback_token(key: bytes, topic: str, hub: str, generation: int) -> str:
    """Return the unguessable part of a callback URL. It depends on the crawl's ``key``, so all processes of a crawl
    compute the same."""
    return _derived(key, "callback", topic, hub, str(generation))


def hub_secret(key: bytes, token: str) -> str:
    """Return the secret with which a hub signs: 64 characters, of the 199 that are allowed."""
    return _derived(key, "secret", token)


def _derived(key: bytes, *words: str) -> str:
    return hmac.new(key, "\n".join(words).encode("utf-8", "surrogatepass"), sha256).hexdigest()
