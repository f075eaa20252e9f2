"""What ``scrapy export`` does: the logs and the books on one side, the forms on the other."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.archive.errors import ArchiveError
from webcrawl.choices import Choices
from webcrawl.commands import output
from webcrawl.commands.fetch_logs import FetchLogs, folders_of
from webcrawl.crawls.asked import crawl_asked
from webcrawl.crawls.local import FRONTIER, LocalCrawl
from webcrawl.errors import CrawlError
from webcrawl.export import parquet, tree_forms, urls
from webcrawl.export.seeds import seeds_of
from webcrawl.export.tree import tree_of
from webcrawl.hosts.groups import GroupsError
from webcrawl.linklog import segments
from webcrawl.linklog.reading import LinkLogs
from webcrawl.reports import units
from webcrawl.scope.patterns import PatternsError
from webcrawl.urls.host_rules import HostRulesError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from scrapy.settings import BaseSettings

    from webcrawl.configuration import Configuration
    from webcrawl.crawls.shared import SharedCrawl
    from webcrawl.frontier.backends.books import Books

WRONG = (
    CrawlError,
    ArchiveError,
    parquet.ParquetMissingError,
    OSError,
    PatternsError,
    HostRulesError,
    GroupsError,
)
"""What may be wrong; the message names it."""

_HTTP = ("http://", "https://")
_TREES = {"text": tree_forms.as_text, "json": tree_forms.as_json, "html": tree_forms.as_html}
_LISTS = {"text": urls.as_text, "json": urls.as_json}


class Export:
    """One thing to be written."""

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
        found, self.problems = folders_of(folders, configuration) if needed else ([], [])
        self._logs = FetchLogs(found, configuration)

    def carry_out(self, what: str) -> None:
        """Write it. Raises what ``WRONG`` names."""
        opts = self._opts
        match what:
            case "tree":
                depth, most = (
                    2 if opts.depth is None else opts.depth,
                    50 if opts.most is None else opts.most,
                )
                tree = tree_of(self._logs.lines(), depth=depth, most=most)
                output.write(_TREES[opts.format or "text"](tree, self._title()), opts.output)
            case "seeds":
                output.write(seeds_of(self._logs.lines(), by_domain=opts.by == "domain"), opts.output)
            case "parquet":
                rows = parquet.write(self._logs.lines(), opts.output)
                _remark(f"{units.things(rows, 'row')} in {opts.output}")
            case _:
                self._list(opts.state)

    def _title(self) -> str:
        return "Sites of " + ", ".join(folder.resolve().name for folder in self._logs.folders)

    def _list(self, state: str) -> None:
        listed = _LISTS[self._opts.format or "text"]
        with self._books() as books:
            if state == "queued":
                if books is None:
                    raise CrawlError("which crawl? give its JOBDIR, or -s REDIS_URL=... for one on Redis")
                output.write(listed(urls.queued(books.queued())), self._opts.output)
                return
            if state == "refused" and (books is None or not books.states_kept):
                raise CrawlError("which URLs were refused is not kept: there are no books with states")
            counted = _Counted(self._fetched(books, state), state)
            output.write(listed(counted), self._opts.output)
        self._tell_missing(state, counted.number)

    def _fetched(self, books: Books | None, state: str) -> Iterator[urls.UrlState]:
        choices = Choices(self._configuration)
        fetched = urls.FetchedUrls(choices.compared, choices.politeness_key().of_url)
        for line in self._logs.lines():
            fetched.add(line)
        if books is not None and state == "refused":
            self._add_refused(fetched, books)
        return fetched.states(books)

    def _add_refused(self, fetched: urls.FetchedUrls, books: Books) -> None:
        """Nothing was asked of most of them, so that their texts are where they were found."""
        sought = urls.Marks()
        for some in books.refused():
            sought.add(some)
        links = LinkLogs([folder for folder in self._logs.folders if segments.times(folder)])
        for page in links.lines():
            found = [(link.to, link.canonical) for link in page.links if link.to.startswith(_HTTP)]
            fetched.add_links(page.page, found, sought)

    def _books(self) -> AbstractContextManager[Books | None]:
        return nullcontext() if self._crawl is None else self._crawl.books()

    def _tell_missing(self, state: str, listed: int) -> None:
        """The books have URLs of which only a fingerprint is left."""
        if self._crawl is None:
            return
        missing = getattr(self._crawl.standing().counts, state) - listed
        if missing > 0:
            _remark(
                f"{units.things(missing, 'URL')} more {'is' if missing == 1 else 'are'} {state}, of which the "
                "frontier keeps a fingerprint and these logs have no line and no link"
            )


class _Counted:
    """Those in one state, and how many there were."""

    def __init__(self, states: Iterable[urls.UrlState], state: str) -> None:
        self._states = states
        self._state = state
        self.number = 0

    def __iter__(self) -> Iterator[urls.UrlState]:
        for found in self._states:
            if found.state == self._state:
                self.number += 1
                yield found


def _crawl(
    settings: BaseSettings, configuration: Configuration, folders: Sequence[str], spider: str
) -> SharedCrawl | LocalCrawl | None:
    """Whose books are meant: those on Redis, or of the only JOBDIR that was given."""
    if configuration.frontier_backend != "sqlite" or not folders:
        return crawl_asked(settings, configuration, spider)
    [folder, *others] = [Path(folder) for folder in folders]
    return LocalCrawl(folder) if not others and (folder / FRONTIER).exists() else None


def _remark(sentence: str) -> None:
    sys.stderr.write(f"scrapy export: {sentence}\n")
