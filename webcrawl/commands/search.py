"""``scrapy search WORDS [JOBDIR...]``: full-text search in the pages of a crawl, running or not.

Exit status 0: done, even if no page matches. 2: the query, an option or a setting is wrong, or there is no index; a
line on standard error says why.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.command import ProjectCommand
from webcrawl.config import Configuration
from webcrawl.crawl.jobdir import folders_with_files
from webcrawl.errors import CrawlError, Problem
from webcrawl.reports.text import second
from webcrawl.search import engine as query
from webcrawl.terminal import tell
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from webcrawl.search.engine import Piece, SearchResults

LIMIT = 10
LIMIT_MOST = 1_000
_SPACES = re.compile(r"\s+")
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


class Command(ProjectCommand):
    free_words = 1
    expected = (CrawlError, query.QueryError)
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return '[options] "WORDS" [JOBDIR...]'

    def short_desc(self) -> str:
        return "Find pages of a crawl by words"

    def long_desc(self) -> str:
        return (
            'Search the titles and texts of pages. A page must contain all words; "two words" in quotes must be '
            "adjacent, -word must not occur, and one OR two are alternatives. The crawl keeps an index if "
            "webcrawl.search.store.SearchIndex is in ARCHIVE_SINKS. Give the JOBDIRs of all its workers, or -s "
            "JOBDIR=DIR; the crawl may be running."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--site", metavar="DOMAIN", help="only pages of this host and its subdomains")
        add("--language", metavar="CODE", help="only pages in this language: en, de, ...")
        add(
            "--limit",
            type=int,
            default=LIMIT,
            metavar="N",
            help="maximum number of results (default: %(default)s)",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        return _wrong(args, opts)

    def lines(self, error: Exception) -> Iterable[object]:
        return [f"the query {error}"] if isinstance(error, query.QueryError) else super().lines(error)

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        # Scrapy imports all commands at each start.
        from webcrawl.search.finding import IndexSettings, search

        settings = self.configuration
        index = IndexSettings(settings.search_engine, settings.search_url, settings.search_stemmer)
        parsed = query.read(args[0], site=opts.site, language=opts.language)
        results = search(_folders(args[1:], settings), index, parsed, opts.limit)
        tell(as_json(results) if opts.json else as_text(results, marked=sys.stdout.isatty()))


def _wrong(args: Sequence[str], opts: argparse.Namespace) -> Iterator[Problem]:
    if not args:
        yield Problem("", 'nothing to search for; give scrapy search "two words"')
    if not 1 <= opts.limit <= LIMIT_MOST:
        yield Problem("--limit", f"must be a whole number from 1 to {LIMIT_MOST}, not {opts.limit}")


def _folders(named: Sequence[str], configuration: Configuration) -> list[Path]:
    jobdir = configuration.jobdir
    return folders_with_files([Path(path) for path in named] or ([] if jobdir is None else [jobdir]))


def as_json(results: SearchResults) -> str:
    """Return ``count`` and ``hits``, each with its snippet as pairs of text and whether it is a match."""
    hits = [
        {
            "url": hit.url,
            "title": hit.title,
            "language": hit.language,
            "score": round(hit.score, 4),
            "fetched": hit.at,
            "snippet": hit.snippet,
        }
        for hit in results.hits
    ]
    return json.dumps({"count": results.count, "hits": hits})


def as_text(results: SearchResults, *, marked: bool) -> str:
    """Return a block for each page: its title, its URL, when it was fetched, and the snippet of its text."""
    if not results.hits:
        return "Nothing was found."
    blocks = []
    for number, hit in enumerate(results.hits, start=1):
        title = printable(_SPACES.sub(" ", hit.title).strip()) or "(no title)"
        about = "  ".join([second(hit.at), *([printable(hit.language)] if hit.language else [])])
        blocks.append(
            f"{number}. {BOLD + title + PLAIN if marked else title}\n"
            f"   {printable(hit.url, None)}\n   {about}\n   {_snippet(hit.snippet, marked=marked)}\n"
        )
    more = "" if results.count == len(results.hits) else f"; the best {len(results.hits)} are shown"
    pages = "1 page" if results.count == 1 else f"{results.count:,} pages"
    return "\n".join([*blocks, f"{pages}{more}"])


def _snippet(pieces: Iterable[Piece], *, marked: bool) -> str:
    """Return the snippet in one line, without characters of the page that could control a terminal."""
    shown = []
    for text, wanted in pieces:
        words = printable(_SPACES.sub(" ", text), None)
        shown.append(BOLD + words + PLAIN if marked and wanted else words)
    return "".join(shown).strip()
