"""The facts about a URL in a crawl, or without one, and the conclusion.

They include the forms of the URL (as requested, as compared, its politeness key), the crawl that was examined, and
the lines of the URL in fetch logs, read in bounded memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from webcrawl.explain.clocks import Facts, WaitReasons, evaluate_clocks
from webcrawl.explain.rules import (
    RobotsWord,
    RuleStage,
    Scoping,
    UsageWord,
    explain_scope,
    robots_word,
    usage_word,
)
from webcrawl.frontier.records import Kind, State
from webcrawl.politeness.host_record import HostRecord, spent
from webcrawl.politeness.hours import ALWAYS, FetchHours
from webcrawl.scope.scope import Candidate
from webcrawl.storage.inspection import Activity
from webcrawl.urls.canonical import DEFAULT, CanonicalRules, Step, canonical, canonical_steps
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host, get_origin
from webcrawl.urls.resolve import PartChange, changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.explain.clocks import WaitReason
    from webcrawl.explain.discovery import Discovery
    from webcrawl.explain.features import Remembered, Worth
    from webcrawl.explain.logged_fetches import LoggedFetches
    from webcrawl.politeness.delay import Politeness
    from webcrawl.scope.scope import Scope
    from webcrawl.storage.inspection import KeySnapshot, UrlSnapshot
    from webcrawl.urls.host_rules import HostRule


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting of the crawl that differs from the one here: the explanation may differ from the crawl's
    behaviour.
    """

    name: str
    there: str
    here: str


@dataclass(frozen=True, slots=True)
class ExaminedCrawl:
    """The crawl that was examined. ``storage`` is None if there was none; ``note`` then says why."""

    storage: str | None = None
    place: str | None = None
    name: str = "no crawl"
    """The name in text."""
    note: str | None = None
    differs: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Address:
    """A URL with all names that are derived from it."""

    written: str
    url: str
    """The URL as it is requested."""
    changes: tuple[PartChange, ...]
    """The changes made by resolving."""
    steps: tuple[Step, ...]
    """The steps from ``url`` to ``canonical``; the WHATWG form itself is no step."""
    host_steps: tuple[tuple[HostRule, str], ...]
    """The host rules that were applied, each with the resulting name."""
    canonical: str
    fingerprint: int
    """The fingerprint of a plain GET."""
    host: str
    origin: str


def explain_address(
    written: str, url: str, rules: CanonicalRules = DEFAULT, *, absolute: bool = True
) -> Address:
    """``written``: as it was given; ``url``: as ``urls.resolve`` returns it. No part of a relative link counts as
    changed.
    """
    form = canonical(url, rules)
    return Address(
        written=written,
        url=url,
        changes=tuple(changes(written, url)) if absolute else (),
        steps=tuple(canonical_steps(url, rules)),
        host_steps=() if rules.hosts is None else tuple(rules.hosts.steps(get_host(url))),
        canonical=form,
        fingerprint=fingerprint(form),
        host=get_host(url),
        origin=get_origin(url),
    )


class Fate(StrEnum):
    """The state of a URL, or the one that it would get."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    SETTLED = "settled"
    """The URL is known and not queued; its outcome is not stored."""
    WAITS = "waits"
    """The URL is queued."""
    KEPT = "kept"
    """The URL is queued, and not fetched in this run."""
    WILL_BE_REFUSED = "will_be_refused"
    """The URL is queued, and a rule will refuse it when its turn comes."""
    WOULD_BE_REFUSED = "would_be_refused"
    """The URL is not known, and would be refused when it is found."""
    WOULD_BE_QUEUED = "would_be_queued"
    """The URL is not known, and would be queued when it is found."""
    ROBOTS = "robots"
    """The URL is that of a robots.txt: requested when a page of its origin needs it, without a state of its own."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The conclusion. ``rule``: the one that refuses it, or the reason of its failure; None if there is none, or it
    is not stored.
    """

    fate: Fate
    rule: str | None = None
    turn_at: float | None = None
    """The approximate time of a queued URL's turn if all before it are fetched too (epoch seconds)."""
    leased: bool | None = False
    """True if it is being fetched or stored; None if possibly: a process has its key, and the answer."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole explanation. ``snapshot`` and ``waiting`` are None without a crawl, ``visits`` without a fetch
    log.
    """

    now: float
    address: Address
    key: str
    scoping: Scoping
    robots: RobotsWord
    snapshot: UrlSnapshot | None
    waiting: WaitReasons | None
    visits: LoggedFetches | None
    conclusion: Conclusion
    usage: UsageWord
    remembered: Remembered | None = None
    """The history of the page; None if it is not revisited."""
    worth: Worth | None = None
    """The estimated relevance; None if the crawl is not focused."""
    discovery: Discovery | None = None
    """The way in which the URL was found; None if nothing is known about it."""


@dataclass(frozen=True, slots=True)
class RulesForUrls:
    """The rules of a crawl that decide on a URL."""

    followed: Scope
    fixed: Scope
    politeness: Politeness
    agents: tuple[str, ...]
    """The product tokens of the crawler."""
    requests_per_key_max: int = 0
    """The number of fetches of a key after which the rest of its queue is refused; 0 for no limit."""
    page_budget: int = 0
    """The number of pages of a key after which the rest of its queue is refused; 0 for no limit."""
    usage_tokens: tuple[str, ...] = ()
    """Other crawlers of which a prohibition counts as one of what they crawl for."""
    usage_refused: tuple[str, ...] = ()
    """The purposes for all of which a page must be usable to be requested."""
    hours: FetchHours = ALWAYS
    recheck: Scope | None = None
    """The rules that are checked again at its turn for a URL that was followed; ``fixed`` if there are none."""


def explain(
    address: Address,
    key: str,
    rules: RulesForUrls,
    now: float,
    *,
    snapshot: UrlSnapshot | None = None,
    visits: LoggedFetches | None = None,
    named: bool = False,
    depth: int | None = None,
    via: str | None = None,
    shared: Sequence[WaitReason] = (),
    remembered: Remembered | None = None,
) -> Explanation:
    """Build the explanation.

    ``now`` is by the crawl's own clock if there is a crawl. ``named``: whether the operator named the URL. ``depth``:
    how many links it is from a seed, ``via``: the page that leads to it, if these are known otherwise than by the
    crawl. ``shared``: the clocks that its fetch shares with those of other keys.
    """
    known_depth = _known_depth(snapshot, visits) if depth is None else depth
    stage = RuleStage.SEED if named else _rule_stage(snapshot, visits)
    scoping = explain_scope(
        Candidate(
            address.url,
            address.host,
            key,
            known_depth or 0,
            linked_from=via or _referring_page(snapshot, visits),
        ),
        rules.followed,
        rules.fixed,
        rules.recheck or rules.fixed,
        stage,
        depth_known=known_depth is not None or stage is RuleStage.SEED,
        embed_hops=_embed_hops(snapshot, visits) if stage is RuleStage.EMBED else 0,
    )
    known = None if snapshot is None else snapshot.robots
    robots = robots_word(known, address.origin, address.url, rules.agents, now)
    waiting = None
    if snapshot is not None:
        waiting = evaluate_clocks(
            Facts(now, _record(snapshot, key), known, rules.politeness, shared, rules.hours)
        )
    lines = () if visits is None else visits.last
    usage = usage_word(known, address.url, rules.agents, rules.usage_tokens, rules.usage_refused, lines)
    conclusion = _conclude(address, scoping, robots, usage, snapshot, waiting, rules)
    return Explanation(
        now, address, key, scoping, robots, snapshot, waiting, visits, conclusion, usage, remembered
    )


def _conclude(
    address: Address,
    scoping: Scoping,
    robots: RobotsWord,
    usage: UsageWord,
    snapshot: UrlSnapshot | None,
    waiting: WaitReasons | None,
    rules: RulesForUrls,
) -> Conclusion:
    if snapshot is not None and snapshot.entry is not None and waiting is not None:
        queued = _queued(scoping, robots, snapshot, waiting, rules)
        if usage.refused and queued.fate in (Fate.KEPT, Fate.WAITS) and robots.fresh:
            return Conclusion(Fate.WILL_BE_REFUSED, "usage", leased=queued.leased)
        return queued
    if snapshot is not None and snapshot.known:
        record = snapshot.record
        if record is None:
            return Conclusion(Fate.SETTLED)
        return Conclusion(_FATES.get(record.state, Fate.SETTLED), record.rule)
    if address.url == f"{address.origin}/robots.txt":
        return Conclusion(Fate.ROBOTS)
    decided = scoping.decided_by
    if decided is not None:
        return Conclusion(Fate.WOULD_BE_REFUSED, decided.rule)
    if robots.forbids:
        return Conclusion(Fate.WOULD_BE_REFUSED, "robots")
    if usage.refused and robots.fresh:
        return Conclusion(Fate.WOULD_BE_REFUSED, "usage")
    return Conclusion(Fate.WOULD_BE_QUEUED)


_FATES = {State.DONE: Fate.DONE, State.FAILED: Fate.FAILED, State.REFUSED: Fate.REFUSED}


def _queued(
    scoping: Scoping, robots: RobotsWord, snapshot: UrlSnapshot, waiting: WaitReasons, rules: RulesForUrls
) -> Conclusion:
    key = snapshot.key
    leased = None if key is not None and _is_held(key, snapshot.now) else False
    record = None if key is None else key.record
    again = snapshot.entry is not None and snapshot.entry.repeat
    rule = _refusal(scoping, robots, record, rules, again=again)
    if rule is not None:
        return Conclusion(Fate.WILL_BE_REFUSED, rule, leased=leased)
    if waiting.earliest_at is None or record is None:
        return Conclusion(Fate.KEPT, leased=leased)
    turn_at = waiting.earliest_at + snapshot.before * rules.politeness.delay(record, snapshot.now)
    return Conclusion(Fate.WAITS, turn_at=turn_at, leased=leased)


def _is_held(key: KeySnapshot, now: float) -> bool:
    """Return True if a process has the key now, and did not only have it before."""
    ended = key.held_until is not None and key.held_until <= now
    return key.activity is Activity.ACTIVE and key.holder is not None and not ended


def _refusal(
    scoping: Scoping, robots: RobotsWord, record: HostRecord | None, rules: RulesForUrls, *, again: bool
) -> str | None:
    """Return the rule that refuses a queued URL at its turn, in the order in which ``ActiveKey`` checks them.

    A robots.txt that is requested first may change its own answer and the Crawl-delay.
    """
    if scoping.recheck_objection is not None:
        return scoping.recheck_objection
    most = rules.requests_per_key_max, rules.page_budget
    if record is not None and (rule := spent(record, *most, again=again)):
        return rule
    if robots.fresh and record is not None and rules.politeness.skips(record):
        return "crawl-delay"
    return "robots" if robots.forbids else None


def _record(snapshot: UrlSnapshot, key: str) -> HostRecord:
    return HostRecord(key) if snapshot.key is None else snapshot.key.record


def _known_depth(snapshot: UrlSnapshot | None, visits: LoggedFetches | None) -> int | None:
    """Return the depth at which it is queued, or was fetched."""
    if snapshot is not None and snapshot.entry is not None:
        return snapshot.entry.depth
    if visits is not None:
        for line in reversed(visits.last):
            if isinstance(line.get("depth"), int):
                return int(line["depth"])
    return None


def _referring_page(snapshot: UrlSnapshot | None, visits: LoggedFetches | None) -> str | None:
    """Return the page or the list that leads to it, as it is queued or was fetched; None for the redirect of a
    seed.
    """
    if snapshot is not None and snapshot.entry is not None:
        entry = snapshot.entry
        return entry.via if entry.depth or entry.kind == Kind.SITEMAP else None
    if visits is not None and visits.last:
        line = visits.last[-1]
        if isinstance(line.get("via"), str) and (line.get("depth") or line.get("kind") == Kind.SITEMAP):
            return str(line["via"])
    return None


def _embed_hops(snapshot: UrlSnapshot | None, visits: LoggedFetches | None) -> int:
    """Return how many embeds in sequence led to it, as it is queued or was fetched."""
    if snapshot is not None and snapshot.entry is not None:
        return snapshot.entry.embed_hops
    hops = visits.last[-1].get("embed") if visits is not None and visits.last else None
    return hops if isinstance(hops, int) else 0


def _rule_stage(snapshot: UrlSnapshot | None, visits: LoggedFetches | None) -> RuleStage:
    """Return how it was found, as it is queued or was fetched; a link if it is neither."""
    if snapshot is not None and snapshot.entry is not None:
        kind, via = snapshot.entry.kind, snapshot.entry.via
    elif visits is not None and visits.last:
        kind, via = str(visits.last[-1].get("kind")), visits.last[-1].get("via")
    else:
        return RuleStage.LINK
    if kind == Kind.SITEMAP:
        return RuleStage.SITEMAP
    if _embed_hops(snapshot, visits):
        return RuleStage.EMBED
    return RuleStage.SEED if via is None else RuleStage.LINK
