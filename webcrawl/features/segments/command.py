"""The work of ``scrapy segments``: exporting the queue of a crawl as segments, and merging their results into it."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

from webcrawl.config import Configuration
from webcrawl.control.selection import require_crawl, select_crawl
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.crawl.ordering import build_order
from webcrawl.crawl.rules import CrawlRules
from webcrawl.crawl.storage import build_backend, identity_settings
from webcrawl.errors import CrawlError, JobdirLocked, NoSuchCrawl
from webcrawl.features.segments import files, results
from webcrawl.features.segments.feature import completed_by
from webcrawl.features.segments.merging import Merging
from webcrawl.features.steering.kept_settings import settings_of_crawl
from webcrawl.features.steering.store import SteeringStore
from webcrawl.frontier.records import State
from webcrawl.reports import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from scrapy.settings import Settings

    from webcrawl.features.segments.merging import ImportCounts
    from webcrawl.storage.contract import Backend


class SegmentTransfer:
    """Exports the segments of a crawl and imports their results. Its methods return lines for the user."""

    def __init__(self, settings: Settings, spider: str) -> None:
        self._settings = settings = _as_started(settings, spider)
        self._spider = spider
        self._configuration = Configuration.from_settings(settings)
        self._choices = CrawlRules(self._configuration)
        self._identity = identity_settings(self._configuration, self._choices)
        self._complete = completed_by(self._choices)

    # -- export ----------------------------------------------------------------------------------------------

    def export(self, folder: Path, number: int, urls_each: int | None) -> Iterator[str]:
        """Write the queued URLs into ``folder``, in so many files, or with so many URLs in each."""
        crawl = require_crawl(self._settings, self._spider)
        with crawl.url_states() as reader:
            queue = files.SortedEntries(reader.queued())
        written = files.write(folder, queue, self._identity, urls_each or -(-queue.urls // number))
        for path, urls in written:
            yield f"{path}: {text.things(urls, 'URL')}"
        yield f"{text.things(queue.urls, 'URL')} in {text.things(len(written), 'segment')}"
        if crawl.running_workers():
            sys.stderr.write(
                f"scrapy segments: {crawl.name} is running: URLs that it fetches from now on are in these segments"
                " too\n"
            )

    # -- import ----------------------------------------------------------------------------------------------

    def merge(self, sources: Sequence[Path]) -> Iterator[str]:
        """Merge JOBDIRs of crawls of segments, segments and folders of segments into the crawl."""
        taken = [source for path in sources for source in _sources(path, self._configuration.jobdir)]
        with self._backend() as backend:
            for path in taken:
                # The crawl is not opened for a file that is not there.
                if not path.exists():
                    raise files.SegmentError(f"{path} cannot be read: {os.strerror(errno.ENOENT)}")
            merged = asyncio.run(self._merge(backend, taken))
        yield from _in_words(merged)

    async def _merge(self, backend: Backend, sources: Sequence[Path]) -> ImportCounts:
        merging = Merging(backend, build_order(self._configuration))
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
        """Return the backend of the crawl, not opened, while other processes are locked out."""
        configuration = self._configuration
        if configuration.storage.is_shared:
            self._refuse_workers()
            yield build_backend(configuration, self._choices, self._settings, None, self._spider)[0]
            return
        if not configuration.storage.is_lasting or configuration.jobdir is None:
            raise CrawlError("into which crawl? give -s REDIS_URL=... for one on Redis, or -s JOBDIR=DIR")
        jobdir = Jobdir(configuration.jobdir)
        jobdir.hold()
        try:
            jobdir.refuse_moved()
            yield build_backend(configuration, self._choices, self._settings, jobdir.path)[0]
        finally:
            jobdir.leave()

    def _refuse_workers(self) -> None:
        """Refuse the import while workers of a shared crawl are running."""
        crawl = require_crawl(self._settings, self._spider)
        # A crawl that does not exist yet is created with the imported segments, as in a new folder.
        with suppress(NoSuchCrawl):
            if workers := crawl.running_workers():
                names = ", ".join(sorted(worker.name for worker in workers))
                raise CrawlError(f"{crawl.name} is running ({names}); stop it first: scrapy stop")


def _as_started(settings: Settings, spider: str) -> Settings:
    """Return the settings with those with which the crawl was started, which decide on the keys of its URLs."""
    crawl = select_crawl(settings, Configuration.from_settings(settings), spider)
    # A crawl that does not exist yet is created by the settings that are given.
    with suppress(CrawlError):
        if crawl is not None:
            workers = crawl.read_store(SteeringStore, SteeringStore.workers)
            return cast("Settings", settings_of_crawl(settings, workers))
    return settings


def _sources(path: Path, target: Path | None) -> Iterator[Path]:
    """Yield JOBDIRs of crawls of segments, and files."""
    if not path.is_dir():
        yield path
        return
    if not results.is_one(path):
        segments = sorted(file for file in path.iterdir() if files.NAME.fullmatch(file.name))
        if not segments:
            raise CrawlError(f"{path} holds no segments, and is the JOBDIR of no crawl of one")
        yield from segments
        return
    if target is not None and target.resolve() == path.resolve():
        raise CrawlError(f"{path} is the crawl that is to take it; give the JOBDIRs of others")
    if (holder := Jobdir(path).holder()) is not None:
        raise JobdirLocked(f"{path} is in use by {holder}; its results are known when it has ended")
    yield path


def _in_words(merged: ImportCounts) -> Iterator[str]:
    states = ", ".join(
        f"{text.count(merged.settled[state])} {state.name.lower()}"
        for state in (State.DONE, State.FAILED, State.REFUSED)
    )
    yield f"settled     {text.count(merged.settled.total())} ({states})"
    yield f"before      {text.count(merged.known)} were settled here already"
    yield f"left        {text.count(merged.left)} of the segments were not fetched, and stay queued"
    yield f"new         {text.count(merged.new)} are queued now"
    yield f"known       {text.count(merged.found_known)} were found, and known here"
