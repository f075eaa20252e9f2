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
    return sorted([one async for one in store.all()], key=lambda one: (one.topic, one.since))


def as_text(crawl: str, found: Sequence[Subscription]) -> Iterator[str]:
    """Yield lines on the subscriptions of the crawl with this name."""
    active = sum(one.state == "active" for one in found)
    yield f"{crawl}: {text.things(len(found), 'subscription')}, {active} active"
    if found:
        yield ""
    for one in found:
        yield f"{one.state:<9} {printable(one.topic)}"
        yield f"          at {printable(one.hub)}{_how(one)}"


def _how(one: Subscription) -> str:
    if one.reason:
        return f": {printable(one.reason)}"
    details = (
        f" until {datetime.fromtimestamp(one.lease_ends_at):%Y-%m-%d %H:%M:%S}" if one.lease_ends_at else ""
    )
    if one.pushes or one.ignored:
        details += f"; {text.count(one.pushes)} {'push' if one.pushes == 1 else 'pushes'}"
    return details + (f", {text.count(one.ignored)} ignored" if one.ignored else "")


def as_object(one: Subscription) -> dict[str, Any]:
    """Return the fields of a subscription for JSON."""
    return {
        "topic": one.topic,
        "hub": one.hub,
        "state": str(one.state),
        "since": one.since,
        "signed": one.signed,
        "lease_ends_at": one.lease_ends_at or None,
        "tries": one.tries,
        "pushes": one.pushes,
        "ignored": one.ignored,
        "why": one.reason or None,
    }
