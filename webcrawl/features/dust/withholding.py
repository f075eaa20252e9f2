"""The rules that are proved: the URLs that they withhold, the scope rule that refuses these, and the samples by
which they are doubted."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.features.dust.learner import DustProbe, DustState, are_equal
from webcrawl.features.dust.url_parts import UrlParts, url_parts
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

    from webcrawl.features.dust.learner import DustPage, TrackedRule
    from webcrawl.features.dust.rule import DustRule
    from webcrawl.features.dust.url_parts import Outline
    from webcrawl.scope.scope import Candidate, LinkBatch

RULES_PER_SITE, RULES_IN_ALL = 64, 10_000
"""Rules that are applied."""
MEMBERS_PER_SITE, MEMBERS_IN_ALL = 20_000, 50_000
"""Pages that are remembered as known under their forms: URLs with these forms are withheld."""
SAMPLES_PER_SITE = 64
"""Samples of a site that are open."""
WITHHELD_PER_SITE = 100_000
"""URLs of a site that are stored so that they can be queued again. Further ones are not withheld."""
WAITING_MAX = 50_000
"""Withheld URLs that wait to be stored."""
DOUBT_SECONDS = 600.0
"""Time after which a rule that is doubted is undone, if the page that was known did not come again."""
STEPS = 16
"""How many rules are applied to a URL at most, one after the other, until none changes it."""
REVISITED = 4
"""One of so many copies that were fetched is visited again like other pages, in a crawl that does: by these a rule is
doubted that has become wrong."""
REMEMBERED = 2000
"""URLs of a site that are remembered as withheld, and those whose forms are."""
SHAPES = 1000
"""Shapes of the URLs of a site for which the rules that may change them are remembered."""
CLOSING_SAMPLES_MIN, CLOSING_SAMPLES_MAX = 4, 16
"""Samples of a rule before a crawl ends: chosen among all URLs that it withheld."""


def closing_samples(withheld: int, shared: int = 0) -> int:
    """Return the number of last samples of a rule that withheld so many URLs: of a rule that is wrong for half of
    them, four miss all wrong ones one time in sixteen, and 16 of 130 one time in 65,536. ``shared``: the samples of
    other rules that test this one too; they count by half, since they are not chosen among all of its URLs."""
    wanted = min(max(isqrt(2 * withheld), CLOSING_SAMPLES_MIN), CLOSING_SAMPLES_MAX)
    return max(wanted - shared // 2, CLOSING_SAMPLES_MIN)


class WithheldUrl(NamedTuple):
    """A URL that was not fetched because it has a page that is known."""

    url: str
    depth: int
    via: str | None
    rules: tuple[str, ...]
    """The ids of the rules that were applied."""


class DustMatch(NamedTuple):
    """Why a URL is withheld. ``known``: the URL of the page that was fetched; None if that is not asked."""

    rules: tuple[TrackedRule, ...]
    form: UrlParts
    known: str | None


@dataclass(slots=True)
class _Doubt:
    known: str
    sample: DustPage | None
    """None if another process doubts the rule."""
    at: float


@dataclass(slots=True)
class _Site:
    rules: list[TrackedRule] = field(default_factory=list)
    doubted: dict[DustRule, tuple[TrackedRule, _Doubt]] = field(default_factory=dict)
    members: OrderedDict[int, DustPage] = field(default_factory=OrderedDict)
    samples: OrderedDict[str, tuple[tuple[TrackedRule, ...], DustPage]] = field(default_factory=OrderedDict)
    stored: int = 0
    waiting: dict[int, WithheldUrl] = field(default_factory=dict)
    by_shape: dict[Outline, tuple[TrackedRule, ...]] = field(default_factory=dict)
    forms: dict[UrlParts, tuple[UrlParts, tuple[TrackedRule, ...]]] = field(default_factory=dict)
    """Those of the last URLs, each with the rules that changed it."""
    matches: dict[str, DustMatch] = field(default_factory=dict)
    """Of URLs that were withheld by the rules as they are."""

    def rules_for(self, parts: UrlParts) -> tuple[TrackedRule, ...]:
        """Return the rules that may change a URL, in their order."""
        shape = parts.shape
        rules = self.by_shape.get(shape)
        if rules is None:
            if len(self.by_shape) >= SHAPES:
                self.by_shape.clear()
            rules = tuple(tracked for tracked in self.rules if tracked.rule.may_change(shape))
            self.by_shape[shape] = rules
        return rules

    def add(self, tracked: TrackedRule) -> None:
        """Apply a rule from now on."""
        self.rules.append(tracked)
        self.rules.sort(key=lambda other: other.rule.rank)
        self._forget()

    def remove(self, tracked: TrackedRule) -> None:
        """Apply a rule no longer."""
        self.rules.remove(tracked)
        self._forget()

    def _forget(self) -> None:
        self.by_shape.clear()
        self.forms.clear()
        self.matches.clear()


class Withholding:
    """Decides from memory which URLs are withheld; costs one look-up for hosts without a rule."""

    def __init__(
        self,
        chance: random.Random,
        share: float = 0.02,
        find_page: Callable[[str, str], DustPage | None] = lambda site, url: None,
        *,
        asks_known: bool = True,
    ) -> None:
        """``share``: of the URLs that would be withheld, those that are fetched as samples. ``find_page``: returns a
        page that was fetched, by its site and URL, if it is remembered. ``asks_known``: False if every form counts as
        that of a known page, to explain URLs without the memory of the crawl."""
        self._chance = chance
        self._share = share
        self._find_page = find_page
        self._asks_known = asks_known
        self._sites: dict[str, _Site] = {}
        self._hosts: set[str] = set()
        self._count = self._members = self._waiting = 0
        self._refused: dict[str, DustMatch] = {}
        self._probes: list[DustProbe] = []

    def __len__(self) -> int:
        return self._count

    def holds(self, host: str) -> bool:
        """Return whether a host, given without its port, has a rule that is applied."""
        return host in self._hosts

    def take_probes(self) -> list[DustProbe]:
        """Return the URLs that are to be fetched again."""
        probes, self._probes = self._probes, []
        return probes

    def rules(self) -> list[TrackedRule]:
        """Return the rules that are applied or doubted."""
        doubted = [tracked for site in self._sites.values() for tracked, _ in site.doubted.values()]
        return [*(tracked for site in self._sites.values() for tracked in site.rules), *doubted]

    # -- queries ------------------------------------------------------------------------------------------------

    def find_match(self, url: str, host: str) -> DustMatch | None:
        """Return why a URL is withheld; None if it is not, or if it is a sample."""
        if host not in self._hosts or (parts := url_parts(url)) is None:
            return None
        site = self._sites.get(parts.site)
        if site is None or not site.rules:
            return None
        if (match := site.matches.get(url)) is not None:
            return match
        form, applied = _form(site, parts)
        if not self._asks_known:
            return DustMatch(applied, form, None) if applied else None
        member = site.members.get(_mark(form))
        if member is None or member.url == url or url in site.samples:
            return None
        if fingerprint(url) % REVISITED == 0 and self._find_page(parts.site, url) is not None:
            # Of pages that are visited again.
            return None
        applied = _joined(site, applied, member)
        if site.stored + len(site.waiting) >= WITHHELD_PER_SITE or self._waiting >= WAITING_MAX:
            return None
        if self._is_sample(applied):
            site.samples[url] = (applied, member)
            if len(site.samples) > SAMPLES_PER_SITE:
                site.samples.popitem(last=False)
            return None
        return DustMatch(applied, form, member.url)

    def form(self, parts: UrlParts) -> UrlParts:
        """Return the form of a URL under the rules that are applied."""
        site = self._sites.get(parts.site)
        return parts if site is None else _form(site, parts)[0]

    def refuse(self, url: str, host: str) -> DustMatch | None:
        """Return why a URL is withheld, and keep that for ``withheld``, which is called next."""
        match = self.find_match(url, host)
        if match is not None:
            if len(self._refused) >= WAITING_MAX:
                self._refused.clear()
            self._refused[url] = match
        return match

    def withheld(self, url: str, host: str, depth: int, via: str | None) -> None:
        """Record a URL that was refused."""
        del host
        match = self._refused.pop(url, None)
        if match is None:
            return
        site = self._sites[match.form.site]
        mark = fingerprint(url)
        if mark in site.waiting or url in site.matches:
            return
        if len(site.matches) >= REMEMBERED:
            site.matches.clear()
        site.matches[url] = match
        for tracked in match.rules:
            tracked.refusals += 1
        site.waiting[mark] = WithheldUrl(url, depth, via, tuple(tracked.rule.id for tracked in match.rules))
        self._waiting += 1

    def _is_sample(self, applied: tuple[TrackedRule, ...]) -> bool:
        least = min(tracked.refusals for tracked in applied)
        return self._chance.random() < max(self._share, 1 / (2 + 2 * least))

    # -- changes ------------------------------------------------------------------------------------------------

    def add(self, tracked: TrackedRule, pages: Iterable[DustPage] = ()) -> bool:
        """Apply a rule from now on. ``pages``: those of its site that are known. Return False if there is no room."""
        site = self._sites.setdefault(tracked.rule.site, _Site())
        if any(other.rule == tracked.rule for other in site.rules):
            return True
        if len(site.rules) >= RULES_PER_SITE or self._count >= RULES_IN_ALL:
            return False
        site.add(tracked)
        self._count += 1
        host = _host(tracked.rule.site)
        self._hosts |= {host, f"www.{host}"}
        self._cover_anew(site, pages)
        return True

    def remove(self, rule: DustRule, pages: Iterable[DustPage] = ()) -> TrackedRule | None:
        """Apply a rule no longer; return it, or None if it was not applied."""
        site = self._sites.get(rule.site)
        if site is None:
            return None
        if (doubted := site.doubted.pop(rule, None)) is not None:
            return doubted[0]
        tracked = next((other for other in site.rules if other.rule == rule), None)
        if tracked is not None:
            site.remove(tracked)
            self._count -= 1
            self._cover_anew(site, pages)
        return tracked

    def has_rules(self, site: str) -> bool:
        """Return whether a site has rules that are applied or doubted."""
        known = self._sites.get(site)
        return known is not None and bool(known.rules or known.doubted)

    def find_known(self, url: str) -> tuple[tuple[TrackedRule, ...], DustPage] | None:
        """Return the rules that say which page a URL has, and the page that is known; None if none is."""
        parts = url_parts(url)
        site = None if parts is None else self._sites.get(parts.site)
        if site is None or parts is None or not site.rules:
            return None
        form, applied = _form(site, parts)
        member = site.members.get(_mark(form))
        if member is None or member.url == url:
            return None
        return _joined(site, applied, member), member

    def known_pages(self, urls: Iterable[str]) -> dict[str, str]:
        """Return for URLs of known pages the URLs under which these were fetched."""
        if not self._hosts:
            return {}
        found = {}
        for url in urls:
            host = url.split("/", 3)[2].partition(":")[0]
            if host in self._hosts and (known := self.find_known(url)) is not None:
                found[url] = known[1].url
        return found

    def restore(self, site_name: str, pages: Iterable[DustPage]) -> None:
        """Take pages of a site as known that another process, or an earlier run, has fetched."""
        site = self._sites.get(site_name)
        if site is not None:
            for page in pages:
                self._cover(site, page)

    def suspend(self, tracked: TrackedRule, pages: Iterable[DustPage] = ()) -> None:
        """Do not apply a rule as long as another process doubts it."""
        rule = tracked.rule
        site = self._sites.setdefault(rule.site, _Site())
        if rule in site.doubted:
            return
        mine = next((other for other in site.rules if other.rule == rule), None)
        if mine is not None:
            site.remove(mine)
            self._count -= 1
            self._cover_anew(site, pages)
        mine = mine or tracked
        mine.state = DustState.DOUBTED
        site.doubted[rule] = (mine, _Doubt("", None, tracked.since))

    def is_suspended(self, rule: DustRule) -> bool:
        """Return whether a rule is not applied since another process doubts it."""
        site = self._sites.get(rule.site)
        doubted = None if site is None else site.doubted.get(rule)
        return doubted is not None and doubted[1].sample is None

    def resume(self, rule: DustRule, pages: Iterable[DustPage] = ()) -> None:
        """Apply a rule again that another process doubted."""
        tracked, _ = self._sites[rule.site].doubted.pop(rule)
        tracked.state = DustState.CONFIRMED
        self.add(tracked, pages)

    def open_doubts(self) -> list[tuple[str, str, float]]:
        """Return the doubts of this process: the site, the URL of the known page, and the time."""
        return [
            (name, doubt.known, doubt.at)
            for name, site in self._sites.items()
            for _, doubt in site.doubted.values()
            if doubt.sample is not None
        ]

    def compare_again(self, page: DustPage, pages: Iterable[DustPage], now: float) -> list[TrackedRule]:
        """Decide the doubts about rules whose known page came again."""
        site = self._sites.get(page.parts.site)
        changed = [] if site is None else self._confirm_again(site, page, now)
        if site is not None and changed:
            self._cover_anew(site, pages)
        return changed

    def compare_sample(
        self,
        rules: Sequence[TrackedRule],
        known: DustPage,
        sample: DustPage,
        pages: Iterable[DustPage],
        now: float,
    ) -> list[TrackedRule]:
        """Compare a sample with the page that its rules say it has. Return the rules that are doubted from now on."""
        site = self._sites.get(sample.parts.site)
        changed = [] if site is None else self._compare(site, tuple(rules), known, sample, now)
        if site is not None and changed:
            self._cover_anew(site, pages)
        return changed

    def page(self, page: DustPage, pages: Iterable[DustPage], now: float) -> list[TrackedRule]:
        """Compare a page with what the rules of its site say, and remember it. Return the rules whose state changed:
        those that are ``UNDONE`` are not applied any more."""
        site = self._sites.get(page.parts.site)
        if site is None:
            return []
        changed = self._confirm_again(site, page, now)
        if (sample := site.samples.pop(page.url, None)) is not None:
            applied, member = sample
            # Its page may have come again meanwhile.
            mark = _mark(_form(site, member.parts)[0])
            member = site.members.get(mark, member)
            changed += self._compare(site, applied, member, page, now)
        elif not changed:
            # A copy that was fetched for another reason, such as a revisit.
            form, applied = _form(site, page.parts)
            known = site.members.get(_mark(form))
            if known is not None and known.url != page.url:
                changed = self._compare(site, _joined(site, applied, known), known, page, now)
        if changed:
            self._cover_anew(site, pages)
        self._cover(site, page)
        return changed

    def skipped(self, url: str, site_name: str) -> None:
        """Note that a URL has a page that says nothing."""
        site = self._sites.get(site_name)
        if site is not None:
            site.samples.pop(url, None)

    def failed(self, url: str, site_name: str, now: float) -> list[TrackedRule]:
        """Note that a URL has no page: as a sample it says nothing. Return the rules that are undone, since it was to
        come again to decide a doubt."""
        self.skipped(url, site_name)
        site, undone = self._sites.get(site_name), []
        for rule, (tracked, doubt) in list(site.doubted.items()) if site is not None else ():
            if doubt.sample is not None and doubt.known == url:
                assert site is not None
                del site.doubted[rule]
                undone.append(_undo(tracked, doubt, now))
        return undone

    def expire(self, now: float, others_seconds: float = DOUBT_SECONDS) -> list[TrackedRule]:
        """Undo rules that are doubted for too long, and return them. ``others_seconds``: the time that another
        process has, which may have been killed before it could decide its doubt."""
        undone = []
        for site in self._sites.values():
            for rule, (tracked, doubt) in list(site.doubted.items()):
                if now - doubt.at > (DOUBT_SECONDS if doubt.sample is not None else others_seconds):
                    del site.doubted[rule]
                    undone.append(_undo(tracked, doubt, now))
        return undone

    def has_open(self) -> bool:
        """Return whether a rule is doubted."""
        return any(site.doubted for site in self._sites.values())

    def is_waiting(self) -> bool:
        """Return whether withheld URLs wait to be stored."""
        return self._waiting > 0

    def take_waiting(self) -> list[WithheldUrl]:
        """Return the withheld URLs that are to be stored."""
        waiting = [withheld for site in self._sites.values() for withheld in site.waiting.values()]
        for site in self._sites.values():
            site.waiting = {}
        self._waiting = 0
        return waiting

    def give_back(self, withheld: Iterable[WithheldUrl]) -> None:
        """Take back URLs that could not be stored; ``take_waiting`` returns them again."""
        for each in withheld:
            parts = url_parts(each.url)
            if parts is not None and (site := self._sites.get(parts.site)) is not None:
                site.waiting[fingerprint(each.url)] = each
                self._waiting += 1

    def note_stored(self, site_name: str, new: Iterable[WithheldUrl], stored: int) -> None:
        """Note how many withheld URLs of a site are stored, and which of them are new."""
        site = self._sites.get(site_name)
        if site is None:
            return
        site.stored = stored
        by_id = {tracked.rule.id: tracked for tracked in site.rules}
        for withheld in new:
            for rule_id in withheld.rules:
                if (tracked := by_id.get(rule_id)) is not None:
                    tracked.withheld += 1

    def _compare(
        self, site: _Site, applied: tuple[TrackedRule, ...], member: DustPage, page: DustPage, now: float
    ) -> list[TrackedRule]:
        is_equal = are_equal(member, page)
        if is_equal is None:
            return []
        if is_equal:
            for tracked in applied:
                tracked.samples += 1
            return []
        doubted = [tracked for tracked in applied if tracked in site.rules]
        for tracked in doubted:
            tracked.state, tracked.since = DustState.DOUBTED, now
            tracked.why = f"{member.url} and {page.url} differ"
            site.remove(tracked)
            self._count -= 1
            site.doubted[tracked.rule] = (tracked, _Doubt(member.url, page, now))
        if doubted:
            # The page may have changed since it was fetched.
            self._probes.append(DustProbe(member.url, page.url, is_repeat=True))
        return doubted

    def _confirm_again(self, site: _Site, page: DustPage, now: float) -> list[TrackedRule]:
        changed = []
        for rule, (tracked, doubt) in list(site.doubted.items()):
            if doubt.sample is None or doubt.known != page.url:
                continue
            del site.doubted[rule]
            if are_equal(doubt.sample, page) is not False:
                tracked.state, tracked.since, tracked.why = DustState.CONFIRMED, now, ""
                site.add(tracked)
                self._count += 1
            else:
                _undo(tracked, doubt, now)
            changed.append(tracked)
        return changed

    def _cover_anew(self, site: _Site, pages: Iterable[DustPage]) -> None:
        """Compute the forms of the known pages again, since other rules are applied."""
        known = {page.url: page for page in site.members.values()} | {page.url: page for page in pages}
        self._members -= len(site.members)
        site.members = OrderedDict()
        if site.rules:
            for page in known.values():
                self._cover(site, page)

    def _cover(self, site: _Site, page: DustPage) -> None:
        if not site.rules:
            return
        mark = _mark(_form(site, page.parts)[0])
        member = site.members.get(mark)
        if member is not None and member.url != page.url:
            return
        if member is None:
            if len(site.members) >= MEMBERS_PER_SITE or self._members >= MEMBERS_IN_ALL:
                if not site.members:
                    return
                site.members.popitem(last=False)
                self._members -= 1
            self._members += 1
        site.members[mark] = page


def _form(site: _Site, parts: UrlParts) -> tuple[UrlParts, tuple[TrackedRule, ...]]:
    """Return the form of a URL under all rules, and those that changed it."""
    known = site.forms.get(parts)
    if known is None:
        if len(site.forms) >= REMEMBERED:
            site.forms.clear()
        known = site.forms[parts] = _apply(site, parts)
    return known


def _apply(site: _Site, parts: UrlParts) -> tuple[UrlParts, tuple[TrackedRule, ...]]:
    applied: tuple[TrackedRule, ...] = ()
    for _ in range(STEPS):
        for tracked in site.rules_for(parts):
            form = tracked.rule.changed(parts)
            if form is not None:
                parts = form
                if tracked not in applied:
                    applied = (*applied, tracked)
                break
        else:
            break
    return parts, applied


def _joined(site: _Site, applied: tuple[TrackedRule, ...], member: DustPage) -> tuple[TrackedRule, ...]:
    """Return the rules by which a URL has the page of a member: those that change either of their URLs."""
    _, of_member = _form(site, member.parts)
    return (*applied, *(tracked for tracked in of_member if tracked not in applied))


def _undo(tracked: TrackedRule, doubt: _Doubt, now: float) -> TrackedRule:
    tracked.state, tracked.since = DustState.UNDONE, now
    if doubt.sample is not None:
        tracked.why = f"{doubt.known} and {doubt.sample.url} differ"
    return tracked


_mark = hash
"""Return the key of a form among the known pages: of 50,000 pages two have the same once in ten billion crawls."""


def _host(site: str) -> str:
    """Return the host of a site, which may have a port."""
    return site.rpartition(":")[0] if ":" in site.rpartition("]")[2] else site


DUST = "dust"


class DustScopeRule:
    """Scope rule that refuses URLs whose page is known under another URL."""

    name = DUST

    def __init__(self, withholding: Withholding) -> None:
        self._withholding = withholding

    def refuses(self, candidate: Candidate) -> str | None:
        # The target of a redirect may be the only URL of its page by now.
        if candidate.redirects or not self._withholding.holds(candidate.host):
            return None
        match = self._withholding.refuse(candidate.url, candidate.host)
        if match is None:
            return None
        if match.known is not None:
            # Of all links of a page: nobody reads more of it.
            return match.known
        rules = "; ".join(f"{tracked.rule.id} ({tracked.rule})" for tracked in match.rules)
        page = f"the page of {match.form.url}, if it was fetched"
        return f"{page}, by {rules}; scrapy dust --undo {match.rules[0].rule.id} undoes it"

    def refuses_none(self, links: LinkBatch) -> bool:
        return not any(map(self._withholding.holds, links.different_hosts))
