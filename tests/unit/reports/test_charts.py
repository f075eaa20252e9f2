"""Figures are well-formed SVG whose shapes follow the numbers."""

from __future__ import annotations

import pytest
from lxml import etree

from webcrawl.reports import charts

SVG = "{http://www.w3.org/2000/svg}"


def parsed(figure: str) -> etree._Element:
    return etree.fromstring(figure.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def test_an_area_reaches_its_peak_at_the_top_and_stays_in_the_frame() -> None:
    figure = parsed(charts.area([0, 5, 10, 2], "pages", ("from", "to"), str))
    (polygon,) = figure.iter(f"{SVG}polygon")
    points = [tuple(map(float, point.split(","))) for point in str(polygon.attrib["points"]).split()]
    assert min(y for _, y in points) == 10
    assert all(0 <= x <= charts.WIDTH + 0.1 and 10 <= y <= 156 for x, y in points)
    assert [text.text for text in figure.iter(f"{SVG}text")] == ["10", "0.0", "from", "to"]


def test_bars_are_as_long_as_their_numbers() -> None:
    figure = parsed(charts.bars([("a", 100), ("b", 25), ("c", 0)], "hosts", str))
    widths = [float(bar.attrib["width"]) for bar in figure.iter(f"{SVG}rect")]
    assert widths[1] == pytest.approx(widths[0] / 4)
    assert widths[2] == 0


@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0]])
def test_nothing_gives_a_figure_too(values: list[float]) -> None:
    parsed(charts.area(values, "nothing", ("", ""), str))
    parsed(charts.bars([], "nothing", str))


def test_names_are_escaped_and_cut() -> None:
    figure = parsed(charts.bars([("<&>" * 20, 1)], '"', str))
    name = next(figure.iter(f"{SVG}text")).text
    assert name is not None
    assert name.startswith("<&><&>")
    assert len(name) == 30
