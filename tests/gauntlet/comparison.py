"""The same subjects for webcrawl and for its peers, each crawler by itself on each subject."""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.fakeweb.log import read_log
from tests.gauntlet import arena
from tests.gauntlet.crawlers import CRAWLERS
from tests.gauntlet.evidence import ACCESS
from tests.gauntlet.scorecard import Judged, Scorecard
from tests.gauntlet.subjects import SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COMPARED = ("webcrawl", "scrapy", "scrapy-redis", "crawlee", "wget2", "httrack")
LIMIT_SECONDS = 45.0
"""From the first request on and for all: a crawl that goes on is stopped then, and judged by what it has done."""

LIMITS = {"robots": 120.0}
"""Where hosts never answer: a crawler with one connection waits for each of them."""


def compare(
    names: Sequence[str], folder: Path, *, jobs: int, minutes: float, command: str
) -> list[Scorecard]:
    """Return a scorecard for each crawler; one that is not installed has no rows.

    Crawls that have not begun after so many minutes are not made, so that all is over some minutes later.
    """
    deadline = time.monotonic() + 60.0 * minutes
    versions = {name: CRAWLERS[name]().version() for name in COMPARED}
    # Two crawls of a subject at once would want the same ports for its wires.
    locks: dict[str, threading.Lock] = defaultdict(threading.Lock)

    def one(crawler: str, name: str) -> list[Judged]:
        subject = replace(
            SUBJECTS[name], limit_seconds=min(SUBJECTS[name].limit_seconds, LIMITS.get(name, LIMIT_SECONDS))
        )
        with locks[name]:
            if time.monotonic() > deadline:
                sys.stderr.write(f"{crawler} {name}: no time left, not judged\n")
                return []
            rows = list(arena.run(CRAWLERS[crawler](), [subject], folder / crawler / name))
        if not read_log(folder / crawler / name / ACCESS):
            # On a busy machine it did not get so far as to show anything.
            sys.stderr.write(f"{crawler} {name}: no request, not judged\n")
            return []
        sys.stderr.write(f"{crawler} {name}: {sum(row.has_failed for row in rows)} of {len(rows)} failed\n")
        return rows

    installed = [name for name in COMPARED if versions[name] is not None]
    with ThreadPoolExecutor(jobs) as pool:
        futures = {
            # A few subjects at a time: what there is no time for is missing for all crawlers.
            (crawler, name): pool.submit(one, crawler, name)
            for first in range(0, len(names), jobs)
            for crawler in installed
            for name in names[first : first + jobs]
        }
        rows = {key: future.result() for key, future in futures.items()}
    return [
        Scorecard(
            crawler,
            versions[crawler] or "not installed",
            command,
            [row for name in names for row in rows.get((crawler, name), [])],
        )
        for crawler in COMPARED
    ]
