"""The CPU time and the memory of this process and its children.

Running children are only known if there is a ``/proc``, as on Linux.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = Path("/proc")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
"""Errors on reading a process that has ended or may not be read."""


CRAWL = "crawl"
"""The name of this process among its descendants."""
_PYTHON_MODULE = re.compile(rb"\0-m\0webcrawl\.([a-z_.]+)\0")


class ProcessMemory(NamedTuple):
    """Resident memory in bytes."""

    own: int
    """The memory of this process."""
    all: int
    """The memory of this process, of its children and theirs; memory that they share counts in each."""
    by_name: dict[str, int]
    """The parts of ``all``: ``crawl`` for this process, ``parsing.reader`` and so on for all children that run the
    module, and the name of the program of others.
    """


def cpu_seconds() -> float:
    """Return user and system seconds of this process, of its children that have ended, and of those that run.

    :raises OSError: no file can be opened now; a partial sum would be less than an earlier result
    """
    return sum(os.times()[:4]) + sum(map(_cpu_of_child, _children()))


def memory() -> ProcessMemory | None:
    """Return the memory that is used now; None if the system does not say. :raises OSError: no file can be opened"""
    if (own := resident_bytes()) is None:
        return None
    by_name = {CRAWL: own}
    for process in _descendants():
        name = _read_name(process)
        by_name[name] = by_name.get(name, 0) + (resident_bytes(process) or 0)
    return ProcessMemory(own, sum(by_name.values()), by_name)


def resident_bytes(process: int | str = "self") -> int | None:
    """Return the resident memory of a process; None if it has ended, or the system does not say.

    :raises OSError: no file can be opened
    """
    try:
        pages = int((_PROC / str(process) / "statm").read_text().split()[1])
    except (*_GONE, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _read_name(process: str) -> str:
    """Return the module that a child runs, or its program. :raises OSError: no file can be opened"""
    try:
        if match := _PYTHON_MODULE.search((_PROC / process / "cmdline").read_bytes()):
            return match[1].decode()
        return (_PROC / process / "comm").read_text().strip()
    except (*_GONE, ValueError):
        return "?"


def _descendants() -> Iterator[str]:
    """Yield the children of this process, and theirs."""
    unread = [*_children()]
    known = {*unread}
    while unread:
        yield (process := unread.pop())
        new = _children(process) - known
        known |= new
        unread.extend(new)


def _children(process: str = "self") -> set[str]:
    """Return the children of all threads of a process. Empty if the system does not list them."""
    children: set[str] = set()
    threads = _PROC / process / "task"
    # Not by a pattern: globbing silently skips a folder that cannot be opened.
    try:
        listed = list(threads.iterdir())
    except _GONE:
        return children
    for thread in listed:
        with suppress(*_GONE):
            children.update((threads / thread / "children").read_text().split())
    return children


def _cpu_of_child(process: str) -> float:
    """Return the time of a child, with that of its own ended children."""
    try:
        fields = (_PROC / process / "stat").read_text().rpartition(")")[2].split()
        ticks = sum(map(int, fields[11:15]))
    except (*_GONE, ValueError):
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK")
