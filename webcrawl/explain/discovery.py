"""The discovery of a URL by a link, a redirect or a list, or why it was not followed: withheld, or after the cut of a
page.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from webcrawl.frontier.records import Kind
from webcrawl.reports import text as units
from webcrawl.urls.politeness_key import get_host
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from webcrawl.explain.logged_fetches import LoggedFetches
    from webcrawl.storage.inspection import UrlSnapshot

    Line = Mapping[str, Any]
    """A line of a fetch log."""
    Moment = Callable[[float], str]
    """Formats a time."""

HOPS_MAX = 20
"""The number of redirects that are followed, backwards and forwards."""
REDIRECTS = "redirects"
"""The rule by which a chain of redirects is cut."""
LINKS_MAX = 1000
"""The number of links that are read."""
TOLD = 5
"""The number of links, and of pages of which not all links are known, that are shown."""


class By(StrEnum):
    """The kinds of references to a URL."""

    SEED = "seed"
    LINK = "link"
    REDIRECT = "redirect"
    EMBED = "embed"
    SITEMAP = "sitemap"
    """A sitemap or a feed that lists it, or a robots.txt that names it."""


@dataclass(frozen=True, slots=True)
class Way:
    """The way in which a URL was found. ``by`` is None if the log does not have the kind of ``via``."""

    by: By | None
    via: str | None
    depth: int | None
    through: tuple[str, ...] = ()
    """URLs that redirected, one to the next and the last to this one."""
    page: str | None = None
    """The page that led to the first of these; None for a seed, or if it is unknown."""


@dataclass(frozen=True, slots=True)
class LinkTo:
    """A link to the URL in the link log; ``at`` is when its page was fetched."""

    page: str
    at: float
    type: str
    text: str
    rel: str
    withheld: str | None
    """The reason why the link is not followed. ``page``: the page asks that its links not be followed; ``rel``: the
    link itself does; ``type``: links of its type are not followed; ``sitemaps``: sitemaps are not; None: it is
    followed.
    """


@dataclass(frozen=True, slots=True)
class InboundLinks:
    """The links to the URL. ``whole``: the link logs were read to their ends."""

    number: int
    withheld: int
    some: tuple[LinkTo, ...]
    """Some of the links; those that are followed come first."""
    whole: bool = True


@dataclass(frozen=True, slots=True)
class CutPages:
    """Answers with pages of which not all links are known: those that were not read to their ends, or those that had
    more links than are taken.
    """

    number: int
    some: tuple[str, ...]
    """Some of their URLs; those of the URL's host come first."""


@dataclass(frozen=True, slots=True)
class Onward:
    """The redirects of a fetched URL. ``through``: the targets in their order. ``rule``: what ended the
    chain before a page, None if nothing did or it is not stored; ``limit``: REDIRECT_MAX_TIMES.
    """

    through: tuple[str, ...]
    rule: str | None
    is_fetched: bool
    """True if the last target was fetched."""
    limit: int

    def in_words(self) -> str:
        """Return the end of a sentence about the URL."""
        words = f"it redirects to {self.through[0]}"
        if self.rule == REDIRECTS:
            return (
                f"{words}, and the chain was cut after {units.things(self.limit, 'redirect')} "
                f"(REDIRECT_MAX_TIMES={self.limit}): {self.through[-1]} was not requested"
            )
        if self.rule is not None:
            return f"{words}, and the chain ended at {self.through[-1]}: {self.rule}"
        if not self.is_fetched:
            return f"{words}; {self.through[-1]} has not been fetched"
        return words if len(self.through) == 1 else f"{words}, which leads to {self.through[-1]}"


@dataclass(frozen=True, slots=True)
class Discovery:
    """``way``: for a URL that is queued or was fetched; ``onward``: for one that redirects. The others: for a URL
    that the crawl does not know, by its logs.
    """

    way: Way | None = None
    links: InboundLinks | None = None
    cut: CutPages | None = None
    dropped: CutPages | None = None
    onward: Onward | None = None

    @property
    def is_withheld(self) -> bool:
        """True if there are links to it, and none of them is followed."""
        return self.links is not None and self.links.whole and 0 < self.links.number == self.links.withheld


def find_way(
    form: str,
    snapshot: UrlSnapshot | None,
    visits: LoggedFetches | None,
    read_lines: Callable[[str], Iterable[Line]],
    canonical: Callable[[str], str],
) -> Way | None:
    """Return how the URL with the canonical form ``form`` was found; None if it is neither queued nor was fetched.

    ``read_lines`` returns the lines of a URL in the fetch logs.
    """
    if snapshot is not None and snapshot.entry is not None:
        entry = snapshot.entry
        kind, via, redirected = str(entry.kind), entry.via, entry.redirects > 0
        depth: int | None = entry.depth
        is_embed = entry.embed_hops > 0
    elif visits is not None and visits.first is not None:
        line = visits.first
        kind, via, redirected = str(line.get("kind")), _text(line, "via"), False
        depth, is_embed = _depth(line), bool(line.get("embed"))
    else:
        return None
    if via is None:
        return Way(By.SEED, None, depth)
    through: list[str] = []
    target, found_as = form, None
    page: str | None = via
    while page is not None and page not in through and len(through) < HOPS_MAX:
        found_as, hop = _hop(read_lines(page), target, canonical)
        if hop is None:
            break
        through.insert(0, page)
        target, page = canonical(page), _text(hop, "via")
    if through or redirected:
        return Way(By.REDIRECT, via, depth, tuple(through) or (via,), page if through else None)
    if kind == Kind.SITEMAP or found_as in (Kind.SITEMAP, Kind.ROBOTS):
        return Way(By.SITEMAP, via, depth)
    return Way(By.EMBED if is_embed else None if found_as is None else By.LINK, via, depth)


def follow_redirects(
    last: Line,
    read_lines: Callable[[str], Iterable[Line]],
    read_rule: Callable[[str], str | None],
    limit: int,
) -> Onward | None:
    """Return where a URL leads whose last line in the fetch log is ``last``; None if it does not redirect.

    ``read_rule`` returns the rule that is stored for a URL which failed or was refused.
    """
    through: list[str] = []
    line: Line | None = last
    rule = None
    while line is not None and (target := _target(line)) is not None and len(through) < HOPS_MAX:
        if target in through:
            break
        through.append(target)
        # A chain is cut at the redirect that is one too many; its target is not known to the crawl.
        if read_rule(str(line["url"])) == REDIRECTS:
            return Onward(tuple(through), REDIRECTS, is_fetched=False, limit=limit)
        # The last one counts.
        line = next(iter(deque(read_lines(target), 1)), None)
        rule = read_rule(target) if line is None or _target(line) is None else None
    return Onward(tuple(through), rule, line is not None, limit) if through else None


def _target(line: Line) -> str | None:
    """Return the target of a redirect; None if it is none."""
    location, url, status = _text(line, "location"), _text(line, "url"), line.get("status")
    if location is None or url is None or not isinstance(status, int) or not 300 <= status < 400:
        return None
    return resolve(location, url)


def _hop(
    lines: Iterable[Line], target: str, canonical: Callable[[str], str]
) -> tuple[str | None, Line | None]:
    """Return the kind of the URL whose lines these are, and the last of them that redirects to ``target``."""
    kind, hop = None, None
    for line in lines:
        kind = str(line.get("kind"))
        location, url = _text(line, "location"), _text(line, "url")
        leads = resolve(location, url) if location is not None and url is not None else None
        if leads is not None and canonical(leads) == target:
            hop = line
    return kind, hop


def _text(line: Line, name: str) -> str | None:
    value = line.get(name)
    return value if isinstance(value, str) else None


def _depth(line: Line) -> int | None:
    value = line.get("depth")
    return value if isinstance(value, int) else None


def summarize_links(links: Iterable[LinkTo], *, most: int = LINKS_MAX) -> InboundLinks:
    """``links``: links in any order; if a page was fetched again the last link of a type counts."""
    last: dict[tuple[str, str], LinkTo] = {}
    whole = True
    for link in links:
        if len(last) == most:
            whole = False
            break
        place = (link.page, link.type)
        if place not in last or last[place].at <= link.at:
            last[place] = link
    withheld = sum(link.withheld is not None for link in last.values())
    some = sorted(last.values(), key=lambda link: (link.withheld is not None, -link.at))
    return InboundLinks(len(last), withheld, tuple(some[:TOLD]), whole)


CUT, DROPPED = "cut", "links_dropped"
"""The fields of a fetch log that pages have of which not all links are known."""


def find_cut_pages(lines: Iterable[Line], host: str, fact: str = CUT) -> CutPages:
    """``lines``: of fetch logs; only those that have ``fact`` are used."""
    number, own, others = 0, list[str](), list[str]()
    for line in lines:
        url = _text(line, "url")
        if url is None or not isinstance(line.get(fact), int):
            continue
        number += 1
        some = own if get_host(url) == host else others
        if len(some) < TOLD and url not in some:
            some.append(url)
    return CutPages(number, tuple([*own, *others][:TOLD]))


# -- output --------------------------------------------------------------------------------------------------


def rows(discovery: Discovery, moment: Moment) -> Iterator[tuple[str, str]]:
    """Yield the rows of the text: names and values."""
    if discovery.way is not None:
        yield from _way(discovery.way)
    if discovery.onward is not None:
        for url in discovery.onward.through:
            yield "leads to", url
    if discovery.links is not None:
        yield from _links(discovery.links, moment)
    if discovery.cut is not None and discovery.cut.number:
        pages = "page was" if discovery.cut.number == 1 else "pages were"
        number = units.count(discovery.cut.number)
        yield "cut", f"{number} {pages} not read to the end; links after that are not known"
        for url in discovery.cut.some:
            yield "cut page", url
    if discovery.dropped is not None and discovery.dropped.number:
        pages = units.things(discovery.dropped.number, "page")
        yield "dropped", f"{pages} had links over LINKS_PER_PAGE_MAX, or too long; these links are not known"
        for url in discovery.dropped.some:
            yield "page", url


_BY = {
    By.LINK: "a link on ",
    By.EMBED: "embedded by ",
    By.REDIRECT: "a redirect of ",
    By.SITEMAP: "a line of ",
    None: "",
}


def _way(way: Way) -> Iterator[tuple[str, str]]:
    yield "via", "named by the operator" if way.by is By.SEED else f"{_BY[way.by]}{way.via}"
    for url in reversed(way.through[:-1]):
        yield "before", f"a redirect of {url}"
    if way.page is not None:
        yield "before", way.page
    yield "depth", "not known" if way.depth is None else str(way.depth)


def _links(links: InboundLinks, moment: Moment) -> Iterator[tuple[str, str]]:
    if links.number == 0:
        yield (
            "links",
            "none to it in the link log" + ("" if links.whole else ", as far as it was looked through"),
        )
        return
    number = ("" if links.whole else "at least ") + units.things(links.number, "link")
    yield "links", f"{number} to it in the link log, {units.count(links.withheld)} not followed"
    for link in links.some:
        words = [link.page]
        if link.text:
            words.append(f'"{link.text}"')
        if link.rel:
            words.append(f"rel={link.rel}")
        if link.withheld is not None:
            words.append(_WITHHELD[link.withheld])
        yield link.type, f"{', '.join(words)}; fetched {moment(link.at)}"


_WITHHELD = {
    "rel": "not followed for its rel",
    "page": "not followed: the page asks for nofollow",
    "type": "not followed: its type is not in LINK_TYPES",
    "sitemaps": "not followed: SITEMAPS_FOLLOW is off",
}


def as_object(discovery: Discovery | None) -> dict[str, Any] | None:
    """Return the discovery as plain values."""
    return None if discovery is None else asdict(discovery)
