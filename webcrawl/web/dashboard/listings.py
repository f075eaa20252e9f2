"""Short lists: the last requests and errors of a crawl, its traps and its parked hosts. All functions block.

Logs are read from their ends, a few megabytes at most, however long they are. A crawl on Redis has its logs in the
JOBDIRs of its workers: those of the worker in the dashboard's own JOBDIR are shown, and ``note`` says so.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypedDict

from webcrawl.reports.counting import number_in
from webcrawl.reports.figures import is_error
from webcrawl.web.dashboard.last_requests import last_requests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webcrawl.features.traps.quarantine import Trap
    from webcrawl.web.dashboard.source import CrawlSource

LIMIT_MAX = 1000
SEARCH_MAX = 2000
SAMPLES_SHOWN = 3


class FetchRow(TypedDict):
    """A request, by the fetch log."""

    url: str | None
    kind: str | None
    status: float | None
    error: str | None
    mime: str | None
    bytes: float | None
    start: float | None
    end: float | None
    key: str | None
    depth: float | None
    via: str | None
    worker: str | None
    refusal: str | None
    refusal_by: str | None
    refusal_detail: str | None
    usage: dict[str, Any] | None
    withheld: bool
    seconds: float | None


class FetchesAnswer(TypedDict):
    """The last requests."""

    rows: list[FetchRow]
    since: float | None
    note: str | None


class ErrorRow(TypedDict):
    """A request that ended without a response."""

    at: float | None
    error: str | None
    url: str | None
    kind: str | None
    key: str | None
    via: str | None
    seconds: float | None
    attempt: float | None


class ErrorsAnswer(TypedDict):
    """The last errors."""

    rows: list[ErrorRow]
    total: int
    kinds: dict[str, int]
    since: float | None
    note: str | None


class TrapRow(TypedDict):
    """A URL pattern in quarantine."""

    id: str
    pattern: str
    covers: str
    reason: str
    since: float
    released_at: float | None
    examined: int
    withheld: int
    samples: list[str]


class TrapsAnswer(TypedDict):
    """The patterns that are or were in quarantine."""

    rows: list[TrapRow]
    total: int


class ParkedRow(TypedDict):
    """A parked host."""

    key: str
    queued: float | None
    failures: float | None
    reason: str | None
    until: float | None


class ParkedAnswer(TypedDict):
    """The parked hosts."""

    rows: list[ParkedRow]
    total: int
    as_of: float | None


def fetches(source: CrawlSource, values: Mapping[str, Any]) -> FetchesAnswer:
    """Return ``rows``, the last requests, the last one first: fields of the fetch log, and ``seconds``.

    ``values``: ``search`` in the URL, ``status`` (a class such as ``4xx``, or ``none``), ``kind``, ``host`` (a
    politeness key), ``error``, ``refusal`` (a kind, or ``any``), ``withheld`` (``yes``) and ``limit``.
    """
    rows: list[FetchRow] = []
    since = None
    for record in _requests(source, values["search"]):
        since = number_in(record.get("end"))
        if _is_wanted(record, values):
            rows.append(_fetch(record))
            if len(rows) == values["limit"]:
                break
    return {"rows": rows, "since": since, "note": note(source)}


def _requests(source: CrawlSource, search: str) -> Iterator[dict[str, Any]]:
    """Yield the lines at the end of the fetch log whose URLs contain a text, the last one first."""
    # The log has characters beyond ASCII as escapes.
    sought = search.encode() if search.isascii() else b""
    for record in last_requests(source.folders, sought):
        if search in str(record.get("url")):
            yield record


def _is_wanted(line: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    status, wanted = line.get("status"), values["status"]
    if wanted == "none" and status is not None:
        return False
    if wanted not in ("", "none") and not (isinstance(status, int) and f"{status // 100}xx" == wanted):
        return False
    if values["withheld"] and line.get("withheld") is not True:
        return False
    refusal = values["refusal"]
    if refusal and (line.get("refusal") is None if refusal == "any" else line.get("refusal") != refusal):
        return False
    pairs = (("kind", "kind"), ("key", "host"), ("error", "error"))
    return all(not values[value_name] or line.get(name) == values[value_name] for name, value_name in pairs)


def _fetch(line: dict[str, Any]) -> FetchRow:
    start, end = number_in(line.get("start")), number_in(line.get("end"))
    seconds = None if start is None or end is None else round(end - start, 3)
    return {
        "url": line.get("url"),
        "kind": line.get("kind"),
        "status": line.get("status"),
        "error": line.get("error"),
        "mime": line.get("mime"),
        "bytes": line.get("bytes"),
        "start": line.get("start"),
        "end": line.get("end"),
        "key": line.get("key"),
        "depth": line.get("depth"),
        "via": line.get("via"),
        "worker": line.get("worker"),
        "refusal": line.get("refusal"),
        "refusal_by": line.get("refusal_by"),
        "refusal_detail": line.get("refusal_detail"),
        "usage": line.get("usage"),
        "withheld": line.get("withheld") is True,
        "seconds": seconds,
    }


def errors(source: CrawlSource, values: Mapping[str, Any]) -> ErrorsAnswer:
    """Return ``rows``, the last errors (see ``is_error``), the last one first; ``kinds``, the number of each kind
    among those at the end of the fetch log; ``total`` of them; and ``since``, the time from which on these are all.

    ``values``: ``search`` in the URL, ``error`` (a kind) and ``limit``.
    """
    rows: list[ErrorRow] = []
    kinds: Counter[str] = Counter()
    since = None
    for record in _requests(source, values["search"]):
        since = number_in(record.get("end"))
        if not is_error(record):
            continue
        kinds[str(record.get("error"))] += 1
        if len(rows) < values["limit"] and values["error"] in ("", record.get("error")):
            rows.append(_error(record))
    total = kinds[values["error"]] if values["error"] else kinds.total()
    return {
        "rows": rows,
        "total": total,
        "kinds": dict(kinds.most_common()),
        "since": since,
        "note": note(source),
    }


def _error(line: dict[str, Any]) -> ErrorRow:
    row = _fetch(line)
    return {
        "at": row["end"],
        "error": row["error"],
        "url": row["url"],
        "kind": row["kind"],
        "key": row["key"],
        "via": row["via"],
        "seconds": row["seconds"],
        "attempt": line.get("attempt"),
    }


def traps(source: CrawlSource, values: Mapping[str, Any]) -> TrapsAnswer:
    """Return ``rows``, the patterns that are or were in quarantine, the last one first. :raises CrawlError:"""
    # A crawl without traps does not need this import.
    from webcrawl.features.traps.store import TrapStore

    stored = source.crawl.read_store(TrapStore, TrapStore.beliefs)
    search, limit = values["search"], values["limit"]
    chosen = [trap for trap in reversed(stored) if search in trap.pattern or search in trap.id]
    return {"rows": [_trap(trap) for trap in chosen[:limit]], "total": len(chosen)}


def _trap(trap: Trap) -> TrapRow:
    return {
        "id": trap.id,
        "pattern": trap.pattern,
        "covers": trap.covers,
        "reason": trap.why,
        "since": trap.since,
        "released_at": trap.released_at,
        "examined": trap.looked,
        "withheld": trap.withheld,
        "samples": list(trap.samples[:SAMPLES_SHOWN]),
    }


def parked(source: CrawlSource, values: Mapping[str, Any]) -> ParkedAnswer:
    """Return ``rows``, the parked hosts, those that wait longest first. :raises CrawlError:"""
    choices = {"state": "parked", "search": values["search"], "sort": "next_at", "order": "desc"}
    page = source.hosts({**choices, "limit": min(values["limit"], 500)})
    rows: list[ParkedRow] = [
        {
            "key": row["key"],
            "queued": row["queued"],
            "failures": row["failures"],
            "reason": row["health"],
            "until": row["next_at"],
        }
        for row in page["rows"]
    ]
    last = _last_robots(source, {row["key"] for row in rows})
    for row in rows:
        reason = _REASONS.get(row["reason"] or "", row["reason"])
        row["reason"] = f"robots.txt: {reason} ({last[row['key']]})" if row["key"] in last else reason
    return {"rows": rows, "total": page["total"], "as_of": page["as_of"]}


_REASONS = {"busy": "the server asked for a pause"}


def _last_robots(source: CrawlSource, keys: set[str]) -> dict[str, str]:
    """Return, for those of some politeness keys whose last request in the end of the fetch log was for a robots.txt,
    how that ended."""
    left, answers = set(keys), dict[str, str]()
    for line in _requests(source, "") if left else ():
        if (key := line.get("key")) in left:
            left.discard(key)
            if line.get("kind") == "robots":
                status, error = line.get("status"), line.get("error")
                answers[key] = f"error {error}" if status is None else f"status {status}"
            if not left:
                break
    return answers


def note(source: CrawlSource) -> str | None:
    """Return whose logs the dashboard has, if not those of the whole crawl."""
    if source.folder is None:
        return "the logs of this crawl are in the JOBDIRs of its workers"
    return None if source.is_whole else f"of the worker in {source.folder}"
