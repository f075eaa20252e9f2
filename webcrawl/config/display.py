"""Settings of what a person sees, and of when a crawl ends for it."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field

from webcrawl.config.readers import choice, label, real, switch, whole
from webcrawl.config.setting import ANY, DAY, setting


def own_name() -> str:
    """What a process is called that has no WORKER_NAME."""
    return f"{socket.gethostname()}-{os.getpid()}"


@dataclass(frozen=True, kw_only=True)
class ShowingSettings:
    """A part of ``Configuration``; each field is a setting of the same name in capitals."""

    worker_name: str = field(
        default_factory=own_name,
        metadata={
            "reader": label("letters, digits, dots, hyphens and underscores"),
            "default": None,
            "unit": "",
            "meaning": "this process in logs and records; HOST-PID if unset",
        },
    )
    statistics_interval_seconds: float = setting(
        real(0, DAY, zero="never"), 10, "seconds", "how often a line of figures is logged"
    )
    progress_log_seconds: float = setting(
        real(0, DAY, zero="never"),
        60,
        "seconds",
        "how often progress.jsonl is told how the crawl stands and what it has taken",
    )
    loop_held_seconds: float = setting(
        real(0, 60, zero="not watched"),
        0.05,
        "seconds",
        "CPU time in one turn of the event loop from which on the log says what held it",
    )
    component_logs: bool = setting(
        switch(), False, "", "whether each component has a log of its own, in `logs/` of the JOBDIR"
    )
    progress_display: str = setting(
        choice("auto", "on", "off"), "auto", "", "the live display; auto shows it in a terminal"
    )
    errors_unanticipated_max: int = setting(
        whole(0, 1_000_000),
        20,
        "errors",
        "more unanticipated errors than this within the window stop the crawl",
    )
    errors_window_seconds: float = setting(real(1, DAY), 60, "seconds", "the window for these errors")
    closespider_pagecount: int = setting(
        whole(0, ANY, zero="no limit"), 0, "pages", "stop after so many pages"
    )
    closespider_timeout: float = setting(real(0, 1e10, zero="no limit"), 0, "seconds", "stop after so long")
