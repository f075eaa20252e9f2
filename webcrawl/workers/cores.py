"""The cores that this process may use: those of its affinity, within the limit of its control groups."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Return the number of whole cores, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    limit = None
    with suppress(OSError):
        limit = cpu_limit(Path("/proc/self/cgroup").read_text(encoding="utf-8"), _ROOT)
    return cores if limit is None else max(1, min(cores, int(limit)))


def cpu_limit(groups: str, root: Path) -> float | None:
    """Return the least limit of the control groups of a process and of those that they are in, in cores; None if
    there is none. ``groups``: the text of ``/proc/PID/cgroup``; ``root``: where the groups are mounted."""
    limits = [limit for folder in _folders(groups, root) if (limit := _limit(folder)) is not None]
    return min(limits, default=None)


def _folders(groups: str, root: Path) -> Iterator[Path]:
    for line in groups.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        mount = root / controllers if controllers else root
        folder = mount / path.strip("/")
        # In a container the path may be that of the machine, and what is mounted is the group itself.
        yield from (folder, *(above for above in folder.parents if above.is_relative_to(mount)))


def _limit(folder: Path) -> float | None:
    with suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota_us = int((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        period_us = int((folder / "cpu.cfs_period_us").read_text(encoding="ascii"))
        return quota_us / period_us if quota_us > 0 else None
    return None
