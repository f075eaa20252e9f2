"""Crawl of a segment: its URLs are queued at their levels, and the URLs they lead to are recorded and not
followed."""

from __future__ import annotations

import asyncio
import filecmp
import logging
import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.atomic_file import replacement
from webcrawl.crawl.feature import Feature
from webcrawl.crawl.feature_table import SEGMENT_FILE
from webcrawl.crawl.storage import identity_settings
from webcrawl.errors import ContactMissing
from webcrawl.features.segments import files
from webcrawl.features.segments.files import row_of
from webcrawl.politeness.contact import contact_problem
from webcrawl.urls.canonical import canonical
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.rules import CrawlRules
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl
    from webcrawl.features.segments.files import Key
    from webcrawl.frontier.records import UrlEntry

logger = logging.getLogger(__name__)

AT_ONCE = 1000
"""Number of URLs that are queued together."""


class SegmentsFeature(Feature):
    """Makes a crawl one of a segment: only URLs of the segment enter its queue."""

    sinks = ("webcrawl.features.segments.results.FoundUrls",)
    records_links = True

    def __init__(
        self, segment: Path | None, jobdir: Path, identity: Mapping[str, str], complete: Callable[[str], Key]
    ) -> None:
        """``segment``: the segment; None for a resumed crawl. ``identity``: see
        ``crawl.storage.identity_settings``."""
        self._given = segment
        self._copy = jobdir / SEGMENT_FILE
        self._identity = identity
        self._complete = complete

    def settled(self, flight: InFlightRequest) -> None:
        """Record the URLs that a URL led to beside its line of the log, instead of queueing them."""
        outcome = flight.outcome
        if outcome.entry is not None:
            outcome.entry.found = [row_of(entry) for entry in outcome.discovered]
        outcome.discovered = []

    async def queue_seeds(self, context: CrawlContext, scheduler: RunningCrawl) -> bool:
        """Queue the URLs of the segment that are not known yet.

        :raises SegmentError: it cannot be read
        :raises ContactMissing: a crawl of the public web has no contact
        """
        await asyncio.to_thread(self._take_copy)
        entries, queued = self._entries(context), 0
        while batch := await asyncio.to_thread(list, islice(entries, AT_ONCE)):
            for entry in batch:
                if entry.via is None:
                    context.seeded.allow(entry.url)
            if context.frontier.is_closing() or not await scheduler.add_seeds(batch):
                return True
            queued += len(batch)
        logger.info("%d URLs of the segment taken", queued)
        return True

    def _entries(self, context: CrawlContext) -> Iterator[UrlEntry]:
        """Yield entries in the order of the file, at the levels given there."""
        configuration, key = context.configuration, ""
        for number, entry in enumerate(files.read(self._copy, self._complete, self._identity), start=1):
            if entry.key != key:
                key = entry.key
                hosts = [get_host(entry.url)]
                if why := contact_problem(configuration.user_agent, configuration.crawler_contact, hosts):
                    raise ContactMissing(why)
            # Before all positions that are assigned during the crawl.
            entry.position = number
            yield entry

    def _take_copy(self) -> None:
        """Copy the segment into the JOBDIR, so that the JOBDIR identifies its segment wherever it is moved."""
        if self._given is None:
            return
        if self._copy.exists():
            if not filecmp.cmp(self._copy, self._given, shallow=False):
                raise files.SegmentError(
                    f"{self._copy.parent} is the crawl of another segment than {self._given}; give another JOBDIR"
                )
            return
        with replacement(self._copy) as unfinished:
            shutil.copyfile(self._given, unfinished)


def build(parts: Parts) -> SegmentsFeature:
    """Return the crawl of the segment that the spider's argument names or the JOBDIR holds."""
    segment, choices = getattr(parts.spider, "segment", None), parts.choices
    assert parts.folder is not None
    copied_from = Path(segment) if segment else None
    identity = identity_settings(parts.configuration, choices)
    return SegmentsFeature(copied_from, parts.folder, identity, completed_by(choices))


def completed_by(choices: CrawlRules) -> Callable[[str], Key]:
    """Return a function that returns key and fingerprint of a resolved URL."""
    key = choices.politeness_key().of_url
    return lambda url: (key(url), fingerprint(canonical(url, choices.compared)))
