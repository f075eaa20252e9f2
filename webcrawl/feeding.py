"""Feeding a crawl that runs: from the list of pushed URLs to the frontier, with what is wrong set aside."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.http import Request

from webcrawl import request_codec
from webcrawl.frontier.records import UrlEntry
from webcrawl.urls.listfile import printable
from webcrawl.urls.politeness_key import host_of
from webcrawl.urls.pushed import read_pushed

if TYPE_CHECKING:
    from scrapy import Spider

    from webcrawl.frontier.backends.redis.start_list import StartList
    from webcrawl.machine import Machine
    from webcrawl.scheduler import Scheduler

logger = logging.getLogger(__name__)

WRONG_SHOWN = 20
"""Wrong entries that are named in the log."""
WRONG_CUT = 4000
"""Characters of a wrong entry that are kept."""


@dataclass(frozen=True, slots=True)
class Fed:
    """What became of one look into the list."""

    entries: int
    """That were there."""
    with_others: int
    """That other processes have taken and not yet queued."""


class Feeder:
    """Brings what was pushed into the crawl. An entry leaves the list for good when its URL is durably queued."""

    def __init__(
        self,
        urls: StartList,
        machine: Machine,
        scheduler: Scheduler,
        spider: Spider,
        at_once: int,
        encoding: str,
    ) -> None:
        self._list = urls
        self._machine = machine
        self._scheduler = scheduler
        self._spider = spider
        self._at_once = at_once
        self._encoding = encoding
        self.busy = False
        """Whether something was taken that is not yet done."""
        self.taken = 0
        self.wrong = 0

    async def feed(self) -> Fed:
        """Take what is there, up to so many at once. :raises StorageLost: there is something else than a list."""
        frontier = self._scheduler.frontier
        taken = await frontier.insist(lambda: self._list.take(self._at_once))
        if taken.entries:
            self.busy = True
            try:
                await self._enter(taken.entries)
            finally:
                self.busy = False
        return Fed(len(taken.entries), taken.with_others)

    async def _enter(self, given: dict[bytes, bytes]) -> None:
        entries: list[UrlEntry] = []
        wrong: list[str] = []
        for data in given.values():
            entry = self._entry(data)
            if isinstance(entry, str):
                wrong.append(self._aside(data, entry))
            else:
                entries.append(entry)
        frontier = self._scheduler.frontier
        await frontier.insist(lambda: self._list.set_aside(wrong))
        if not await self._scheduler.add_seeds(entries):
            # The crawl ends for want of a storage. What was taken is given to somebody else.
            return
        await frontier.insist(lambda: self._list.done(list(given)))
        self.taken += len(entries)

    def _entry(self, data: bytes) -> UrlEntry | str:
        """The frontier's entry, or what is wrong with what was pushed."""
        pushed = read_pushed(data, self._encoding)
        if isinstance(pushed, str):
            return pushed
        # Whoever may push names hosts as whoever gives seeds does.
        self._machine.seeded.allow(host_of(pushed.url))
        entry = self._machine.intake.seed(pushed.url)
        if isinstance(entry, str):
            return f"it is out of scope: {entry}"
        entry.level, entry.depth, entry.repeat = pushed.level, pushed.depth, pushed.repeat
        if pushed.meta:
            encoded = request_codec.encode(Request(pushed.url, meta=pushed.meta), self._spider)
            if encoded.lost:
                return f"its meta cannot be kept: {encoded.lost[0]}"
            entry.payload = encoded.payload
        return entry

    def _aside(self, data: bytes, reason: str) -> str:
        """A wrong entry as it is kept, once it was named in the log."""
        number = self.wrong + 1
        text = data.decode(self._encoding, "backslashreplace")
        if number <= WRONG_SHOWN:
            logger.warning("Wrong entry in %s (%s): %s", self._list.key, reason, printable(text))
        if number == WRONG_SHOWN:
            logger.warning("Further wrong entries are not logged; all are kept in %s", self._list.wrong_key)
        self.wrong = number
        kept: dict[str, object] = {"entry": text[:WRONG_CUT], "reason": reason}
        if len(text) > WRONG_CUT:
            kept["bytes"] = len(data)
        return json.dumps(kept)
