"""``scrapy segments export DIR | import DIR|FILE...``: split the queue of a crawl into segments, and merge their
results.

Exit status 0: done. 2: an argument or a setting is wrong, a file cannot be read or written, or the crawl cannot be
reached or is running; a line on standard error says why.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from webcrawl.archive.disk import ArchiveError
from webcrawl.command import ProjectCommand, number
from webcrawl.commands.output import tell
from webcrawl.config import Configuration
from webcrawl.control.asked import crawl_named, take_settings_of
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.crawl.rules import CrawlRules
from webcrawl.errors import CrawlError, JobdirLocked, Problem
from webcrawl.features.segments import files, results
from webcrawl.features.segments.feature import completed_by, identity_of
from webcrawl.features.segments.merging import Merging
from webcrawl.frontier.records import State
from webcrawl.politeness.groups import GroupsError
from webcrawl.reports import text
from webcrawl.scope.patterns import PatternsError
from webcrawl.urls.host_rules import HostRulesError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.features.segments.merging import Merged
    from webcrawl.storage.contract import Backend


WRONG = (CrawlError, ArchiveError, OSError, PatternsError, HostRulesError, GroupsError)
"""Expected errors; their messages name the cause."""


class Segmenting:
    """Exports the segments of a crawl and imports their results."""

    def __init__(self, settings: Settings, spider: str) -> None:
        self._settings = settings
        self._spider = spider
        self._configuration = Configuration.from_settings(settings)
        self._choices = CrawlRules(self._configuration)
        self._identity = identity_of(self._configuration, self._choices)
        self._complete = completed_by(self._choices)

    # -- export ----------------------------------------------------------------------------------------------

    def export(self, folder: Path, number: int, urls_each: int | None) -> None:
        """Write the queued URLs into ``folder``, in so many files, or with so many URLs in each."""
        crawl = crawl_named(self._settings, self._spider)
        with crawl.books() as books:
            queue = files.InOrder(books.queued())
        written = files.write(folder, queue, self._identity, urls_each or -(-queue.urls // number))
        for path, urls in written:
            tell(f"{path}: {text.things(urls, 'URL')}")
        tell(f"{text.things(queue.urls, 'URL')} in {text.things(len(written), 'segment')}")
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
        # Scrapy imports all commands at each start.
        from webcrawl.crawl.ordering import order_of

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
        """Return the backend of the crawl, not opened, while other processes are locked out."""
        configuration = self._configuration
        if configuration.frontier_backend == "redis":
            yield self._shared_backend()
            return
        if configuration.frontier_backend == "memory" or configuration.jobdir is None:
            raise CrawlError("into which crawl? give -s REDIS_URL=... for one on Redis, or -s JOBDIR=DIR")
        # Scrapy imports all commands at each start.
        from webcrawl.crawl.context import own_backend

        jobdir = Jobdir(configuration.jobdir)
        jobdir.hold()
        try:
            yield own_backend(configuration, self._choices, jobdir.path)
        finally:
            jobdir.leave()

    def _shared_backend(self) -> Backend:
        # A crawl in a folder does not need this import.
        from webcrawl.crawl.redis import shared_backend
        from webcrawl.storage.redis.control import NoSuchCrawl

        crawl = crawl_named(self._settings, self._spider)
        # A crawl that does not exist yet is created with the imported segments, as in a new folder.
        with suppress(NoSuchCrawl):
            if workers := crawl.at_work():
                names = ", ".join(sorted(worker.name for worker in workers))
                raise CrawlError(f"{crawl.name} is at work ({names}); stop it first: scrapy frontier stop")
        crawler = Crawler(get_spider_loader(self._settings).load(self._spider), self._settings)
        key = self._choices.politeness_key()
        return shared_backend(self._configuration, self._choices, crawler, key, lambda host: None)[0]


def _sources(path: Path, target: Path | None) -> Iterator[Path]:
    """Yield JOBDIRs of crawls of segments, and files."""
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
        f"{text.count(merged.settled[state])} {state.name.lower()}"
        for state in (State.DONE, State.FAILED, State.REFUSED)
    )
    return "\n".join(
        (
            f"settled     {text.count(merged.settled.total())} ({states})",
            f"before      {text.count(merged.known)} were settled here already",
            f"left        {text.count(merged.left)} of the segments were not fetched, and stay queued",
            f"new         {text.count(merged.new)} are queued now",
            f"known       {text.count(merged.met)} were found, and known here",
        )
    )


EXPORT, IMPORT = "export", "import"


class Command(ProjectCommand):
    expected = WRONG
    interrupted = "interrupted; what was done may be done again"
    spider_help = "whose crawl on Redis"

    def syntax(self) -> str:
        return "export DIR [options] | import <DIR|FILE>... [options]"

    def short_desc(self) -> str:
        return "Write the queue of a crawl as segments, or bring home what crawls of segments came to"

    def long_desc(self) -> str:
        return (
            "export writes what is queued into files of DIR, each with whole domains: scrapy crawl broad -a "
            "segment=FILE fetches the URLs of one and records what it finds. import takes JOBDIRs of such crawls, "
            "or segments: what was fetched is settled, what was found is queued if it is new, the rest stays queued. "
            "Which crawl is meant say -s JOBDIR=DIR or -s REDIS_URL=...; it should rest."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--files", type=_number, metavar="N", help="export: into N files at most, of about one size (1)")
        add(
            "--urls",
            type=_number,
            metavar="N",
            help="export: into files of N URLs, and what their last domain has more",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        assert self.settings is not None
        if not args:
            raise UsageError
        yield from _wrong_words(args, opts)
        take_settings_of(opts.spider, self.settings)

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        assert isinstance(self.settings, Settings)
        segmenting = Segmenting(self.settings, opts.spider)
        if args[0] == EXPORT:
            segmenting.export(Path(args[1]), opts.files or 1, opts.urls)
        else:
            segmenting.bring_home([Path(name) for name in args[1:]])


def _wrong_words(args: Sequence[str], opts: argparse.Namespace) -> Iterator[Problem]:
    what, *names = args
    if what not in (EXPORT, IMPORT):
        yield Problem(what, f"is no command of segments; there are {EXPORT} and {IMPORT}")
    elif what == EXPORT and len(names) != 1:
        yield Problem(EXPORT, "takes one folder, to write the segments into")
    elif what == IMPORT and not names:
        yield Problem(IMPORT, "what? give JOBDIRs of crawls of segments, segments, or folders of segments")
    if what == IMPORT and (opts.files or opts.urls):
        yield Problem("--files" if opts.files else "--urls", f"is for {EXPORT}")
    if opts.files and opts.urls:
        yield Problem("--files", "says the same as --urls; give one of them")


_number = number(int, 1, 1_000_000_000, "a number from 1 to 1,000,000,000")
