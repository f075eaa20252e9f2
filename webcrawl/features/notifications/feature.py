"""Wiring of notifications: looks at the figures of the crawl every few seconds, and tells of its end."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy import signals

from webcrawl.atomic_file import replace
from webcrawl.crawl.feature import Feature
from webcrawl.crawl.refused_start import START_REFUSED
from webcrawl.errors import CrawlError
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.features.notifications.delivery import Delivery
from webcrawl.features.notifications.messages import CrawlOrigin, Message
from webcrawl.features.notifications.receivers import Mailbox, MailServer, Receiver, Webhook
from webcrawl.features.notifications.rules import BAD_STATUSES, Announcer, Measurement, Thresholds, Watch
from webcrawl.reports import text
from webcrawl.reports.standing import CrawlState
from webcrawl.reports.summary import how_it_ended, state_in_words
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from webcrawl.config import Configuration
    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.frontier.tally import Snapshot, Tally
    from webcrawl.storage.contract import Backend, Counts

logger = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
"""Interval at which the figures are looked at."""
END_SECONDS = 5.0
"""The longest time that the end of a crawl waits for its last messages."""
LOCK_SECONDS = 2.0
"""Seconds that the storage may take to say which worker sends a message."""
END_LOCK_SECONDS = 120.0
"""Workers that end within this time of each other are one end."""
STATE = "notifications.json"
"""The file in the JOBDIR with the times of the last messages, so that a crawl that is restarted often is quiet."""
_FOR_ALL = ("finished", "stopped")
"""Close reasons that are those of all workers of a crawl."""


def receivers(configuration: Configuration, settings: BaseSettings) -> list[Receiver]:
    """Return the receivers that the settings name. MAIL_HOST, ... are Scrapy's."""
    known: list[Receiver] = [
        Webhook(url, configuration.notify_secret, configuration.user_agent)
        for url in configuration.notify_webhooks
    ]
    if configuration.notify_mail_to:
        server = MailServer(
            host=settings["MAIL_HOST"] or "localhost",
            port=settings.getint("MAIL_PORT"),
            sender=settings["MAIL_FROM"],
            user=settings["MAIL_USER"] or None,
            password=settings["MAIL_PASS"],
            starttls=settings.getbool("MAIL_TLS"),
            tls=settings.getbool("MAIL_SSL"),
        )
        known.append(Mailbox(configuration.notify_mail_to, server))
    return known


class NotificationsFeature(Feature):
    """Notifications of one crawl. On a shared crawl each worker looks at its own figures, and one tells."""

    def __init__(self, parts: Parts) -> None:
        configuration = parts.configuration
        self._configuration = configuration
        self._backend: Backend = parts.backend
        self._folder = parts.folder
        self._clock = parts.clock
        limits = configuration.build(Thresholds, "notify_")
        announcer = Announcer(configuration.notify_interval_seconds)
        self._watch = Watch(limits, frozenset(configuration.notify_events), announcer)
        self._tells_end = "end" in configuration.notify_events
        self._ticking = PeriodicTask(CHECK_SECONDS, self._look, at_once=True)
        self._began_at = time.monotonic()
        self._delivery: Delivery | None = None

    async def open(self, counts: Counts) -> None:
        if self._folder is not None:
            told_at = await asyncio.to_thread(_read_state, self._folder / STATE)
            self._watch.announcer.recall(told_at, self._clock())

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        spider = scheduler.spider
        self._context, self._scheduler = context, scheduler
        shared = self._backend.place if isinstance(self._backend, SharedBackend) else None
        self._crawl = CrawlOrigin(
            name=spider.name if shared or self._folder is None else self._folder.resolve().name,
            spider=spider.name,
            worker=self._configuration.worker_name,
            machine=socket.gethostname(),
            jobdir=None if self._folder is None else str(self._folder.resolve()),
            shared=shared,
        )
        self._delivery = Delivery(receivers(self._configuration, scheduler.crawler.settings))
        scheduler.crawler.signals.connect(self._closed, signal=signals.spider_closed)
        self._ticking.begin()

    async def before_close(self) -> None:
        self._ticking.end()

    async def drained(self) -> None:
        """Agree with the other workers who tells of the end, while the storage can be reached."""
        reason = self._scheduler.close_reason
        self._tells_end = self._tells_end and await self._is_mine(f"end/{reason}", END_LOCK_SECONDS)

    async def _look(self) -> None:
        disk_free = None
        if self._folder is not None:
            with suppress(OSError):
                disk_free = (await asyncio.to_thread(shutil.disk_usage, self._folder)).free
        frontier = self._context.frontier
        snapshot, tally = frontier.snapshot(), frontier.tally
        is_paused = frontier.is_paused or frontier.is_closing()
        reading = take_measurement(tally, snapshot, is_paused=is_paused, disk_free=disk_free)
        alerts = list(self._watch.look(reading, self._clock()))
        if not alerts:
            return
        if self._folder is not None:
            # A full disk is no reason to be silent.
            with suppress(OSError):
                await asyncio.to_thread(_write_state, self._folder / STATE, self._watch.announcer.told_at())
        for alert in alerts:
            place = f"{alert.kind}/{self._crawl.machine}" if alert.kind == "disk" else alert.kind
            if await self._is_mine(place, self._configuration.notify_interval_seconds):
                self._post(alert.kind, alert.sentence, alert.details)

    async def _is_mine(self, what: str, seconds: float) -> bool:
        """Return whether this worker tells. If the storage does not say, it does: twice is better than never."""
        if not seconds:
            return True
        lock = self._backend.tables.lock(f"notify/{what}", self._configuration.worker_name, seconds)
        try:
            async with asyncio.timeout(LOCK_SECONDS):
                return await lock
        except (CrawlError, TimeoutError, OSError):
            return True

    async def _closed(self, reason: str) -> None:
        """Tell of the end, and wait a little for the last messages. Called when everything is stored."""
        assert self._delivery is not None
        if self._tells_end and reason != START_REFUSED:
            self._post("end", *self._ending(reason))
        await self._delivery.finish(END_SECONDS)

    def _ending(self, reason: str) -> tuple[str, dict[str, float | str]]:
        frontier, trouble = self._context.frontier, self._context.trouble
        snapshot, tally = frontier.snapshot(), frontier.tally
        seconds = time.monotonic() - self._began_at
        others = 0 if reason in _FOR_ALL else (snapshot.workers or 1) - 1
        who = f"worker {self._crawl.worker} " if others else ""
        sentence = (
            f"{who}{how_it_ended(reason)} after {text.duration(seconds)}: {text.things(tally.pages, 'page')}, "
            f"{text.size(tally.bytes)} received, {text.count(tally.failures)} failed, "
            f"{text.things(snapshot.queued, 'URL')} left in queues"
        )
        details: dict[str, float | str] = {
            "reason": reason,
            "outcome": state_in_words(CrawlState.ENDED, reason),
            "seconds": round(seconds, 3),
            "other_workers": others,
        }
        if trouble is not None:
            details["trouble"] = " ".join(str(trouble).split())
            sentence += f". It could not be stored: {details['trouble']}"
        if others:
            sentence += f". {text.things(others, 'other worker')} running then"
        return sentence, details

    def _post(self, event: str, sentence: str, details: Mapping[str, float | str]) -> None:
        assert self._delivery is not None
        frontier = self._context.frontier
        figures = message_figures(frontier.tally, frontier.snapshot())
        self._delivery.post(Message(event, self._clock(), self._crawl, sentence, details, figures))


def take_measurement(
    tally: Tally, snapshot: Snapshot, *, is_paused: bool, disk_free: int | None
) -> Measurement:
    """Return the figures that the rules are about."""
    fetched = tally.pages + tally.sitemaps + tally.inline
    errors = tally.errors.total()
    return Measurement(
        fetched=fetched,
        failed=errors + sum(tally.statuses[status] for status in BAD_STATUSES),
        ended=fetched + errors,
        queued=snapshot.queued,
        ready_hosts=snapshot.ready_hosts,
        in_flight=snapshot.in_flight,
        is_paused=is_paused or snapshot.opens_at is not None,
        blocked_by=snapshot.stalled,
        refusing_hosts=tally.refusing_hosts,
        last_refusing=tally.last_refusing,
        disk_free=disk_free,
    )


def message_figures(tally: Tally, snapshot: Snapshot) -> dict[str, float]:
    """Return the figures in messages: those of this process since its start, and the queue."""
    return {
        "pages": tally.pages,
        "bytes": tally.bytes,
        "errors": tally.errors.total(),
        "failed": tally.failures,
        "refused": tally.refusals,
        "queued": snapshot.queued,
        "hosts": snapshot.known_hosts,
        "active_hosts": snapshot.active_hosts,
        "ready_hosts": snapshot.ready_hosts,
        "in_flight": snapshot.in_flight,
    }


def build(parts: Parts) -> NotificationsFeature:
    """Return the notifications of a crawl with a receiver."""
    return NotificationsFeature(parts)


def _read_state(path: Path) -> dict[str, float]:
    """Return when each kind was told last; empty if that is not known."""
    try:
        kept = json.loads(path.read_bytes())
        return {str(kind): float(at) for kind, at in kept.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write_state(path: Path, told_at: dict[str, float]) -> None:
    """:raises OSError: it cannot be written"""
    replace(path, json.dumps(told_at).encode())
