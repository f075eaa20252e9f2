"""Everything that is known of one host, as one object."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from webcrawl.features.steering.store import SteeringStore
from webcrawl.politeness.rate_limits import limits_in_words
from webcrawl.scope.exclusion import ExclusionError, ExclusionList
from webcrawl.storage.inspection import Activity
from webcrawl.urls.lists import hostname
from webcrawl.urls.politeness_key import get_origin
from webcrawl.web.dashboard.last_requests import last_requests

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from webcrawl.frontier.records import UrlEntry
    from webcrawl.politeness.host_record import HostRecord, RobotsRecord
    from webcrawl.storage.inspection import KeySnapshot
    from webcrawl.web.dashboard.state import ReadableCrawl

QUEUE_SHOWN = 20
"""Entries of the queue."""
FETCHES_SHOWN = 20
ORIGINS_MAX = 6
ROBOTS_TEXT_MAX = 20_000
"""Characters of a robots.txt."""


def describe_host(source: ReadableCrawl, name: str) -> dict[str, Any] | None:
    """Return what is known of a host, given by its politeness key, or by a name with a port or a scheme; None for one
    that the crawl does not know.

    ``key``, ``state``, ``holder``, ``queued``; ``health``, ``limits`` (those that the host names
    itself) and ``excluded``, each a sentence or None;
    ``delay_override`` (seconds); ``record``; ``robots``, one for each origin; ``queue``, its first entries;
    ``fetches``, the last ones.

    :raises CrawlError: the crawl cannot be read
    """
    description = _described(source, name)
    host = hostname(name) if description is None else None
    return description if host is None or host == name else _described(source, host)


def _described(source: ReadableCrawl, key: str) -> dict[str, Any] | None:
    crawl = source.crawl
    queue = crawl.queue(key, QUEUE_SHOWN)
    fetches = list(_fetches(source.folders, key))
    snapshot_of_key: KeySnapshot | None = None
    robots: list[RobotsRecord] = []
    now = 0.0
    for origin in _origins(key, [entry.url for entry in queue] + [str(line["url"]) for line in fetches]):
        snapshot = crawl.snapshot(lambda settings: key, 0, origin)
        snapshot_of_key, now = snapshot.key, snapshot.now
        if snapshot.robots is not None:
            robots.append(snapshot.robots)
    if snapshot_of_key is None:
        return None
    delays = crawl.read_store(SteeringStore, SteeringStore.delays)
    override = delays.get(key)
    return {
        "key": key,
        "state": _state(snapshot_of_key, now),
        "holder": snapshot_of_key.holder,
        "hosts_before": snapshot_of_key.hosts_before,
        "queued": snapshot_of_key.queued,
        "health": _health(snapshot_of_key.record),
        "limits": limits_in_words(snapshot_of_key.record, now),
        "excluded": _excluded(source, key),
        "delay_override": None if override is None else override.seconds,
        "record": _record(snapshot_of_key.record),
        "robots": [_robots(answer) for answer in robots],
        "queue": [_entry(queued) for queued in queue],
        "fetches": fetches,
    }


def _origins(key: str, urls: Sequence[str]) -> list[str]:
    """Return the origins of some URLs of a host, the usual ones in any case."""
    origins = dict.fromkeys((f"https://{key}", f"http://{key}"))
    for url in urls:
        with suppress(ValueError):
            origins.setdefault(get_origin(url))
    return list(origins)[:ORIGINS_MAX]


def _state(key: KeySnapshot, now: float) -> str:
    if key.activity is not Activity.IDLE:
        return str(key.activity)
    if key.record.parked:
        return "parked"
    return "ready" if max(key.record.next_fetch_at, key.record.blocked_until) <= now else "waiting"


def _health(record: HostRecord) -> str | None:
    if record.given_up:
        return f"given up after {record.parks} pauses: {record.last_error or 'it does not answer'}"
    if record.refusals:
        rests = ", and is left alone for a day" if record.refusal_rests else ""
        return f"refuses this crawler: {record.last_error or 'unknown'}{rests}"
    if record.parked:
        return f"parked: {record.last_error or 'it asked for a pause'}"
    if record.failures:
        return f"{record.failures} failures in a row: {record.last_error or 'unknown'}"
    return None


def _excluded(source: ReadableCrawl, host: str) -> str | None:
    """Return the sentence of the entry that excludes all of a host."""
    entries = source.crawl.read_store(SteeringStore, SteeringStore.excluded)
    for exclusion in entries:
        try:
            listed = ExclusionList.of(exclusion.entry.encode("utf-8", "replace"))
        except ExclusionError:
            continue
        if listed.domain_objection(host) is not None:
            return f"{exclusion.entry}, by {exclusion.by}"
    workers = source.crawl.read_store(SteeringStore, SteeringStore.workers)
    path = source.started(workers).exclusion_file
    if path is None:
        return None
    try:
        objection = ExclusionList.load(path).domain_objection(host)
    except (ExclusionError, OSError):
        return None
    return None if objection is None else f"{objection}, in {path}"


def _record(record: HostRecord) -> dict[str, Any]:
    fields = asdict(record)
    del fields["key"], fields["fence"]
    return fields


def _robots(record: RobotsRecord) -> dict[str, Any]:
    return {**asdict(record), "text": record.text[:ROBOTS_TEXT_MAX]}


def _entry(entry: UrlEntry) -> dict[str, Any]:
    return {
        "url": entry.url,
        "kind": str(entry.kind),
        "level": entry.level,
        "depth": entry.depth,
        "via": entry.via,
        "attempts": entry.attempts,
    }


def _fetches(folders: Sequence[Path], key: str) -> Iterator[dict[str, Any]]:
    """Yield the last requests to a key in the ends of the fetch logs, the last one first."""
    of_key = (line for line in last_requests(folders, json.dumps(key).encode()) if line.get("key") == key)
    for line in islice(of_key, FETCHES_SHOWN):
        names = ("end", "url", "kind", "status", "error", "bytes")
        yield {name: line.get(name) for name in names}
