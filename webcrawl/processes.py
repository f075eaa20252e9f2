"""The CPU time and the memory of this process and its children.

Running children are only known if there is a ``/proc``, as on Linux.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
"""Errors on reading a process that has ended or may not be read."""


class Memory(NamedTuple):
    """Resident memory in bytes."""

    own: int
    """Of this process."""
    all: int
    """With that of its children; memory that they share counts in each."""


def cpu_seconds() -> float:
    """Return user and system seconds of this process, of its children that have ended, and of those that run.

    :raises OSError: no file can be opened now; a partial sum would be less than an earlier result
    """
    return sum(os.times()[:4]) + sum(map(_cpu_of_child, _children()))


def memory() -> Memory | None:
    """Return the memory that is used now; None if the system does not say. :raises OSError: no file can be opened"""
    if (own := _memory_of("self")) is None:
        return None
    return Memory(own, own + sum(_memory_of(child) or 0 for child in _children()))


def _children() -> set[str]:
    """Return the children of all threads of this process. Empty if the system does not list them."""
    found: set[str] = set()
    threads = _PROC / "self" / "task"
    # Not by a pattern: globbing silently skips a folder that cannot be opened.
    for thread in threads.iterdir() if threads.is_dir() else ():
        with suppress(*_GONE):
            found.update((threads / thread / "children").read_text().split())
    return found


def _cpu_of_child(process: str) -> float:
    """Return the time of a child, with that of its own ended children."""
    try:
        fields = (_PROC / process / "stat").read_text().rpartition(")")[2].split()
        ticks = sum(map(int, fields[11:15]))
    except (*_GONE, ValueError):
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory_of(process: str) -> int | None:
    try:
        pages = int((_PROC / process / "statm").read_text().split()[1])
    except (*_GONE, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
