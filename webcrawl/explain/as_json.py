"""An explanation as JSON. Its fields are described in docs/reference/commands.md; new fields may be added."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from webcrawl.explain import discovery, features
from webcrawl.frontier.records import CARRIED, UrlRecord
from webcrawl.parsing.sitemap import facts

if TYPE_CHECKING:
    from webcrawl.explain.account import ExaminedCrawl, Explanation
    from webcrawl.explain.rules import RobotsWord, Scoping
    from webcrawl.storage.inspection import KeySnapshot, UrlSnapshot

VERSION = 1
"""Changes when a field is removed or gets another meaning."""
_IN_WORDS = ("payload", "listed")
"""The carried values of an entry that are not shown as they are stored."""


def as_json(explanation: Explanation, crawl: ExaminedCrawl) -> str:
    """Return one object on one line."""
    return json.dumps(as_object(explanation, crawl))


def as_object(explanation: Explanation, crawl: ExaminedCrawl) -> dict[str, Any]:
    """Return the explanation as plain values."""
    return {
        "version": VERSION,
        "now": explanation.now,
        "crawl": _crawl(crawl, explanation.snapshot),
        "url": _url(explanation),
        "scope": _scope(explanation.scoping),
        "robots": _robots(explanation.robots),
        "usage": asdict(explanation.usage),
        "frontier": _frontier(explanation),
        "key": _key(None if explanation.snapshot is None else explanation.snapshot.key),
        "clocks": _clocks(explanation),
        "found": discovery.as_object(explanation.discovery),
        "visits": features.revisit_object(explanation.remembered),
        "focus": features.worth_object(explanation.worth),
        "log": None
        if explanation.visits is None
        else {"count": explanation.visits.count, "last": [dict(line) for line in explanation.visits.last]},
        "conclusion": {
            "fate": str(explanation.conclusion.fate),
            "rule": explanation.conclusion.rule,
            "leased": explanation.conclusion.leased,
            "turn_at": explanation.conclusion.turn_at,
        },
    }


def _crawl(crawl: ExaminedCrawl, snapshot: UrlSnapshot | None) -> dict[str, Any]:
    return {
        "storage": crawl.storage,
        "place": crawl.place,
        "running_workers": [] if snapshot is None else list(snapshot.running_workers),
        "command": None if snapshot is None else str(snapshot.demand),
        "note": crawl.note,
        "differs": [asdict(difference) for difference in crawl.differs],
    }


def _url(explanation: Explanation) -> dict[str, Any]:
    address = explanation.address
    return {
        "written": address.written,
        "resolved": address.url,
        "changes": [asdict(change) for change in address.changes],
        "canonical": address.canonical,
        "steps": [asdict(step) for step in address.steps],
        "host_rules": [{**rule._asdict(), "after": name} for rule, name in address.host_steps],
        "fingerprint": address.fingerprint,
        "host": address.host,
        "origin": address.origin,
        "key": explanation.key,
    }


def _scope(scoping: Scoping) -> dict[str, Any]:
    decided = scoping.decided_by
    return {
        "allowed": decided is None,
        "decided_by": None if decided is None else decided.rule,
        "stage": str(scoping.stage),
        "embed_hops": scoping.embed_hops,
        "depth": scoping.depth if scoping.depth_known else None,
        "rules": [asdict(word) for word in scoping.words],
    }


def _robots(word: RobotsWord) -> dict[str, Any]:
    record, decided = word.record, word.deciding
    return {
        "origin": word.origin,
        "state": None if record is None else str(record.state),
        "fetched_at": None if record is None else record.fetched_at,
        "expires_at": None if record is None else record.expires_at,
        "attempts": 0 if record is None else record.attempts,
        "crawl_delay_seconds": None if record is None else record.crawl_delay_seconds,
        "fresh": word.fresh,
        "allowed": word.allowed,
        "reason": word.reason,
        "text_allows": None if decided is None else decided.allowed,
        "rule": None if decided is None or decided.rule is None else asdict(decided.rule),
        "group": [] if decided is None else [asdict(line) for line in decided.group],
    }


def _frontier(explanation: Explanation) -> dict[str, Any] | None:
    snapshot = explanation.snapshot
    if snapshot is None:
        return None
    entry = snapshot.entry
    return {
        "known": snapshot.known,
        **(dict.fromkeys(UrlRecord._fields) if snapshot.record is None else snapshot.record.facts()),
        "rules_kept": snapshot.rules_kept,
        "queued": None
        if entry is None
        else {
            "url": entry.url,
            "level": entry.level,
            "position": entry.position,
            "before": snapshot.before,
            "via": entry.via,
            "depth": entry.depth,
            "kind": str(entry.kind),
            "redirects": entry.redirects,
            "attempts": entry.attempts,
            "repeat": entry.repeat,
            "ordinary": entry.payload is not None,
            "listed": None if entry.listed is None else facts(entry.listed),
            **{stored: getattr(entry, name) for name, stored in CARRIED.items() if name not in _IN_WORDS},
        },
    }


def _key(key: KeySnapshot | None) -> dict[str, Any] | None:
    if key is None:
        return None
    record = asdict(key.record)
    return {
        "key": record.pop("key"),
        "activity": str(key.activity),
        "holder": key.holder,
        "held_until": key.held_until,
        "hosts_before": key.hosts_before,
        "queued": key.queued,
        **{name: value for name, value in record.items() if name != "fence"},
    }


def _clocks(explanation: Explanation) -> dict[str, Any] | None:
    waiting = explanation.waiting
    if waiting is None:
        return None
    return {
        "earliest_at": waiting.earliest_at,
        "binding": None if waiting.binding is None else waiting.binding.name,
        "clocks": [asdict(clock) for clock in waiting.clocks],
    }
