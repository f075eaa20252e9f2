"""Levels by the links to a URL: by their number (in-links), or by the cash that they pass on (OPIC).

The counts survive the process in a file of the JOBDIR, and several workers exchange them.

Workers of one crawl append the amounts they added to a log, of which the last entries are kept. Fields: ``by`` (a
name for the process), ``pages`` (counted), ``worths`` (12 bytes each: fingerprint as a signed integer and a float,
little-endian).
"""

from __future__ import annotations

import asyncio
import json
import math
import struct
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from webcrawl.atomic_file import replacing
from webcrawl.errors import CrawlError, JobdirUnusable
from webcrawl.features.link_scores.worth_table import WorthTable
from webcrawl.frontier.records import Kind
from webcrawl.storage.shared_parts import LOG_START

if TYPE_CHECKING:
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.storage.shared_parts import ChangeLog


LEVELS_PER_DOUBLING = 2
"""A URL of twice the worth is two levels higher."""
LOWEST = -60
PAGES_FIRST, GROWTH = 100, 1.25
"""Queued URLs are scored again after ``PAGES_FIRST`` pages, and then whenever the number of pages has grown by
``GROWTH``."""


class Importance:
    """A ``frontier.order.Scorer``.

    In-links: each page adds 1 to each URL that it links to. OPIC (Abiteboul, Preda and Cobena 2003, "Adaptive on-line
    page importance computation"): a fetched page has the cash that it received and 1 of its own, as if a virtual page
    linked to all, and distributes it evenly among its links. A URL's level grows with the logarithm.
    """

    def __init__(self, table: WorthTable, *, cash: bool) -> None:
        """``cash``: OPIC, or else in-links."""
        self.table = table
        self._cash = cash
        self.pages = 0
        """Number of pages counted by this process and by those whose counts it received."""
        self._next = PAGES_FIRST
        self.version = 0
        self.news: dict[int, float] | None = None
        """Amounts added since they were last taken, for other processes; None if there are none."""

    def linked(self, page: int, links: Collection[int]) -> None:
        """Count the links of a page; all are fingerprints."""
        others = set(links)
        others.discard(page)
        self._count(1)
        if not others:
            return
        worth = 1.0
        if self._cash:
            had = self.table.take(page)
            worth = (1.0 + had) / len(others)
            self._add_news((page,), -had)
        self.table.add_to_all(others, worth)
        self._add_news(others, worth)

    def add(self, worths: dict[int, float], pages: int) -> None:
        """Add the amounts of another process, from so many pages."""
        self.table.add(worths)
        self._count(pages)

    def levels(self, entries: Sequence[UrlEntry]) -> list[int | None]:
        return [self._level(entry) if is_ranked(entry) else None for entry in entries]

    def _level(self, entry: UrlEntry) -> int:
        worth = self.table.worth(entry.fingerprint)
        return max(math.floor(LEVELS_PER_DOUBLING * math.log2(worth)), LOWEST) if worth > 0 else LOWEST

    def _count(self, pages: int) -> None:
        self.pages += pages
        if self.pages >= self._next:
            self.version += 1
            self._next = int(self.pages * GROWTH)

    def _add_news(self, fingerprints: Collection[int], worth: float) -> None:
        if self.news is not None and worth:
            for fingerprint in fingerprints:
                self.news[fingerprint] = self.news.get(fingerprint, 0.0) + worth


def is_ranked(entry: UrlEntry) -> bool:
    """Return whether the links to a URL determine its level: a page that was found by a link."""
    return entry.via is not None and entry.payload is None and entry.kind == Kind.PAGE and not entry.repeat


SAVE_SECONDS = 60.0
"""Interval at which the counts are saved: a crash loses the counts since."""
SHARE_SECONDS = 5.0
"""Interval between two exchanges of a worker."""
ENTRIES_KEPT = 500
"""Number of log entries kept: a worker that joins receives no more."""
WORTHS_AT_ONCE = 5000
"""Number of worths in one entry: 60 kB."""
NAME = "importance.table"
LOG = "importance"
"""The name of the log."""
_WORTH = struct.Struct("<qf")
_AT_ONCE = 10


class LinkScoreStore:
    """Saves and shares the counts of one ``Importance``. A later step makes up for one that fails."""

    def __init__(
        self,
        importance: Importance,
        order: str,
        folder: Path | None,
        log: ChangeLog | None = None,
    ) -> None:
        """``order``: the order for which links are counted; a file of another order is not loaded. ``folder``: the
        JOBDIR, None for no file. ``log``: the log of several workers, None for a single process."""
        self._importance = importance
        self._order = order
        self._path = None if folder is None else folder / NAME
        self._log = log
        self._me = uuid4().hex.encode()
        self._read_to = LOG_START
        self._shared_at = self._saved_at = 0.0
        self._shared_pages = self._saved_pages = 0
        self._writing: asyncio.Future[None] | None = None
        if log is not None:
            importance.news = {}

    async def begin(self, now: float) -> bool:
        """Load the saved counts. Return whether there were any. :raises JobdirUnusable: the file cannot be read"""
        self._shared_at = self._saved_at = now
        if self._path is None:
            return False
        try:
            kept = await asyncio.to_thread(self._path.read_bytes)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise JobdirUnusable(f"{self._path}: {error.strerror}") from error
        return self._restore(kept)

    async def step(self, now: float, *, last: bool = False) -> None:
        """Send to other workers, receive from them, and save, each when it is time or the ``last`` step.

        :raises webcrawl.errors.CrawlError: of the storage; nothing is lost, and the next step tries again
        """
        due = now - self._saved_at >= SAVE_SECONDS or last
        if self._log is not None and (due or now - self._shared_at >= SHARE_SECONDS):
            self._shared_at = now
            await self._send(self._log)
            await self._receive(self._log)
        if self._path is not None and due and self._importance.pages != self._saved_pages:
            self._saved_at, pages = now, self._importance.pages
            # The counts are copied here and written in a thread.
            kept = self._packed()
            try:
                await self._write(self._path, kept)
            except OSError as error:
                raise JobdirUnusable(f"{self._path}: {error.strerror}") from error
            self._saved_pages = pages

    async def _write(self, path: Path, kept: Sequence[bytes]) -> None:
        """Write one file at a time: the write of a cancelled step may still be running."""
        if self._writing is not None:
            await asyncio.wait([self._writing])
        self._writing = asyncio.ensure_future(asyncio.to_thread(_write, path, kept))
        await asyncio.shield(self._writing)

    # -- the file ------------------------------------------------------------------------------------------

    def _packed(self) -> Sequence[bytes]:
        about = {"order": self._order, "pages": self._importance.pages, "heard_to": self._read_to}
        return json.dumps(about).encode(), b"\n", *self._importance.table.dump()

    def _restore(self, kept: bytes) -> bool:
        head, _, table = kept.partition(b"\n")
        try:
            about = json.loads(head)
            if about["order"] != self._order:
                return False
            pages, self._read_to = int(about["pages"]), str(about["heard_to"])
            self._importance.table.load(table)
        except (ValueError, KeyError, TypeError):
            return False
        self._importance.add({}, pages)
        self._shared_pages = self._saved_pages = pages
        return True

    # -- the log -------------------------------------------------------------------------------------------

    async def _send(self, log: ChangeLog) -> None:
        news, self._importance.news = self._importance.news or {}, {}
        pages, self._shared_pages = self._importance.pages - self._shared_pages, self._importance.pages
        worths = list(news.items())
        for first in range(0, len(worths), WORTHS_AT_ONCE):
            packed = b"".join(_WORTH.pack(*pair) for pair in worths[first : first + WORTHS_AT_ONCE])
            counted = b"0" if first else b"%d" % pages
            try:
                await log.append({"by": self._me, "pages": counted, "worths": packed})
            except CrawlError:
                left = self._importance.news
                for fingerprint, worth in worths[first:]:
                    left[fingerprint] = left.get(fingerprint, 0.0) + worth
                self._shared_pages -= 0 if first else pages
                raise

    async def _receive(self, log: ChangeLog) -> None:
        while True:
            entries = await log.after(self._read_to, _AT_ONCE)
            for position, fields in entries:
                if fields["by"] != self._me:
                    pages = int(fields["pages"])
                    self._importance.add(dict(_WORTH.iter_unpack(fields["worths"])), pages)
                    self._shared_pages += pages
                self._read_to = position
            if len(entries) < _AT_ONCE:
                return


def _write(path: Path, kept: Sequence[bytes]) -> None:
    with replacing(path, sync=True) as file:
        file.writelines(kept)
