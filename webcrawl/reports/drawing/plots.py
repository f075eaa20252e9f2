"""Plots in a frame with two axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.reports.drawing.texts import safe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webcrawl.reports.drawing.axes import Axis

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 98, 14, 12, 48
_INNER_WIDTH, _INNER_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
_KEY_HEIGHT = 22


@dataclass(frozen=True, slots=True)
class Frame:
    """What a plot is drawn in."""

    title: str
    """Read aloud in place of the plot, so it says what there is to be seen."""
    across: Axis
    up: Axis
    across_name: str
    up_name: str

    def x(self, value: float) -> float:
        return LEFT + _INNER_WIDTH * self.across.place(value)

    def y(self, value: float) -> float:
        return TOP + _INNER_HEIGHT * (1 - self.up.place(value))

    def around(self, shapes: str, names: Sequence[str] = ()) -> str:
        """The whole figure. ``names``: of several series, for the key below."""
        height = HEIGHT + _KEY_HEIGHT * bool(names)
        return (
            f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{safe(self.title)}">'
            f"<title>{safe(self.title)}</title>{self._grid()}{shapes}{self._labels()}{_key(names)}</svg>"
        )

    def _grid(self) -> str:
        lines = [
            f'<line class="grid" x1="{LEFT}" y1="{self.y(v):.1f}" x2="{WIDTH - RIGHT}" y2="{self.y(v):.1f}"/>'
            for v, _ in self.up.ticks
        ]
        base = TOP + _INNER_HEIGHT
        lines += [
            f'<line class="axis" x1="{self.x(v):.1f}" y1="{base}" x2="{self.x(v):.1f}" y2="{base + 5}"/>'
            for v, _ in self.across.ticks
        ]
        return (
            "".join(lines) + f'<line class="axis" x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}"/>'
        )

    def _labels(self) -> str:
        base = TOP + _INNER_HEIGHT
        texts = [
            f'<text x="{LEFT - 7}" y="{self.y(v) + 4:.1f}" text-anchor="end">{safe(told)}</text>'
            for v, told in self.up.ticks
        ]
        for number, (value, told) in enumerate(self.across.ticks):
            x, odd = self.x(value), ' class="odd"' * (number % 2)
            anchor = "end" if x > WIDTH - 60 else "start" if x < LEFT + 10 else "middle"
            texts.append(f'<text{odd} x="{x:.1f}" y="{base + 19}" text-anchor="{anchor}">{safe(told)}</text>')
        texts.append(
            f'<text class="name" x="{WIDTH - RIGHT}" y="{base + 40}" text-anchor="end">'
            f"{safe(self.across_name)}</text>"
        )
        texts.append(f'<text class="name" x="{LEFT}" y="{base + 40}">{safe(self.up_name)} (up)</text>')
        return "".join(texts)


def steps(frame: Frame, values: Sequence[float], starts_at: float, step: float) -> str:
    """A filled line over equal steps."""
    base = frame.y(frame.up.low)
    points = [f"{frame.x(starts_at):.1f},{base:.1f}"]
    for number, value in enumerate(values):
        y = frame.y(value)
        begin, end = frame.x(starts_at + number * step), frame.x(starts_at + (number + 1) * step)
        points += [f"{begin:.1f},{y:.1f}", f"{end:.1f},{y:.1f}"]
    points.append(f"{frame.x(starts_at + len(values) * step):.1f},{base:.1f}")
    return frame.around(f'<polygon class="fill" points="{" ".join(points)}"/>')


def columns(frame: Frame, bars: Sequence[tuple[float, float, float]]) -> str:
    """A bar for each (from, to, value)."""
    base = frame.y(frame.up.low)
    shapes = []
    for begin, end, value in bars:
        x, y = frame.x(begin), frame.y(value)
        width = max(frame.x(end) - x - 1, 0.8)
        shapes.append(
            f'<rect class="fill" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(base - y, 0):.1f}"/>'
        )
    return frame.around("".join(shapes))


def curves(frame: Frame, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """A line for each series; they differ by colour and by dashes."""
    shapes = []
    for number, points in enumerate(series.values()):
        drawn = _thinned([(frame.x(x), frame.y(y)) for x, y in points])
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        shapes.append(f'<polyline class="line s{number}" points="{text}"/>')
        if len(drawn) == 1:
            shapes.append(
                f'<circle class="dot s{number}" cx="{drawn[0][0]:.1f}" cy="{drawn[0][1]:.1f}" r="3"/>'
            )
    return frame.around("".join(shapes), list(series) if len(series) > 1 else ())


def heat(frame: Frame, cells: Sequence[tuple[float, float, float, float, float]]) -> str:
    """A field for each (left, right, bottom, top, darkness from 0 to 1), and the line where both axes are equal."""
    shapes = []
    for left, right, bottom, top, dark in cells:
        x, y = frame.x(left), frame.y(top)
        shapes.append(
            f'<rect class="fill" fill-opacity="{0.15 + 0.85 * dark:.2f}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{max(frame.x(right) - x, 1):.1f}" height="{max(frame.y(bottom) - y, 1):.1f}"/>'
        )
    low, high = max(frame.across.low, frame.up.low), min(frame.across.high, frame.up.high)
    if low < high:
        shapes.append(
            f'<line class="line s1" x1="{frame.x(low):.1f}" y1="{frame.y(low):.1f}" '
            f'x2="{frame.x(high):.1f}" y2="{frame.y(high):.1f}"/>'
        )
    return frame.around("".join(shapes))


def _key(names: Sequence[str]) -> str:
    shapes, x = [], float(LEFT)
    for number, told in enumerate(names):
        y = HEIGHT + 4
        shapes.append(f'<line class="line s{number}" x1="{x:.0f}" y1="{y}" x2="{x + 26:.0f}" y2="{y}"/>')
        shapes.append(f'<text x="{x + 32:.0f}" y="{y + 4}">{safe(told)}</text>')
        x += 56 + 11 * len(told)
    return "".join(shapes)


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Without what cannot be told apart on the screen."""
    kept: list[tuple[float, float]] = []
    for number, point in enumerate(points):
        far = not kept or abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) >= 0.7
        if far or number == len(points) - 1:
            kept.append(point)
    return kept
