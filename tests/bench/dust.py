"""CPU time that DUST rules cost a page with about 100 links, on sites without rules and with two to nine."""

from __future__ import annotations

import random
import statistics
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tests.fakeweb.copies import SITES
from webcrawl.features.dust.knowledge import DustKnowledge
from webcrawl.features.dust.learner import PageContent
from webcrawl.features.dust.url_parts import url_parts
from webcrawl.features.dust.withholding import DustScopeRule
from webcrawl.frontier.intake import Intake
from webcrawl.scope.scope import Scope
from webcrawl.urls.politeness_key import PolitenessKey

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fakeweb.copies import MadeSite

SIZE, LINKS, PAGES, ROUNDS = 300, 100, 400, 9
NAMES = ("docs", "shop", "forum", "wiki", "mail")
BODY = b"<p>" + b"words of the page " * 1600


class BenchPage(NamedTuple):
    """A page as the crawl has it when the rules learn from it."""

    url: str
    body: bytes
    links: list[str]


def costs(folder: Path, seconds: float) -> None:
    """Print for each site its rules, and the CPU time a page of learning and of asking the rules about its links."""
    del folder, seconds
    for name in NAMES:
        site = SITES[name](f"http://{name}.test", SIZE)
        pages = list(_pages(site))
        knowledge = _taught(pages)
        rules = len(knowledge.withholding)
        learning, with_rules, without = [], [], []
        for _ in range(ROUNDS):
            learning.append(_microseconds(partial(_learn, knowledge, pages), len(pages)))
            without.append(_microseconds(_asking(pages, None), len(pages)))
            with_rules.append(_microseconds(_asking(pages, knowledge), len(pages)))
        asking = [one - other for one, other in zip(with_rules, without, strict=True)]
        whole = [one + other for one, other in zip(learning, asking, strict=True)]
        sys.stdout.write(
            f"dust: {name:6} {rules:2} rules, {LINKS} links a page: learning {_told(learning)}, "
            f"links {_told(asking)}, together {_told(whole)} µs a page\n"
        )


def _pages(site: MadeSite) -> list[BenchPage]:
    """Return pages of a site, each with as many links: those that it has, and others of the site."""
    chance, known, queue, found = random.Random(1), {site.seed}, [site.seed], []
    every: list[str] = [site.seed]
    for url in queue:
        shown = site.look(url)
        if shown is None:
            continue
        text, links = shown
        found.append((url, text, links))
        for link in links:
            if link not in known:
                known.add(link)
                every.append(link)
                queue.append(link)
        if len(found) >= 3000:
            break
    pages = []
    for url, text, links in chance.sample(found, min(PAGES, len(found))):
        more = (links + chance.sample(every, min(LINKS, len(every))))[:LINKS]
        pages.append(BenchPage(url, text.encode() + BODY, more))
    return pages


def _taught(pages: list[BenchPage]) -> DustKnowledge:
    """Return what a crawl of the site knows that has fetched these pages, and some copies of each."""
    knowledge = DustKnowledge(random.Random(1))
    for page in pages:
        _learn_page(knowledge, page, [])
    return knowledge


def _learn(knowledge: DustKnowledge, pages: list[BenchPage]) -> None:
    for page in pages:
        _learn_page(knowledge, page, page.links)
        knowledge.withholding.take_waiting()
        knowledge.take_probes()


def _learn_page(knowledge: DustKnowledge, page: BenchPage, links: list[str]) -> None:
    parts = url_parts(page.url)
    assert parts is not None
    knowledge.page(page.url, PageContent.of(page.body, links, parts.site), 0.0)


def _asking(pages: list[BenchPage], knowledge: DustKnowledge | None) -> Callable[[], None]:
    rules = [] if knowledge is None else [DustScopeRule(knowledge.withholding)]
    scope = Scope(rules)
    withheld = {} if knowledge is None else {"dust": knowledge.withholding.withheld}

    def ask() -> None:
        intake = Intake(PolitenessKey("host"), scope, scope, withheld=withheld)
        for page in pages:
            intake.take_links(page.links, 1, page.url)
            if knowledge is not None:
                knowledge.withholding.take_waiting()

    return ask


def _microseconds(work: Callable[[], None], pages: int) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) / pages * 1e6


def _told(values: list[float]) -> str:
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"
