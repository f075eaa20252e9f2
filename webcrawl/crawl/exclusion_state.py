"""The version of the exclusion list that a crawl uses, written to its JOBDIR, and the operator's request to read the
file again.

Two small files. The crawl writes ``exclusions.json`` when it begins and whenever another list is in force; a program
that changed the exclusion file touches ``exclusions.look``, and the crawl reads it within a second.
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
    """The list that a process uses."""

    version: str
    """The version of the list, as in ``ExclusionList.version``."""
    entries: int
    since: float
    """Epoch seconds."""
    process: int
    """The number of the process; a file that another process left does not apply to this one."""


def write(folder: Path, in_force: InForce) -> None:
    """Write the state; the file is replaced in one step. :raises OSError: it cannot be written"""
    replace(folder / STATE, json.dumps(asdict(in_force)).encode() + b"\n")


def read(folder: Path) -> InForce | None:
    """Return the state that was written last; None if nothing can be read."""
    try:
        fields = json.loads((folder / STATE).read_bytes())
        return InForce(
            str(fields["version"]), int(fields["entries"]), float(fields["since"]), int(fields["process"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def request_read(folder: Path) -> None:
    """Have the crawl read its exclusion file at once. :raises OSError: the folder cannot be written"""
    now = time.time_ns()
    # In one step: a crawl that saw the file before its time was set would read its list twice.
    with replacement(folder / LOOK, folder / f"{LOOK}.{os.getpid()}") as unfinished:
        unfinished.touch()
        os.utime(unfinished, ns=(now, now))


def request_number(folder: Path) -> int:
    """Return a number that changes with each request; 0 for none."""
    try:
        return (folder / LOOK).stat().st_mtime_ns
    except OSError:
        return 0
