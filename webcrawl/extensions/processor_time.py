"""CPU time of this process and of those that it has started: the archive's keeper, processes that read pages."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def cpu_seconds() -> float:
    """User and system time of this process, of its children that have ended, and of those that run.

    How much children have taken that still run is only known where there is a ``/proc``, as on Linux.
    """
    return sum(os.times()[:4]) + sum(map(_of_child, _children()))


def _children() -> set[str]:
    """Of all threads of this process. Empty where the system does not tell."""
    found: set[str] = set()
    for path in _PROC.glob("self/task/*/children"):
        try:
            found.update(path.read_text().split())
        except OSError:
            continue
    return found


def _of_child(process: str) -> float:
    """With what its own children had taken when they ended."""
    try:
        fields = (_PROC / process / "stat").read_text().rpartition(")")[2].split()
        ticks = sum(map(int, fields[11:15]))
    except (OSError, ValueError):
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK")
