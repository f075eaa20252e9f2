"""``scrapy crawls [FOLDER] [--remove NAME]``: list the crawls of a folder, and remove those that are not needed.

Exit status 0: done. 1: not confirmed, nothing was removed. 2: an argument or a setting is wrong, a crawl is running,
or a folder cannot be read or removed.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.command import ProjectCommand
from webcrawl.config.vocabulary import nearest
from webcrawl.errors import CrawlError, Problem
from webcrawl.reports import text
from webcrawl.terminal import table, tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.control.folders import CrawlFolder

_HEAD = ("name", "spider", "state", "begun (UTC)", "pages", "queued", "on disk", "resumable")
_LEFT = 4
"""The number of left-aligned columns."""


class Command(ProjectCommand):
    expected = (CrawlError, OSError)
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "[FOLDER] [--remove NAME ...] [options]"

    def short_desc(self) -> str:
        return "List crawls with their states and sizes, or remove them"

    def long_desc(self) -> str:
        return (
            "List the crawls in FOLDER (crawls/ without it): name, spider, state, when it began, pages, size on "
            "disk, and whether the same command would resume it. A killed crawl has no end on record. "
            "--remove deletes the whole folder of a crawl that is not running, with everything it has fetched."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add(
            "--remove", metavar="NAME", action="append", default=[], help="remove this crawl; may be repeated"
        )
        add("--yes", action="store_true", help="--remove: do not ask")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        # Scrapy imports all commands at each start.
        from webcrawl.crawl.jobdir import CRAWLS

        self._root = Path(args[0]) if args else CRAWLS
        if args and not self._root.is_dir():
            if args[0] in ("remove", "rm", "delete"):
                hint = f"; a crawl is removed with --remove {(args[1:] or ['NAME'])[0]}"
                args = args[:1]
            else:
                of_name = CRAWLS / args[0]
                hint = f"; scrapy status {of_name} shows a crawl" if of_name.is_dir() else ""
            yield Problem(args[0], f"is no folder{hint}")
        if len(args) > 1:
            yield Problem(args[1], "is one argument too many; give one folder of crawls")
        if opts.yes and not opts.remove:
            yield Problem("--yes", "is for --remove NAME")
        if opts.json and opts.remove:
            yield Problem("--json", "is for the list, not for --remove")
        if opts.remove and not opts.yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
            yield Problem("--remove", "needs --yes: there is no terminal on which to ask")

    def answer(self, args: list[str], opts: argparse.Namespace) -> int:
        from webcrawl.control import folders

        crawls = folders.crawls_in(self._root) if self._root.is_dir() else []
        if opts.remove:
            return self._remove(crawls, opts.remove, ask=not opts.yes)
        if opts.json:
            tell(json.dumps({"folder": str(self._root), "crawls": [_as_object(crawl) for crawl in crawls]}))
        elif crawls:
            tell("\n".join(table([_HEAD, *map(_row, crawls)], _LEFT)))
        else:
            tell(f"There is no crawl in {self._root}/.")
        return 0

    def _remove(self, crawls: Sequence[CrawlFolder], names: Sequence[str], *, ask: bool) -> int:
        """Remove crawls by name, all or none if a name is wrong."""
        from webcrawl.control import folders

        by_name = {crawl.name: crawl for crawl in crawls}
        # A shell completes names to paths.
        chosen = [by_name.get(name.rstrip("/").removeprefix(f"{self._root}/")) for name in names]
        for name, crawl in zip(names, chosen, strict=True):
            if crawl is None:
                meant = nearest(name, list(by_name))
                hint = f"; did you mean {meant}?" if meant else ""
                raise CrawlError(f"--remove: {name} is no crawl in {self._root}/{hint}")
            if crawl.state.is_live:
                raise CrawlError(f"--remove: {crawl.path} is running; stop it first")
        for crawl in chosen:
            assert crawl is not None
            if ask and not _confirmed(crawl):
                sys.stderr.write(f"scrapy crawls: {crawl.path} was not removed\n")
                return 1
            folders.remove(crawl.path)
            tell(f"{crawl.path} is removed, {text.size(crawl.size_bytes)}")
        return 0


def _confirmed(crawl: CrawlFolder) -> bool:
    queued = f", {text.things(crawl.queued, 'URL')} queued" if crawl.queued else ""
    sys.stderr.write(f"Remove {crawl.path} ({text.size(crawl.size_bytes)}{queued}) for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _row(crawl: CrawlFolder) -> tuple[str, ...]:
    pages = _pages(crawl)
    return (
        crawl.name,
        crawl.spider or "?",
        _state(crawl),
        "" if crawl.begun_at is None else text.second(crawl.begun_at),
        "" if pages is None else text.count(pages),
        "" if crawl.queued is None else text.count(crawl.queued),
        text.size(crawl.size_bytes),
        _resumable(crawl),
    )


def _pages(crawl: CrawlFolder) -> int | None:
    from webcrawl.control.folders import rates
    from webcrawl.crawl.jobdir import worker_folders

    with suppress(OSError):
        if workers := worker_folders(crawl.path):
            # The progress logs are theirs.
            counted = [figures.pages for one in workers if (figures := rates(one)) is not None]
            return sum(counted) if counted else None
        figures = rates(crawl.path, crawl.status)
        return None if figures is None else figures.pages
    return None


def _state(crawl: CrawlFolder) -> str:
    from webcrawl.reports.standing import CrawlState
    from webcrawl.reports.summary import state_in_words

    if crawl.state is CrawlState.NOT_RUNNING and crawl.unreadable is not None:
        return "unknown"
    return state_in_words(crawl.state, crawl.reason)


def _resumable(crawl: CrawlFolder) -> str:
    if crawl.unreadable is not None:
        return "unreadable"
    if crawl.is_resumable is None:
        return "" if crawl.shared is None else "with its crawl"
    return "yes" if crawl.is_resumable else "no"


def _as_object(crawl: CrawlFolder) -> dict[str, Any]:
    from webcrawl.control import folders

    return dict(folders.as_object(crawl)) | {"pages": _pages(crawl)}
