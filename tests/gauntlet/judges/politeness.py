"""Whether each host got the time that it is owed, by the server's log."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.fakeweb import witness
from tests.gauntlet.judges.rows import complete, listed, naming
from tests.gauntlet.scorecard import Judged, judged
from tests.gauntlet.web import politeness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakeweb.log import Hit
    from tests.gauntlet.evidence import Evidence

SECTION = "Politeness"
TOLERANCE_SECONDS = 0.002
"""Clocks of two processes are read at other moments than those at which the bytes pass."""


def judge(evidence: Evidence) -> Iterator[Judged]:
    """Judge the crawl of the hosts that ask for patience."""
    yield gap_row(
        evidence,
        SECTION,
        "gap",
        "Each request waits the delay after the end of the response before; robots.txt, redirects and errors count.",
        evidence.run.delay_seconds,
    )
    most = witness.most_open(evidence.hits, _address)
    yield judged(
        SECTION,
        "one-at-a-time",
        "A host never has two requests open.",
        bool(evidence.hits) and most <= 1,
        f"at most {most} open at once on {len(evidence.by_host())} hosts",
    )
    early = [hit.path for hit in witness.pages_before_robots(evidence.hits)]
    yield judged(
        SECTION,
        "robots-first",
        "No page is requested before its robots.txt was answered.",
        bool(evidence.hits) and not early,
        f"{len(early)} of {len(evidence.hits)} requests came before{naming(early)}",
    )
    yield gap_row(
        evidence,
        SECTION,
        "crawl-delay",
        f"A Crawl-delay of {politeness.CRAWL_DELAY_SECONDS:g} s is obeyed.",
        politeness.CRAWL_DELAY_SECONDS,
        "crawl-delay",
        after_robots=True,
    )
    yield gap_row(
        evidence,
        SECTION,
        "slow-host",
        f"The delay counts from the end of a response that takes {politeness.SLOW_SECONDS:g} s.",
        evidence.run.delay_seconds,
        "slow",
    )
    yield _retry_after(evidence, "too-many", "Retry-After in seconds with 429 is obeyed for the host.")
    yield _retry_after(evidence, "unavailable", "Retry-After as a date with 503 is obeyed for the host.")
    yield complete(evidence, SECTION, "complete", "Hosts that ask for patience are crawled completely.")
    yield _again(evidence)


def gap_row(
    evidence: Evidence,
    section: str,
    name: str,
    promise: str,
    owed: float,
    *hosts: str,
    after_robots: bool = False,
) -> Judged:
    """Judge the gaps between requests of each host."""
    gaps: list[tuple[float, str]] = []
    for host, hits in evidence.by_host().items():
        if hosts and host not in hosts:
            continue
        latest: Hit | None = None
        for hit in hits:
            # What robots.txt asks for is not known before it was read.
            if latest is not None and not (after_robots and latest.is_robots):
                gaps.append((hit.start_mono - latest.end_mono, f"{host}{hit.path}"))
            if latest is None or hit.end_mono > latest.end_mono:
                latest = hit
    short = sorted(gap for gap in gaps if gap[0] < owed - TOLERANCE_SECONDS)
    figures = (
        f"{len(short)} of {len(gaps)} gaps below {owed:g} s, the shortest {min(gaps)[0]:.3f} s"
        if gaps
        else "no two requests"
    )
    return judged(
        section,
        name,
        promise,
        bool(gaps) and not short,
        figures + (f" ({listed([path for _, path in short])})" if short else ""),
    )


def _retry_after(evidence: Evidence, host: str, promise: str) -> Judged:
    hits = evidence.of(host)
    gaps = [
        after.start_mono - before.end_mono for before, after in pairwise(hits) if before.status in (429, 503)
    ]
    kept = bool(gaps) and min(gaps) >= politeness.RETRY_AFTER_SECONDS - TOLERANCE_SECONDS
    figures = (
        f"next request {min(gaps):.2f} s after the answer that asks for {politeness.RETRY_AFTER_SECONDS} s"
        if gaps
        else f"no request after it, of {len(hits)}"
    )
    return judged(SECTION, f"retry-after-{host}", promise, kept, figures)


def _again(evidence: Evidence) -> Judged:
    """Judge whether a page that was refused for a while is fetched in the end."""
    hosts = ("too-many", "unavailable")
    fetched = [any(hit.path == "/busy" and hit.status == 200 for hit in evidence.of(host)) for host in hosts]
    return judged(
        SECTION,
        "again",
        "A page that was refused for a while is requested again and fetched.",
        all(fetched),
        f"{sum(fetched)} of {len(hosts)} pages fetched in the end",
    )


def _address(hit: Hit) -> str:
    return hit.address
