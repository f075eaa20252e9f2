"""The promises of webcrawl's commands, endpoints, settings and exit statuses, each judged by its effect.

    promises.toml  a row for each promise: what it is about, the sentence, the judge
    table          reads the rows, and collects the judges
    web            the hosts that are crawled, and their log
    stages         the crawls on which promises are judged
    judges/        functions by subject: they raise Broken with the evidence, or return it

``judge`` runs the rows of each stage in their order, and stages beside one another.
"""

from __future__ import annotations

import queue
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests import forked
from tests.gauntlet.promises import judges
from tests.gauntlet.promises.stages import STAGES
from tests.gauntlet.promises.table import JUDGES, Broken, Promise, read
from tests.gauntlet.scorecard import Judged, judged, stopwatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.gauntlet.promises.stages import Stage

__all__ = ["judge", "judges", "read"]

SECTIONS = {
    "command": "Commands",
    "dashboard": "Dashboard",
    "service": "Service",
    "live setting": "Live settings",
    "setting": "Settings",
    "exit status": "Exit statuses",
}
AT_ONCE = 3
"""Stages beside one another: most of their time is waiting."""

Show = queue.SimpleQueue[Judged | None]


def judge(folder: Path, only: Sequence[str] = (), *, quick: bool = False) -> Iterator[Judged]:
    """Judge all promises, those of these names, stages, kinds or technologies, or the quick part on SQLite."""
    groups: dict[tuple[str, str], list[Promise]] = {}
    for promise in read():
        for technology in ("sqlite",) if quick else promise.on:
            about = {promise.name, promise.stage, promise.kind, f"{promise.stage}-{technology}"}
            if promise.quick >= quick and technology in promise.on and (not only or about & set(only)):
                stage = "quick" if quick else promise.stage
                groups.setdefault((stage, technology), []).append(promise)
    forked.source_path()
    show: Show = queue.SimpleQueue()

    def run() -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for (name, technology), promises in groups.items():
                pool.submit(_judge_stage, name, technology, promises, folder, show)
        show.put(None)

    threading.Thread(target=run, daemon=True).start()
    while (row := show.get()) is not None:
        yield row


def _judge_stage(name: str, technology: str, promises: list[Promise], folder: Path, show: Show) -> None:
    waiting = list(promises)
    try:
        with STAGES[name](technology, folder / f"{name}-{technology}") as stage:
            while waiting:
                show.put(_judged(stage, waiting[0]))
                waiting.pop(0)
    except Exception as error:
        evidence = f"the stage {name} failed: {_words(error)}"
        for promise in waiting:
            show.put(_row(promise, technology, False, evidence, 0.0))


def _judged(stage: Stage, promise: Promise) -> Judged:
    with stopwatch() as watch:
        try:
            kept, evidence = True, JUDGES[promise.judge](stage, promise)
        except Broken as broken:
            kept, evidence = False, str(broken)
        except Exception as error:
            kept, evidence = False, f"the judge failed: {_words(error)}"
    return _row(promise, stage.technology, kept, evidence, watch.seconds)


def _row(promise: Promise, technology: str, kept: bool, evidence: str, seconds: float) -> Judged:
    return judged(
        SECTIONS[promise.kind], f"{promise.name} on {technology}", promise.says, kept, evidence, seconds
    )


def _words(error: Exception) -> str:
    places = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-3:]]
    return f"{type(error).__name__}: {str(error)[:300]} in {', '.join(places)}"
