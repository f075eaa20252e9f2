"""The head of a report: what crawl it is, its figures in large type, and whether it was polite."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from webcrawl.reports import html, text
from webcrawl.reports.standing import CrawlState
from webcrawl.reports.summary import ending_in_words
from webcrawl.reports.text import second

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webcrawl.reports.figures import Digest
    from webcrawl.reports.run_log import Run

_KINDS = {"page": "pages", "robots": "robots.txt", "sitemap": "sitemaps", "websub": "WebSub"}
_NAMED = 8
"""The number of workers that are named."""
_SEEDS = 240
"""The number of characters of the seeds that are shown."""


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """The facts of a crawl that are not in its fetch log. Times are epoch seconds."""

    runs: Sequence[Run] = ()
    """The last run of each worker that recorded one."""
    states: Sequence[CrawlState] = ()
    """The state of each of these."""
    begun_at: float | None = None
    """The start of the first run."""
    made_at: float | None = None
    """The time of the report."""
    folders: Sequence[str] = ()
    """The JOBDIRs, for commands."""
    violations: Mapping[str, int] | None = None
    """Violations by ``reports.clocks.ViolationKind``, as ``scrapy audit`` counts them; None if there was no audit."""

    def explain(self, url: str) -> str:
        """Return the command that explains how the crawl treats a URL."""
        place = "-s REDIS_URL=..." if self.is_shared else f"-s JOBDIR={quote(self.folders[0])}"
        return f"scrapy explain {quote(url)} {place}"

    def complaint(self, key: str) -> str:
        """Return the command that lists the requests to a politeness key."""
        return " ".join(["scrapy complaint", quote(key), *map(quote, self.folders)])

    @property
    def is_shared(self) -> bool:
        return any(run.crawl is not None for run in self.runs)


def large(figures: Digest, hosts: int) -> str:
    """Render the five most important figures."""
    took = _took(figures)
    amount, _, unit = text.size(figures.bytes).partition(" ")
    return html.large(
        [
            (text.count(figures.pages), "pages"),
            (text.count(hosts), "host" if hosts == 1 else "hosts"),
            (text.count(figures.failed), "error" if figures.failed == 1 else "errors"),
            (amount, f"{unit} received"),
            (text.duration(took), "duration"),
        ]
    )


def verdict(figures: Digest, about: ReportFacts) -> str:
    """Render whether the crawl was polite, by the result of an audit."""
    gaps = text.things(figures.gaps.measured, "gap")
    violations = about.violations
    if violations is None or not figures.requests:
        return ""
    short, without = sum(violations.values()) - violations.get("robots", 0), violations.get("robots", 0)
    if not short and not without:
        return html.verdict(
            f"Polite: {gaps} between requests to the same site, none too short; no page without its robots.txt",
            good=True,
        )
    wrong = [
        *([f"{text.things(short, 'request')} too early"] if short else []),
        *([f"{text.things(without, 'request')} without a valid robots.txt"] if without else []),
    ]
    audit = " ".join(["scrapy audit", *map(quote, about.folders)])
    return html.verdict(f"Not polite: {' and '.join(wrong)}, {gaps} in all. {audit} lists them", good=False)


def facts(figures: Digest, about: ReportFacts, damaged: int) -> str:
    """Render the other facts of the crawl as a whole."""
    rows = [*_of_runs(figures, about), *_of_requests(figures)]
    if damaged:
        rows.append(("lines of the log that cannot be read", text.count(damaged)))
    return html.definitions(rows)


def _of_runs(figures: Digest, about: ReportFacts) -> list[tuple[str, str]]:
    rows = []
    if about.runs:
        last = about.runs[0]
        seeds = last.seeds if len(last.seeds) <= _SEEDS else f"{last.seeds[: _SEEDS - 1]}…"
        rows += [
            ("spider", last.spider),
            ("seeds", seeds or "none on the command line"),
            ("User-Agent", last.user_agent),
            ("version", f"webcrawl {last.version}"),
        ]
    if (begun_at := about.begun_at or figures.started_at) is not None:
        rows.append(("begun", f"{second(begun_at)} UTC"))
    if about.runs:
        rows.append(("ended" if CrawlState.RUNNING not in about.states else "state", _ending(about)))
    if about.made_at is not None:
        rows.append(("report made", f"{second(about.made_at)} UTC"))
    return rows


def _ending(about: ReportFacts) -> str:
    """Describe how the crawl ended; several workers that ended alike are one phrase."""
    phrases: dict[str, list[str]] = {}
    for run, state in zip(about.runs, about.states, strict=True):
        if state is CrawlState.RUNNING:
            phrase = "running when this report was made"
        elif state is CrawlState.KILLED:
            phrase = ending_in_words(state, None)
        else:
            assert run.ended_at is not None
            phrase = f"{ending_in_words(state, run.reason)}, {second(run.ended_at)} UTC"
        phrases.setdefault(phrase, []).append(run.worker)
    if len(phrases) == 1:
        return next(iter(phrases))
    return "; ".join(f"{', '.join(workers)}: {phrase}" for phrase, workers in phrases.items())


def _of_requests(figures: Digest) -> list[tuple[str, str]]:
    if figures.started_at is None:
        return []
    took = _took(figures)
    kinds = ", ".join(
        f"{_KINDS.get(kind, kind)} {text.count(number)}" for kind, number in figures.kinds.most(6)
    )
    workers = sorted(worker for worker, _ in figures.workers.most(_NAMED))
    more = " and others" if len(figures.workers) > _NAMED else ""
    rows = [
        ("requests", f"{text.count(figures.requests)}: {kinds}"),
        ("pages per second, mean", text.rate(figures.pages / took if took > 0 else 0.0)),
        ("bits per second, mean", html.bits(8 * figures.bytes / took if took > 0 else 0.0)),
    ]
    if len(figures.workers) > 1:
        rows.append(("workers", f"{text.count(len(figures.workers))}: {', '.join(workers)}{more}"))
    if figures.truncated:
        rows.append(("bodies cut at a limit", text.count(figures.truncated)))
    if figures.cut:
        rows.append(("pages not read to their end", text.count(figures.cut)))
    if figures.links_dropped:
        pages = text.things(figures.pages_with_dropped, "page")
        rows.append(
            ("links over LINKS_PER_PAGE_MAX or too long", f"{text.count(figures.links_dropped)} on {pages}")
        )
    return rows


def _took(figures: Digest) -> float:
    if figures.started_at is None or figures.ended_at is None:
        return 0.0
    return figures.ended_at - figures.started_at
