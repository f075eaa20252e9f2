"""``report.html``: a report of the crawl so far on one self-contained page."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from webcrawl.archive import fetchlog
from webcrawl.atomic_file import replace
from webcrawl.reports import progress_log
from webcrawl.reports.figures import WINDOW_SECONDS, Digest, digest
from webcrawl.reports.html import SHOWN, document, safe
from webcrawl.reports.progress_log import Course, read_course
from webcrawl.reports.sections import crawl, documents, finds, head, hosts, politeness
from webcrawl.reports.sections.crawl import Prices
from webcrawl.reports.sections.head import ReportFacts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAME = "report.html"
NOTHING_KNOWN = ReportFacts()
"""The facts of logs without a record of their runs."""
_HEADING = re.compile(r'<h2 id="([^"]+)">([^<]+)</h2>')


def write(directory: Path, title: str, remark: str = "", about: ReportFacts = NOTHING_KNOWN) -> Path:
    """Read the whole fetch log of ``directory`` and write ``report.html`` beside it atomically.

    Takes 10 to 20 seconds for each million of lines, in bounded memory. Damaged lines are counted and left out.

    :raises OSError: it cannot be written. :raises ArchiveError: the log cannot be read.
    """
    target = directory / NAME
    replace(target, of_logs([directory], title, remark, about=about).encode())
    return target


def of_logs(
    directories: Sequence[Path],
    title: str,
    remark: str = "",
    *,
    about: ReportFacts = NOTHING_KNOWN,
    prices: Prices | None = None,
    window_seconds: float = WINDOW_SECONDS,
) -> str:
    """Return the page of the logs of all workers, which may be growing. Raises as ``write``."""
    damaged: list[str] = []
    logs = [fetchlog.read(directory, damaged.append) for directory in directories]
    figures = digest(*logs, window_seconds=window_seconds)
    course = read_course(chain.from_iterable(map(progress_log.read, directories)))
    return page(figures, title, len(damaged), remark, about=about, course=course, prices=prices)


def page(
    figures: Digest,
    title: str,
    damaged: int = 0,
    remark: str = "",
    *,
    about: ReportFacts = NOTHING_KNOWN,
    course: Course | None = None,
    prices: Prices | None = None,
) -> str:
    """Return the page as text. ``remark`` is shown below the title."""
    course = course or Course()
    ranks = figures.hosts.ranked(SHOWN)
    sections = [
        crawl.over_time(figures),
        finds.harvest(figures),
        _freshness(figures),
        documents.outcomes(figures, about),
        documents.types(figures),
        documents.sizes(figures),
        hosts.hosts(figures, ranks),
        hosts.domains(figures),
        politeness.kept(figures),
        politeness.unused(figures),
        hosts.robots(figures),
        hosts.failing(figures, about),
        hosts.refusing(figures),
        hosts.skipped(figures),
        documents.depths(figures),
        documents.languages(figures),
        documents.usage(figures),
        documents.duplicates(figures),
        crawl.growth(course),
        crawl.costs(figures, course, prices or Prices()),
    ]
    body = "\n".join(part for part in sections if part)
    links = "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in _HEADING.findall(body))
    top = [
        f"<h1>{safe(title)}</h1>",
        f"<p>{safe(remark)}</p>" if remark else "",
        "" if figures.requests else "<p>No request has ended yet.</p>",
        head.large(figures, ranks.hosts),
        head.verdict(figures, about),
        head.facts(figures, about, damaged),
        f'<nav aria-label="sections">{links}</nav>' if links else "",
    ]
    return document(title, "\n".join([*(part for part in top if part), "<main>", body, "</main>"]))


def _freshness(figures: Digest) -> str:
    if not figures.has_revisits:
        return ""
    from webcrawl.reports.freshness import section

    return section(figures.freshness)
