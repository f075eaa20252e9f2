"""Requests for robots.txt and their replies.

An origin's robots.txt is the first entry of its key's own queue (BUbiNG does the same), so it is polite, leased and
recorded like any page. It is not stored there: it follows from the origin having no fresh answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from webcrawl.archive.capture import ArchiveEntry
from webcrawl.frontier.policies import Policies, RobotsPolicy
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.robots import answer as robots
from webcrawl.robots.site_files import BYTES_MAX, SiteFile, with_files
from webcrawl.robots.text import FILES_MARK

LEVEL = 1 << 40
"""robots.txt goes before every page."""


@dataclass(frozen=True, slots=True)
class RobotsReply:
    """The reply to a request for robots.txt: a status (0 and an ``error`` if there was no response)."""

    status: int
    body: bytes
    error: str | None = None
    location: str | None = None
    """The target of a redirect, resolved; None if there is none."""
    location_key: str | None = None
    """The politeness key of ``location``."""
    retry_after_seconds: float | None = None
    refused: str | None = None
    """The rule that forbids following the redirect."""
    previous: RobotsRecord | None = None
    """The stored record of the origin, if it belongs to another key than the requested one."""
    received_at: float | None = None
    """The time at which a robots.txt from a cache was received; None for now."""
    fresh_seconds: float | None = None
    """The time for which the response is fresh by its Cache-Control; None if it does not say."""
    record: RobotsRecord | None = None
    """The record that ``read`` made of a body that takes too long for the event loop."""


def origin_and_hops(entry: UrlEntry) -> tuple[str, int]:
    """Return, for a robots entry, the origin of the robots.txt and the number of redirects followed so far."""
    payload = json.loads(entry.payload or "{}")
    return str(payload["origin"]), int(payload["hops"])


def is_stored(entry: UrlEntry) -> bool:
    """Return True if the entry has a place in a stored queue. A robots.txt has one only as a hop on another key, an
    inline request never."""
    return entry.kind != Kind.INLINE and (entry.kind != Kind.ROBOTS or entry.position != 0)


def proxy_route(entry: UrlEntry) -> str | None:
    """Return, for a robots entry, the proxy of the page that needs it (``Policies.proxy_route``)."""
    route = json.loads(entry.payload or "{}").get("route")
    return None if route is None else str(route)


def first_request(
    origin: str, key: str, via: str | None, url: str | None = None, route: str | None = None
) -> UrlEntry:
    """Return the entry that requests the robots.txt of an origin; ``url``: where it is, if not at ``/robots.txt``.

    ``route``: the proxy of the page that needs it; its redirects take the same.
    """
    return _entry(url or f"{origin}/robots.txt", key, origin, 0, via, route)


def read(entry: UrlEntry, reply: RobotsReply, now: float, policy: RobotsPolicy) -> RobotsReply:
    """Return a successful reply with its record made and its rules parsed: for large bodies, on another thread."""
    record, _ = answer(entry, reply, None, now, policy)
    policy.rules.rules(record)
    return replace(reply, body=b"", record=record)


def answer(
    entry: UrlEntry, reply: RobotsReply, previous: RobotsRecord | None, now: float, policy: RobotsPolicy
) -> tuple[RobotsRecord, UrlEntry | None]:
    """Return the origin's record after the reply, and the entry for the next hop if there is one."""
    if is_site_file(entry):
        return _answer_site_file(entry, reply, now)
    if reply.record is not None:
        return reply.record, None
    origin, hops = origin_and_hops(entry)
    if reply.error is not None:
        return robots.unreachable(origin, previous, now, absence=policy.absence), None
    if not 300 <= reply.status < 400:
        record = robots.answered(
            origin,
            reply.status,
            reply.body,
            now if reply.received_at is None else reply.received_at,
            ttl=policy.ttl_seconds,
            ttl_min=policy.ttl_min_seconds,
            fresh_seconds=reply.fresh_seconds,
            max_bytes=policy.max_bytes,
            previous=previous,
            agents=policy.agents,
            retry_after=reply.retry_after_seconds,
            absence=policy.absence,
        )
        return record, None
    if reply.location is None or reply.location_key is None or reply.refused or hops >= policy.max_redirects:
        # RFC 9309, section 2.3.1.2: after five hops the file may be taken for unavailable. In doubt nothing is
        # fetched.
        return robots.unreachable(origin, previous, now, absence=policy.absence), None
    hop = _entry(reply.location, reply.location_key, origin, hops + 1, entry.url, proxy_route(entry))
    return robots.redirected(origin, previous, now), hop


def begin_site_files(
    entry: UrlEntry, key: str, record: RobotsRecord, now: float, policies: Policies
) -> tuple[RobotsRecord, UrlEntry | None]:
    """Return the record of an origin after a robots.txt was answered, and the entry for the first of the files that
    are requested after it; the record itself if there are none. ``key``: that of the origin.

    Nothing else of the origin is fetched until they are answered: its record waits in the payload of the entry.
    """
    policy = policies.robots
    is_answer = record.state in (robots.RobotsState.RULES, robots.RobotsState.ALLOWED_ALL)
    if policy.site_files is None or is_site_file(entry) or not is_answer or record.attempts:
        return record, None
    if policies.politeness.is_too_long(record.crawl_delay_seconds):
        return record, None
    text = record.text.partition(FILES_MARK)[0]
    files = policy.site_files.wanted(record.origin, text, policy.rules.rules(record))
    if not files:
        return record, None
    kept = {
        "state": str(record.state),
        "received_at": record.fetched_at,
        "expires_at": record.expires_at,
        "text": text,
        "crawl_delay": record.crawl_delay_seconds,
        "bodies": [],
    }
    first = _site_file_entry(record.origin, key, files, kept, entry.url, proxy_route(entry))
    until = now + robots.PENDING_SECONDS
    pending = RobotsRecord(record.origin, robots.RobotsState.PENDING, record.fetched_at, until, text)
    pending.crawl_delay_seconds = record.crawl_delay_seconds
    return pending, first


def is_site_file(entry: UrlEntry) -> bool:
    """Return True if an entry requests a file beside a robots.txt."""
    return entry.kind == Kind.ROBOTS and entry.payload is not None and '"files": [' in entry.payload


def _answer_site_file(
    entry: UrlEntry, reply: RobotsReply, now: float
) -> tuple[RobotsRecord, UrlEntry | None]:
    """Return the record of the origin with the file that was answered, and the entry for the next one. A file that
    is not available says nothing; if it may be available later, robots.txt and file are soon requested again."""
    payload = json.loads(entry.payload or "{}")
    origin, kept = str(payload["origin"]), payload["robots"]
    received_at = float(kept.get("received_at", now))
    (kind, url), *files = payload["files"]
    if reply.error is not None or reply.status == 429 or reply.status >= 500:
        kept["expires_at"] = min(kept["expires_at"], now + robots.COPY_RETRY_SECONDS)
    elif 200 <= reply.status < 300 and len(reply.body) <= BYTES_MAX:
        kept["bodies"].append([kind, url, reply.body.decode("latin-1")])
    if files:
        rest = [SiteFile(*file) for file in files]
        until = now + robots.PENDING_SECONDS
        waiting = RobotsRecord(origin, robots.RobotsState.PENDING, received_at, until)
        return waiting, _site_file_entry(origin, entry.key, rest, kept, entry.url, proxy_route(entry))
    bodies = {kind: (url, body.encode("latin-1")) for kind, url, body in kept["bodies"]}
    text = with_files(kept["text"], bodies)
    return RobotsRecord(
        origin, kept["state"], received_at, kept["expires_at"], text, kept["crawl_delay"]
    ), None


def _site_file_entry(
    origin: str, key: str, files: Sequence[SiteFile], kept: dict[str, Any], via: str, route: str | None
) -> UrlEntry:
    entry = _entry(files[0].url, key, origin, 1, via, route)
    entry.payload = json.dumps({**json.loads(entry.payload or "{}"), "files": files, "robots": kept})
    return entry


def version(record: RobotsRecord) -> float | None:
    """Return the version of a robots.txt as logs and archive name it: when it was received. None if none holds."""
    held = record.state in (robots.RobotsState.RULES, robots.RobotsState.ALLOWED_ALL)
    return round(record.fetched_at, 3) if held else None


def add_facts(line: ArchiveEntry | None, record: RobotsRecord, politeness: Politeness) -> None:
    """Add the meaning of the answer to the fetch log: its origin, the version that holds now and until when, its
    Crawl-delay, and whether that is so long that the host is skipped."""
    if line is None:
        return
    line.record.extra |= {
        "origin": record.origin,
        "robots": str(record.state),
        "until": round(record.expires_at, 3),
    }
    if (received_at := version(record)) is not None:
        line.record.extra["robots_received"] = received_at
    if record.crawl_delay_seconds is not None:
        line.record.extra["crawl_delay"] = record.crawl_delay_seconds
        if politeness.is_too_long(record.crawl_delay_seconds):
            line.record.extra["skipped"] = True


def _entry(url: str, key: str, origin: str, hops: int, via: str | None, route: str | None) -> UrlEntry:
    payload = json.dumps({"origin": origin, "hops": hops} | ({} if route is None else {"route": route}))
    return UrlEntry(
        url, key, 0, level=LEVEL, via=via, kind=Kind.ROBOTS, redirects=hops, repeat=True, payload=payload
    )
