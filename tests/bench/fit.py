"""Coefficients of ``webcrawl/reports/plan.py`` from sizes that were measured: least squares of relative errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from tests.bench.sizes import Sizes, Web
from webcrawl.reports.plan import ItemSizes, Size

NAMES = ("empty", "seen", "queued", "character", "host", "queue", "robots", "robots_byte")


def size_of(web: Web, *, queued: bool, **more: Any) -> Size:
    """The crawl of ``web`` when all of it is queued, or when all of it is done; ``more``: of its size."""
    return Size(
        urls=web.urls,
        hosts=web.hosts,
        pages=web.urls,
        queued=web.urls if queued else 0,
        length=web.length,
        robots_bytes=web.robots_bytes,
        **more,
    )


def predicted(costs: ItemSizes, web: Web, **more: Any) -> Sizes:
    """What ``costs`` say of ``web``; ``more``: of its size."""
    queued = costs.total(size_of(web, queued=True, **more))
    done = costs.total(size_of(web, queued=False, **more))
    [robots] = [
        figure.value for figure in costs.figures(size_of(web, queued=True)) if figure.name == "robots"
    ]
    return Sizes(round(queued - robots), 0, round(robots), round(done))


def fitted(measured: Sequence[tuple[Web, Sizes]]) -> ItemSizes:
    """The costs by which these sizes are predicted best."""
    rows: list[tuple[list[float], float]] = []
    for web, sizes in measured:
        n, h = web.urls, web.hosts
        answers = [0.0] * 6 + [h, h * web.robots_bytes]
        known = [1.0, n, 0, 0, h, 0, 0, 0]
        rows.append(([1.0, n, n, n * web.length, h, h, 0, 0], sizes.urls + sizes.hosts))
        rows.append((answers, sizes.robots))
        rows.append(([one + other for one, other in zip(known, answers, strict=True)], sizes.done))
    return ItemSizes(*_least_squares([([one / value for one in row], 1.0) for row, value in rows]))


def _least_squares(rows: Sequence[tuple[Sequence[float], float]]) -> list[float]:
    """The unknowns that fit best and are not negative: those that would be are taken out one by one."""
    used = list(range(len(rows[0][0])))
    while True:
        found = _solved([([row[at] for at in used], value) for row, value in rows])
        if min(found) >= 0:
            return [found[used.index(at)] if at in used else 0.0 for at in range(len(rows[0][0]))]
        del used[found.index(min(found))]


def _solved(rows: Sequence[tuple[Sequence[float], float]]) -> list[float]:
    """The normal equations, by elimination."""
    width = len(rows[0][0])
    scale = [max(abs(row[at]) for row, _ in rows) or 1.0 for at in range(width)]
    scaled = [([one / by for one, by in zip(row, scale, strict=True)], value) for row, value in rows]
    matrix = [
        [sum(row[i] * row[j] for row, _ in scaled) + 1e-12 * (i == j) for j in range(width)]
        + [sum(row[i] * value for row, value in scaled)]
        for i in range(width)
    ]
    for i in range(width):
        pivot = max(range(i, width), key=lambda k: abs(matrix[k][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        for k in range(width):
            if k != i:
                factor = matrix[k][i] / matrix[i][i]
                matrix[k] = [one - factor * other for one, other in zip(matrix[k], matrix[i], strict=True)]
    return [matrix[i][width] / matrix[i][i] / scale[i] for i in range(width)]


def told(costs: ItemSizes) -> str:
    """As it would stand in the code."""
    return f"ItemSizes({', '.join(f'{value:.4g}' for value in astuple(costs))})"
