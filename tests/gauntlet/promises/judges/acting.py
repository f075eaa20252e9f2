"""What a row does: a command, or a request to the dashboard, with names of the stage in place of words in braces."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.gauntlet.promises.table import need
from tests.gauntlet.promises.web import until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.gauntlet.promises.stages import Live, Stage
    from tests.gauntlet.promises.table import Promise

FORCE_SECONDS = 2.0
"""The time within which a change is in force in all processes, if its command does not wait."""
SETTLE_SECONDS = 10.0
"""How long a change of the dashboard may take, which does not wait for workers."""


def filled(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value of the table with the names in place of words in braces."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    if isinstance(value, dict):
        return {name: filled(item, names) for name, item in value.items()}
    return value


def words_of(stage: Stage, words: list[str], **more: str) -> list[str]:
    """Return the words of a command; ``{jobs}`` alone are as many words as there are folders."""
    names = {**stage.names, **more}
    found: list[str] = []
    for word in words:
        found += names["jobs"].split() if word == "{jobs}" else [filled(word, names)]
    return found


def act(stage: Live, promise: Promise, key: str = "", **more: str) -> float:
    """Do what a row says, and return the time at which its command or request had ended.

    ``given`` has ``words`` of a command, or ``request``: method, path and body for the dashboard. ``key`` is a prefix
    of these names.
    """
    given = promise.given
    if f"{key}words" in given:
        stage.do(*words_of(stage, given[f"{key}words"], **more))
    else:
        method, path, *body = filled(given[f"{key}request"], {**stage.names, **more})
        stage.dashboard().change(method, path, *body)
    return time.time()


def settled(stage: Live, promise: Promise, since: float, host: str = "") -> float:
    """Return the time from which requests count: at once after a command, after a while without one otherwise."""
    if "words" in promise.given:
        return since
    until(lambda: not stage.web.hits(host, time.time() - 2.0), SETTLE_SECONDS)
    return time.time() - 1.0


@contextmanager
def changed(stage: Stage, **values: object) -> Iterator[float]:
    """Set live settings by command while the block runs; the value is the time from which they are promised."""
    pairs = [f"{name}={value}" for name, value in values.items()]
    try:
        stage.do("set", *pairs, stage.target)
        yield time.time()
    finally:
        stage.run("set", stage.target, *(word for name in values for word in ("--reset", name)))


def fresh(stage: Stage, label: str) -> str:
    """Return a host that no page of the web has linked to."""
    number = stage.kept["hosts"] = stage.kept.get("hosts", 0) + 1
    return f"{label.lower().replace('_', '-').replace(' ', '-')}-{number}.hubs.test"


def counted(number: int, what: str) -> str:
    """Return a number with its noun."""
    ending = "" if number == 1 else "es" if what.endswith("s") else "s"
    return f"{number:,} {what}{ending}"


def need_gaps(gaps: list[float], least: float, what: str) -> str:
    """Return the evidence that pauses are so long. :raises Broken: one is shorter, or there are too few"""
    need(len(gaps) >= 3, f"only {counted(len(gaps), 'pause')} {what}")
    return need(
        min(gaps) >= least - 0.002,
        f"shortest of {len(gaps)} pauses {what}: {min(gaps):.3f} s, owed {least:g} s",
    )
