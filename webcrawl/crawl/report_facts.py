"""The facts of a report that its fetch logs do not have: the runs of the crawl, their states, and the audit by the
crawl's rules of politeness.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from webcrawl.archive import fetchlog
from webcrawl.audit import TOLERANCE_SECONDS
from webcrawl.audit.audit import AuditRules, audit_requests
from webcrawl.crawl.jobdir import Jobdir
from webcrawl.crawl.rules import build_politeness, build_shared_clocks
from webcrawl.reports import run_log
from webcrawl.reports.fetch_logs import MergedRequests
from webcrawl.reports.sections.head import ReportFacts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from webcrawl.config import Configuration
    from webcrawl.reports.run_log import Run
    from webcrawl.reports.standing import CrawlState

ORDER_SECONDS = 60.0
"""Seconds by which a request may be in the log later than the end of its response, besides its duration."""


def audit_rules(
    configuration: Configuration,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    least_seconds: float = 0.0,
) -> AuditRules:
    """Return the rules of politeness in the settings. :raises GroupsError: their file is wrong"""
    return AuditRules(
        build_politeness(configuration),
        configuration.robots_ttl_seconds,
        configuration.download_timeout,
        tolerance_seconds,
        least_seconds,
        build_shared_clocks(configuration),
    )


def window_seconds(configuration: Configuration) -> float:
    """Return how far out of order the lines of a log may be, in seconds."""
    return 2 * configuration.download_timeout + ORDER_SECONDS


def report_facts(folders: Sequence[Path], configuration: Configuration) -> ReportFacts:
    """Read the runs and audit the logs of all workers of a crawl. This reads the logs once more.

    :raises GroupsError: a file that the settings name is wrong :raises OSError: :raises ArchiveError: a log cannot be
    read
    """
    runs = [run for folder in folders if (run := run_log.read(folder))]
    logs = [fetchlog.read(folder, lambda sentence: None) for folder in folders]
    audited = audit_requests(MergedRequests(logs, window_seconds(configuration)), audit_rules(configuration))
    return ReportFacts(
        runs=[of_one[-1] for of_one in runs],
        states=[state for folder in folders if (state := run_state(folder)) is not None],
        begun_at=min((of_one[0].begun_at for of_one in runs), default=None),
        made_at=time.time(),
        folders=[str(folder) for folder in folders],
        violations=audited.violations,
    )


def run_state(folder: Path, runs: Sequence[Run] | None = None) -> CrawlState | None:
    """Return the state of the crawl, or worker, in a folder; None if no run is recorded there."""
    runs = run_log.read(folder) if runs is None else runs
    return Jobdir(folder).state(runs[-1]) if runs else None


def crawl_name(folders: Sequence[Path]) -> str:
    """Return the name of the crawl: of its folder, or that of the crawl to which all folders of workers belong."""
    crawls = {runs[-1].crawl for folder in folders if (runs := run_log.read(folder))}
    if len(crawls) == 1 and (crawl := crawls.pop()) is not None:
        return crawl
    first, *others = (folder.resolve().name for folder in folders)
    return f"{first} and {len(others)} more" if others else first
