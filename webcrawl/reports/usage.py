"""What the pages of each site may be used for, from the fetch logs: a table, and a sheet to be signed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.external_sort import Gathered
from webcrawl.reports import text
from webcrawl.robots.purposes import NO, PURPOSES, YES
from webcrawl.urls.lists import printable
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NO_HOST = "(no host)"
"""The site of URLs such as ``data:``."""
SOURCES_MAX = 5
"""Sources that are named of a site."""
_NOTHING = (0,) * (2 * len(PURPOSES))

FOLLOWED = (
    ("Content-Usage", "draft-ietf-aipref-vocab-07, draft-ietf-aipref-attach-05"),
    ("Content-Signal", "contentsignals.org, 24 September 2025"),
    ("TDMRep", "W3C Community Group Report, 7 December 2025"),
    ("RSL", "RSL 1.0"),
    ("Robots-Tag", "draft-illyes-repext-03"),
)
"""The formats and the versions that are followed."""

SiteCounts = tuple[int, int, tuple[int, ...], tuple[str, ...], float, float]
"""Pages, pages withheld, numbers of ``yes`` and ``no`` by purpose, sources, times of the first and last page."""


class SiteUsage(NamedTuple):
    """The pages of a site (a host) by their verdicts."""

    site: str
    pages: int
    withheld: int
    verdicts: Mapping[str, tuple[int, int, int]]
    """By purpose: pages with ``yes``, with ``no``, and of which nothing is known."""
    sources: tuple[str, ...]
    """Different statements of the site, each with its place."""
    first_at: float
    last_at: float


@dataclass(slots=True)
class UsageTable:
    """Takes lines of fetch logs; then it is read, the sites in the order of their names. Each page counts as often as
    it was fetched."""

    recorded: int = 0
    """Pages of which the use was recorded."""
    unrecorded: int = 0
    """Pages of which it was not."""
    digest: Any = field(default_factory=hashlib.sha256)
    """Of the URLs and verdicts of all pages, in the order of the logs."""
    _sites: Gathered[SiteCounts] = field(default_factory=lambda: Gathered(_both))

    def add(self, line: Mapping[str, Any]) -> None:
        """Count a line; only pages with a response that has content count."""
        status, usage, url = line.get("status"), line.get("usage"), line.get("url")
        if line.get("kind") != "page" or not isinstance(url, str) or not is_content(status):
            return
        if not isinstance(usage, dict):
            self.unrecorded += 1
            return
        self.recorded += 1
        counts = [int(usage.get(purpose) == word) for purpose in PURPOSES for word in (YES, NO)]
        verdicts = {purpose: usage[purpose] for purpose in PURPOSES if purpose in usage}
        self.digest.update(f"{url}\t{json.dumps(verdicts, sort_keys=True)}\n".encode("utf-8", "replace"))
        sources = tuple(sorted({named for each in _listed(usage.get("sources")) if (named := _named(each))}))
        end = line.get("end")
        at = float(end) if isinstance(end, int | float) else 0.0
        value = (1, int(line.get("withheld") is True), tuple(counts), sources[:SOURCES_MAX], at, at)
        self._sites.add(_host(url), value, sum(map(len, sources)))

    def sites(self) -> Iterator[SiteUsage]:
        """Yield the sites."""
        for site, counts in self._sites:
            yield _site(site, counts)

    def total(self) -> SiteUsage:
        """Return the counts of all sites together."""
        total: SiteCounts = (0, 0, _NOTHING, (), float("inf"), 0.0)
        for _, counts in self._sites:
            total = _both(total, (*counts[:3], (), *counts[4:]))
        return _site("all sites", total)


def _host(url: str) -> str:
    try:
        return (get_host(url) if "://" in url else "") or NO_HOST
    except ValueError:
        return NO_HOST


def is_content(status: object) -> bool:
    """Return True for the status of a response that brought a page, or said that it is unchanged."""
    return isinstance(status, int) and (200 <= status < 300 or status == 304)


def _both(one: SiteCounts, other: SiteCounts) -> SiteCounts:
    counts = tuple(a + b for a, b in zip(one[2], other[2], strict=True))
    sources = tuple(sorted({*one[3], *other[3]})[:SOURCES_MAX])
    return one[0] + other[0], one[1] + other[1], counts, sources, min(one[4], other[4]), max(one[5], other[5])


def _site(site: str, counts: SiteCounts) -> SiteUsage:
    pages, withheld, numbers, sources, first_at, last_at = counts
    verdicts = {
        purpose: (numbers[2 * n], numbers[2 * n + 1], pages - numbers[2 * n] - numbers[2 * n + 1])
        for n, purpose in enumerate(PURPOSES)
    }
    return SiteUsage(site, pages, withheld, verdicts, sources, first_at, last_at)


def _listed(sources: object) -> Sequence[Any]:
    return sources if isinstance(sources, list) else ()


def _named(source: object) -> str:
    if not isinstance(source, dict):
        return ""
    return printable(f"{source.get('place')}: {source.get('text')}")


def as_object(site: SiteUsage) -> dict[str, Any]:
    """Return a site as plain values."""
    return {
        "site": site.site,
        "pages": site.pages,
        "withheld": site.withheld,
        **{
            purpose: dict(zip((YES, NO, "unknown"), numbers, strict=True))
            for purpose, numbers in site.verdicts.items()
        },
        "sources": list(site.sources),
    }


def cells(site: SiteUsage) -> list[str]:
    """Return the row of a site: pages, and for each purpose ``no`` first, which is what counts."""
    return [
        printable(site.site),
        text.count(site.pages),
        *(_verdict(numbers, site.pages) for numbers in site.verdicts.values()),
        text.count(site.withheld),
    ]


def _verdict(numbers: tuple[int, int, int], pages: int) -> str:
    """Return the verdicts on all pages of a site in a few characters."""
    words = [(word, number) for word, number in zip((YES, NO, "?"), numbers, strict=True) if number]
    if len(words) == 1:
        return words[0][0]
    return ", ".join(f"{word} {text.count(number)}" for word, number in words) if pages else ""


class SheetFacts(NamedTuple):
    """The facts of a sheet that are not in the logs."""

    crawl: str
    program: str
    purposes: Sequence[str]
    made_at: float
    signed_by: str = ""


def sheet(table: UsageTable, about: SheetFacts) -> Iterator[str]:
    """Yield the lines of a sheet in Markdown: what the pages of a crawl may be used for, by site and with the
    statements, to be signed."""
    total = table.total()
    yield f"# Usage rights of {about.crawl}"
    yield ""
    if not table.recorded:
        yield "No page with a record of its use."
        return
    period = f"from {text.second(total.first_at)} to {text.second(total.last_at)} UTC"
    yield f"* Pages: {text.count(total.pages)}, fetched {period}"
    if table.unrecorded:
        yield f"* Pages without a record, which are not in this sheet: {text.count(table.unrecorded)}"
    yield f"* For: {', '.join(about.purposes) or 'not said (USAGE_PURPOSES)'}"
    yield f"* Withheld from feeds, search and exports: {text.count(total.withheld)}"
    yield f"* Made by {about.program} on {text.second(about.made_at)} UTC"
    yield f"* Versions followed: {'; '.join(f'{name}: {version}' for name, version in FOLLOWED)}"
    yield "* Rule: one no outweighs every yes; ? is unknown, since nothing was said"
    yield ""
    head = ["site", "pages", *PURPOSES, "withheld", "said by the site"]
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for site in table.sites():
        row = [*cells(site), "; ".join(site.sources)]
        yield "| " + " | ".join(_escaped(cell) for cell in row) + " |"
    yield "| " + " | ".join([*cells(total), ""]) + " |"
    yield ""
    yield f"SHA-256 of URLs and verdicts in the order of the logs: `{table.digest.hexdigest()}`"
    yield ""
    if about.signed_by:
        yield f"Signed off by {printable(about.signed_by)} on {text.second(about.made_at)} UTC."
    else:
        yield "Signed off by ____________________ on ____________________"


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "'")


largest = partial(sorted, key=lambda site: (-site.pages, site.site))
"""Return sites in the order of their pages, most first."""
