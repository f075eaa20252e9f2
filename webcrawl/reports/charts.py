"""Figures as inline SVG: no script, no file beside the page, readable in print and in the dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH = 720
_HEIGHT = 180
_LEFT, _BOTTOM, _TOP = 64, 24, 10
_ROW = 22
_LABEL = 190
_NUMBER = 110


def area(values: Sequence[float], title: str, span: tuple[str, str], shown: Callable[[float], str]) -> str:
    """A filled line over equal steps. ``span`` labels the first and the last step, ``shown`` words a
    value.
    """
    peak = max(values, default=0.0) or 1.0
    inner_width, inner_height = WIDTH - _LEFT, _HEIGHT - _BOTTOM - _TOP
    step = inner_width / max(len(values), 1)
    points = [f"{_LEFT},{_TOP + inner_height}"]
    for number, value in enumerate(values):
        y = _TOP + inner_height * (1 - value / peak)
        points += [f"{_LEFT + number * step:.1f},{y:.1f}", f"{_LEFT + (number + 1) * step:.1f},{y:.1f}"]
    points.append(f"{WIDTH},{_TOP + inner_height}")
    base = _HEIGHT - _BOTTOM
    return (
        f'<svg viewBox="0 0 {WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>"
        f'<polygon class="fill" points="{" ".join(points)}"/>'
        f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{WIDTH}" y2="{base}"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end">{escape(shown(peak))}</text>'
        f'<text x="{_LEFT - 6}" y="{base}" text-anchor="end">{escape(shown(0.0))}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{escape(span[0])}</text>'
        f'<text x="{WIDTH}" y="{_HEIGHT - 6}" text-anchor="end">{escape(span[1])}</text>'
        "</svg>"
    )


def bars(rows: Sequence[tuple[str, int]], title: str, shown: Callable[[int], str]) -> str:
    """A horizontal bar for each row, as long as its number."""
    peak = max((number for _, number in rows), default=0) or 1
    room = WIDTH - _LABEL - _NUMBER
    parts = []
    for place, (name, number) in enumerate(rows):
        y = place * _ROW
        parts.append(
            f'<text x="{_LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(_cut(name))}</text>'
            f'<rect class="fill" x="{_LABEL}" y="{y + 3}" width="{room * number / peak:.1f}" height="16"/>'
            f'<text x="{_LABEL + room * number / peak + 6:.1f}" y="{y + 15}">{escape(shown(number))}</text>'
        )
    height = max(len(rows), 1) * _ROW
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _cut(name: str) -> str:
    return name if len(name) <= 30 else f"{name[:29]}…"
