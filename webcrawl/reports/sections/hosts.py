"""The sections on hosts: by pages and bytes, top-level domains, robots.txt, failing and skipped hosts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from webcrawl.politeness.refusals import KINDS
from webcrawl.reports import html, text

if TYPE_CHECKING:
    from webcrawl.reports.figures import Digest, Ranks
    from webcrawl.reports.sections.head import ReportFacts

_LISTED = 1_000


def hosts(figures: Digest, ranks: Ranks) -> str:
    """Render the rank plots, and the largest hosts by name."""
    if not ranks.pages and not ranks.bytes:
        return ""
    with_pages = sum(ranks.pages.values())
    caption = f"{text.things(ranks.hosts, 'host')} contacted, {text.count(with_pages)} with pages"
    if ranks.hosts == 1:
        host = ranks.most_bytes[0][1] if ranks.most_bytes else ranks.most_pages[0][1]
        return html.line("Host", host, figures.pages, "pages")
    pages = [(host, number) for number, host in ranks.most_pages]
    sizes = [(host, number) for number, host in ranks.most_bytes]
    return html.section(
        "Hosts",
        f'<p class="quiet">{caption}</p>',
        _rank_plots(ranks),
        "<h3>most pages</h3>" + html.bars(("host", "pages"), pages, html.whole, figures.pages)
        if pages
        else "",
        "<h3>most bytes</h3>" + html.bars(("host", "received"), sizes, text.size, figures.bytes)
        if sizes
        else "",
    )


def _rank_plots(ranks: Ranks) -> str:
    drawn = ""
    for name, curve, shown, exact in (
        ("pages", ranks.curve_of_pages(), html.whole, "exact"),
        ("bytes", ranks.curve_of_bytes(), text.size, "to 2 %"),
    ):
        if not curve:
            continue
        caption = (
            f"{name.capitalize()} of each host, in descending order ({exact}); both axes are logarithmic"
        )
        across = html.logarithmic(1, max(curve[-1][0], 2), html.whole)
        up = html.logarithmic(max(curve[-1][1], 1), max(curve[0][1], 2), shown)
        frame = html.Frame(caption, across, up, "rank of the host", name)
        rows = [(html.whole(rank), shown(value)) for rank, value in curve]
        drawn += html.figure(html.curves(frame, {name: curve}), caption, ("rank", name), rows)
    return drawn


def domains(figures: Digest) -> str:
    return html.ranking(
        "Top-level domains", figures.domains, "domain", "pages by the last label of their host"
    )


def robots(figures: Digest) -> str:
    """Render the robots.txt answers, and the last outcome of each origin."""
    last = Counter(state for _, (_, state) in figures.origins)
    if not figures.robots.total:
        return ""
    rows = sorted(last.items(), key=lambda row: (-row[1], row[0]))
    if len(rows) == 1 and len(figures.robots) == 1:
        return html.line("robots.txt", *rows[0], "origins by the last result of their robots.txt")
    return html.section(
        "robots.txt",
        '<p class="quiet">origins by the last result of their robots.txt</p>' if rows else "",
        html.bars(("result", "origins"), rows, html.whole, last.total()) if rows else "",
        '<p class="quiet">all requests for robots.txt by their result</p>',
        html.bars(("result", "requests"), figures.robots.most(9), html.whole, figures.robots.total),
    )


def failing(figures: Digest, about: ReportFacts) -> str:
    """Render the politeness keys with the most failures, their kinds, and an example of each."""
    most = figures.hosts.failing(html.SHOWN)
    if not most:
        return ""
    kinds = [error for error, _ in figures.errors.most(8)]
    rows = []
    for host in most:
        counts = dict(host.errors)
        others = host.number - sum(counts.get(kind, 0) for kind in kinds)
        cells = [text.count(counts.get(kind, 0)) for kind in kinds]
        rows.append(
            (
                host.key,
                text.count(host.number),
                *cells,
                *([text.count(others)] if len(figures.errors) > 8 else []),
                host.example,
            )
        )
    head = ("politeness key", "errors", *kinds, *(["others"] if len(figures.errors) > 8 else []), "example")
    caption = "politeness keys with the most errors, by the kind of error; each attempt counts"
    command = f"<p>{html.command(about.complaint(most[0].key))}</p>" if about.folders else ""
    return html.section("Failing hosts", f'<p class="quiet">{caption}</p>', html.table(head, rows), command)


def refusing(figures: Digest) -> str:
    """Render the responses by which sites refused: their kinds with what would help, and the hosts."""
    if not figures.refusals.total:
        return ""
    kinds = [
        (
            kind,
            text.count(number),
            *((KINDS[kind].meaning, KINDS[kind].remedy) if kind in KINDS else ("", "")),
        )
        for kind, number in figures.refusals.most(len(KINDS))
    ]
    rows = [
        (key, kind, by, text.count(number)) for key, kind, by, number in figures.refusing_hosts(html.SHOWN)
    ]
    caption = "responses by which sites refused: neither read nor tried again"
    return html.section(
        "Refused by sites",
        f'<p class="quiet">{caption}</p>',
        html.table(("kind", "responses", "meaning", "what would help"), kinds),
        "<h3>most refusals</h3>" + html.table(("politeness key", "kind", "by", "responses"), rows),
    )


def skipped(figures: Digest) -> str:
    if not figures.skipped:
        return ""
    rows = sorted(figures.skipped.items(), key=lambda item: (-item[1], item[0]))
    caption = (
        "hosts that ask for a longer Crawl-delay than POLITENESS_CRAWL_DELAY_MAX allows; no page is fetched"
    )
    if len(rows) > _LISTED:
        caption += f"; the {_LISTED:,} longest of {len(rows):,}"
    shown = [(origin, text.duration(seconds)) for origin, seconds in rows[:_LISTED]]
    return html.section(
        "Skipped hosts", f'<p class="quiet">{caption}</p>', _all(("origin", "Crawl-delay"), shown)
    )


def _all(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    """Render all rows, in tables that are not thinned."""
    return "".join(html.table(head, rows[first : first + 300]) for first in range(0, len(rows), 300))
