"""The CPU time of the event loop that it takes to have a page parsed by another process: with its body sent as it is,
and with the body copied into a frame."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import uvloop

from tests.bench.crawls import ROUNDS, spread
from tests.fakeweb.ordinary import OrdinaryWeb
from webcrawl.child_process import frame
from webcrawl.parsing import process
from webcrawl.parsing.html import PageInput
from webcrawl.parsing.process import ReaderProcesses, page_parts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAGES = 200
LINKS_MAX = 5_000


def pages_handed_over(folder: Path, seconds: float) -> None:
    """Print both ways in turn."""
    del folder, seconds
    web = OrdinaryWeb(hosts=PAGES)
    pages = [
        PageInput(web.body(number, 0), f"https://{web.name(number)}/", "text/html; charset=utf-8", LINKS_MAX)
        for number in range(PAGES)
    ]
    size = sum(len(page.body) for page in pages) / PAGES / 1000
    print(f"Handing {PAGES} pages of {size:.0f} kB to another process, {3 * ROUNDS} rounds in turn:")
    ways = {"copied": _copied, "as it is": page_parts}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(3 * ROUNDS):
        for name in list(ways)[:: -1 if number % 2 else 1]:
            process.page_parts = ways[name]  # type: ignore[assignment]
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                found[name].append(runner.run(_hand_over(pages)))
    process.page_parts = page_parts
    for name, taken in found.items():
        print(f"  {name:9} {spread([each * 1e6 for each in taken], '{:.0f}')} us of the event loop a page")
    old, new = found.values()
    print(f"  copied, times as much: {spread([a / b for a, b in zip(old, new, strict=True)], '{:.2f}')}")


def _copied(number: int, page: PageInput) -> tuple[bytes, ...]:
    body, *others = page
    return (frame((number, *others, body)),)


async def _hand_over(pages: Sequence[PageInput]) -> float:
    readers = ReaderProcesses(1, in_place_first=0)
    try:
        await readers.extract(pages[0])
        began = time.thread_time()
        for page in pages:
            await readers.extract(page)
        return (time.thread_time() - began) / len(pages)
    finally:
        readers.close()
