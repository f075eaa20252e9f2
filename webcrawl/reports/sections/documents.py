"""The sections on documents: outcomes, types, sizes, depths, languages, duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.reports import html, text
from webcrawl.robots.purposes import NO, PURPOSES, YES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.reports.figures import Digest
    from webcrawl.reports.sections.head import ReportFacts


_EXAMPLES_OF = 8
"""The number of errors with examples."""


def outcomes(figures: Digest, about: ReportFacts) -> str:
    return html.ranking("Status of pages", figures.statuses, "status", "pages by HTTP status") + _errors(
        figures, about
    )


def _errors(figures: Digest, about: ReportFacts) -> str:
    """Render the errors, and example URLs with the command that explains each."""
    most = figures.errors.most(html.SHOWN)
    if not most:
        return ""
    caption = html.remark(figures.errors, len(most), "requests without a response, by the kind of error")
    examples = "".join(
        _examples(error, figures.examples.get(error, ()), about) for error, _ in most[:_EXAMPLES_OF]
    )
    return html.section(
        "Errors",
        f'<p class="quiet">{html.safe(caption)}</p>',
        html.bars(("error", "requests"), most, html.whole, figures.errors.total),
        f"<h3>examples</h3>{examples}" if examples else "",
    )


def _examples(error: str, urls: Sequence[str], about: ReportFacts) -> str:
    """Render the first URLs of an error, and the command that explains the first of them."""
    if not urls:
        return ""
    listed = "".join(f"<li>{html.name(url)}</li>" for url in urls)
    command = f"<p>{html.command(about.explain(urls[0]))}</p>" if about.folders else ""
    return f'<p><strong>{html.name(error)}</strong></p><ul class="examples">{listed}</ul>{command}'


def types(figures: Digest) -> str:
    shown = html.ranking(
        "Content types", figures.mimes, "type", "pages with status 200 by the type their server named"
    )
    useless = figures.useless_extensions(html.SHOWN)
    caption = "pages with status 200, none of them text or XHTML; EXTENSIONS_REFUSED excludes them"
    rows = [(f".{extension}", count) for extension, count in useless]
    if not rows:
        return shown
    return shown + html.section(
        "Extensions that are never text",
        f'<p class="quiet">{caption}</p>',
        html.bars(("extension", "pages"), rows, html.whole),
    )


def sizes(figures: Digest) -> str:
    """Render a histogram over the logarithm of bytes."""
    counted = figures.sizes
    span = counted.span()
    if not span:
        return ""
    edges = [*counted.edges, counted.edges[-1] * 2]
    bars = [(max(edges[n], 0.7), edges[n + 1], float(counted.counts[n])) for n in span]
    across = html.logarithmic(max(edges[span[0]], 1), edges[span[-1] + 1], text.size)
    up = html.linear(max(bar[2] for bar in bars), html.whole)
    low, high = counted.part_below(0.5)
    mean = figures.page_bytes / figures.pages if figures.pages else 0.0
    caption = (
        f"Pages with status 200 by the bytes of their body, two steps for each doubling: median between "
        f"{text.size(low)} and {text.size(high)}; mean of all pages {text.size(mean)}"
    )
    empty = f"; {text.count(counted.counts[0])} were empty" if counted.counts[0] else ""
    frame = html.Frame(f"Sizes of documents. {caption}", across, up, "bytes, logarithmic", "pages")
    rows = [(_bytes(edges[n]), _bytes(edges[n + 1]), html.whole(counted.counts[n])) for n in span]
    figure = html.figure(html.columns(frame, bars), caption + empty, ("from", "below", "pages"), rows)
    return html.section("Sizes of documents", figure)


def depths(figures: Digest) -> str:
    rows = sorted(figures.depths.most(60), key=lambda row: (len(row[0]), row[0]))
    if not rows:
        return ""
    if len(rows) == 1:
        return html.line("Depth", *rows[0], "pages by links from a seed")
    caption = html.remark(figures.depths, 60, "pages by links from a seed")
    return html.section(
        "Depth",
        f'<p class="quiet">{caption}</p>',
        html.bars(("links", "pages"), rows, html.whole, figures.depths.total),
    )


def languages(figures: Digest) -> str:
    return html.ranking("Languages", figures.languages, "language", "pages by the language of their text")


def duplicates(figures: Digest) -> str:
    """Render pages with the same bytes as another URL, and pages that were fetched again."""
    rows = []
    if figures.duplicates:
        part = 100 * figures.duplicates / figures.pages if figures.pages else 0.0
        rows += [
            (
                "pages with the same bytes as an earlier URL",
                f"{text.count(figures.duplicates)} ({part:.1f} %)",
            ),
            ("bytes of these pages", text.size(figures.duplicate_bytes)),
        ]
    rows += [
        (f"pages fetched again, {word}", text.count(number)) for word, number in figures.refetched.most(2)
    ]
    most = figures.originals.most(html.SHOWN)
    if not rows:
        return ""
    caption = html.remark(
        figures.originals, len(most), "URLs by the number of later pages with the same bytes"
    )
    below = f'<p class="quiet">{caption}</p>{html.bars(("URL", "pages"), most, html.whole)}' if most else ""
    return html.section("Duplicates", html.facts(rows), below)


def _bytes(number: float) -> str:
    return f"{text.count(round(number))} B"


def usage(figures: Digest) -> str:
    """Render what pages may be used for."""
    pages = figures.usage_recorded
    if not figures.usage_stated:
        return ""
    rows = []
    for purpose in PURPOSES:
        yes, no = (figures.usage.get((purpose, verdict), 0) for verdict in (YES, NO))
        shares = (f"{text.count(number)} ({number / pages:.1%})" for number in (yes, no, pages - yes - no))
        rows.append((purpose, *shares))
    withheld = ""
    if figures.usage_withheld:
        of_all = f"{text.things(figures.usage_withheld, 'page')} ({figures.usage_withheld / pages:.1%})"
        withheld = f"<p>{of_all} withheld: they may not be used for USAGE_PURPOSES.</p>"
    return html.section(
        "Usage rights",
        '<p class="quiet">pages by what their sites say that they may be used for</p>',
        html.table(("purpose", "yes", "no", "unknown"), rows),
        withheld,
    )
