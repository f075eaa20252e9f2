"""Settings of logs and display, and the limits of errors, pages and time at which a crawl stops."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field

from webcrawl.config.readers import choice, label, prefixes, real, switch, whole
from webcrawl.config.setting import ANY, DAY, setting

PACKAGES = (
    "DELTAFETCH_",
    "FAKE_USERAGENT_",
    "PLAYWRIGHT_",
    "ROTATING_PROXY_",
    "SCRAPEOPS_",
    "SCRAPY_POET_",
    "SENTRY_",
    "SPIDERMON_",
    "ZYTE_API_",
)
"""The prefixes of packages that many projects use."""


def own_name() -> str:
    """Return the name of a process without a WORKER_NAME."""
    return f"{socket.gethostname()}-{os.getpid()}"


@dataclass(frozen=True, kw_only=True)
class DisplaySettings:
    """A part of ``Configuration``. Each field is the setting of the same name in capitals."""

    worker_name: str = field(
        default_factory=own_name,
        metadata={
            "reader": label("at most 100 letters, digits, dots, hyphens and underscores"),
            "default": None,
            "unit": "",
            "meaning": "Name of this process in logs and records. If unset, HOST-PID.",
        },
    )
    statistics_interval_seconds: float = setting(
        real(0, DAY, zero="never"), 10, "seconds", "Interval between log lines with statistics."
    )
    progress_log_seconds: float = setting(
        real(0, DAY, zero="never"),
        60,
        "seconds",
        "Interval between lines of `progress.jsonl` with the state of the crawl and the resources that "
        "it has used.",
    )
    time_series: bool = setting(
        switch(),
        True,
        "",
        "Publish the figures of the running crawl for other processes, and keep time series of them.",
    )
    loop_held_seconds: float = setting(
        real(0, 60, zero="not watched"),
        0.05,
        "seconds",
        "If one turn of the event loop takes this CPU time or more, the log names the code that took it.",
    )
    crawl_log: bool = setting(
        switch(), True, "", "Write the messages of LOG_LEVEL and above to `crawl.log` in the JOBDIR, too."
    )
    crawl_log_format: str = setting(
        choice("plain", "json"),
        "plain",
        "",
        "Form of `crawl.log`: lines of text, or a JSON object in each line.",
    )
    crawl_log_roll_bytes: int = setting(
        whole(1024, 1 << 50),
        100_000_000,
        "bytes",
        "Size at which `crawl.log` and the logs of errors and components are rotated and compressed. `crawl.log` "
        "and those of components are rotated at midnight UTC, too.",
    )
    crawl_log_keep_days: float = setting(
        real(0, 36_600, zero="without end"), 30, "days", "How long rotated files of these logs are kept."
    )
    component_logs: bool = setting(
        switch(), False, "", "Write a separate log for each component, in `logs/` of the JOBDIR."
    )
    progress_display: str = setting(
        choice("auto", "on", "off"), "auto", "", "Live display. auto shows it in a terminal."
    )
    errors_unanticipated_max: int = setting(
        whole(0, 1_000_000),
        20,
        "errors",
        "More unexpected errors than this within ERRORS_WINDOW_SECONDS stop the crawl.",
    )
    errors_window_seconds: float = setting(
        real(1, DAY), 60, "seconds", "Time window of ERRORS_UNANTICIPATED_MAX."
    )
    closespider_pagecount: int = setting(
        whole(0, ANY, zero="no limit"), 0, "pages", "Stop after this number of pages."
    )
    closespider_timeout: float = setting(
        real(0, 1e10, zero="no limit"), 0, "seconds", "Stop after this time."
    )
    settings_prefixes: tuple[str, ...] = setting(
        prefixes(),
        list(PACKAGES),
        "",
        "Prefixes of the settings of packages and of your own. `-s` accepts names with these prefixes "
        "unchecked.",
    )
