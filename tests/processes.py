"""Processes as the system knows them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that are not done yet."""
    return [child for child, parent in _parents() if parent == pid]


def all_below(pid: int) -> list[int]:
    """A process, and everything that it and those have started."""
    found, parents = [pid], _parents()
    for known in found:
        found += [child for child, parent in parents if parent == known]
    return found


def resident_bytes(pid: int) -> int:
    """The memory that a process has in use and shares with no other; 0 for one that is gone."""
    try:
        size, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
    except OSError:
        return 0
    return (int(size) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def name_of(pid: int) -> str:
    """What it runs, in a few words."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    return " ".join(word for word in words[1:6] if word)[:70]


def kill(pid: int) -> None:
    """kill -9; nothing happens to one that is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_for_end(pid: int, seconds: float) -> None:
    """Wait until a process that may be nobody's child is gone, or waits for somebody to look at what became of it."""
    deadline = time.monotonic() + seconds
    while _state(pid) not in (None, "Z"):
        assert time.monotonic() < deadline, f"process {pid} does not end"
        time.sleep(0.005)


def _parents() -> list[tuple[int, int]]:
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [(pid, int(fields[1])) for pid in pids if (fields := _stat(pid))]


def _state(pid: int) -> str | None:
    fields = _stat(pid)
    return fields[0] if fields else None


def _stat(pid: int) -> list[str]:
    """What stands behind the name in ``stat``; nothing for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
