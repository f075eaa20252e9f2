"""What a check of the books found, as lines for people or an object for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from webcrawl.frontier.backends.findings import MEANINGS, Kind
from webcrawl.reports import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.commands.standing import Named
    from webcrawl.frontier.backends.findings import Checked, Findings

SHOWN = 5
"""Examples of a kind."""


def as_text(crawl: Named, checked: Checked) -> str:
    return "\n".join(_lines(crawl, checked))


def _lines(crawl: Named, checked: Checked) -> Iterator[str]:
    yield (
        f"{crawl.name}: {units.count(checked.urls)} URLs known, {units.count(checked.queued)} queued, "
        f"{units.count(checked.hosts)} hosts"
    )
    if checked.at_work:
        yield (
            f"{', '.join(sorted(checked.at_work))} at work meanwhile: only what was the same in two looks is told. "
            "It is exact when nobody is at work."
        )
    if checked.uncompared:
        parts = ", ".join(checked.uncompared)
        yield f"Totals that changed while they were counted were not compared: {parts}"
    for what in checked.unchecked:
        yield f"Not checked: {what}"
    if checked.mended:
        yield f"{_number(checked.mended)} did not agree and {_were(checked.mended)} mended:"
        yield from _listed(checked.mended)
    if checked.left:
        yield f"{_number(checked.left)} {'does' if _total(checked.left) == 1 else 'do'} not agree:"
        yield from _listed(checked.left)
        yield _advice(checked)
    else:
        yield "Everything agrees: every URL is in exactly one state, and every count is right."


def _advice(checked: Checked) -> str:
    if Kind.DAMAGED in checked.left.counts:
        return "What is damaged is not mended: go on from a checkpoint, or see docs/operating.md."
    if checked.mended:
        return "What is left cannot be mended."
    return "scrapy frontier check --mend repairs what can be repaired, while nobody is at work."


def _listed(findings: Findings) -> Iterator[str]:
    for kind, number in sorted(findings.counts.items(), key=lambda item: list(Kind).index(item[0])):
        yield f"{units.count(number):>7}  {MEANINGS[kind]}"
        shown = findings.listed[kind][:SHOWN]
        for finding in shown:
            yield f"{'':>11}{finding}"
        if number > len(shown):
            yield f"{'':>11}and {units.count(number - len(shown))} more"


def _total(findings: Findings) -> int:
    return sum(findings.counts.values())


def _number(findings: Findings) -> str:
    total = _total(findings)
    return f"{units.count(total)} thing{'' if total == 1 else 's'}"


def _were(findings: Findings) -> str:
    return "was" if _total(findings) == 1 else "were"


def as_json(crawl: Named, checked: Checked) -> str:
    found: dict[str, Any] = {
        "storage": crawl.storage,
        "place": crawl.place,
        "agrees": checked.agrees,
        "urls": checked.urls,
        "queued": checked.queued,
        "hosts": checked.hosts,
        "left": _as_object(checked.left),
        "mended": _as_object(checked.mended),
        "at_work": sorted(checked.at_work),
        "uncompared": checked.uncompared,
        "unchecked": checked.unchecked,
    }
    return json.dumps(found)


def _as_object(findings: Findings) -> dict[str, Any]:
    return {
        str(kind): {
            "count": number,
            "examples": [
                {"subject": one.subject, "detail": one.detail, "where": one.where}
                for one in findings.listed[kind]
            ],
        }
        for kind, number in findings.counts.items()
    }
