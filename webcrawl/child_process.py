"""Processes of our own beside the crawl: how they are started, and what they do not hear."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

KEEPS_FREED = {"MALLOC_TRIM_THRESHOLD_": str(32 << 20), "MALLOC_MMAP_THRESHOLD_": str(16 << 20)}
"""For ``environment``, where pages are parsed: else glibc gives back to the system what the tree of a page took as
soon as it is free, and gets it again for the next one (53 page faults a page, a third of Lexbor's time)."""


def command(module: str) -> list[str]:
    """The words that run ``module`` with this Python."""
    return [sys.executable, "-m", module]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What such a process is given: it finds the code where this one did; an empty path is the folder we are in."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
        **(more or {}),
    }


def leave_signals_to_the_crawl() -> None:
    """Those that end a crawl are for the crawl, which ends us when it has ended."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
