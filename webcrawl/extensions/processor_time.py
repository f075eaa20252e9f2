"""CPU time of this process and of its child processes: the archive's keeper, processes that parse pages."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
"""Errors on reading a process that has ended or may not be read."""


def cpu_seconds() -> float:
    """Return user and system seconds of this process, of its children that have ended, and of those that run.

    The time of running children is only known if there is a ``/proc``, as on Linux.

    :raises OSError: no file can be opened now; a partial sum would be less than an earlier result
    """
    return sum(os.times()[:4]) + sum(map(_of_child, _children()))


def _children() -> set[str]:
    """Return the children of all threads of this process. Empty if the system does not list them."""
    found: set[str] = set()
    threads = _PROC / "self" / "task"
    # Not by a pattern: globbing silently skips a folder that cannot be opened.
    for thread in threads.iterdir() if threads.is_dir() else ():
        with suppress(*_GONE):
            found.update((threads / thread / "children").read_text().split())
    return found


def _of_child(process: str) -> float:
    """Return the time of a child, with that of its own ended children."""
    try:
        fields = (_PROC / process / "stat").read_text().rpartition(")")[2].split()
        ticks = sum(map(int, fields[11:15]))
    except (*_GONE, ValueError):
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK")
