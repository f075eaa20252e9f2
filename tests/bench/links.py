"""Link extraction beside Scrapy's LinkExtractor, on pages of which both find the same links."""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from webcrawl.parsing.html import PageInput, extract
from webcrawl.parsing.links import FOLLOWED
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAGES, ROUNDS = 150, 7
FOLDER = "BENCH_PAGES"
"""The environment variable that names a folder of HTML files, to be read instead of the pages that are made."""
FEWEST, LONGEST = 4_000, 500_000
"""Lengths of files that are taken from a folder."""
TYPE = "text/html; charset=utf-8"
WORDS = 4_000


class Sample(NamedTuple):
    """A page with its URL."""

    url: str
    body: bytes


def link_extraction(folder: Path, seconds: float) -> None:
    """Prove that both find the same links, then print CPU times a page: medians of rounds in turns, and ranges."""
    del folder, seconds
    pages = _found(Path(os.environ[FOLDER])) if FOLDER in os.environ else made(PAGES)
    different = [page.url for page in pages if _links(page) != _normal(page, _links_of_scrapy(page))]
    length = statistics.mean(len(page.body) for page in pages)
    count = statistics.mean(len(_links(page)) for page in pages)
    sys.stdout.write(
        f"links: {len(pages)} pages, mean {length / 1000:.0f} kB and {count:.0f} links; "
        f"different links on {len(different)} {different[:3]}\n"
    )
    ours, followed, theirs = [], [], []
    for _ in range(ROUNDS):
        theirs.append(_milliseconds(pages, _links_of_scrapy))
        ours.append(_milliseconds(pages, _links))
        followed.append(_milliseconds(pages, _as_in_a_crawl))
    _show("LinkExtractor", theirs)
    _show("the same links, with title and metas", ours)
    _show("all types that a crawl follows", followed)
    ratios = [one / other for one, other in zip(theirs, ours, strict=True)]
    _show("times as fast", ratios)


def made(count: int) -> list[Sample]:
    """Return pages as content management systems make them: menus, a text with links, a table, a list, a footer."""
    chance = random.Random(7)
    words = [
        "".join(chance.choice("abcdefghiklmnoprstu") for _ in range(chance.randint(2, 9)))
        for _ in range(WORDS)
    ]
    menu = "".join(
        f'<li class="menu-item menu-item-{at}"><a href="/{chance.choice(words)}/" class="nav-link">'
        f"<span>{chance.choice(words)}</span></a></li>\n"
        for at in range(40)
    )
    return [_made(chance, words, menu, number) for number in range(count)]


def _made(chance: random.Random, words: list[str], menu: str, number: int) -> Sample:
    def text(count: int) -> str:
        return " ".join(chance.choice(words) for _ in range(count))

    def target() -> str:
        name = chance.choice(words)
        kinds = (
            f"/{name}/{chance.randint(1, 900)}",
            f"../{name}.html",
            f"{name}.html#part",
            f"/find?q={name}&amp;n=2",
        )
        return chance.choice((*kinds, f"https://www.{name}.example/{name}/", f"mailto:{name}@h.example"))

    paragraphs = "".join(
        f'<p class="text">{text(60)} <a href="{target()}">{text(3)}</a> {text(30)} <em>{text(2)}</em>.</p>\n'
        for _ in range(chance.randint(10, 70))
    )
    rows = "".join(
        f'<tr class="row"><td>{at}</td><td><a href="{target()}" title="{text(2)}">{text(2)}</a></td>'
        f'<td><img src="/i/{at}.png" alt="{text(1)}" width="20" height="20"> {text(4)}</td></tr>\n'
        for at in range(chance.randint(0, 60))
    )
    body = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(5)}</title>\n'
        f'<meta name="description" content="{text(15)}"><link rel="stylesheet" href="/style.css">\n'
        f"<script>var data = {{{', '.join(f'{word!r}: {at}' for at, word in enumerate(words[:300]))}}};"
        f"</script></head>\n"
        f'<body class="page"><nav><ul>{menu}</ul></nav><main><h1>{text(5)}</h1>{paragraphs}'
        f"<table>{rows}</table></main><footer><ul>{menu}</ul><p>{text(20)}</p></footer></body></html>\n"
    )
    return Sample(f"https://www.site.example/part{number % 9}/page{number}.html", body.encode())


def _found(folder: Path) -> list[Sample]:
    paths = [path for path in sorted(folder.rglob("*.html")) if FEWEST <= path.stat().st_size <= LONGEST]
    chosen = random.Random(7).sample(paths, min(PAGES, len(paths)))
    return [Sample(f"https://docs.example/{path.relative_to(folder)}", path.read_bytes()) for path in chosen]


def _links(page: Sample) -> set[str]:
    document = extract(PageInput(page.body, page.url, TYPE, 100_000, frozenset({"a", "area"})))
    return {link.url for link in document.links}


def _as_in_a_crawl(page: Sample) -> set[str]:
    return {link.url for link in extract(PageInput(page.body, page.url, TYPE, 100_000, FOLLOWED)).links}


_EXTRACTOR = LinkExtractor(deny_extensions=[])


def _links_of_scrapy(page: Sample) -> set[str]:
    response = HtmlResponse(page.url, body=page.body, headers={"Content-Type": TYPE})
    return {link.url.partition("#")[0] for link in _EXTRACTOR.extract_links(response)}


def _normal(page: Sample, links: set[str]) -> set[str]:
    """Return links as browsers write them: ``http://h.test/`` for ``http://h.test``."""
    return {url for link in links if (url := resolve(link, page.url)) is not None}


def _milliseconds(pages: Sequence[Sample], links: Callable[[Sample], set[str]]) -> float:
    begun = time.process_time()
    for page in pages:
        links(page)
    return 1000 * (time.process_time() - begun) / len(pages)


def _show(name: str, values: list[float]) -> None:
    sys.stdout.write(
        f"links: {name:40} {statistics.median(values):6.2f}  ({min(values):.2f} to {max(values):.2f})\n"
    )
