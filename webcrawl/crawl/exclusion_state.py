"""Which exclusion list a crawl goes by, told in its JOBDIR, and the operator's wish to have the file looked at.

Two small files. The crawl writes ``exclusions.json`` when it begins and whenever another list is in force; whoever
changed the exclusion file touches ``exclusions.look``, and the crawl looks within a second.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from webcrawl.atomic_file import replace, replacement

if TYPE_CHECKING:
    from pathlib import Path

STATE = "exclusions.json"
LOOK = "exclusions.look"


@dataclass(frozen=True, slots=True)
class InForce:
    """The list that a process goes by."""

    version: str
    """As ``ExclusionList.version``."""
    entries: int
    since: float
    """Epoch seconds."""
    process: int
    """Its number; what another process left behind says nothing of this one."""


def tell(folder: Path, in_force: InForce) -> None:
    """Write down what is in force; the file appears at once. :raises OSError: it cannot be written"""
    replace(folder / STATE, json.dumps(asdict(in_force)).encode() + b"\n")


def told(folder: Path) -> InForce | None:
    """What was written down last; None for nothing that can be read."""
    try:
        said = json.loads((folder / STATE).read_bytes())
        return InForce(str(said["version"]), int(said["entries"]), float(said["since"]), int(said["process"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def ask(folder: Path) -> None:
    """Have the crawl look at its exclusion file at once. :raises OSError: the folder cannot be written"""
    now = time.time_ns()
    # In one step: a crawl that saw the file between its making and its time would be asked twice.
    with replacement(folder / LOOK, folder / f"{LOOK}.{os.getpid()}") as unfinished:
        unfinished.touch()
        os.utime(unfinished, ns=(now, now))


def asked(folder: Path) -> int:
    """Another number each time somebody asked; 0 for never."""
    try:
        return (folder / LOOK).stat().st_mtime_ns
    except OSError:
        return 0
