"""CPU time of a crawl, by its threads and by the processes that it has started."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from tests import processes

EVENT_LOOP, OTHERS = "event loop", "other threads"
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def seconds() -> float:
    """So far, of this process and of those it started."""
    return time.process_time() + sum(_used(folder) for folder in children())


def seconds_by_place() -> dict[str, float]:
    """The same, by Python's names of threads, without the number of one in a pool, and by the modules that the
    processes run; in steps of a clock tick."""
    names = {
        thread.native_id: thread.name.rpartition("_")[0] or thread.name for thread in threading.enumerate()
    }
    names[threading.main_thread().native_id] = EVENT_LOOP
    used: dict[str, float] = {}
    for task in Path("/proc/self/task").iterdir():
        name = names.get(int(task.name), OTHERS)
        used[name] = used.get(name, 0.0) + _used(task)
    for folder in children():
        words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        name = words[words.index("-m") + 1] if "-m" in words else words[0]
        used[name] = used.get(name, 0.0) + _used(folder)
    return used


def children() -> list[Path]:
    """The folders of the processes that this one started."""
    return [Path(f"/proc/{pid}") for pid in processes.children_of(os.getpid())]


def _used(folder: Path) -> float:
    """User and system."""
    behind_the_name = (folder / "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, behind_the_name[11:13])) / _TICKS_PER_SECOND
