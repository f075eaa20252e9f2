"""The work of ``scrapy websub``: listing subscriptions as text and as JSON, without callback URLs and secrets."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from webcrawl.reports import text
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.features.websub.store import SubscriptionStore
    from webcrawl.features.websub.subscription import Subscription


async def listed(store: SubscriptionStore) -> list[Subscription]:
    """Return all subscriptions, sorted by topic and age."""
    return sorted(
        [subscription async for subscription in store.all()],
        key=lambda subscription: (subscription.topic, subscription.since),
    )


def as_text(crawl: str, subscriptions: Sequence[Subscription]) -> Iterator[str]:
    """Yield lines on the subscriptions of the crawl with this name."""
    active = sum(subscription.state == "active" for subscription in subscriptions)
    yield f"{crawl}: {text.things(len(subscriptions), 'subscription')}, {active} active"
    if subscriptions:
        yield ""
    for subscription in subscriptions:
        yield f"{subscription.state:<9} {printable(subscription.topic)}"
        yield f"          at {printable(subscription.hub)}{_how(subscription)}"


def _how(subscription: Subscription) -> str:
    if subscription.reason:
        return f": {printable(subscription.reason)}"
    details = (
        f" until {datetime.fromtimestamp(subscription.lease_ends_at):%Y-%m-%d %H:%M:%S}"
        if subscription.lease_ends_at
        else ""
    )
    if subscription.pushes or subscription.ignored:
        details += f"; {text.count(subscription.pushes)} {'push' if subscription.pushes == 1 else 'pushes'}"
    return details + (f", {text.count(subscription.ignored)} ignored" if subscription.ignored else "")


def as_object(subscription: Subscription) -> dict[str, Any]:
    """Return the fields of a subscription for JSON."""
    return {
        "topic": subscription.topic,
        "hub": subscription.hub,
        "state": str(subscription.state),
        "since": subscription.since,
        "signed": subscription.signed,
        "lease_ends_at": subscription.lease_ends_at or None,
        "tries": subscription.tries,
        "pushes": subscription.pushes,
        "ignored": subscription.ignored,
        "why": subscription.reason or None,
    }
