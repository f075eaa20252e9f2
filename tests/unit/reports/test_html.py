"""Plots are well-formed SVG whose shapes follow the numbers, and each has its text and its table."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from lxml import etree, html

from tests.rows import each_row
from webcrawl.reports import html as axes
from webcrawl.reports import html as plots
from webcrawl.reports import html as tables
from webcrawl.reports import text as units

SVG = "{http://www.w3.org/2000/svg}"


def parsed(figure: str) -> etree._Element:
    return etree.fromstring(figure.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def framed(across: axes.Axis, up: axes.Axis) -> plots.Frame:
    return plots.Frame("title <b>", across, up, "across", "up")


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, _, y in (point.partition(",") for point in text.split())]


def test_steps_reach_as_high_as_their_values_and_stay_in_the_frame() -> None:
    frame = framed(axes.times(1000, 1004), axes.linear(10, str))
    figure = parsed(plots.steps(frame, [0, 5, 10, 2], 1000, 1))
    (polygon,) = figure.iter(f"{SVG}polygon")
    drawn = points(str(polygon.attrib["points"]))
    assert min(y for _, y in drawn) == pytest.approx(frame.y(10), abs=0.1)
    assert all(plots.LEFT <= x <= plots.WIDTH and plots.TOP <= y <= plots.HEIGHT for x, y in drawn)
    assert figure.attrib["aria-label"] == "title <b>"


def test_columns_stand_between_their_edges() -> None:
    frame = framed(axes.logarithmic(1, 1000, str), axes.linear(4, str))
    figure = parsed(plots.columns(frame, [(1, 10, 4), (10, 100, 1), (100, 1000, 0)]))
    bars = [
        {name: float(bar.attrib[name]) for name in ("x", "width", "height")}
        for bar in figure.iter(f"{SVG}rect")
    ]
    assert bars[0]["height"] == pytest.approx(4 * bars[1]["height"], abs=0.3)
    assert bars[2]["height"] == 0
    assert bars[1]["x"] - bars[0]["x"] == pytest.approx(bars[2]["x"] - bars[1]["x"], abs=0.2)


def test_a_power_law_is_a_straight_line_in_a_rank_plot() -> None:
    frame = framed(axes.logarithmic(1, 1000, str), axes.logarithmic(1, 1000, str))
    curve = [(float(rank), 1000 / rank) for rank in (1, 10, 100, 1000)]
    (line,) = parsed(plots.curves(frame, {"pages": curve})).iter(f"{SVG}polyline")
    drawn = points(str(line.attrib["points"]))
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(drawn)]
    assert slopes == pytest.approx([slopes[0]] * 3, rel=0.01)


def test_a_long_curve_is_drawn_with_as_many_points_as_can_be_told_apart() -> None:
    frame = framed(axes.linear(100_000, str), axes.linear(1, str))
    (line,) = parsed(plots.curves(frame, {"a": [(x, 1.0) for x in range(100_000)]})).iter(f"{SVG}polyline")
    assert 500 < len(points(str(line.attrib["points"]))) < 1100


def test_more_is_darker() -> None:
    axis = axes.logarithmic(1, 100, str)
    figure = parsed(plots.heat(framed(axis, axis), [(1, 2, 1, 2, 0.0), (2, 4, 2, 4, 1.0)]))
    assert [rect.attrib["fill-opacity"] for rect in figure.iter(f"{SVG}rect")] == ["0.15", "1.00"]


@each_row("high", [0, 0.003, 1, 7, 99.9, 123_456, 1e12])
def test_an_axis_begins_at_nought_and_ends_at_a_round_number_above(high: float) -> None:
    axis = axes.linear(high, units.rate)
    values = [value for value, _ in axis.ticks]
    assert values[0] == 0
    assert high <= axis.high <= max(2 * high, 1)
    assert 2 <= len(values) <= 7
    assert axis.place(axis.high) == 1


@each_row(("low", "high"), [(1, 1), (1, 2), (3, 4e9), (0.001, 1e7), (1e-3, 1e-3)])
def test_a_logarithmic_axis_holds_both_ends(low: float, high: float) -> None:
    axis = axes.logarithmic(low, high, str)
    assert axis.low <= low * 1.001
    assert axis.high >= high * 0.999
    assert axis.place(math.sqrt(axis.low * axis.high)) == pytest.approx(0.5)
    assert 2 <= len(axis.ticks) <= 9


@each_row("seconds", [0, 1, 50, 4000, 100_000, 3e6, 1e9])
def test_a_time_axis_has_few_ticks_within_it(seconds: float) -> None:
    axis = axes.times(1.79e9, 1.79e9 + seconds)
    assert len(axis.ticks) <= 7
    assert all(axis.low <= at <= axis.high for at, _ in axis.ticks)


def test_a_figure_has_its_table_and_a_long_one_says_that_it_is_thinned() -> None:
    rows = [(f"<{number}>", "\x1b") for number in range(1000)]
    page = html.fromstring(tables.figure("<svg></svg>", "a & b", ("x", "y"), rows))
    assert len(page.xpath("//details//tbody/tr")) == 250
    assert page.xpath("//details//caption/text()") == ["every 4 rows of 1,000"]
    assert page.xpath("//tbody/tr[1]/th/text()") == ["<0>"]


def test_a_bar_is_as_long_as_its_number() -> None:
    page = html.fromstring(tables.bars(("a", "b"), [("x", 100), ("y", 25), ("z", 0)], str, 125))
    assert [span.get("style") for span in page.xpath("//td/span")] == [
        "width:100.0%",
        "width:25.0%",
        "width:0.0%",
    ]
    assert page.xpath("//tr[td]/td[2]/text()") == ["80.0 %", "20.0 %", "0.0 %"]
