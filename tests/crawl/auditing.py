"""The audit of what crawls leave behind: by their logs alone, where the web's own log is the other witness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.archive import fetchlog
from webcrawl.audit.audit import Audit, AuditRules, AuditTotals
from webcrawl.politeness.delay import Politeness
from webcrawl.reports.fetch_logs import MergedRequests

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.reports.clocks import Violation


def audited(*jobdirs: Path) -> tuple[list[Violation], AuditTotals]:
    """What is wrong with one crawl by the logs of all its workers, and what was looked at."""
    politeness = Politeness("fixed", 0.0, 0.0, 0.0, crawl_delay_max=300.0)
    audit = Audit(AuditRules(politeness, robots_lifetime_seconds=86_400.0, sending_seconds=60.0))
    found = list(audit.violations(MergedRequests([fetchlog.read(jobdir) for jobdir in jobdirs], 180.0)))
    return found, audit.totals
