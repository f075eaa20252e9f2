"""CPU time of this process and of those that it has started: the archive's keeper, processes that read pages."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
"""What reading of a process raises that has ended or is not ours to read."""


def cpu_seconds() -> float:
    """User and system time of this process, of its children that have ended, and of those that run.

    How much children have taken that still run is only known where there is a ``/proc``, as on Linux.

    :raises OSError: no file can be opened now; what is read of some of them would say less than was said before
    """
    return sum(os.times()[:4]) + sum(map(_of_child, _children()))


def _children() -> set[str]:
    """Of all threads of this process. Empty where the system does not tell."""
    found: set[str] = set()
    threads = _PROC / "self" / "task"
    # Not by a pattern: that passes over a folder which cannot be opened.
    for thread in threads.iterdir() if threads.is_dir() else ():
        with suppress(*_GONE):
            found.update((threads / thread / "children").read_text().split())
    return found


def _of_child(process: str) -> float:
    """With what its own children had taken when they ended."""
    try:
        fields = (_PROC / process / "stat").read_text().rpartition(")")[2].split()
        ticks = sum(map(int, fields[11:15]))
    except (*_GONE, ValueError):
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK")
