"""The table of promises, ``promises.toml``, and the judges that it names.

A row has these fields:

``kind``    command, dashboard, service, live setting, setting, or exit status
``name``    what the command, endpoint, setting or status is called; of a status: command and number
``on``      the technologies on which it is judged: sqlite with one process, redis with two workers
``says``    the promise, in one sentence
``judge``   the function that judges it
``stage``   the crawl on which it is judged; the rows of a stage are judged in the order of the table
``quick``   whether it is in the part that ``make test`` runs, on SQLite
``ends``    exit statuses that its judge demands besides, as "pause 0"
``given``   further values for the judge
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = Path(__file__).with_name("promises.toml")
KINDS = ("command", "dashboard", "service", "live setting", "setting", "exit status")
TECHNOLOGIES = ("sqlite", "redis")


class Broken(Exception):  # noqa: N818 - states what happened
    """A promise was not kept. The text is the evidence."""


def need(kept: object, evidence: str) -> str:
    """Return the evidence. :raises Broken: it speaks against the promise"""
    if not kept:
        raise Broken(evidence)
    return evidence


@dataclass(frozen=True, slots=True)
class Promise:
    """A row of the table."""

    kind: str
    name: str
    says: str
    judge: str
    stage: str
    on: tuple[str, ...] = TECHNOLOGIES
    quick: bool = False
    ends: tuple[str, ...] = ()
    given: dict[str, Any] = field(default_factory=dict)


Judge = "Callable[[Any, Promise], str]"
JUDGES: dict[str, Callable[[Any, Promise], str]] = {}
"""The judges by their names. A judge gets the stage and the row, and returns the evidence or raises Broken."""


def judge(function: Callable[[Any, Promise], str]) -> Callable[[Any, Promise], str]:
    """Enter a function into JUDGES."""
    if function.__name__ in JUDGES:
        raise ValueError(f"there are two judges called {function.__name__}")
    JUDGES[function.__name__] = function
    return function


def read(path: Path = FILE) -> list[Promise]:
    """Return the rows in their order."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["promise"]
    return [
        Promise(**{**row, "on": tuple(row.get("on", TECHNOLOGIES)), "ends": tuple(row.get("ends", ()))})
        for row in rows
    ]
