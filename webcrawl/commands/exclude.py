"""``scrapy exclude DOMAIN-OR-PREFIX``: a line for the exclusion file, what it hits, and that all obey it from now on.

0: done, or nothing to do. 1: the line is written, and not everybody who is at work has said that he goes by it.
2: the command, a setting or the file is wrong, or the crawl cannot be looked at; nothing was written.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from webcrawl.archive.errors import ArchiveError
from webcrawl.command import ProjectCommand
from webcrawl.commands import consequences
from webcrawl.commands.answering import complain, refuse
from webcrawl.commands.arguments import BROAD
from webcrawl.configuration import Configuration
from webcrawl.crawls.asked import NOT_FROM_OUTSIDE, crawl_asked
from webcrawl.errors import CrawlError, Problem
from webcrawl.scope.exclusion import ExclusionError
from webcrawl.scope.exclusion_file import Entry, ExclusionFile
from webcrawl.urls.listfile import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from webcrawl.crawls.local import LocalCrawl
    from webcrawl.crawls.shared import SharedCrawl
    from webcrawl.scope.exclusion import ExclusionList


class Command(ProjectCommand):
    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        return "[options] <DOMAIN|URL prefix>"

    def short_desc(self) -> str:
        return "Never visit a site or a part of it again: add it to the exclusion file"

    def long_desc(self) -> str:
        return (
            "Add a domain (with its subdomains) or a URL prefix to the file of -s EXCLUSION_FILE=FILE, after "
            "telling how many queued, leased and stored URLs of a crawl it hits, and have the crawl look at once. "
            "Which crawl is meant say -s REDIS_URL=... or -s JOBDIR=DIR."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--reason", metavar="TEXT", default="", help="kept behind the line, with the date")
        add("--file", metavar="FILE", help="instead of -s EXCLUSION_FILE=FILE; made if it is not there")
        add(
            "--jobdir",
            metavar="DIR",
            action="append",
            default=[],
            help="as -s JOBDIR=DIR; on Redis one of each worker",
        )
        add("--spider", metavar="NAME", default=BROAD, help="whose crawl on Redis (default: %(default)s)")
        add("--dry-run", action="store_true", help="say what would be hit, change nothing")
        add(
            "--now",
            action="store_true",
            help="without a domain: have the crawl look at the file as it is, at once",
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        if not args and not opts.now:
            raise UsageError
        problems = [*_wrong_words(args, opts), *self._take_places(opts)]
        problems += self.wrong_settings()
        if problems:
            refuse("exclude", problems)

    def _take_places(self, opts: argparse.Namespace) -> Iterator[Problem]:
        """Where the file and the crawl are. The settings are checked without the file, which need not be there."""
        assert self.settings is not None
        file = opts.file or self.settings.get("EXCLUSION_FILE")
        self.settings.set("EXCLUSION_FILE", None, priority="cmdline")
        if opts.jobdir:
            self.settings.set("JOBDIR", opts.jobdir[0], priority="cmdline")
        for folder in opts.jobdir:
            if not Path(folder).is_dir():
                yield Problem("--jobdir", f"must be the folder of a crawl, not {folder!r}")
        if not file:
            yield Problem("EXCLUSION_FILE", "which file? give --file FILE or -s EXCLUSION_FILE=FILE")
        self._file = ExclusionFile(Path(file or ""))

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            self.exitcode = self._carry_out(args, opts)
        except (CrawlError, ArchiveError, ExclusionError) as error:
            self.exitcode = complain("exclude", map(printable, str(error).splitlines()))
        except KeyboardInterrupt:
            sys.stderr.write("scrapy exclude: interrupted\n")
            self.exitcode = 1

    def _carry_out(self, args: list[str], opts: argparse.Namespace) -> int:
        assert self.settings is not None
        configuration = Configuration.from_settings(self.settings)
        crawl = self._crawl(configuration, opts.spider)
        exclusions = self._file.read()
        if args:
            entry = Entry.read(args[0])
            for line in consequences.of(entry, crawl, _folders(configuration, opts)):
                consequences.tell(line)
            exclusions = self._add(entry, exclusions, opts)
        elif not self._file.path.exists():
            raise ExclusionError(f"{self._file.path}: there is no such file")
        if opts.dry_run:
            return 0
        if crawl is None:
            consequences.tell("No crawl was named, so none was told: those that run look by themselves")
            return 0
        return consequences.bring_into_force(crawl, exclusions, time.sleep)

    def _add(self, entry: Entry, exclusions: ExclusionList, opts: argparse.Namespace) -> ExclusionList:
        """Add the line; the list that is to be in force."""
        if covered := entry.covered_by(exclusions):
            consequences.tell(f"{self._file.path} covers it already: {covered}")
            return exclusions
        line = entry.line(opts.reason, f"{datetime.now(UTC):%Y-%m-%d}")
        if opts.dry_run:
            consequences.tell(f"Nothing was written; it would be: {line}")
            return exclusions
        exclusions = self._file.append(entry, line)
        consequences.tell(f"{self._file.path} has it now: {line}")
        return exclusions

    def _crawl(self, configuration: Configuration, spider: str) -> SharedCrawl | LocalCrawl | None:
        assert self.settings is not None
        if configuration.frontier_backend == "memory" and configuration.jobdir is not None:
            raise CrawlError(NOT_FROM_OUTSIDE)
        return crawl_asked(self.settings, configuration, spider)


def _folders(configuration: Configuration, opts: argparse.Namespace) -> list[Path]:
    """Where fetch logs are."""
    if opts.jobdir:
        return [Path(folder) for folder in dict.fromkeys(opts.jobdir)]
    return [] if configuration.jobdir is None else [configuration.jobdir]


def _wrong_words(args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
    if len(args) > 1:
        yield Problem(args[1], "is one argument too many: a domain or URL prefix at a time")
    if args:
        try:
            Entry.read(args[0])
        except ExclusionError as error:
            yield Problem("", str(error))
    elif opts.reason or opts.dry_run:
        yield Problem(
            "--reason" if opts.reason else "--dry-run", "is for a domain or URL prefix, which is missing"
        )
