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
from webcrawl.control import error_log
from webcrawl.reports.counting import number_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from webcrawl.features.dashboard.source import CrawlSource
    from webcrawl.features.traps.quarantine import Trap

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


def fetches(source: CrawlSource, search: str, limit: int) -> dict[str, Any]:
    """Return ``rows``, the last requests, the last one first: fields of the fetch log, and ``seconds``."""
    rows: list[dict[str, Any]] = []
    for line in _last_lines(source.folder, fetchlog.NAME):
        if search and search.encode("ascii", "replace") not in line:
            continue
        with suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict) and search in str(found.get("url")):
                rows.append(_fetch(found))
                if len(rows) == limit:
                    break
    return {"rows": rows, "note": _note(source)}


def _fetch(line: dict[str, Any]) -> dict[str, Any]:
    start, end = number_in(line.get("start")), number_in(line.get("end"))
    seconds = None if start is None or end is None else round(end - start, 3)
    return {**{name: line.get(name) for name in _FETCH_FIELDS}, "seconds": seconds}


def errors(source: CrawlSource, search: str, limit: int) -> dict[str, Any]:
    """Return ``rows``, the last errors of URLs, the last one first, and ``kinds``, the number of each kind among
    those at the end of the log."""
    rows: list[dict[str, Any]] = []
    kinds: Counter[str] = Counter()
    for line in _last_lines(source.folder, error_log.NAME):
        found = error_log.parsed(line.decode("utf-8", "replace"))
        if found is None or (search and search not in f"{found.error} {found.url} {found.detail}"):
            continue
        kinds[found.error] += 1
        if len(rows) < limit:
            rows.append({"at": found.at, "error": found.error, "url": found.url, "detail": found.detail})
    return {"rows": rows, "kinds": dict(kinds.most_common()), "note": _note(source)}


def traps(source: CrawlSource, search: str, limit: int) -> dict[str, Any]:
    """Return ``rows``, the patterns that are or were in quarantine, the last one first. :raises CrawlError:"""
    # A crawl without traps does not need this import.
    from webcrawl.features.traps.store import TrapStore

    found = source.crawl.read_store(TrapStore, TrapStore.traps)
    chosen = [one for one in reversed(found) if search in one.pattern or search in one.id]
    return {"rows": [_trap(one) for one in chosen[:limit]], "total": len(chosen)}


def _trap(one: Trap) -> dict[str, Any]:
    return {
        "id": one.id,
        "pattern": one.pattern,
        "covers": one.covers,
        "reason": one.why,
        "since": one.since,
        "released_at": one.released_at,
        "examined": one.looked,
        "withheld": one.withheld,
        "samples": list(one.samples[:SAMPLES_SHOWN]),
    }


def parked(source: CrawlSource, search: str, limit: int) -> dict[str, Any]:
    """Return ``rows``, the parked hosts, those that wait longest first. :raises CrawlError:"""
    choices = {"state": "parked", "search": search, "sort": "next_at", "order": "desc"}
    page = source.hosts({**choices, "limit": min(limit, 500)})
    names = {
        "key": "key",
        "queued": "queued",
        "failures": "failures",
        "last_error": "health",
        "until": "next_at",
    }
    rows = [{name: row[column] for name, column in names.items()} for row in page["rows"]]
    return {"rows": rows, "total": page["total"], "as_of": page["as_of"]}


def _note(source: CrawlSource) -> str | None:
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
