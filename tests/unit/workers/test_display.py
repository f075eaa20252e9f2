"""The one display of a crawl of several workers, drawn into a text."""

from __future__ import annotations

import io

from rich.console import Console

from tests.unit.workers.test_figures import of_worker
from webcrawl.config import Configuration
from webcrawl.workers import figures
from webcrawl.workers.display import WorkersDisplay


def test_it_shows_the_sum_of_all_workers_and_their_last_errors():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, height=40)
    total = figures.added([of_worker(3), of_worker(4)], running=2)
    found = [None, total]
    display = WorkersDisplay(
        "broad  crawls/first", Configuration(), 0, lambda: found.pop(0) if found else total, console
    )
    display.begin()
    # A worker that has just begun has no figures yet.
    display.tick(is_stopping=False)
    assert "pages" not in file.getvalue()
    display.tick(is_stopping=False)
    display.end()
    display.end()
    drawn = file.getvalue()
    for text in (
        "broad  crawls/first",
        "2 workers",
        "7 URLs queued",
        "4 in flight",
        "2xx 7",
        "timeout http://a/",
    ):
        assert text in drawn
    assert found == []
