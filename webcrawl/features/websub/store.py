"""The store of subscriptions: they survive a process, and all processes of a crawl share them.

All rows are in one partition, since a crawl has few subscriptions:

* ``key``: the crawl's key
* ``s/<token>``: a subscription as JSON, at the time of its next action
* ``t/<digest of a topic>``: the tokens of the topic's subscriptions, separated by spaces
* ``k/``: the number of subscriptions; ``k/<digest of a politeness key>``: that of its topics
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING

from webcrawl.errors import StorageLost
from webcrawl.features.websub.subscription import Subscription, SubscriptionState
from webcrawl.storage.tables import Change, Durability, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from webcrawl.storage.tables import Tables

SPEC = TableSpec(
    "subscriptions",
    "websub",
    without="the crawl goes on, and subscribes anew",
    durability=Durability.PROCESS,
    is_timed=True,
    is_ordered=True,
)
KEY_BYTES = 32
"""Length of the crawl's key, from which callback URLs and secrets are derived."""
READ_AT_ONCE = 200
_PARTITION = "subscriptions"
_KEY = b"key"
_AFTER_ALL = b"s0"
"""The first id that sorts after those of all subscriptions."""


class SubscriptionStore:
    """Stores the subscriptions of a crawl. Every method may raise the CrawlError of its storage; then nothing was
    changed, or the call can safely be repeated."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables.table(SPEC)

    async def key(self) -> bytes:
        """Return the crawl's key: random bytes, created by the first call, and the same for all processes."""
        created = secrets.token_bytes(KEY_BYTES)
        [before] = await self._table.add([(_PARTITION, Row(_KEY, created))])
        return created if before is None else before

    async def get(self, token: str) -> Subscription | None:
        """Return the subscription with this token; None if there is none."""
        [value] = await self._values([_id(token)])
        return None if value is None else _unpack(value)

    async def of_topics(self, topics: Sequence[str]) -> list[Subscription]:
        """Return all subscriptions of some topics, each topic given once, at any hub, in no order."""
        values = await self._values([_topic_id(topic) for topic in topics])
        tokens = [token for value in values for token in _tokens(value)]
        subscriptions = [
            _unpack(value) for value in await self._values(map(_id, tokens)) if value is not None
        ]
        return [subscription for subscription in subscriptions if subscription.topic in topics]

    async def due(self, now: float, most: int) -> list[Subscription]:
        """Return up to ``most`` subscriptions with ``due_at`` up to ``now``, longest due first. They stay
        unchanged."""
        [rows] = await self._table.due_rows([_PARTITION], now, most)
        return [_unpack(row.value) for row in rows]

    async def change(self, before: Subscription | None, after: Subscription | None) -> bool:
        """Replace ``before`` by ``after``, None for none, in one step and only if the stored one still equals
        ``before``. Return whether that was done.

        At least one of both is given, and both have the same token, topic and key.
        """
        subscription = after or before
        assert subscription is not None
        row, topic = _id(subscription.token), _topic_id(subscription.topic)
        expected = None if before is None else pack(before)
        if before is not None and after is not None:
            return await self._update(Change(_PARTITION, [_row(after)], expected={row: expected}))
        counts = [_count_id(None), _count_id(subscription.key)]
        ids = [row, topic, *counts]
        step = 1 if before is None else -1
        while True:
            stored = dict(zip(ids, await self._values(ids), strict=True))
            if stored[row] != expected:
                return False
            values = {topic: " ".join(sorted({*_tokens(stored[topic])} ^ {subscription.token}))}
            values |= {count: str(int(stored[count] or 0) + step) for count in counts}
            kept = [Row(each, value.encode()) for each, value in values.items() if value not in ("", "0")]
            if after is not None:
                kept.append(_row(after))
            gone = {*ids} - {each.id for each in kept}
            if await self._update(Change(_PARTITION, kept, sorted(gone), stored)):
                return True
            # Perhaps only the topic or a count differs, because another subscription was added or removed.

    async def count(self, key: str | None = None) -> int:
        """Return the number of subscriptions in all states; of the topics of one politeness key, if it is given."""
        [value] = await self._values([_count_id(key)])
        return int(value or 0)

    async def some(self, after: str, most: int) -> list[Subscription]:
        """Return up to ``most`` subscriptions after the token ``after``, in the order of tokens; "" for the first."""
        rows = await self._table.scan(_PARTITION, most, _id(after), _AFTER_ALL)
        return [_unpack(row.value) for row in rows]

    async def all(self) -> AsyncIterator[Subscription]:
        """Yield all subscriptions in the order of tokens, some read at a time."""
        after = ""
        while some := await self.some(after, READ_AT_ONCE):
            for subscription in some:
                yield subscription
            after = some[-1].token

    async def _values(self, ids: Iterable[bytes]) -> list[bytes | None]:
        rows = await self._table.get([RowId(_PARTITION, row_id) for row_id in ids])
        return [None if row is None else row.value for row in rows]

    async def _update(self, change: Change) -> bool:
        [done] = await self._table.update([change])
        return done


def pack(subscription: Subscription) -> bytes:
    """Return a subscription as JSON; equal subscriptions give equal bytes."""
    return json.dumps(asdict(subscription), separators=(",", ":")).encode()


def unpack(packed: bytes) -> Subscription:
    """Parse the result of ``pack``. :raises ValueError: it is anything else"""
    try:
        fields = json.loads(packed)
        return Subscription(**{**fields, "state": SubscriptionState(fields["state"])})
    except (KeyError, TypeError) as error:
        raise ValueError(f"no subscription: {error}") from error


def _row(subscription: Subscription) -> Row:
    return Row(_id(subscription.token), pack(subscription), subscription.due_at)


def _unpack(value: bytes) -> Subscription:
    try:
        return unpack(value)
    except ValueError as error:
        raise StorageLost(f"the subscriptions of the crawl are damaged: {error}") from error


def _tokens(value: bytes | None) -> list[str]:
    return [] if value is None else value.decode().split()


def _id(token: str) -> bytes:
    return b"s/" + token.encode()


def _topic_id(topic: str) -> bytes:
    return b"t/" + _digest(topic)


def _count_id(key: str | None) -> bytes:
    return b"k/" + (b"" if key is None else _digest(key))


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32].encode()
