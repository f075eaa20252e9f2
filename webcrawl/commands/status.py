"""``scrapy status [JOBDIR|REDIS_URL]``: how a crawl stands, whether it runs, has ended, or was killed.

Exit status 0: done. 2: an argument or a setting is wrong, or there is no such crawl; a line on standard error says
why.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.command import ProjectCommand
from webcrawl.commands.changes import changes_as_object, changes_as_text, read_changes
from webcrawl.commands.frontier import read_end, tell_status
from webcrawl.control.selection import apply_spider_settings, require_crawl, select_crawl_in
from webcrawl.errors import CrawlError, Problem
from webcrawl.reports import text
from webcrawl.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from webcrawl.control.folders import CrawlFolder, Rates
    from webcrawl.control.stored import StoredCrawl
    from webcrawl.reports.limiting import Bottleneck, Estimate


class Command(ProjectCommand):
    expected = (CrawlError, OSError)
    spider_help = "spider of the crawl on Redis"
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "[JOBDIR | REDIS_URL] [options]"

    def short_desc(self) -> str:
        return "Show the state of a crawl: counts, rates and the last errors"

    def long_desc(self) -> str:
        return (
            "Show the state of a crawl that runs, has ended, or was killed: URLs and hosts, pages with their rates, "
            "size on disk, the last errors with their URLs, and for a crawl on Redis each of its workers. Without an "
            "argument, the crawl of the settings is shown."
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        assert self.settings is not None
        self._folder: Path | None = None
        if len(args) > 1:
            yield Problem(args[1], "is one argument too many; give one JOBDIR or REDIS_URL")
        if args and "://" in args[0]:
            self.settings.set("REDIS_URL", args[0], priority="cmdline")
        elif args:
            self._folder = Path(args[0])
        apply_spider_settings(opts.spider, self.settings)

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        folder = self._folder
        if folder is None and not self.configuration.storage.is_shared:
            folder = self.configuration.jobdir
        crawl = None if folder is None else _of_workers(folder)
        if folder is not None and crawl is None:
            settings = self.settings
            tell(
                _folder_as_json(folder, settings)
                if opts.json
                else "\n".join(_folder_as_text(folder, settings))
            )
            return
        crawl = crawl or require_crawl(self.settings, opts.spider)
        tell_status(crawl, self.settings, as_json=opts.json)
        if folder is not None and not opts.json:
            tell("\n".join(_rest_of_workers(folder)))


def _rest_of_workers(folder: Path) -> Iterator[str]:
    """Yield what the folder of several workers has beside their shared state."""
    from webcrawl.control import folders
    from webcrawl.reports.summary import ending_in_words

    crawl = folders.look(folder)
    yield ""
    if not crawl.state.is_live:
        at = "" if crawl.ended_at is None else f", {text.second(crawl.ended_at)} UTC"
        yield f"last run  {ending_in_words(crawl.state, crawl.reason)}{at}"
    yield f"on disk   {text.size(crawl.size_bytes)}"
    yield from _last_errors(folder)


def _of_workers(folder: Path) -> StoredCrawl | None:
    """Return the crawl of several workers in a folder; None for another one."""
    from webcrawl.storage import technology_in

    technology = technology_in(folder)
    return None if technology is None or technology.keeper is None else select_crawl_in(folder, technology)


def _read(folder: Path) -> CrawlFolder:
    # Scrapy imports all commands at each start.
    from webcrawl.control import folders

    if not folder.is_dir():
        raise CrawlError(f"{folder} is no folder")
    if not folders.is_crawl(folder):
        raise CrawlError(f"{folder} is no folder of a crawl")
    crawl_folder = folders.look(folder)
    if crawl_folder.unreadable is not None:
        raise CrawlError(crawl_folder.unreadable)
    return crawl_folder


def _folder_as_text(folder: Path, settings: BaseSettings) -> Iterator[str]:
    from webcrawl.control import folders
    from webcrawl.crawl.jobdir import Jobdir
    from webcrawl.reports.summary import ending_in_words

    crawl = _read(folder)
    state = ending_in_words(crawl.state, crawl.reason)
    if crawl.state.is_live:
        state += f" ({Jobdir(folder).holder() or 'its process has just ended'})"
    elif crawl.ended_at is not None:
        state += f", {text.second(crawl.ended_at)} UTC"
    changes = read_changes(_stored(folder))
    if changes is not None and changes.is_paused:
        state += ", paused"
    yield f"{folder}: {state}"
    yield ""
    yield f"spider   {crawl.spider or 'unknown'}"
    if crawl.begun_at is not None:
        yield f"begun    {text.second(crawl.begun_at)} UTC"
    if (status := crawl.status) is not None:
        counts = status.counts
        yield (
            f"URLs     {text.count(counts.queued)} queued, {text.count(counts.done)} done, "
            f"{text.count(counts.failed)} failed, {text.count(counts.refused)} refused"
        )
        yield (
            f"hosts    {text.count(counts.hosts)} known, {text.count(status.active_hosts)} active, "
            f"{text.count(counts.parked_hosts)} parked, {text.count(counts.given_up_hosts)} given up"
        )
    if (figures := folders.rates(folder, crawl.status)) is not None:
        yield f"pages    {_pages(figures, is_running=crawl.state.is_live)}"
    if crawl.state.is_live and figures is not None and figures.memory:
        yield f"memory   {_memory(figures.memory)}"
    if (numbers := folders.read_numbers(folder, crawl.status)) is not None:
        yield f"errors   {text.count(numbers.pop('errors'))}: requests without a response"
        yield f"status   {', '.join(f'{name} {text.count(number)}' for name, number in numbers.items())}"
    yield from _prospects_as_text(folder, settings)
    yield f"on disk  {text.size(crawl.size_bytes)}"
    yield from _future(crawl)
    yield from changes_as_text(changes)
    yield from _last_errors(folder)


def _future(crawl: CrawlFolder) -> Iterator[str]:
    """Yield a line on where or how a crawl goes on."""
    if crawl.elsewhere is not None:
        yield f"moved    {crawl.elsewhere}"
    elif crawl.shared is not None:
        yield f"worker   of {crawl.shared}: scrapy status REDIS_URL shows the whole crawl"
    elif crawl.is_resumable:
        yield "resume   the command that began it resumes it"


def _prospects_as_text(folder: Path, settings: BaseSettings) -> Iterator[str]:
    for name, known in zip(("limit", "ends"), _prospects(folder, settings), strict=True):
        if known is not None:
            yield f"{name:9}{known.sentence}"


def _prospects(folder: Path, settings: BaseSettings) -> tuple[Bottleneck | None, Estimate | None]:
    """Return what limits a crawl that runs, by the figures that its process published last, and when it ends; None
    for what is not known."""
    from webcrawl.control.remaining import find_verdict

    stored = _stored(folder)
    if stored is None:
        return None, None
    status = stored.status()
    return find_verdict(status), read_end(stored, status, settings)


def _stored(folder: Path) -> StoredCrawl | None:
    """Return the crawl of one process in a folder; None if the folder has no storage."""
    from webcrawl.storage import technology_in

    technology = technology_in(folder)
    return None if technology is None else select_crawl_in(folder, technology)


def _last_errors(folder: Path) -> Iterator[str]:
    from webcrawl.control import folders

    if errors := folders.last_errors(folder):
        yield ""
        yield "last errors"
        yield from map(_error, errors)


def _error(line: str) -> str:
    """Return time, name and URL of a line of errors.log, the time as in the other lines."""
    at, _, rest = line.partition(" ")
    at = at.replace("T", " ", 1).replace("+0000", " UTC")
    return "  ".join(["", at, *rest.split(" ", 2)[:2]])


def _pages(figures: Rates, *, is_running: bool) -> str:
    parts = [f"{text.count(figures.pages)}, {text.size(figures.bytes)} received"]
    if is_running and figures.per_second is not None:
        parts.append(f"{text.rate(figures.per_second)} of late")
    if figures.mean_per_second is not None:
        parts.append(f"{text.rate(figures.mean_per_second)} mean of the last run")
    return ", ".join(parts)


def _memory(used: dict[str, int]) -> str:
    """Return the resident memory of all processes, and of each."""
    parts = ", ".join(f"{name} {text.size(size)}" for name, size in sorted(used.items()))
    return f"{text.size(sum(used.values()))} resident: {parts}"


def _folder_as_json(folder: Path, settings: BaseSettings) -> str:
    from webcrawl.control import folders

    crawl = _read(folder)
    figures = folders.rates(folder, crawl.status)
    fields: dict[str, Any] = dict(folders.as_object(crawl))
    if (status := crawl.status) is not None:
        counts = status.counts
        fields["urls"] = {name: getattr(counts, name) for name in ("queued", "done", "failed", "refused")}
        fields["hosts"] = {
            "known": counts.hosts,
            "active": status.active_hosts,
            "parked": counts.parked_hosts,
            "given_up": counts.given_up_hosts,
        }
    changes = read_changes(_stored(folder))
    fields["paused"] = changes is not None and changes.is_paused
    fields["changes"] = changes_as_object(changes)
    if figures is not None:
        fields["pages"] = figures.pages
        fields["bytes"] = figures.bytes
        fields["pages_per_second"] = figures.per_second
        fields["pages_per_second_mean"] = figures.mean_per_second
        fields["memory"] = figures.memory if crawl.state.is_live else {}
    if (numbers := folders.read_numbers(folder, crawl.status)) is not None:
        fields["errors"] = numbers.pop("errors")
        fields["statuses"] = numbers
    verdict, ends = _prospects(folder, settings)
    fields["limit"] = None if verdict is None else verdict.sentence
    fields["ends"] = None if ends is None else ends.as_object()
    fields["last_errors"] = folders.errors_as_objects(folders.last_errors(folder))
    return json.dumps(fields)
