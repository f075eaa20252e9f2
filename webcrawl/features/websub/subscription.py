"""A subscription: what is known of it, and what each event makes of it. Times are epoch seconds."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256

ANSWER_SECONDS = 3_600.0
"""How long a hub may take to ask whether we meant it, before it is asked again; twice as long each time."""
TRIES = 5
"""How often a hub is asked before it is left alone."""
FORGET_SECONDS = 14 * 86_400.0
"""How long a hub that denied a topic is not asked for it again."""
LEASE_LEAST = 600.0
"""A shorter lease is not renewed before that time has passed: a hub does not set our pace."""
CLAIM_SECONDS = 60.0
"""How long the one that tells the crawl of a push may take before another one does."""


class State(StrEnum):
    """How far it has come."""

    WANTED = "wanted"
    """The hub is to be asked."""
    ASKED = "asked"
    """The hub was asked, or is about to be, and has not asked back yet."""
    ACTIVE = "active"
    """The hub has asked back and was told that we meant it: it pushes."""
    ENDING = "ending"
    """As active, but it is not renewed: a successor was asked for, or the topic names this hub no more."""
    REPLACED = "replaced"
    """Its successor is active; the hub may forget this one."""
    DENIED = "denied"
    """The hub does not want to, or does not answer."""
    LEAVING = "leaving"
    """The hub is told to forget it."""


class Mode(StrEnum):
    """What a hub is asked for."""

    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"


PUSHING = frozenset({State.ACTIVE, State.ENDING})
"""Those whose pushes count."""
OVER = frozenset({State.REPLACED, State.DENIED, State.LEAVING})
"""Those whose hub had better forget them."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """One callback URL at one hub for one topic; a renewal is another one, with a generation of its own."""

    token: str
    """The last part of the callback URL."""
    topic: str
    key: str
    """The topic's politeness key."""
    hub: str
    """As the document names it."""
    asked_at: str
    """The URL at which the hub is asked: HTTPS where that may work, or where it redirected us to."""
    generation: int
    signed: bool
    """Whether the hub was given a secret, so that what is not signed does not count."""
    since: float
    turn_at: float
    """When it is looked at again, whatever the state has to be done then."""
    kind: str = "page"
    """What the topic is fetched as, see ``frontier.records.Kind``."""
    depth: int = 0
    """The topic's."""
    state: State = State.WANTED
    tries: int = 0
    """How often the hub was asked since it last asked back."""
    lease_ends_at: float = 0.0
    hint_at: float | None = None
    """When the crawl is to be told of a push that it does not know of; None when there is none."""
    hinted_at: float = 0.0
    pushes: int = 0
    """That counted."""
    ignored: int = 0
    """That did not: no signature, or a wrong one, or too long."""
    why: str = ""
    """Why it was denied."""

    @property
    def due_at(self) -> float:
        """When something is to be done."""
        return self.turn_at if self.hint_at is None else min(self.turn_at, self.hint_at)


_TOKEN = re.compile(r"[0-9a-f]{64}")


def is_token(text: str) -> bool:
    """Whether it looks like the unguessable part of a callback URL."""
    return _TOKEN.fullmatch(text) is not None


def token_of(key: bytes, topic: str, hub: str, generation: int) -> str:
    """The unguessable part of a callback URL. All processes of a crawl come to the same, by the crawl's ``key``."""
    return _derived(key, "callback", topic, hub, str(generation))


def secret_of(key: bytes, token: str) -> str:
    """What a hub signs with: 64 characters, of the 199 that are allowed."""
    return _derived(key, "secret", token)


def _derived(key: bytes, *words: str) -> str:
    return hmac.new(key, "\n".join(words).encode("utf-8", "surrogatepass"), sha256).hexdigest()


# -- what we do ----------------------------------------------------------------------------------------------


def ask(one: Subscription, now: float) -> Subscription:
    """The hub is asked now. What it is asked for says the state."""
    state = one.state if one.state is State.LEAVING else State.ASKED
    tries = one.tries + 1
    return replace(one, state=state, tries=tries, turn_at=now + ANSWER_SECONDS * 2.0 ** (tries - 1))


def is_hopeless(one: Subscription) -> bool:
    """Whether the hub was asked often enough."""
    return one.tries >= TRIES


def run_out(one: Subscription) -> Subscription:
    """It is not renewed."""
    return replace(one, state=State.ENDING, turn_at=one.lease_ends_at) if one.state is State.ACTIVE else one


def replaced(one: Subscription) -> Subscription:
    """Its successor is active."""
    return replace(one, state=State.REPLACED, turn_at=one.lease_ends_at)


def leave(one: Subscription, now: float) -> Subscription:
    """The hub is to forget it."""
    return one if one.state is State.LEAVING else replace(one, state=State.LEAVING, tries=0, turn_at=now)


# -- what the hub says ---------------------------------------------------------------------------------------


def redirected(one: Subscription, url: str, signed: bool, now: float) -> Subscription:
    """The hub wants to be asked elsewhere."""
    state = one.state if one.state is State.LEAVING else State.WANTED
    return replace(one, asked_at=url, signed=signed, state=state, turn_at=now)


def denied(one: Subscription, why: str, now: float) -> Subscription:
    return replace(one, state=State.DENIED, why=why, turn_at=now + FORGET_SECONDS)


def verified(one: Subscription, lease_seconds: float, now: float) -> Subscription:
    """The hub asked back, and pushes from now on. It is renewed when three quarters of the lease have passed."""
    ends_at = now + lease_seconds
    # One that hubs ask for again while it runs out is not renewed for that.
    state = one.state if one.state is State.ENDING else State.ACTIVE
    turn_at = ends_at if state is State.ENDING else now + max(lease_seconds * 0.75, LEASE_LEAST)
    return replace(one, state=state, lease_ends_at=ends_at, turn_at=turn_at, tries=0, why="")


def pushed(one: Subscription, pause_seconds: float, now: float) -> Subscription:
    """The topic has changed. Pushes that come fast are told to the crawl together, ``pause_seconds`` apart."""
    hint_at = max(now, one.hinted_at + pause_seconds) if one.hint_at is None else one.hint_at
    return replace(one, hint_at=hint_at, pushes=one.pushes + 1)


def ignored(one: Subscription) -> Subscription:
    return replace(one, ignored=one.ignored + 1)


def claimed(one: Subscription, now: float) -> Subscription:
    """Somebody is about to tell the crawl of a push."""
    return replace(one, hint_at=now + CLAIM_SECONDS)


def hinted(one: Subscription, now: float) -> Subscription:
    """The crawl knows of it."""
    return replace(one, hint_at=None, hinted_at=now)
