"""``scrapy exclude DOMAIN-OR-PREFIX``: add a line to the exclusion file, show its effect, and have all workers apply
it.

Without an exclusion file, the entry is kept with the state of the crawl, and ``--take-back`` removes it.

Exit status 0: done, or nothing to do. 1: the line is written, but not every running worker has confirmed that it
applies it. 2: the command, a setting or the file is wrong, or the crawl cannot be read; nothing was written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from webcrawl import terminal as output
from webcrawl.archive import fetchlog
from webcrawl.command import ProjectCommand
from webcrawl.config import Configuration
from webcrawl.control.selection import no_inspection_message, select_crawl
from webcrawl.crawl.jobdir import folders_with_files
from webcrawl.errors import CrawlError, Problem
from webcrawl.reports import text as units
from webcrawl.scope.exclusion import ExclusionError
from webcrawl.scope.exclusion_file import Exclusion, ExclusionFile
from webcrawl.storage.inspection import ExclusionImpact, UrlSelection
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from webcrawl.control.stored import StoredCrawl
    from webcrawl.scope.exclusion import ExclusionList
    from webcrawl.storage.inspection import Worker


POLL_SECONDS = 0.25
"""Seconds between two checks of which workers apply the new list."""
LOOKS = 60
"""The number of checks: a worker reads the list within two seconds and confirms it within a third one."""


class AffectedCrawl(Protocol):
    """The methods of a crawl that this command uses."""

    @property
    def name(self) -> str: ...

    def impact(self, selection: UrlSelection) -> ExclusionImpact: ...

    def look(self) -> list[Worker]: ...

    def running_workers(self) -> list[Worker]: ...


def of(entry: Exclusion, crawl: AffectedCrawl | None, folders: Iterable[Path]) -> Iterator[str]:
    """Yield the effect of excluding ``entry``: on a crawl's queues, and on the fetch logs of ``folders``."""
    if crawl is None:
        yield "The crawl is not known: give -s REDIS_URL=... or -s JOBDIR=DIR"
        return
    impact = crawl.impact(UrlSelection(entry.may_be_on, entry.covers))
    yield f"{crawl.name}: {entry.text} hits"
    yield f"  queued  {units.things(impact.queued, 'URL')} on {units.things(impact.hosts, 'host')}"
    yield (
        f"  leased  {units.count(impact.leased)} of them, on {units.things(impact.leased_hosts, 'host')} that a "
        f"worker holds; at most {units.things(impact.leased_hosts, 'request')} in flight"
    )
    folders = list(folders)
    if not folders:
        yield "  stored  not counted: give --jobdir DIR of each worker"
    for folder in folders:
        yield f"  stored  {_stored(entry, folder)}"


def _stored(entry: Exclusion, folder: Path) -> str:
    """Describe how many fetched URLs of a folder are covered: lines with a status, so robots.txt answers as well."""
    damaged: list[str] = []
    lines, urls = 0, set[int]()
    for line in fetchlog.read(folder, damaged.append):
        url = line.get("url")
        if line.get("status") is not None and isinstance(url, str) and entry.covers(url):
            lines += 1
            urls.add(hash(url))
    counts = f"{units.things(len(urls), 'URL')} with {units.things(lines, 'response')} in the log of {folder}"
    return counts + (f"; {units.things(len(damaged), 'line')} of it cannot be read" if damaged else "")


def bring_into_force(
    crawl: AffectedCrawl, exclusions: ExclusionList, pause: Callable[[float], object]
) -> int:
    """Make all workers of a crawl read the list now, and wait until they apply it. Return the exit status."""
    workers = crawl.look()
    if not workers:
        tell(f"{crawl.name}: no worker is running, so none reads the list")
        return 0
    for _ in range(LOOKS):
        if all(worker.exclusions == exclusions.version for worker in workers):
            break
        pause(POLL_SECONDS)
        workers = crawl.running_workers()
    late = [worker for worker in workers if worker.exclusions != exclusions.version]
    obedient = sorted(worker.name for worker in workers if worker not in late)
    if obedient:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        tell(f"In force since {now}, version {exclusions.version}: {', '.join(obedient)}")
    for worker in late:
        tell(_why_late(worker))
    return 1 if late else 0


def _why_late(worker: Worker) -> str:
    if not worker.exclusions:
        return (
            f"Not in force: {worker.name} has reported no exclusion list. If it was started without EXCLUSION_FILE, "
            "stop it and start it again with one"
        )
    return (
        f"Not in force: {worker.name} applies another list, version {worker.exclusions}. If its file is another one "
        "than this, change that too; if it is this one, its log says what is wrong"
    )


def tell(text: str) -> None:
    """Print a line, with all characters replaced that could control a terminal."""
    output.tell(printable(text, None))


class Command(ProjectCommand):
    expected = (CrawlError, ExclusionError)
    spider_help = "spider of the crawl on Redis"

    def syntax(self) -> str:
        return "[options] <DOMAIN|URL prefix>"

    def short_desc(self) -> str:
        return "Exclude a site, or a part of it, from all further requests"

    def long_desc(self) -> str:
        return (
            "Add a domain (with its subdomains) or a URL prefix to the file of -s EXCLUSION_FILE=FILE; without a "
            "file, to the state of the crawl. The command first shows how many queued, leased and stored URLs of the "
            "crawl match, and then has the crawl apply the list at once. -s REDIS_URL=... or -s JOBDIR=DIR selects "
            "the crawl."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add(
            "--reason",
            metavar="TEXT",
            default="",
            help="comment that is written after the line, with the date",
        )
        add("--file", metavar="FILE", help="instead of -s EXCLUSION_FILE=FILE; created if it does not exist")
        add(
            "--jobdir",
            metavar="DIR",
            action="append",
            default=[],
            help="like -s JOBDIR=DIR; for a crawl on Redis once for each worker",
        )
        add("--take-back", action="store_true", help="without a file: end the exclusion of the entry")
        add("--dry-run", action="store_true", help="show what would match, change nothing")
        add(
            "--now",
            action="store_true",
            help="without a domain: have the crawl read the file at once",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if not args and not opts.now:
            yield Problem("", "no domain; give one, or the beginning of URLs, or --now")
            return
        yield from _wrong_words(args, opts)
        yield from self._take_places(opts)

    def lines(self, error: Exception) -> Iterable[object]:
        return map(printable, str(error).splitlines())

    def _take_places(self, opts: argparse.Namespace) -> Iterator[Problem]:
        """Determine the file and the crawl. The settings are checked without the file, which may not exist yet."""
        assert self.settings is not None
        file = opts.file or self.settings.get("EXCLUSION_FILE")
        self.settings.set("EXCLUSION_FILE", None, priority="cmdline")
        if opts.jobdir:
            self.settings.set("JOBDIR", opts.jobdir[0], priority="cmdline")
        for folder in opts.jobdir:
            if not Path(folder).is_dir():
                yield Problem("--jobdir", f"must be the folder of a crawl, not {folder!r}")
        is_named = self.settings.get("JOBDIR") or self.settings.get("REDIS_URL")
        if not file and (opts.now or not is_named):
            yield Problem("EXCLUSION_FILE", "no exclusion file: give --file FILE or -s EXCLUSION_FILE=FILE")
        if file and opts.take_back:
            yield Problem("--take-back", f"is for entries without a file; remove the line from {file}")
        self._has_file = bool(file)
        self._file = ExclusionFile(Path(file or ""))

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        configuration = self.configuration
        crawl = self._crawl(configuration, opts.spider)
        if not self._has_file and crawl is not None:
            return self._in_state(Exclusion.read(args[0]), crawl, opts)
        exclusions = self._file.read()
        if args:
            entry = Exclusion.read(args[0])
            for line in of(entry, crawl, _folders(configuration, opts)):
                tell(line)
            exclusions = self._add(entry, exclusions, opts)
        elif not self._file.path.exists():
            raise ExclusionError(f"{self._file.path}: there is no such file")
        if opts.dry_run:
            return 0
        if crawl is None:
            tell("No crawl was named, so none was notified: running crawls check the file by themselves")
            return 0
        exclusions.add(_in_states(crawl))
        return bring_into_force(crawl, exclusions, time.sleep)

    def _in_state(self, entry: Exclusion, crawl: StoredCrawl, opts: argparse.Namespace) -> int:
        """Exclude an entry without a file, or end that; return the exit status."""
        # Scrapy imports all commands at each start.
        from webcrawl.control.steering import Steering

        assert self.settings is not None
        steering = Steering(crawl, self.settings, opts.spider)
        if not opts.take_back:
            for line in of(entry, crawl, _folders(self.configuration, opts)):
                tell(line)
        if opts.dry_run:
            tell("Nothing was changed")
            return 0
        if opts.take_back:
            if steering.readmit(entry.text):
                tell(f"{entry.text} is no longer excluded by operators")
            else:
                tell(f"{entry.text} is not excluded by operators")
        elif steering.exclude(entry.text, opts.reason):
            tell(f"{entry.text} is excluded")
        else:
            tell(f"{entry.text} is excluded already")
        running = [worker.name for worker in crawl.running_workers()]
        late = steering.not_obeyed("excluded") if running else []
        if not running:
            tell(f"{crawl.name} is not running: in force when it runs again")
        elif obedient := [name for name in running if name not in late]:
            tell(f"In force: {', '.join(obedient)}")
        for name in late:
            tell(f"Not in force: {name} has not applied it; it hangs, or is of an older version")
        return 1 if late else 0

    def _add(self, entry: Exclusion, exclusions: ExclusionList, opts: argparse.Namespace) -> ExclusionList:
        """Add the line; return the list that is to be applied."""
        if covered := entry.covered_by(exclusions):
            tell(f"{self._file.path} already covers it: {covered}")
            return exclusions
        line = entry.line(opts.reason, f"{datetime.now(UTC):%Y-%m-%d}")
        if opts.dry_run:
            tell(f"Nothing was written; the line would be: {line}")
            return exclusions
        exclusions = self._file.append(entry, line)
        tell(f"{self._file.path} now has: {line}")
        return exclusions

    def _crawl(self, configuration: Configuration, spider: str) -> StoredCrawl | None:
        assert self.settings is not None
        if not configuration.storage.is_lasting and configuration.jobdir is not None:
            raise CrawlError(no_inspection_message(configuration))
        return select_crawl(self.settings, configuration, spider)


def _in_states(crawl: StoredCrawl) -> list[tuple[str, str]]:
    """Return the entries that operators have added without a file, which are a part of the list that is applied."""
    # Scrapy imports all commands at each start.
    from webcrawl.features.steering.store import SteeringStore

    excluded = crawl.read_store(SteeringStore, SteeringStore.excluded)
    return [(exclusion.entry, exclusion.reason) for exclusion in excluded]


def _folders(configuration: Configuration, opts: argparse.Namespace) -> list[Path]:
    """Return the folders of the fetch logs."""
    if opts.jobdir:
        return folders_with_files(map(Path, opts.jobdir))
    return [] if configuration.jobdir is None else folders_with_files([configuration.jobdir])


def _wrong_words(args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
    if len(args) > 1:
        yield Problem(args[1], "is one argument too many: give one domain or URL prefix")
    if args:
        try:
            Exclusion.read(args[0])
        except ExclusionError as error:
            yield Problem("", str(error))
    elif opts.reason or opts.dry_run:
        yield Problem(
            "--reason" if opts.reason else "--dry-run", "is for a domain or URL prefix, which is missing"
        )
