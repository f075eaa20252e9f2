"""Notifications of the service: of crawls that have crashed, or do not run any more.

A crawl tells of its end itself. One that is killed cannot, and one that is refused has not begun.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from webcrawl.features.notifications.messages import CrawlOrigin, Message
from webcrawl.web.service.records import OrderState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from webcrawl.web.service.records import CrawlRecord


class CrashNotices:
    """Finds what is new among the states of crawls. A pure function of them and the time."""

    def __init__(self, interval_seconds: float, folder_of: Callable[[str], object]) -> None:
        """``interval_seconds``: the minimum time between two messages about crashes of one crawl that is started
        again. ``folder_of`` returns the JOBDIR of a crawl."""
        self._interval = interval_seconds
        self._folder_of = folder_of
        self._seen: dict[str, tuple[OrderState, float]] = {}
        self._told_at: dict[str, float] = {}

    def begin(self, records: Iterable[CrawlRecord]) -> None:
        """Take what an earlier service has told."""
        self._seen = {record.order.name: (record.state, record.since) for record in records}

    def look(self, records: Iterable[CrawlRecord], now: float) -> Iterator[Message]:
        """Yield the messages about what has happened since the last look."""
        before, self._seen = self._seen, {}
        for record in records:
            name = record.order.name
            self._seen[name] = is_now = (record.state, record.since)
            if before.get(name) == is_now or record.state not in (OrderState.RESTARTING, OrderState.FAILED):
                continue
            if record.state is OrderState.RESTARTING:
                if now - self._told_at.get(name, -self._interval) < self._interval:
                    continue
                self._told_at[name] = now
            yield self._message(record, now)
        self._told_at = {name: at for name, at in self._told_at.items() if name in self._seen}

    def _message(self, record: CrawlRecord, now: float) -> Message:
        order = record.order
        jobdir = str(self._folder_of(order.name))
        crawl = CrawlOrigin(order.name, order.spider, "", socket.gethostname(), jobdir)
        is_last = record.state is OrderState.FAILED
        what = "does not run any more" if is_last else "has crashed, and is started again"
        details = {"state": str(record.state), "reason": record.reason, "crashes": record.crashes}
        return Message("crash", now, crawl, f"{what}: {record.reason}", details)
