"""What ``scrapy segments`` does: the crawl on one side, the files on the other."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.crawler import Crawler
from scrapy.spiderloader import get_spider_loader

from webcrawl.archive.errors import ArchiveError
from webcrawl.choices import Choices
from webcrawl.commands.answering import tell
from webcrawl.configuration import Configuration
from webcrawl.crawls.asked import crawl_named
from webcrawl.errors import CrawlError, JobdirLocked
from webcrawl.frontier.records import State
from webcrawl.hosts.groups import GroupsError
from webcrawl.jobdir import Jobdir
from webcrawl.machine import own_backend
from webcrawl.reports import units
from webcrawl.scope.patterns import PatternsError
from webcrawl.segments import files, results
from webcrawl.segments.merging import Merging
from webcrawl.urls.host_rules import HostRulesError
from webcrawl.wiring.ordering import order_of
from webcrawl.wiring.segment_crawl import completed_by, identity_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy.settings import Settings

    from webcrawl.frontier.backend import Backend
    from webcrawl.segments.merging import Merged

WRONG = (CrawlError, ArchiveError, OSError, PatternsError, HostRulesError, GroupsError)
"""What may be wrong; the message names it."""


class Segmenting:
    """Takes a crawl apart and puts it together again."""

    def __init__(self, settings: Settings, spider: str) -> None:
        self._settings = settings
        self._spider = spider
        self._configuration = Configuration.from_settings(settings)
        self._choices = Choices(self._configuration)
        self._identity = identity_of(self._configuration, self._choices)
        self._complete = completed_by(self._choices)

    # -- export ----------------------------------------------------------------------------------------------

    def export(self, folder: Path, number: int, urls_each: int | None) -> None:
        """Write what is queued into ``folder``, in so many files, or with so many URLs in each."""
        crawl = crawl_named(self._settings, self._spider)
        with crawl.books() as books:
            queue = files.InOrder(books.queued())
        written = files.write(folder, queue, self._identity, urls_each or -(-queue.urls // number))
        for path, urls in written:
            tell(f"{path}: {units.things(urls, 'URL')}")
        tell(f"{units.things(queue.urls, 'URL')} in {units.things(len(written), 'segment')}")
        if crawl.at_work():
            sys.stderr.write(
                f"scrapy segments: {crawl.name} is at work: what it fetches from now on is in these segments too\n"
            )

    # -- import ----------------------------------------------------------------------------------------------

    def bring_home(self, sources: Sequence[Path]) -> None:
        """Merge JOBDIRs of crawls of segments, segments and folders of segments into the crawl."""
        taken = [source for path in sources for source in _sources(path, self._configuration.jobdir)]
        with self._backend() as backend:
            merged = asyncio.run(self._merge(backend, taken))
        tell(_in_words(merged))

    async def _merge(self, backend: Backend, sources: Sequence[Path]) -> Merged:
        merging = Merging(backend, order_of(self._configuration))
        await backend.open(time.time())
        try:
            for path in sources:
                if path.is_dir():
                    await merging.results(results.Results(path, self._complete, self._identity))
                else:
                    await merging.queue(files.read(path, self._complete, self._identity))
        finally:
            await backend.close()
        return merging.merged

    @contextmanager
    def _backend(self) -> Iterator[Backend]:
        """That of the crawl, not opened, while nobody else may work on it."""
        configuration = self._configuration
        if configuration.frontier_backend == "redis":
            yield self._shared_backend()
            return
        if configuration.frontier_backend == "memory" or configuration.jobdir is None:
            raise CrawlError("into which crawl? give -s REDIS_URL=... for one on Redis, or -s JOBDIR=DIR")
        jobdir = Jobdir(configuration.jobdir)
        jobdir.hold()
        try:
            yield own_backend(configuration, self._choices, jobdir.path)
        finally:
            jobdir.leave()

    def _shared_backend(self) -> Backend:
        # Who has a folder does not wait for what he does not need.
        from webcrawl.frontier.backends.redis.control import NoSuchCrawl
        from webcrawl.wiring.sharing import shared_backend

        crawl = crawl_named(self._settings, self._spider)
        # One that is not there begins with what is brought home, as in a new folder.
        with suppress(NoSuchCrawl):
            if workers := crawl.at_work():
                names = ", ".join(sorted(worker.name for worker in workers))
                raise CrawlError(f"{crawl.name} is at work ({names}); stop it first: scrapy frontier stop")
        crawler = Crawler(get_spider_loader(self._settings).load(self._spider), self._settings)
        key = self._choices.politeness_key()
        return shared_backend(self._configuration, self._choices, crawler, key, lambda host: None)[0]


def _sources(path: Path, target: Path | None) -> Iterator[Path]:
    """JOBDIRs of crawls of segments, and files."""
    if not path.is_dir():
        yield path
        return
    if not results.is_one(path):
        segments = sorted(one for one in path.iterdir() if files.NAME.fullmatch(one.name))
        if not segments:
            raise CrawlError(f"{path} holds no segments, and is the JOBDIR of no crawl of one")
        yield from segments
        return
    if target is not None and target.resolve() == path.resolve():
        raise CrawlError(f"{path} is the crawl that is to take it; give the JOBDIRs of others")
    if (holder := Jobdir(path).holder()) is not None:
        raise JobdirLocked(f"{path} is in use by {holder}; what it comes to is known when it has ended")
    yield path


def _in_words(merged: Merged) -> str:
    states = ", ".join(
        f"{units.count(merged.settled[state])} {state.name.lower()}"
        for state in (State.DONE, State.FAILED, State.REFUSED)
    )
    return "\n".join(
        (
            f"settled     {units.count(merged.settled.total())} ({states})",
            f"before      {units.count(merged.known)} were settled here already",
            f"left        {units.count(merged.left)} of the segments were not fetched, and stay queued",
            f"new         {units.count(merged.new)} are queued now",
            f"known       {units.count(merged.met)} were found, and known here",
        )
    )
