"""Intake: makes entries for the frontier of resolved links, a page's links at a time.

This runs for every link of every page, a hundred times a page, so a link that was found lately costs one hash and one
look-up.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from webcrawl.frontier.records import RELEASED, Kind, UrlEntry, embed_mark
from webcrawl.scope.scope import Candidate, LinkBatch, Scope, Verdict
from webcrawl.scope.url_rules import NOT_FOR_EMBEDS, DepthRule, ExtensionRule, StayRule
from webcrawl.urls.canonical import DEFAULT, CanonicalRules, canonical, canonical_all
from webcrawl.urls.fingerprint import fingerprint, fingerprint_all, request_fingerprint
from webcrawl.urls.politeness_key import PolitenessKey, get_host
from webcrawl.urls.schemes import WEB, Schemes

_BY_PAGE = frozenset((DepthRule.name, StayRule.name))
"""Rules that may allow a URL on another page although they refuse it here."""

RECENT = 1 << 20
"""The most fingerprints that are remembered: 8 MiB."""


PART_LINKS, PART_CHARACTERS = 200, 60_000
"""The most links and characters taken at a time: about 5 ms if each link is of another host, or full of escapes."""


class TakenLinks(NamedTuple):
    """The result for a page's links: entries for the frontier, and how many each rule of scope refused."""

    entries: list[UrlEntry]
    refused: list[tuple[str, str]]
    """(URL, rule) of links that are out of scope and were not found lately."""


class Recent:
    """The fingerprints found lately: a filter before the seen test, which it does not replace.

    A table with a slot for each; a fingerprint whose slot is taken replaces the one in it. Most
    links of a page are on the other pages of its site too, and between two of these lies the site's delay: the table
    needs room for the links of all pages of other sites fetched meanwhile.
    """

    def __init__(self, slots: int = RECENT) -> None:
        """``slots``: a power of two, at least two."""
        self._last = slots - 1
        self._make_table()

    def unseen(self, values: Iterable[int]) -> list[int]:
        """Return the fingerprints that were not found lately, in their order."""
        table, last = self._table, self._last
        return [value for value in values if table[value & last] != value]

    def update(self, values: Iterable[int]) -> None:
        table, last = self._table, self._last
        self._is_empty = False
        for value in values:
            table[value & last] = value

    def discard(self, values: Iterable[int]) -> None:
        """Forget these fingerprints."""
        table, last = self._table, self._last
        for value in values:
            slot = value & last
            if table[slot] == value:
                # An empty slot has a value that belongs elsewhere.
                table[slot] = 0 if slot else 1

    def clear(self) -> None:
        if not self._is_empty:
            self._make_table()

    def _make_table(self) -> None:
        self._table = array("q", (0,)) * (self._last + 1)
        # An empty slot has a value that belongs elsewhere.
        self._table[0] = 1
        self._is_empty = True


def _parts(urls: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the URLs in their order, in parts that take little time: all at once for nearly every page."""
    if len(urls) <= PART_LINKS and sum(map(len, urls)) <= PART_CHARACTERS:
        yield urls
        return
    start = characters = 0
    for index, url in enumerate(urls):
        characters += len(url)
        if index - start == PART_LINKS or characters > PART_CHARACTERS:
            yield urls[start:index]
            start, characters = index, len(url)
    yield urls[start:]


Withhold = Callable[[str, str, int, str | None], None]
"""Called with a URL that was refused: URL, host, depth, via."""


Linked = Callable[[int, Sequence[int]], None]
"""Called with the links of a page, including those to known pages: the fingerprints of the page and of its links."""


StandsFor = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns for links of a page that are other URLs of known pages the URLs of these."""


class Intake:
    """Gives links their key, their fingerprint and the scope's verdict."""

    def __init__(
        self,
        key: PolitenessKey,
        scope: Scope,
        fixed: Scope,
        rules: CanonicalRules = DEFAULT,
        *,
        requested: Scope | None = None,
        standing: Scope | None = None,
        withheld: Mapping[str, Withhold] | None = None,
        linked: Linked | None = None,
        stands_for: StandsFor | None = None,
        embed_hops_max: int = 0,
        schemes: Schemes = WEB,
    ) -> None:
        """``scope`` decides about followed links, ``requested`` about a spider's own Requests (None: ``scope`` does),
        ``fixed`` about seeds, which need not match a whitelist.
        ``standing`` decides again about followed URLs when their turn comes; None: ``fixed`` does. ``withheld`` is
        called with URLs that rules of these names refuse, ``linked`` with all links, in which ``stands_for`` replaces
        other URLs of known pages. ``embed_hops_max``: for so many
        hops from a page, the rules of ``NOT_FOR_EMBEDS`` do not apply to what it embeds."""
        self._key = key.of_host
        self._recent = Recent()
        self.change_scope(scope, fixed, requested=requested, standing=standing)
        self.embed_hops_max = embed_hops_max
        self._may_return = _BY_PAGE | NOT_FOR_EMBEDS if embed_hops_max else _BY_PAGE
        self._withheld = dict(withheld or {})
        self._rules = rules
        self._linked = linked
        self._stands_for = stands_for
        self.schemes = schemes
        """The schemes whose URLs are taken."""

    def change_scope(
        self, scope: Scope, fixed: Scope, *, requested: Scope | None = None, standing: Scope | None = None
    ) -> None:
        """Apply other rules from now on. URLs that were refused lately are judged anew when they are found again."""
        self._scope = scope.verdict
        self._refused = scope.refused
        self._requested = (requested or scope).verdict
        of_embeds = scope.without(NOT_FOR_EMBEDS)
        self._scope_of_embeds = of_embeds.verdict
        self._refused_embeds = of_embeds.refused
        # The response tells more than the extension.
        self._as_page = scope.without({ExtensionRule.name}).verdict
        self._fixed = fixed.verdict
        self._standing = (standing or fixed).verdict
        self.forget()

    def take_links(self, urls: Sequence[str], depth: int, via: str) -> TakenLinks:
        """Take the links of one page, found at ``depth`` - 1 under the URL ``via``."""
        marks = fingerprint_all(canonical_all(urls, self._rules))
        if self._linked is not None:
            self._report_links(self._linked, via, self._known_marks(urls, marks))
        return self._filter_links(urls, marks, depth, via)

    def in_parts(
        self, urls: Sequence[str], depth: int, via: str, embeds: Sequence[str] = (), embed_hops: int = 1
    ) -> Iterator[TakenLinks]:
        """Do the same as ``links``, a few milliseconds' worth at a time: thousands of links, or long ones, may take
        half a second. ``embeds``: what the page embeds, ``embed_hops`` of which lead there from a page."""
        every: list[int] = []
        for part in _parts(embeds) if embeds else ():
            marks = fingerprint_all(canonical_all(part, self._rules))
            every += self._known_marks(part, marks)
            yield self._filter_links(part, marks, depth, via, embed_hops)
        for part in _parts(urls):
            marks = fingerprint_all(canonical_all(part, self._rules))
            every += self._known_marks(part, marks)
            yield self._filter_links(part, marks, depth, via)
        if self._linked is not None:
            self._report_links(self._linked, via, every)

    def _report_links(self, linked: Linked, via: str, marks: Sequence[int]) -> None:
        linked(fingerprint(canonical(via, self._rules)), marks)

    def _known_marks(self, urls: Sequence[str], marks: Sequence[int]) -> Sequence[int]:
        """Return the fingerprints of links; of other URLs of known pages those of these pages."""
        if self._linked is None or self._stands_for is None or not (known := self._stands_for(urls)):
            return marks
        return [
            fingerprint(canonical(known[url], self._rules)) if url in known else mark
            for url, mark in zip(urls, marks, strict=True)
        ]

    def _filter_links(
        self, urls: Sequence[str], marks: Sequence[int], depth: int, via: str, embed_hops: int = 0
    ) -> TakenLinks:
        url_of = dict(zip(marks, urls, strict=True))
        if len(url_of) < len(urls):
            # Of equal spellings the first is fetched; its place in the order is already right.
            url_of.update(zip(reversed(marks), reversed(urls), strict=True))
        unseen = self._recent.unseen(url_of)
        links = LinkBatch(list(map(url_of.__getitem__, unseen)), depth, self._key, via)
        is_embedded = 0 < embed_hops <= self.embed_hops_max
        refused = self._refused_embeds(links) if is_embedded else self._refused(links)
        entries = [
            UrlEntry(url, key, mark, 0, 0, depth, via)
            for url, key, mark in zip(links.urls, links.keys, unseen, strict=True)
        ]
        if is_embedded:
            listed = embed_mark(embed_hops)
            for entry in entries:
                entry.listed = listed
        if not refused:
            self._recent.update(unseen)
            return TakenLinks(entries, [])
        # A URL that is too deep here may be found again nearer to a seed, one that is elsewhere by a page there, and
        # one that is linked here may be embedded elsewhere.
        perhaps = {index for index, verdict in refused.items() if verdict.rule in self._may_return}
        self._recent.update([mark for index, mark in enumerate(unseen) if index not in perhaps])
        taken = TakenLinks([entry for index, entry in enumerate(entries) if index not in refused], [])
        hosts = links.hosts
        for index, verdict in refused.items():
            taken.refused.append((links.urls[index], verdict.rule or "other"))
            self._withhold(verdict.rule, links.urls[index], hosts[index], depth, via)
        return taken

    def forget(self) -> None:
        """Forget links that were found lately: they may not have been taken, and are checked again when they are
        found again."""
        self._recent.clear()

    def may_return(self, marks: Iterable[int]) -> None:
        """Check links with these fingerprints again when they are found: their URLs may be taken then."""
        self._recent.discard(marks)

    def seed_entry(self, url: str) -> UrlEntry | str:
        """Return a seed's entry, or the rule that refuses it."""
        return self._entry(url, self._fixed, 0, None, 0)

    def link_entry(self, url: str, depth: int, via: str | None, redirects: int = 0) -> UrlEntry | str:
        """Return the entry of a single followed URL, or the rule."""
        return self._entry(url, self._scope, depth, via, redirects)

    def is_in_scope(self, entry: UrlEntry) -> bool:
        """Return whether an embed belongs to the crawl as a page too."""
        host = get_host(entry.url)
        return self._as_page(
            Candidate(entry.url, host, entry.key, entry.depth, entry.redirects, entry.via)
        ).allowed

    def request_entry(
        self,
        url: str,
        method: str,
        body: bytes,
        depth: int,
        via: str | None,
        redirects: int,
        followed: bool,
        explicit: bool = True,
        embed_hops: int = 0,
    ) -> UrlEntry | str:
        """Return the entry of an ordinary Request, or the rule that refuses it. ``explicit``: it is a spider's own,
        not the target of a redirect of a link. ``embed_hops``: it is that of an embed.

        Requests that differ in method or body are different URLs to the seen test, as with Scrapy's fingerprints.
        """
        resolved = self.schemes.resolve(url, url)
        if resolved is None:
            return self._elsewhere(url, depth, via)
        scope = self._scope_of_embeds if embed_hops else self._requested if explicit else self._scope
        entry = self._entry(resolved, scope if followed else self._fixed, depth, via, redirects)
        if embed_hops and isinstance(entry, UrlEntry):
            entry.listed = embed_mark(embed_hops)
        if isinstance(entry, UrlEntry) and (method != "GET" or body):
            entry.fingerprint = request_fingerprint(method, canonical(resolved, self._rules), body)
        return entry

    def _elsewhere(self, url: str, depth: int, via: str | None) -> UrlEntry | str:
        """Return the entry of a URL of a scheme that the crawl does not follow (data, file): one queue a scheme, no
        robots.txt, no scope but the scheme. One that was found on a page is refused unless the project has named a
        handler for its scheme: Scrapy's own would read the files of this machine. ``data:`` reads nothing.
        """
        scheme, colon, _ = url.partition(":")
        if not colon or scheme.lower() in self.schemes.names:
            return "url"
        scheme = scheme.lower()
        if (via is not None or depth > 0) and scheme != "data" and scheme not in self.schemes.others:
            return "scheme"
        return UrlEntry(url, f"{scheme}:", fingerprint(url), 0, 0, depth, via)

    def sitemap_entry(
        self, url: str, named_by: str, via: str, depth: int = 0, redirects: int = 0
    ) -> UrlEntry | str:
        """Return the entry of a sitemap that the key ``named_by`` names, or the rule that refuses it.

        A sitemap of the key's own is fetched like its robots.txt: it need not match the rules for pages. One
        elsewhere must be in scope. ``depth`` counts the indexes that lead to it.
        """
        own = self._key(get_host(url)) == named_by
        entry = self._entry(url, self._fixed if own else self._scope, depth, via, redirects, linked_from=via)
        if isinstance(entry, UrlEntry):
            entry.kind = Kind.SITEMAP.value
        return entry

    def identify(self, url: str) -> tuple[str, int]:
        """Return the identity of a URL: its politeness key and its fingerprint."""
        return self._key(get_host(url)), fingerprint(canonical(url, self._rules))

    def admit(self, entry: UrlEntry) -> str | None:
        """Check the rules that may have changed since the entry was queued. Returns None, or the rule that refuses
        it."""
        if not entry.url.startswith("http") and entry.origin is None:
            return None
        host = get_host(entry.url)
        is_fixed = entry.via is None or entry.kind == Kind.INLINE or entry.listed == RELEASED
        verdict = self._fixed if is_fixed else self._standing
        answer = verdict(Candidate(entry.url, host, entry.key, entry.depth))
        if answer.allowed:
            return None
        self._withhold(answer.rule, entry.url, host, entry.depth, entry.via)
        return answer.rule

    def _withhold(self, rule: str | None, url: str, host: str, depth: int, via: str | None) -> None:
        if rule in self._withheld:
            self._withheld[rule](url, host, depth, via)

    def _entry(
        self,
        url: str,
        verdict: Callable[[Candidate], Verdict],
        depth: int,
        via: str | None,
        redirects: int,
        *,
        linked_from: str | None = None,
    ) -> UrlEntry | str:
        """``linked_from``: the list that names a sitemap; of pages it is ``via``, unless that is a seed which
        redirects."""
        host = get_host(url)
        key = self._key(host)
        page = via if linked_from is None and depth > 0 else linked_from
        answer = verdict(Candidate(url, host, key, depth, redirects, page))
        if not answer.allowed:
            self._withhold(answer.rule, url, host, depth, via)
            return str(answer.rule)
        mark = fingerprint(canonical(url, self._rules))
        return UrlEntry(url, key, mark, 0, 0, depth, via, redirects=redirects)
