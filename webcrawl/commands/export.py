"""``scrapy export tree|urls|seeds|parquet [JOBDIR...]``: export the results of a crawl in other formats.

Exit status 0: written. 2: an argument or a setting is wrong, a log cannot be read, or the file cannot be written.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl import parquet
from webcrawl import terminal as output
from webcrawl.archive.disk import ArchiveError
from webcrawl.command import ProjectCommand, number
from webcrawl.commands.fetch_logs import FetchLogs, check_folders
from webcrawl.config import Configuration
from webcrawl.config.vocabulary import hint
from webcrawl.control.selection import apply_spider_settings, select_crawl, select_crawl_in
from webcrawl.crawl.rules import CrawlRules
from webcrawl.errors import CrawlError, Problem
from webcrawl.export import tree as tree_forms
from webcrawl.export import urls
from webcrawl.export.tree import build_tree
from webcrawl.export.urls import select_seeds
from webcrawl.links import segments
from webcrawl.links.reading import LinkLogs
from webcrawl.politeness.groups import GroupsError
from webcrawl.reports import text
from webcrawl.reports.usage import is_content
from webcrawl.robots.purposes import PURPOSES
from webcrawl.scope.patterns import PatternsError
from webcrawl.storage import technology_in
from webcrawl.terminal import complain
from webcrawl.urls.host_rules import HostRulesError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from scrapy.settings import BaseSettings

    from webcrawl.control.stored import StoredCrawl
    from webcrawl.storage.inspection import UrlStateReader


WRONG = (
    CrawlError,
    ArchiveError,
    parquet.ParquetMissingError,
    OSError,
    PatternsError,
    HostRulesError,
    GroupsError,
)
"""Expected errors; their messages name the cause."""

_HTTP = ("http://", "https://")
_TREES = {"text": tree_forms.as_text, "json": tree_forms.as_json, "html": tree_forms.as_html}
_LISTS = {"text": urls.as_text, "json": urls.as_json}


class Export:
    """One export."""

    def __init__(
        self,
        settings: BaseSettings,
        configuration: Configuration,
        folders: Sequence[str],
        opts: argparse.Namespace,
    ) -> None:
        self._opts = opts
        self._configuration = configuration
        self._crawl = _crawl(settings, configuration, folders, opts.spider)
        needed = opts.state != "queued" or self._crawl is None
        paths, self.problems = check_folders(folders, configuration) if needed else ([], [])
        self._logs = FetchLogs(paths, configuration)
        refuses = configuration.usage_unknown == "refuse"
        # Scrapy imports all commands at each start.
        from webcrawl.export.usable import UsablePages

        self._usable = UsablePages(opts.usage or (), refuses_unknown=refuses)

    def carry_out(self, what: str) -> None:
        """Write the export. Raises the errors in ``WRONG``."""
        opts = self._opts
        match what:
            case "tree":
                depth, most = (
                    2 if opts.depth is None else opts.depth,
                    50 if opts.most is None else opts.most,
                )
                tree = build_tree(self._lines(), depth=depth, most=most)
                output.write(_TREES[opts.format or "text"](tree, self._title()), opts.output)
            case "seeds":
                output.write(select_seeds(self._lines(), by_domain=opts.by == "domain"), opts.output)
            case "parquet":
                rows = parquet.write(self._lines(), opts.output)
                _remark(f"{text.things(rows, 'row')} in {opts.output}")
            case _:
                self._list(opts.state)
        if self._usable.left_out:
            _remark(f"{text.things(self._usable.left_out, 'page')} left out, which may not be used")

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the logs that may be exported."""
        return self._usable.among(self._logs.lines())

    def _title(self) -> str:
        return "Sites of " + ", ".join(folder.resolve().name for folder in self._logs.folders)

    def _list(self, state: str) -> None:
        listed = _LISTS[self._opts.format or "text"]
        with self._url_states() as reader:
            if state == "queued":
                if reader is None:
                    raise CrawlError("which crawl? give its JOBDIR, or -s REDIS_URL=... for one on Redis")
                output.write(listed(urls.queued(reader)), self._opts.output)
                return
            if state == "refused" and (reader is None or not reader.states_kept):
                raise CrawlError("refused URLs are unknown: the states of URLs are not stored")
            fetched = self._fetched(reader, state)
            counted = _Counted(fetched.states(reader), state)
            output.write(listed(counted), self._opts.output)
        self._usable.left_out += fetched.left_out
        self._tell_missing(state, counted.number + fetched.left_out)

    def _fetched(self, reader: UrlStateReader | None, state: str) -> urls.FetchedUrls:
        choices = CrawlRules(self._configuration)
        admits = self._admits if state == "done" else _admits_all
        fetched = urls.FetchedUrls(choices.compared, choices.politeness_key().of_url, admits)
        for line in self._logs.lines():
            fetched.add(line)
        if reader is not None and state == "refused":
            self._add_refused(fetched, reader)
        return fetched

    def _admits(self, line: Mapping[str, Any]) -> bool:
        # Redirects and sitemaps have no use of their own.
        return line.get("kind") != "page" or not is_content(line.get("status")) or self._usable.admits(line)

    def _add_refused(self, fetched: urls.FetchedUrls, reader: UrlStateReader) -> None:
        """Add the texts of refused URLs from the link logs: most of them were never requested, so no fetch log has
        them.
        """
        sought = urls.FingerprintFilter()
        for some in reader.refused():
            sought.add(some)
        links = LinkLogs([folder for folder in self._logs.folders if segments.times(folder)])
        for page in links.lines():
            page_links = [(link.to, link.canonical) for link in page.links if link.to.startswith(_HTTP)]
            fetched.add_links(page.page, page_links, sought)

    def _url_states(self) -> AbstractContextManager[UrlStateReader | None]:
        return nullcontext() if self._crawl is None else self._crawl.url_states()

    def _tell_missing(self, state: str, listed: int) -> None:
        """Report the URLs of which the crawl's state has only a fingerprint."""
        if self._crawl is None:
            return
        missing = getattr(self._crawl.status().counts, state) - listed
        if missing > 0:
            are = "is" if missing == 1 else "are"
            _remark(
                f"{text.things(missing, 'URL')} more {are} {state}, of which the frontier keeps a fingerprint and "
                "these logs have no line and no link"
            )


def _admits_all(line: Mapping[str, Any]) -> bool:
    return True


class _Counted:
    """The URLs in one state, counted while they are iterated over."""

    def __init__(self, states: Iterable[urls.UrlState], state: str) -> None:
        self._states = states
        self._state = state
        self.number = 0

    def __iter__(self) -> Iterator[urls.UrlState]:
        for state in self._states:
            if state.record.state.name.lower() == self._state:
                self.number += 1
                yield state


def _crawl(
    settings: BaseSettings, configuration: Configuration, folders: Sequence[str], spider: str
) -> StoredCrawl | None:
    """Return the crawl whose URL states are read: on Redis, or of the only JOBDIR that was given."""
    if configuration.storage.frontier_file is None or not folders:
        return select_crawl(settings, configuration, spider)
    [folder, *others] = [Path(folder) for folder in folders]
    technology = None if others else technology_in(folder)
    return None if technology is None else select_crawl_in(folder, technology)


def _remark(sentence: str) -> None:
    sys.stderr.write(f"scrapy export: {sentence}\n")


STATES = ("done", "failed", "refused", "queued")
FORMS = {"tree": ("text", "json", "html"), "urls": ("text", "json"), "seeds": ("text",), "parquet": ()}
_ONLY = {"state": "urls", "depth": "tree", "most": "tree", "by": "seeds"}


class Command(ProjectCommand):
    expected = WRONG
    spider_help = "spider of the crawl on Redis"

    def syntax(self) -> str:
        return "<tree|urls|seeds|parquet> [JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "Write the sites of a crawl, its URLs by state, seeds for the next one, or its log as Parquet"

    def long_desc(self) -> str:
        return (
            "tree: all sites with counts and bytes, down to folders. urls: URLs by state. seeds: the best page "
            "of each site to start from. parquet: the fetch log, one column per field. The input is the fetch "
            "logs of all JOBDIRs, compressed parts included, also while the crawl runs; without JOBDIR, that of "
            "the settings is used. The states of URLs are read from the frontier: of the JOBDIR, or of -s "
            "REDIS_URL=..."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("-o", "--output", metavar="FILE", type=Path, help="file to write (default: standard output)")
        add("--format", metavar="FORM", help="text, json, or html for a tree (default: text)")
        add("--state", metavar="STATE", help="urls: done, failed, refused or queued")
        add(
            "--depth",
            type=_whole,
            metavar="N",
            help="tree: depth in path segments (2)",
        )
        add(
            "--most",
            type=_whole,
            metavar="N",
            help="tree: maximum number of children of each site; 0: all (50)",
        )
        add(
            "--usage",
            metavar="PURPOSE[,PURPOSE]",
            type=_purposes,
            help=f"only pages that may be used for these of {', '.join(PURPOSES)}; -s USAGE_UNKNOWN=refuse: only "
            "those that are said to",
        )
        add("--by", metavar="SITE", help="seeds: one for each host or domain (host)")

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        assert self.settings is not None
        if not args:
            yield Problem("", "no command; give tree, urls, seeds or parquet")
            return
        yield from _wrong_words(args[0], opts)
        apply_spider_settings(opts.spider, self.settings)

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        assert self.settings is not None
        export = Export(self.settings, self.configuration, args[1:], opts)
        if export.problems:
            return complain(self.name, export.problems)
        export.carry_out(args[0])
        return 0


def _wrong_words(what: str, opts: argparse.Namespace) -> Iterator[Problem]:
    if what not in FORMS:
        yield Problem(what, f"cannot be exported; {hint(what, FORMS)}")
        return
    for option, owner in _ONLY.items():
        if getattr(opts, option) is not None and what != owner:
            yield Problem(f"--{option}", f"is for {owner}, not for {what}")
    if opts.format is not None and opts.format not in FORMS[what]:
        if FORMS[what]:
            yield Problem("--format", f"{what} takes {' or '.join(FORMS[what])}, not {opts.format}")
        else:
            yield Problem("--format", f"{what} takes no --format: it is one itself, not {opts.format}")
    if what == "urls" and opts.usage and opts.state in STATES and opts.state != "done":
        yield Problem("--usage", f"is for pages that were fetched: --state done, not {opts.state}")
    if what == "urls" and opts.state not in STATES:
        yield Problem("--state", _wrong_state(opts.state))
    if what == "seeds" and opts.by not in (None, "host", "domain"):
        yield Problem("--by", f"must be host or domain, not {opts.by}")
    if what == "parquet" and opts.output is None:
        yield Problem("--output", "is needed: Parquet is written to a file")


def _purposes(value: str) -> tuple[str, ...]:
    purposes = tuple(word.strip() for word in value.split(",") if word.strip())
    if not purposes or not set(purposes) <= set(PURPOSES):
        raise argparse.ArgumentTypeError(f"must be some of {', '.join(PURPOSES)}, not {value}")
    return purposes


_whole = number(int, 0, 1_000_000, "a number from 0 to 1,000,000")


def _wrong_state(value: str | None) -> str:
    states = ", ".join(STATES)
    return f"must be one of {states}, not {value}" if value else f"is missing; give one of {states}"
