"""``scrapy links out|in|graph|export``: query the link logs of a crawl.

``graph`` ranks the pages and can write the graph to a file. Exit status 0: done, even if there are no links. 2: an
argument or a setting is wrong, a log cannot be read, a library is missing, or the file cannot be written.
"""

from __future__ import annotations

import argparse
import heapq
import json
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl import terminal as output
from webcrawl.archive.disk import ArchiveError
from webcrawl.command import ProjectCommand, number
from webcrawl.config import Configuration
from webcrawl.config.vocabulary import hint
from webcrawl.crawl.jobdir import folders_with_files
from webcrawl.errors import CrawlError, Problem
from webcrawl.links import graph as forms
from webcrawl.links import graph as parquet
from webcrawl.links import segments
from webcrawl.links.graph import Choice, GraphLibraryMissingError, host_graph, page_graph, pagerank
from webcrawl.links.line import PAGE
from webcrawl.links.reading import LinkLogs
from webcrawl.parquet import ParquetMissingError
from webcrawl.reports import text
from webcrawl.reports import text as units
from webcrawl.reports.text import moment
from webcrawl.urls.canonical import SWITCHES, CanonicalRules, canonical
from webcrawl.urls.host_rules import HostRulesError, load_host_rules
from webcrawl.urls.lists import printable
from webcrawl.urls.resolve import resolve, resolve_other_scheme
from webcrawl.urls.seeds import BadSeed, read_seed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webcrawl.links.graph import Graph
    from webcrawl.links.line import Linking, LoggedLink


def write_graph(graph: Graph, ranks: Sequence[float] | None, path: Path) -> None:
    """Write the graph in the format of the name's suffix.

    :raises ParquetMissingError: :raises OSError: it cannot be written
    """
    match path.suffix:
        case ".parquet":
            parquet.write_edges(graph, path)
        case ".graphml":
            output.write(forms.as_graphml(graph, ranks), path)
        case ".net":
            output.write(forms.as_pajek(graph), path)
        case _:
            output.write(forms.as_tsv(graph), path)


def ranking(
    graph: Graph, ranks: Sequence[float] | None, top: int, what: str, *, as_json: bool
) -> Iterator[str]:
    """Yield the first ``top`` vertices by rank, or by in-degree if there are no ranks; all of them with 0."""
    degrees, links = graph.in_degrees(), graph.in_links()
    order: Sequence[float] = degrees if ranks is None else ranks
    first = heapq.nsmallest(top or len(graph), range(len(graph)), key=lambda vertex: (-order[vertex], vertex))
    if not as_json:
        total = sum(graph.counts)
        yield (
            f"{text.count(len(graph))} {what}, {text.count(sum(graph.fetched))} of them fetched; "
            f"{text.things(len(graph.counts), 'edge')} between them by {text.things(total, 'link')}\n"
        )
        if first:
            yield f"\n{'PageRank':>10}  {'in-degree':>9}  {'links':>9}  {what[:-1]}\n"
    for vertex in first:
        rank = None if ranks is None else ranks[vertex]
        if as_json:
            fields = {
                "name": graph.name(vertex),
                "in_degree": degrees[vertex],
                "in_links": links[vertex],
                "fetched": bool(graph.fetched[vertex]),
                "pagerank": rank,
            }
            yield json.dumps(fields) + "\n"
        else:
            shown = "" if rank is None else f"{rank:.6f}"
            name = printable(graph.name(vertex), None)
            yield f"{shown:>10}  {text.count(degrees[vertex]):>9}  {text.count(links[vertex]):>9}  {name}\n"


WRONG = (
    ArchiveError,
    CrawlError,
    HostRulesError,
    OSError,
    ParquetMissingError,
    GraphLibraryMissingError,
)
TOP = 20
LIMIT = 1000
"""The number of links that are printed by default."""
_PLAINLY_OTHERS = ("mailto:", "tel:", "sms:", "fax:", "javascript:", "data:")
"""Prefixes that are not a host with a port, even if a number follows."""
_KINDS = {"robots": "robots.txt"}
"""The names of kinds that differ from their words in the log."""


class LinkQuery:
    """One query with the settings that it uses."""

    def __init__(self, configuration: Configuration, opts: argparse.Namespace) -> None:
        self._configuration = configuration
        self._opts = opts

    def answer(self, what: str, words: Sequence[str]) -> None:
        """Write the answer. :raises: one of WRONG"""
        if what in ("out", "in"):
            url = self._compared(words[0])
            tell = self._out if what == "out" else self._into
            output.write(tell(self._logs(words[1:]), url), None)
        elif what == "graph":
            self._graph(self._logs(words))
        else:
            self._export(self._logs(words), self._opts.output)

    def _out(self, logs: LinkLogs, url: str) -> Iterator[str]:
        page = logs.of(url)
        if page is None:
            yield from [] if self._opts.json else [f"{_printable(url)} is not in the link log\n"]
            return
        if not self._opts.json:
            yield f"{_printable(page.page)}: {units.things(len(page.links), 'link')}, {_page_facts(page)}\n"
        yield from self._links((page, link) for link in page.links)

    def _into(self, logs: LinkLogs, url: str) -> Iterator[str]:
        if not self._opts.json:
            yield f"Links to {_printable(url)}\n"
        yield from self._links(logs.into(url), of_pages=True)

    def _links(self, links: Iterable[tuple[Linking, LoggedLink]], *, of_pages: bool = False) -> Iterator[str]:
        most = LIMIT if self._opts.limit is None else self._opts.limit
        links = iter(links)
        count = 0
        for page, link in islice(links, most or None):
            count += 1
            if self._opts.json:
                yield json.dumps(_as_object(page, link)) + "\n"
            else:
                yield _as_line(page.page if of_pages else link.to, link)
        if self._opts.json:
            return
        if of_pages:
            yield f"{units.things(count, 'link')}\n"
        if most and next(links, None) is not None:
            yield f"and more; --limit 0 shows all, --limit {10 * most} as many\n"

    def _graph(self, logs: LinkLogs) -> None:
        opts, weighted = self._opts, self._opts.of != "pages"
        avoided = () if opts.nofollow else self._configuration.nofollow_rels
        types = frozenset(filter(None, (opts.types or "").split(",")))
        choice = Choice(types, frozenset(avoided), bool(opts.nofollow))
        graph = (host_graph if weighted else page_graph)(logs.pages(), choice)
        if opts.fetched:
            graph = graph.among_fetched()
        ranks = None if opts.no_rank else pagerank(graph, weighted=weighted)
        if opts.output is not None:
            write_graph(graph, ranks, opts.output)
        top = TOP if opts.top is None else opts.top
        output.write(ranking(graph, ranks, top, "hosts" if weighted else "pages", as_json=opts.json), None)

    def _export(self, logs: LinkLogs, path: Path) -> None:
        if path.suffix == ".parquet":
            parquet.write_links(logs.pages(), path)
        else:
            output.write(forms.links_as_tsv(logs.pages()), path)

    def _logs(self, arguments: Sequence[str]) -> LinkLogs:
        paths = [Path(argument) for argument in arguments]
        if not paths and self._configuration.jobdir is not None:
            paths = [self._configuration.jobdir]
        if not paths:
            raise CrawlError("which crawl? give the JOBDIRs of all its workers, or -s JOBDIR=DIR")
        folders = folders_with_files(paths)
        wrong = [
            f"{folder}: holds no link log ({segments.FOLDER}/)"
            if folder.is_dir()
            else f"{folder}: is no folder"
            for folder in folders
            if not (folder / segments.FOLDER).is_dir()
        ]
        if wrong:
            raise CrawlError("\n".join(wrong))
        return LinkLogs(folders)

    def _compared(self, text: str) -> str:
        """Return the canonical form of a given URL; one of another scheme is used as it is."""
        other = resolve_other_scheme(text, "about:blank")
        if other is not None and other.startswith(_PLAINLY_OTHERS):
            return other
        url = resolve(text, "about:blank")
        if url is None:
            seed = read_seed(text.strip())
            if isinstance(seed, BadSeed) and other is not None:
                return other
            if isinstance(seed, BadSeed):
                raise CrawlError(f"{seed.text!r} is no URL: {seed.reason}")
            url = seed.url
        path = self._configuration.host_rules_file
        rules = CanonicalRules(
            **{name: name in self._configuration.canonical_rules for name in SWITCHES},
            hosts=None if path is None else load_host_rules(path),
        )
        return canonical(url, rules)


def _as_line(end: str, link: LoggedLink) -> str:
    words = [f"  {link.type:<9} {_printable(end)}"]
    if link.text:
        words.append(f'"{_printable(link.text)}"')
    if link.rel:
        words.append(f"rel={_printable(link.rel)}")
    return "  ".join(words) + "\n"


def _as_object(page: Linking, link: LoggedLink) -> dict[str, Any]:
    fields: dict[str, Any] = {"page": page.page, "at": page.at, "status": page.status, **link._asdict()}
    if page.noindex or page.nofollow:
        fields |= {"noindex": page.noindex, "nofollow": page.nofollow}
    if page.kind != PAGE:
        fields["kind"] = page.kind
    if page.duplicate_of is not None:
        fields["duplicate_of"] = page.duplicate_of
    return fields


def _page_facts(page: Linking) -> str:
    words = [f"fetched {moment(page.at)} with status {page.status}"]
    words += [f"as a {_KINDS.get(page.kind, page.kind)}"] if page.kind != PAGE else []
    words += [name for name in ("noindex", "nofollow") if getattr(page, name)]
    if page.duplicate_of is not None:
        words.append(f"the same bytes as {_printable(page.duplicate_of)}")
    return ", ".join(words)


def _printable(text: str) -> str:
    return printable(text, None)


ASKS_OF_A_URL = ("out", "in")
WORDS = (*ASKS_OF_A_URL, "graph", "export")
_ONLY = {
    "limit": ASKS_OF_A_URL,
    "of": ("graph",),
    "types": ("graph",),
    "nofollow": ("graph",),
    "fetched": ("graph",),
    "top": ("graph",),
    "no_rank": ("graph",),
    "output": ("graph", "export"),
}
"""Options of some subcommands only; unset they are None."""


class Command(ProjectCommand):
    expected = WRONG
    json_help = "a JSON object a line"

    def syntax(self) -> str:
        return "<out URL|in URL|graph|export> [JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "List the links of a page, the links to it, or the graph of all pages or hosts"

    def long_desc(self) -> str:
        return (
            "out: the links of a page. in: the links to a URL, whether it was fetched or not. graph: the graph "
            "of hosts or of pages with in-degree and PageRank, as a list or as a file for graph tools. export: "
            "all links as Parquet or TSV. The input is the link logs of all JOBDIRs, also while the crawl runs; "
            "without JOBDIR, that of the settings is used."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--limit", type=_whole, metavar="N", help="out, in: maximum number of links; 0: all (1000)")
        add("--of", metavar="WHAT", help="graph: hosts or pages (hosts)")
        add("--types", metavar="TYPE,...", help="graph: only links of these types, such as a,area,redirect")
        add("--nofollow", action="store_true", default=None, help="graph: include links marked nofollow")
        add(
            "--fetched",
            action="store_true",
            default=None,
            help="graph: only fetched pages or hosts, no others that are linked to",
        )
        add("--no-rank", action="store_true", default=None, help="graph: no PageRank, which needs igraph")
        add("--top", type=_whole, metavar="N", help="graph: maximum number of entries; 0: all (20)")
        add(
            "-o",
            "--output",
            metavar="FILE",
            type=Path,
            help="graph: .graphml, .net, .tsv or .parquet; export: .parquet or .tsv",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if not args:
            return iter([Problem("", "no command; give out, in, graph or export")])
        if args[0] in ASKS_OF_A_URL and not args[1:]:
            return iter([Problem(args[0], "no URL; give one")])
        return _wrong_words(args[0], opts)

    def lines(self, error: Exception) -> Iterable[object]:
        # The error names all folders without a log, one on each line.
        return super().lines(error) if isinstance(error, OSError) else str(error).splitlines()

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        LinkQuery(self.configuration, opts).answer(args[0], args[1:])


def _wrong_words(what: str, opts: argparse.Namespace) -> Iterator[Problem]:
    if what not in WORDS:
        yield Problem(what, f"is no subcommand of links; {hint(what, WORDS)}")
        return
    for option, owners in _ONLY.items():
        if getattr(opts, option) is not None and what not in owners:
            yield Problem(f"--{option.replace('_', '-')}", f"is for {' and '.join(owners)}, not for {what}")
    if opts.of not in (None, "hosts", "pages"):
        yield Problem("--of", f"must be hosts or pages, not {opts.of}")
    endings = {"graph": (".graphml", ".net", ".tsv", ".parquet"), "export": (".parquet", ".tsv")}.get(what)
    if endings and opts.output is not None and opts.output.suffix not in endings:
        yield Problem("--output", f"must end in {', '.join(endings)}, not {opts.output}")
    if what == "export" and opts.output is None:
        yield Problem("--output", "is needed: give a file that ends in .parquet or .tsv")


_whole = number(int, 0, inf, "a whole number, 0 or more")
