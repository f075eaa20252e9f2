"""What ``scrapy links`` does: which logs are meant, and each of its questions answered."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.archive.errors import ArchiveError
from webcrawl.commands import output
from webcrawl.commands.graph_shown import standings, write_graph
from webcrawl.errors import CrawlError
from webcrawl.export.parquet import ParquetMissingError
from webcrawl.linklog import forms, parquet, segments
from webcrawl.linklog.graph import Choice, host_graph, page_graph
from webcrawl.linklog.line import PAGE
from webcrawl.linklog.ranking import GraphLibraryMissingError, pagerank
from webcrawl.linklog.reading import LinkLogs
from webcrawl.reports import units
from webcrawl.reports.moments import moment
from webcrawl.urls.canonical import SWITCHES, CanonicalRules, canonical
from webcrawl.urls.host_rules import HostRulesError, load_host_rules
from webcrawl.urls.listfile import printable
from webcrawl.urls.resolve import resolve, resolve_other_scheme
from webcrawl.urls.seeds import BadSeed, read_seed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from webcrawl.configuration import Configuration
    from webcrawl.linklog.line import Link, Linking

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
"""Links told unless more are asked for."""
_PLAINLY_OTHERS = ("mailto:", "tel:", "sms:", "fax:", "javascript:", "data:")
"""What is no host with a port, though a number may stand behind it."""
_KINDS = {"robots": "robots.txt"}
"""How a kind is told that is not its own word."""


class Question:
    """One question, with the settings that say what it is about."""

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
            yield from [] if self._opts.json else [f"{_shown(url)} is in no line of the link log\n"]
            return
        if not self._opts.json:
            yield f"{_shown(page.page)}: {units.things(len(page.links), 'link')}, {_said(page)}\n"
        yield from self._links((page, link) for link in page.links)

    def _into(self, logs: LinkLogs, url: str) -> Iterator[str]:
        if not self._opts.json:
            yield f"Links to {_shown(url)}\n"
        yield from self._links(logs.into(url), of_pages=True)

    def _links(self, links: Iterable[tuple[Linking, Link]], *, of_pages: bool = False) -> Iterator[str]:
        most = LIMIT if self._opts.limit is None else self._opts.limit
        links = iter(links)
        told = 0
        for page, link in islice(links, most or None):
            told += 1
            if self._opts.json:
                yield json.dumps(_as_object(page, link)) + "\n"
            else:
                yield _as_line(page.page if of_pages else link.to, link)
        if self._opts.json:
            return
        if of_pages:
            yield f"{units.things(told, 'link')}\n"
        if most and next(links, None) is not None:
            yield f"and more; --limit 0 tells all, --limit {10 * most} as many\n"

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
        output.write(standings(graph, ranks, top, "hosts" if weighted else "pages", as_json=opts.json), None)

    def _export(self, logs: LinkLogs, path: Path) -> None:
        if path.suffix == ".parquet":
            parquet.write_links(logs.pages(), path)
        else:
            output.write(forms.links_as_tsv(logs.pages()), path)

    def _logs(self, arguments: Sequence[str]) -> LinkLogs:
        given = [Path(argument) for argument in arguments]
        if not given and self._configuration.jobdir is not None:
            given = [self._configuration.jobdir]
        if not given:
            raise CrawlError("which crawl? give the JOBDIRs of all its workers, or -s JOBDIR=DIR")
        folders = list({folder.resolve(): folder for folder in given}.values())
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
        """A URL that a person gave, as the crawl compares it; one of another scheme is compared as it is."""
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


def _as_line(end: str, link: Link) -> str:
    words = [f"  {link.type:<9} {_shown(end)}"]
    if link.text:
        words.append(f'"{_shown(link.text)}"')
    if link.rel:
        words.append(f"rel={_shown(link.rel)}")
    return "  ".join(words) + "\n"


def _as_object(page: Linking, link: Link) -> dict[str, Any]:
    told: dict[str, Any] = {"page": page.page, "at": page.at, "status": page.status, **link._asdict()}
    if page.noindex or page.nofollow:
        told |= {"noindex": page.noindex, "nofollow": page.nofollow}
    if page.kind != PAGE:
        told["kind"] = page.kind
    if page.duplicate_of is not None:
        told["duplicate_of"] = page.duplicate_of
    return told


def _said(page: Linking) -> str:
    words = [f"fetched {moment(page.at)} with status {page.status}"]
    words += [f"as a {_KINDS.get(page.kind, page.kind)}"] if page.kind != PAGE else []
    words += [name for name in ("noindex", "nofollow") if getattr(page, name)]
    if page.duplicate_of is not None:
        words.append(f"the same bytes as {_shown(page.duplicate_of)}")
    return ", ".join(words)


def _shown(text: str) -> str:
    return printable(text, None)
