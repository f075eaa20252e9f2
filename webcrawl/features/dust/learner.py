"""Finds DUST rules in pages that proved equal, and proves them with pairs of pages: nothing is believed before.

Two pages are equal if their content is, and their links: a page that a rule withholds must not lead to other pages
than the one that was fetched, as its relative links may if the paths differ.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_64_intdigest

from webcrawl.features.dust.rule import ANY, DustKind, explanations, rewriting_rules
from webcrawl.features.dust.template import size
from webcrawl.features.dust.url_parts import without_origins
from webcrawl.processing.text_sketch import hashes_in, resemblance

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator

    from webcrawl.features.dust.rule import DustRule
    from webcrawl.features.dust.url_parts import UrlParts

SUPPORT, SUPPORT_OF_ANY = 2, 4
"""Different contents that came under two URLs before a rule is a candidate; for all values of a parameter also the
number of different values."""
PAIRS = 5
"""Pairs of pages with different contents that prove a rule."""
PREDICTIONS = 3
"""Pairs among these of which the second page was fetched after the rule became a candidate."""
VALUES = 3
"""Different values among the pairs of a rule that covers several."""
RESEMBLANCE = 0.95
"""Share of the runs of three words, of those that any of two texts has, that equal texts have in common."""
PAGES_PER_SITE, PAGES_IN_ALL = 1000, 20_000
"""Pages that are remembered as evidence."""
OPEN_PER_SITE, OPEN_IN_ALL = 16, 500
"""Rules that are being proved."""
SUPPORTED_PER_SITE = 128
"""Rules of a site that are not yet candidates."""
DECIDED_PER_SITE = 256
"""Rules of a site that are remembered as refuted, so that they are not tried again."""
FORMS_MAX = 256
"""Pages that are remembered for a rule that is being proved."""
PEERS = 4
"""Pages with the same content that a new one is compared with."""
PROBES_AT_ONCE = 3
"""Probes of a rule that are open."""
PROBES_AT_LEAST, PROBE_SHARE = 8, 0.1
"""Probes that a site gets: so many, and this share of its pages."""
PROBE_SECONDS = 600.0
"""Time after which a probe that was not answered does not count as open."""
CONSIDERED, PAUSE = 50, 10
"""Pages among which the page of a probe is chosen, and pages of the site that are fetched before the next attempt if
there is none."""
PAUSES_MAX = 1
"""How often that number of pages is doubled, at most, if there is none again."""


class DustState(StrEnum):
    """The state of a rule."""

    PROBING = "probing"
    CONFIRMED = "confirmed"
    DOUBTED = "doubted"
    """A sample differed, and the page that was known is fetched again; nothing is withheld meanwhile."""
    REFUTED = "refuted"
    UNDONE = "undone"


class PageContent(NamedTuple):
    """Digests of the content of a page."""

    body: int
    """Of its body, or of its main text."""
    links: int | None
    """Of its links; None if they are not known."""
    sketch: bytes = b""
    """Of its main text, if pages with nearly the same text are equal. ``body`` is then that of the first of them."""

    @classmethod
    def of(cls, body: bytes, links: Iterable[str] | None, site: str, sketch: bytes = b"") -> PageContent:
        """Return the digests of a page. ``links``: its resolved links, None if they were not read. The case of links
        does not count, nor which origin of its site they name."""
        marked = None
        if links is not None:
            text = without_origins("\n".join(links).lower(), site)
            marked = xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
        return cls(xxh3_64_intdigest(body), marked, sketch)

    def resembles(self, other: PageContent) -> bool:
        """Return whether two pages have the same content, links aside."""
        if self.body == other.body and not self.sketch:
            return True
        if not self.sketch or not other.sketch:
            return False
        if self.sketch == other.sketch:
            return True
        share, _ = resemblance(hashes_in(self.sketch), hashes_in(other.sketch))
        return share >= RESEMBLANCE


class DustPage(NamedTuple):
    """A page that was fetched."""

    url: str
    parts: UrlParts
    content: PageContent
    at: float = 0.0
    """Epoch seconds."""


class DustProbe(NamedTuple):
    """A URL that is to be fetched to prove or to doubt rules."""

    url: str
    of: str
    """The page that it is expected to have."""
    is_repeat: bool = False
    """True if it is fetched although it was fetched before."""


@dataclass(slots=True, eq=False)
class TrackedRule:
    """A rule with its state."""

    rule: DustRule
    state: DustState
    since: float
    """Epoch seconds."""
    pairs: dict[int, str] = field(default_factory=dict)
    """The contents of the pairs that prove it, each with a value."""
    predictions: int = 0
    probes: int = 0
    """Probes that were queued for it."""
    withheld: int = 0
    """Different URLs that were withheld and stored."""
    refusals: int = 0
    samples: int = 0
    """Withheld URLs that were fetched all the same, and were equal."""
    checked: int = 0
    """Of ``withheld``, those that were there when the crawl last took samples of them because it was idle."""
    why: str = ""
    """Why it was refuted or undone."""
    pair: tuple[str, str] = ("", "")
    """The URLs of one of its pairs."""
    forms: dict[UrlParts, DustPage] = field(default_factory=dict, repr=False)
    values: dict[str, None] = field(default_factory=dict, repr=False)
    open_probes: dict[str, float] = field(default_factory=dict, repr=False)
    next_attempt: int = field(default=0, repr=False)
    """The number of fetched pages of the site from which on its next probe is sought."""
    fruitless: int = field(default=0, repr=False)
    """Attempts in a row that found no page for a probe."""

    stored_pairs: int = field(default=0, repr=False)
    """The number of pairs with which it was stored last."""

    @property
    def id(self) -> str:
        """The id of the rule."""
        return self.rule.id

    @property
    def is_changed(self) -> bool:
        """True if it has more pairs than are stored."""
        return len(self.pairs) > self.stored_pairs

    @property
    def is_proved(self) -> bool:
        """True if there are enough pairs."""
        has_pairs = len(self.pairs) >= PAIRS and self.predictions >= PREDICTIONS
        return has_pairs and (not self.rule.has_values or len(set(self.pairs.values())) >= VALUES)


@dataclass(slots=True)
class _Evidence:
    """What is known of a site."""

    pages: OrderedDict[str, DustPage] = field(default_factory=OrderedDict)
    by_body: dict[int, list[str]] = field(default_factory=dict)
    by_key: dict[int, str] = field(default_factory=dict)
    """The last page with each key of a sketch."""
    supported: OrderedDict[DustRule, dict[int, set[str]]] = field(default_factory=OrderedDict)
    open: dict[DustRule, TrackedRule] = field(default_factory=dict)
    decided: OrderedDict[DustRule, None] = field(default_factory=OrderedDict)
    covered: list[TrackedRule] = field(default_factory=list)
    """Rules that others made needless, until the end of the call."""
    fetched: int = 0
    probes: int = 0


def are_equal(one: DustPage, other: DustPage) -> bool | None:
    """Return whether two pages have the same content and lead to the same pages; None if that is not known: the links
    of one were not read, and relative links may differ since their paths do."""
    if not one.content.resembles(other.content):
        return False
    if one.content.links is not None and other.content.links is not None:
        return one.content.links == other.content.links
    return True if one.parts[:4] == other.parts[:4] else None


class DustLearner:
    """Finds and proves the rules of all sites. Its memory is bounded: the site that was not seen for longest is
    forgotten first."""

    def __init__(self, chance: random.Random, form_of: Callable[[UrlParts], UrlParts]) -> None:
        """``form_of``: returns the form of a URL under the rules that are proved."""
        self._chance = chance
        self._form_of = form_of
        self._sites: OrderedDict[str, _Evidence] = OrderedDict()
        self._pages = self._open = 0
        self._probes: list[DustProbe] = []

    def take_probes(self) -> list[DustProbe]:
        """Return the probes that are to be queued."""
        probes, self._probes = self._probes, []
        return probes

    def pages(self, site: str) -> Iterator[DustPage]:
        """Yield the pages that are remembered of a site."""
        evidence = self._sites.get(site)
        return iter(()) if evidence is None else iter(evidence.pages.values())

    def find_page(self, site: str, url: str) -> DustPage | None:
        """Return a page that is remembered; None if it is not."""
        evidence = self._sites.get(site)
        return None if evidence is None else evidence.pages.get(url)

    def open_rules(self) -> Iterator[TrackedRule]:
        """Yield the rules that are being proved."""
        for evidence in self._sites.values():
            yield from evidence.open.values()

    def decide(self, rule: DustRule) -> None:
        """Note that a rule was decided elsewhere: it is not tried here."""
        evidence = self._site(rule.site)
        if evidence.open.pop(rule, None) is not None:
            self._open -= 1
        self._close(evidence, rule)

    def resume(self, tracked: TrackedRule) -> None:
        """Go on to prove a rule that was being proved when the crawl ended."""
        evidence = self._site(tracked.rule.site)
        is_new = tracked.rule not in evidence.open and tracked.rule not in evidence.decided
        if is_new and self._has_room(evidence):
            evidence.open[tracked.rule] = tracked
            evidence.probes += tracked.probes
            self._open += 1

    def with_known_content(self, page: DustPage) -> DustPage:
        """Return a page with the body of one whose text it resembles, so that both count as one content."""
        evidence, content = self._sites.get(page.parts.site), page.content
        if evidence is not None and content.sketch:
            for key in _keys(content.sketch):
                known = evidence.pages.get(evidence.by_key.get(key, ""))
                if known is not None and known.content.resembles(content):
                    return page._replace(content=content._replace(body=known.content.body))
        return page

    def page(self, page: DustPage, now: float) -> list[TrackedRule]:
        """Learn from a page that was fetched. Return the rules that became candidates or were decided by it."""
        evidence = self._site(page.parts.site)
        evidence.fetched += 1
        changed = []
        for tracked in list(evidence.open.values()):
            if self._test(tracked, page, is_prediction=True):
                changed.append(tracked)
                self._decide(evidence, tracked, now)
            self._probe(evidence, tracked, now)
        changed += self._search(evidence, page, now)
        self._remember(evidence, page)
        self._bound()
        covered, evidence.covered = evidence.covered, []
        return changed + covered

    def restore(self, page: DustPage, now: float) -> list[TrackedRule]:
        """Learn from a page that this process has not fetched itself, unless it is known. Return the rules that
        became candidates or were decided by it."""
        evidence = self._site(page.parts.site)
        if page.url in evidence.pages:
            return []
        evidence.fetched += 1
        changed = []
        for tracked in list(evidence.open.values()):
            if self._test(tracked, page, is_prediction=False):
                changed.append(tracked)
                self._decide(evidence, tracked, now)
        changed += self._search(evidence, page, now)
        self._remember(evidence, page)
        self._bound()
        covered, evidence.covered = evidence.covered, []
        return changed + covered

    def has_site(self, site: str) -> bool:
        """Return whether anything is remembered of a site."""
        return site in self._sites

    def failed(self, url: str, site: str, now: float) -> list[TrackedRule]:
        """Note that a URL has no page: a rule that expected one is refuted. Return the rules that this decided."""
        evidence = self._sites.get(site)
        changed = []
        for tracked in list(evidence.open.values()) if evidence is not None else ():
            if tracked.open_probes.pop(url, None) is not None:
                tracked.why = f"{url} has no page"
                changed.append(tracked)
                assert evidence is not None
                self._decide(evidence, tracked, now)
        return changed

    # -- rules that are being proved ---------------------------------------------------------------------------

    def _test(self, tracked: TrackedRule, page: DustPage, *, is_prediction: bool) -> bool:
        """Compare a page with the one that is known under the same form. Return whether the rule is decided."""
        tracked.open_probes.pop(page.url, None)
        form = tracked.rule.form(page.parts)
        if form is None:
            return False
        known = tracked.forms.get(form)
        if known is None:
            if len(tracked.forms) < FORMS_MAX:
                tracked.forms[form] = page
            return False
        if known.url == page.url:
            tracked.forms[form] = page
            return False
        is_equal = are_equal(known, page)
        if is_equal is None:
            return False
        if not is_equal:
            tracked.why = f"{known.url} and {page.url} differ"
            return True
        if page.content.body not in tracked.pairs:
            value = tracked.rule.value_in(page.parts) or tracked.rule.value_in(known.parts)
            tracked.pairs[page.content.body] = value
            tracked.predictions += is_prediction
            tracked.pair = (known.url, page.url)
        return tracked.is_proved

    def _decide(self, evidence: _Evidence, tracked: TrackedRule, now: float) -> None:
        tracked.state = DustState.REFUTED if tracked.why else DustState.CONFIRMED
        tracked.since = now
        tracked.forms, tracked.open_probes = {}, {}
        if evidence.open.pop(tracked.rule, None) is not None:
            self._open -= 1
        self._close(evidence, tracked.rule)
        if tracked.state is DustState.CONFIRMED and tracked.rule.value == ANY:
            for other in [each for each in evidence.open.values() if tracked.rule.includes(each.rule)]:
                other.why = f"rule {tracked.id} covers all values"
                self._decide(evidence, other, now)
                evidence.covered.append(other)

    def _close(self, evidence: _Evidence, rule: DustRule) -> None:
        evidence.decided[rule] = None
        if len(evidence.decided) > DECIDED_PER_SITE:
            evidence.decided.popitem(last=False)

    def _probe(self, evidence: _Evidence, tracked: TrackedRule, now: float) -> None:
        """Queue probes of a rule up to the number that may be open."""
        if tracked.state is not DustState.PROBING or evidence.fetched < tracked.next_attempt:
            return
        for url, at in list(tracked.open_probes.items()):
            if now - at > PROBE_SECONDS:
                del tracked.open_probes[url]
        room = PROBES_AT_ONCE - len(tracked.open_probes)
        budget = PROBES_AT_LEAST + int(evidence.fetched * PROBE_SHARE) - evidence.probes
        if min(room, budget) <= 0:
            return
        tracked.next_attempt = evidence.fetched + (PAUSE << min(tracked.fruitless, PAUSES_MAX))
        tracked.fruitless += 1
        bodies = set(tracked.pairs)
        urls = self._chance.sample(list(evidence.pages), min(CONSIDERED, len(evidence.pages)))
        for url in urls:
            if min(room, budget) <= 0:
                return
            page = evidence.pages[url]
            if page.content.body in bodies:
                continue
            other = self._chance.choice(list(tracked.values)) if tracked.values else ""
            probe = tracked.rule.probe(page.parts, other)
            if probe is None or probe in tracked.open_probes or probe in evidence.pages:
                continue
            bodies.add(page.content.body)
            tracked.open_probes[probe] = now
            form = tracked.rule.form(page.parts)
            assert form is not None
            tracked.forms.setdefault(form, page)
            tracked.probes += 1
            tracked.next_attempt = tracked.fruitless = 0
            evidence.probes += 1
            room, budget = room - 1, budget - 1
            self._probes.append(DustProbe(probe, url))

    # -- rules that would explain equal pages ------------------------------------------------------------------

    def _search(self, evidence: _Evidence, page: DustPage, now: float) -> list[TrackedRule]:
        """Seek rules that would explain why other pages are equal to this one. One that is made of the words of the
        other is sought for the shortest URL only, and if nothing else explains it."""
        urls = evidence.by_body.get(page.content.body)
        if not urls or urls == [page.url]:
            return []
        changed: list[TrackedRule] = []
        form = self._form_of(page.parts)
        is_explained, shortest = False, None
        for peer in [evidence.pages[url] for url in urls if url != page.url]:
            if not are_equal(peer, page):
                continue
            of_peer = self._form_of(peer.parts)
            is_known = of_peer == form
            is_explained = is_explained or is_known
            for rule in explanations(peer.parts, page.parts):
                # A rule for all values is sought beside those for some.
                if not is_known or rule.value == ANY:
                    is_explained = is_explained or rule.form(peer.parts) == rule.form(page.parts)
                    changed += self._support(evidence, rule, (peer, page), now)
            if is_known:
                continue
            if shortest is None or size(of_peer) < size(shortest[0]):
                shortest = of_peer, peer
        if not is_explained and shortest is not None and not self._may_explain(evidence, form, shortest[0]):
            for rule in rewriting_rules(shortest[0], form):
                changed += self._support(evidence, rule, (shortest[1], page), now)
        return changed

    def _may_explain(self, evidence: _Evidence, *forms: UrlParts) -> bool:
        """Return whether a simpler rule that is being proved changes one of two URLs: it is waited for."""
        simpler = [rule for rule in evidence.open if rule.kind is not DustKind.REWRITING]
        return any(rule.covers(form) for rule in simpler for form in forms)

    def _support(
        self, evidence: _Evidence, rule: DustRule, pair: tuple[DustPage, DustPage], now: float
    ) -> list[TrackedRule]:
        """Take a pair of pages as evidence for a rule. Return the rule if it becomes a candidate."""
        if rule in evidence.decided:
            return []
        if (tracked := evidence.open.get(rule)) is not None:
            _note_values(tracked, pair)
            return []
        support = evidence.supported.setdefault(rule, {})
        evidence.supported.move_to_end(rule)
        values = {value for one in pair if (value := rule.value_in(one.parts))}
        support.setdefault(pair[1].content.body, set()).update(values)
        if len(evidence.supported) > SUPPORTED_PER_SITE:
            evidence.supported.popitem(last=False)
        if len(support) < (SUPPORT_OF_ANY if rule.value == ANY else SUPPORT):
            return []
        if rule.has_values and rule.value == ANY and len(set().union(*support.values())) < SUPPORT_OF_ANY:
            return []
        if not self._has_room(evidence):
            return []
        evidence.supported.pop(rule, None)
        return [self._begin(evidence, rule, pair, now)]

    def _has_room(self, evidence: _Evidence) -> bool:
        return len(evidence.open) < OPEN_PER_SITE and self._open < OPEN_IN_ALL

    def _begin(
        self, evidence: _Evidence, rule: DustRule, pair: Iterable[DustPage], now: float
    ) -> TrackedRule:
        """Begin to prove a rule with the pages that are known."""
        tracked = TrackedRule(rule, DustState.PROBING, now)
        evidence.open[rule] = tracked
        self._open += 1
        _note_values(tracked, pair)
        for page in evidence.pages.values():
            if self._test(tracked, page, is_prediction=False):
                self._decide(evidence, tracked, now)
                return tracked
        self._probe(evidence, tracked, now)
        return tracked

    # -- memory ------------------------------------------------------------------------------------------------

    def _site(self, name: str) -> _Evidence:
        evidence = self._sites.get(name)
        if evidence is None:
            evidence = self._sites[name] = _Evidence()
        else:
            self._sites.move_to_end(name)
        return evidence

    def _remember(self, evidence: _Evidence, page: DustPage) -> None:
        self._forget(evidence, page.url)
        if len(evidence.pages) >= PAGES_PER_SITE:
            self._forget(evidence, next(iter(evidence.pages)))
        evidence.pages[page.url] = page
        self._pages += 1
        for key in _keys(page.content.sketch):
            evidence.by_key[key] = page.url
        urls = evidence.by_body.setdefault(page.content.body, [])
        urls.append(page.url)
        if len(urls) > PEERS:
            # The shortest one stays.
            shortest = min(urls, key=lambda url: size(evidence.pages[url].parts))
            urls.remove(next(url for url in urls if url != shortest))

    def _forget(self, evidence: _Evidence, url: str) -> None:
        page = evidence.pages.pop(url, None)
        if page is None:
            return
        self._pages -= 1
        for key in _keys(page.content.sketch):
            if evidence.by_key.get(key) == url:
                del evidence.by_key[key]
        urls = evidence.by_body.get(page.content.body, [])
        if url in urls:
            urls.remove(url)
        if not urls:
            evidence.by_body.pop(page.content.body, None)

    def _bound(self) -> None:
        while self._pages > PAGES_IN_ALL and len(self._sites) > 1:
            _, evidence = self._sites.popitem(last=False)
            self._pages -= len(evidence.pages)
            self._open -= len(evidence.open)


def _keys(sketch: bytes) -> list[int]:
    """Return up to eight numbers of which texts that resemble each other have one in common: the smallest hashes of
    eight kinds. At a share of 0.95 each is the same with that probability."""
    if not sketch:
        return []
    smallest: dict[int, int] = {}
    for value in hashes_in(sketch):
        smallest.setdefault(value & 7, value)
    return list(smallest.values())


def _note_values(tracked: TrackedRule, pages: Iterable[DustPage]) -> None:
    for page in pages:
        if len(tracked.values) < 8 and (value := tracked.rule.value_in(page.parts)):
            tracked.values[value] = None
