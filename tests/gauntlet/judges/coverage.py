"""Whether an ordinary site is crawled completely, once, and written down."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.gauntlet.judges.rows import complete, naming
from tests.gauntlet.scorecard import Judged, judged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence

SECTION = "Coverage"


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge the crawl of the ordinary site."""
    yield complete(
        evidence,
        SECTION,
        "complete",
        "Every page of an ordinary site is requested, links in all forms included.",
    )
    counts = Counter(
        {name + path: n for name in evidence.site.hosts for path, n in evidence.paths(name).items()}
    )
    twice = [path for path, number in counts.items() if number > 1]
    yield judged(
        SECTION,
        "once",
        "Each page is requested once.",
        bool(counts) and not twice,
        f"{counts.total()} requests for {len(counts)} pages{naming(twice, ': twice ')}",
    )
    wanted = {name + path for name, host in evidence.site.hosts.items() for path in host.wanted}
    others = sorted(set(counts) - wanted)
    yield judged(
        SECTION,
        "nothing-else",
        "Nothing is requested that is no link or that robots.txt forbids.",
        bool(counts) and not others,
        f"{len(others)} requests for other URLs{naming(others)}",
    )
    run = evidence.run
    statuses = ", ".join(map(str, run.exit_statuses)) or "unknown"
    yield judged(
        SECTION,
        "ends",
        "The crawl ends by itself with status 0.",
        run.ended and not any(run.exit_statuses) if run.exit_statuses else None,
        f"exit status {statuses} after {run.seconds:.0f} s{'' if run.ended else ', stopped by the gauntlet'}",
    )
    yield _fetch_log(evidence)
    yield _archive(evidence)


def _fetch_log(evidence: Evidence) -> Judged:
    promise = "fetch.jsonl has exactly one line for each request that the server has seen, with its status."
    if not evidence.run.jobdirs:
        return judged(SECTION, "fetch-log", promise, None, "this crawler promises no such file")
    seen = Counter((hit.address, hit.path, hit.status) for hit in evidence.hits)
    addresses = {host.address for host in evidence.site.hosts.values()}
    written: Counter[tuple[str, str, int | None]] = Counter()
    for line in evidence.log_lines():
        parts = urlsplit(line["url"])
        if parts.hostname in addresses:
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            written[parts.hostname, path, line.get("status")] += 1
    differing = [f"{path} {status}" for _, path, status in (seen - written) + (written - seen)]
    return judged(
        SECTION,
        "fetch-log",
        promise,
        bool(seen) and not differing,
        f"{seen.total()} requests, {written.total()} lines{naming(differing)}",
    )


def _archive(evidence: Evidence) -> Judged:
    promise = "The WARC files have exactly one response for each page that the server has sent."
    if not evidence.run.jobdirs:
        return judged(SECTION, "archive", promise, None, "this crawler promises no such file")
    sent = Counter((hit.address, hit.path) for hit in evidence.hits if hit.complete)
    addresses = {host.address for host in evidence.site.hosts.values()}
    stored: Counter[tuple[str, str]] = Counter()
    for kind, url in evidence.warc_records():
        parts = urlsplit(url)
        if kind in ("response", "revisit") and parts.hostname in addresses:
            stored[parts.hostname, parts.path + (f"?{parts.query}" if parts.query else "")] += 1
    differing = [path for _, path in (sent - stored) + (stored - sent)]
    return judged(
        SECTION,
        "archive",
        promise,
        bool(sent) and not differing,
        f"{sent.total()} responses, {stored.total()} records{naming(differing)}",
    )
