"""Short lists: the last requests and errors of a crawl, its traps and its parked hosts. All functions block.

Logs are read from their ends, a few megabytes at most, however long they are. A crawl on Redis has its logs in the
JOBDIRs of its workers: those of the worker in the dashboard's own JOBDIR are shown, and ``note`` says so.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from webcrawl.archive import fetchlog
from webcrawl.reports.counting import number_in
from webcrawl.reports.figures import is_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from webcrawl.features.traps.quarantine import Trap
    from webcrawl.web.dashboard.source import CrawlSource

TAIL_BYTES = 4 << 20
"""The end of a log that is read."""
LIMIT_MAX = 1000
SEARCH_MAX = 2000
SAMPLES_SHOWN = 3

_FETCH_FIELDS = (
    "url",
    "kind",
    "status",
    "error",
    "mime",
    "bytes",
    "start",
    "end",
    "key",
    "depth",
    "via",
    "worker",
)


def fetches(source: CrawlSource, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``rows``, the last requests, the last one first: fields of the fetch log, and ``seconds``.

    ``values``: ``search`` in the URL, ``status`` (a class such as ``4xx``, or ``none``), ``kind``, ``host`` (a
    politeness key), ``error`` and ``limit``.
    """
    rows, since = [], None
    for record in _requests(source, values["search"]):
        since = number_in(record.get("end"))
        if _is_wanted(record, values):
            rows.append(_fetch(record))
            if len(rows) == values["limit"]:
                break
    return {"rows": rows, "since": since, "note": note(source)}


def _requests(source: CrawlSource, search: str) -> Iterator[dict[str, Any]]:
    """Yield the lines at the end of the fetch log whose URLs contain a text, the last one first."""
    sought = search.encode("ascii", "replace")
    for line in _last_lines(source.folder, fetchlog.NAME):
        if search and sought not in line:
            continue
        with suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict) and search in str(record.get("url")):
                yield record


def _is_wanted(line: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    status, wanted = line.get("status"), values["status"]
    if wanted == "none" and status is not None:
        return False
    if wanted not in ("", "none") and not (isinstance(status, int) and f"{status // 100}xx" == wanted):
        return False
    pairs = (("kind", "kind"), ("key", "host"), ("error", "error"))
    return all(not values[value_name] or line.get(name) == values[value_name] for name, value_name in pairs)


def _fetch(line: dict[str, Any]) -> dict[str, Any]:
    start, end = number_in(line.get("start")), number_in(line.get("end"))
    seconds = None if start is None or end is None else round(end - start, 3)
    return {**{name: line.get(name) for name in _FETCH_FIELDS}, "seconds": seconds}


def errors(source: CrawlSource, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``rows``, the last errors (see ``is_error``), the last one first; ``kinds``, the number of each kind
    among those at the end of the fetch log; ``total`` of them; and ``since``, the time from which on these are all.

    ``values``: ``search`` in the URL, ``error`` (a kind) and ``limit``.
    """
    rows: list[dict[str, Any]] = []
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


def _error(line: dict[str, Any]) -> dict[str, Any]:
    row = _fetch(line)
    names = ("error", "url", "kind", "key", "via", "seconds")
    return {"at": row["end"], **{name: row[name] for name in names}, "attempt": line.get("attempt")}


def traps(source: CrawlSource, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``rows``, the patterns that are or were in quarantine, the last one first. :raises CrawlError:"""
    # A crawl without traps does not need this import.
    from webcrawl.features.traps.store import TrapStore

    stored = source.crawl.read_store(TrapStore, TrapStore.traps)
    search, limit = values["search"], values["limit"]
    chosen = [trap for trap in reversed(stored) if search in trap.pattern or search in trap.id]
    return {"rows": [_trap(trap) for trap in chosen[:limit]], "total": len(chosen)}


def _trap(trap: Trap) -> dict[str, Any]:
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


def parked(source: CrawlSource, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``rows``, the parked hosts, those that wait longest first. :raises CrawlError:"""
    choices = {"state": "parked", "search": values["search"], "sort": "next_at", "order": "desc"}
    page = source.hosts({**choices, "limit": min(values["limit"], 500)})
    names = {
        "key": "key",
        "queued": "queued",
        "failures": "failures",
        "reason": "health",
        "until": "next_at",
    }
    rows = [{name: row[column] for name, column in names.items()} for row in page["rows"]]
    last = _last_robots(source, {row["key"] for row in rows})
    for row in rows:
        reason = _REASONS.get(row["reason"], row["reason"])
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
    return f"of the worker in {source.folder}" if source.is_shared else None


def _last_lines(folder: Path | None, name: str) -> Iterator[bytes]:
    """Yield the complete lines at the end of a log, the last one first; none if it cannot be read."""
    if folder is None:
        return
    try:
        with (folder / name).open("rb") as file:
            end = file.seek(0, 2)
            file.seek(max(end - TAIL_BYTES, 0))
            text = file.read(TAIL_BYTES)
    except OSError:
        return
    lines = text.split(b"\n")
    # What follows the last line break is not complete, and neither is the first line, unless the file begins there.
    yield from reversed(lines[0 if end <= TAIL_BYTES else 1 : -1])
