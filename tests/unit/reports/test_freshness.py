"""What the report says of revisits equals a slow recount, and what was expected of copies proves true."""

from __future__ import annotations

import random
from statistics import fmean
from typing import Any

import pytest
from lxml import html

from tests.rows import each_row
from tests.unit.features.revisits.changing import DAY, T0, ChangingPage
from webcrawl.features.revisits.estimate import Expectation, expected, posterior
from webcrawl.features.revisits.freshness import START
from webcrawl.reports import page
from webcrawl.reports.figures import Digest, digest
from webcrawl.reports.freshness import PARTS, section

Line = dict[str, Any]


def fetched(at: float, number: int = 0, **more: Any) -> Line:
    url = f"http://h{number % 7}.test/{number}"
    known = {
        "start": at,
        "end": at + 0.5,
        "url": url,
        "key": f"h{number % 7}.test",
        "kind": "page",
        "status": 200,
    }
    return {**known, "bytes": 100, "mime": "text/html", "worker": "w1", **more}


def revisit(at: float, since: float, changed: bool, foreseen: Expectation, number: int, **more: Any) -> Line:
    about = {"unchanged": round(foreseen.unchanged, 4), "age": round(foreseen.age_seconds, 1)}
    return fetched(at, number, revisit=True, changed=changed, since=since, expected=about, **more)


def crawled(seed: int, pages: int, visits: int) -> list[Line]:
    """The log of a crawl that visits pages again at intervals from a day to a month; ``age`` is true, in seconds."""
    draw = random.Random(seed)
    lines = []
    for number in range(pages):
        one = ChangingPage(f"{seed} {number}", dated_part=0.5)
        at = T0 + draw.random() * DAY
        for _ in range(visits):
            before, age = one.history, max(at - one.stale_at, 0.0)
            after = one.visit(at)
            dated = {"modified": round(one.changed_at, 3), "age": age} if one.is_dated else {}
            if before is None:
                lines.append(fetched(at, number))
            else:
                foreseen = expected(posterior(before, START), at - before.last_at)
                if not after.has_just_changed and draw.random() < 0.5:
                    dated |= {"status": 304}
                lines.append(revisit(at, before.last_at, after.has_just_changed, foreseen, number, **dated))
            at += DAY * 30 ** draw.random()
        if number % 9 == 0:
            lines.append(fetched(at, number, revisit=True, status=410))
    return sorted(lines, key=lambda line: line["end"])


LINES = crawled(11, 60, 12)
JUDGED = [line for line in LINES if "changed" in line]
DATED = [line for line in JUDGED if "modified" in line]


@pytest.fixture(scope="module")
def figures() -> Digest:
    return digest(LINES[::2], LINES[1::2])


def interval_of(line: Line) -> float:
    return float(line["start"] - line["since"])


def age_of(line: Line) -> int:
    return round(line["modified"] - line["since"]) if line["changed"] else 0


def test_counts(figures: Digest) -> None:
    found = figures.freshness
    assert found.revisits == sum("revisit" in line for line in LINES)
    assert found.compared == len(JUDGED)
    assert found.unchanged == sum(not line["changed"] for line in JUDGED)
    assert 0 < found.not_modified == sum(line["status"] == 304 for line in JUDGED) < found.unchanged


def test_time_between_visits(figures: Digest) -> None:
    found = figures.freshness
    assert found.intervals.total == len(JUDGED)
    assert found.interval_seconds == pytest.approx(sum(map(interval_of, JUDGED)))
    least = sum(interval_of(line) for line in JUDGED if not line["changed"])
    most = least + sum(
        line["modified"] - line["since"] if "modified" in line else interval_of(line)
        for line in JUDGED
        if line["changed"]
    )
    assert found.fresh_least_seconds == pytest.approx(least)
    assert found.fresh_most_seconds == pytest.approx(most)


def test_what_was_expected(figures: Digest) -> None:
    found = figures.freshness
    assert found.foreseen == len(JUDGED)
    assert found.expected_unchanged == sum(round(line["expected"]["unchanged"] * PARTS) for line in JUDGED)
    fresh = sum(interval_of(line) - line["expected"]["age"] for line in JUDGED)
    assert found.expected_fresh_seconds == pytest.approx(fresh)
    assert found.aged == len(DATED) > 99
    assert found.age_seconds == sum(map(age_of, DATED))
    assert found.expected_age_seconds == sum(round(line["expected"]["age"]) for line in DATED)


def test_what_was_found_when(figures: Digest) -> None:
    line_of_time = figures.freshness.time_line
    sums = [[0] * 7 for _ in line_of_time.bins()]
    for line in JUDGED:
        here = sums[int(line["end"] - line_of_time.starts_at) // line_of_time.step_seconds]
        foreseen = round(line["expected"]["unchanged"] * PARTS)
        aged = [1, age_of(line), round(line["expected"]["age"])] if "modified" in line else [0, 0, 0]
        for place, amount in enumerate([1, int(not line["changed"]), 1, foreseen, *aged]):
            here[place] += amount
    assert [list(part) for part in line_of_time.bins()] == sums


def test_what_was_expected_proves_true() -> None:
    lines = crawled(12, 400, 16)
    found = digest(lines).freshness
    measured, foreseen = found.unchanged / found.compared, found.expected_unchanged / PARTS / found.foreseen
    least, most = (
        seconds / found.interval_seconds for seconds in (found.fresh_least_seconds, found.fresh_most_seconds)
    )
    ages = found.age_seconds / DAY / found.aged, found.expected_age_seconds / DAY / found.aged
    print(
        f"seed 12: fresh at visits {measured:.3f}, expected {foreseen:.3f}; age {ages[0]:.2f} d, {ages[1]:.2f} d"
    )
    assert foreseen == pytest.approx(measured, abs=0.02)
    assert least < found.expected_fresh_seconds / found.foreseen_seconds < most
    assert ages[1] == pytest.approx(ages[0], rel=0.1)
    assert ages[0] == pytest.approx(
        fmean(line["age"] for line in lines if "age" in line and "since" in line) / DAY, rel=0.1
    )


def test_the_section_shows_these_figures_and_only_where_pages_were_visited_again(figures: Digest) -> None:
    found = figures.freshness
    rendered = html.fromstring(section(found))
    shown = {row[0].text_content(): row[1].text_content() for row in rendered.xpath("./table//tr")}
    assert shown["visits of pages that were known"] == f"{found.revisits:,}"
    assert (
        shown["visits where the page was unchanged"]
        == f"{found.unchanged} ({100 * found.unchanged / found.compared:.1f} %)"
    )
    assert shown["visits without a page"] == "7"
    assert len(rendered.xpath(".//svg")) == 3
    assert 'id="freshness"' in page.page(figures, "x")
    assert section(digest([line for line in LINES if "revisit" not in line]).freshness) == ""


@each_row(
    "odd",
    [
        {"revisit": "yes"},
        {"changed": None},
        {"changed": 1},
        {"since": "then"},
        {"since": 1e99},
        {"since": T0 + 10 * DAY},
        {"expected": None},
        {"expected": {"unchanged": 7, "age": 1}},
        {"expected": {"unchanged": True, "age": [1]}},
        {"expected": {"unchanged": 0.5, "age": -1.0}},
        {"modified": {}},
        {"modified": -5},
        {"modified": T0 + 30 * DAY},
        {"start": None, "end": "soon"},
    ],
)
def test_what_is_no_figure_counts_as_nothing(odd: Line) -> None:
    line = revisit(T0 + DAY, T0, True, Expectation(0.5, 1000.0), 1, modified=T0 + DAY / 2)
    found = digest([line | odd])
    assert found.freshness.aged == 0
    page.page(found, "x")
