"""What each part of ``webcrawl/engine`` saves: crawls with all of them, and with one replaced by Scrapy's own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.bench.crawls import AT_ONCE, ROUNDS, in_turn, ours, ratios, seeds_file, spread, steady, told
from tests.bench.engine_parts import PARTS
from tests.fakeweb.process import serve_in_process

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.bench.meter import Figures

LOOP = "event loop"
"""The place of ``Figures.cpu_by_place`` where the engine runs."""


def without_each(folder: Path, seconds: float) -> None:
    """CPU a page without each part, as a multiple of that with all of them."""
    print(f"The engine, with each part replaced by Scrapy's own, {ROUNDS} pairs of crawls of {seconds:g} s:")
    with serve_in_process(steady()) as web:
        seeds = seeds_file(folder, web)
        for part in PARTS:
            found = in_turn(
                folder / part.replace(" ", "-"),
                {
                    "with": lambda place: ours(place, seeds, seconds, *AT_ONCE),
                    "without": partial(_without, part, seeds, seconds),
                },
            )
            all_parts, others = found["with"], found["without"]
            print(
                f"  {part:17} {told(all_parts)}; without it {ratios(all_parts, others)} times the CPU, "
                f"{loop_ratios(all_parts, others)} times that of the event loop"
            )


def loop_ratios(before: Sequence[Figures], after: Sequence[Figures]) -> str:
    """Return how many times as much CPU a page the event loop took, run by run: median and range."""
    taken = [[run.cpu_by_place[LOOP] / run.pages for run in runs] for runs in (before, after)]
    return spread([new / old for old, new in zip(*taken, strict=True)], "{:.3f}")


def _without(part: str, seeds: Path, seconds: float, place: Path) -> Figures:
    return ours(place, seeds, seconds, *AT_ONCE, without=part)
