"""A crawl of a segment, wired: its URLs are queued at their levels, what they bring is recorded and not followed."""

from __future__ import annotations

import asyncio
import filecmp
import logging
import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.atomic_file import replacement
from webcrawl.crawl.contact import contact_problem
from webcrawl.errors import ContactMissing
from webcrawl.features.segments import files
from webcrawl.features.segments.files import COPY, row_of
from webcrawl.urls.canonical import canonical
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from webcrawl.config import Configuration
    from webcrawl.crawl.context import CrawlContext
    from webcrawl.crawl.rules import CrawlRules
    from webcrawl.features.segments.files import Key
    from webcrawl.frontier.lease import Outcome
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.scheduler import Scheduler

logger = logging.getLogger(__name__)

STORE = "webcrawl.features.segments.results.FoundUrls"
AT_ONCE = 1000
"""URLs that are queued together."""


class SegmentCrawl:
    """What makes a crawl one of a segment: nothing enters its queue but what the segment has."""

    def __init__(
        self, given: Path | None, jobdir: Path, identity: Mapping[str, str], complete: Callable[[str], Key]
    ) -> None:
        """``given``: the segment; None for a crawl that is gone on with. ``identity``: as ``identity_of``."""
        self._given = given
        self._copy = jobdir / COPY
        self._identity = identity
        self._complete = complete

    def keep(self, outcome: Outcome) -> None:
        """Have what a URL brought recorded beside its line of the log, instead of queued."""
        if outcome.entry is not None:
            outcome.entry.found = [row_of(entry) for entry in outcome.discovered]
        outcome.discovered = []

    async def queue_all(self, context: CrawlContext, scheduler: Scheduler) -> None:
        """Queue the URLs of the segment that are not known yet.

        :raises SegmentError: it cannot be read :raises ContactMissing: nobody answers for a crawl of the public web
        """
        await asyncio.to_thread(self._take_copy)
        entries, queued = self._entries(context), 0
        while batch := await asyncio.to_thread(list, islice(entries, AT_ONCE)):
            for entry in batch:
                if entry.via is None:
                    context.seeded.allow(entry.url)
            if scheduler.frontier.is_closing() or not await scheduler.add_seeds(batch):
                return
            queued += len(batch)
        logger.info("%d URLs of the segment taken", queued)

    def _entries(self, context: CrawlContext) -> Iterator[UrlEntry]:
        """In the order of the file, at the levels that it says."""
        configuration, key = context.configuration, ""
        for number, entry in enumerate(files.read(self._copy, self._complete, self._identity), start=1):
            if entry.key != key:
                key = entry.key
                hosts = [host_of(entry.url)]
                if why := contact_problem(configuration.user_agent, configuration.crawler_contact, hosts):
                    raise ContactMissing(why)
            # Before all positions that are given while the crawl runs.
            entry.position = number
            yield entry

    def _take_copy(self) -> None:
        """The JOBDIR tells of itself which segment it is the crawl of, wherever it is carried."""
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


def segment_crawl_of(
    spider: object, choices: CrawlRules, identity: Mapping[str, str], jobdir: Path | None
) -> SegmentCrawl | None:
    """The crawl of a segment that a spider asks for or a JOBDIR holds; None for any other crawl."""
    given = getattr(spider, "segment", None)
    if jobdir is None or not (given or (jobdir / COPY).exists()):
        return None
    return SegmentCrawl(Path(given) if given else None, jobdir, identity, completed_by(choices))


def identity_of(configuration: Configuration, choices: CrawlRules) -> dict[str, str]:
    """The settings that decide of which key a URL is, and which URLs are the same."""
    return {"POLITENESS_KEY": configuration.politeness_key, **choices.comparison()}


def completed_by(choices: CrawlRules) -> Callable[[str], Key]:
    """Gives key and fingerprint of a resolved URL."""
    key = choices.politeness_key().of_url
    return lambda url: (key(url), fingerprint(canonical(url, choices.compared)))
