"""Prints each violation when ``scrapy audit`` finds it, and the totals at the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from webcrawl.audit.audit import Audit
from webcrawl.commands.fetch_logs import plain
from webcrawl.reports import text as units
from webcrawl.reports.clocks import ViolationKind
from webcrawl.reports.text import moment
from webcrawl.terminal import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.audit.audit import AuditRules, AuditTotals
    from webcrawl.commands.fetch_logs import FetchLogs
    from webcrawl.reports.clocks import Violation
    from webcrawl.reports.fetch_logs import LoggedRequest, MergedRequests


def carry_out(logs: FetchLogs, rules: AuditRules, *, as_json: bool) -> int:
    """Print every violation when it is found, and the totals at the end. Return the exit status."""
    audit, merged = Audit(rules), logs.requests()
    violations = audit.violations(merged)
    if as_json:
        tell('{"violations": [')
        for number, violation in enumerate(violations):
            tell(("," if number else "") + json.dumps(_as_object(violation)))
        tell(f'], "totals": {json.dumps(_totals(audit.totals, merged, logs), indent=2)}}}')
    else:
        for violation in violations:
            tell("\n".join(_as_lines(violation)) + "\n")
        tell("\n".join(_summary(audit.totals, merged, logs, rules)))
    return 1 if audit.totals.violations else 0


def _as_lines(violation: Violation) -> Iterator[str]:
    yield f"{violation.kind}: {violation.clock or violation.request.key}: {_reason(violation)}"
    if violation.before is not None:
        yield f"  {_format_request(violation.before)}, ended {moment(violation.before.end)}"
    yield f"  {_format_request(violation.request)}"


def _reason(violation: Violation) -> str:
    early = violation.seconds
    match violation.kind:
        case ViolationKind.OVERLAP:
            return f"started {early:.3f} s before the end of another request"
        case ViolationKind.EARLY:
            return f"started {early:.3f} s too early; allowed from {moment(violation.allowed_at or 0.0)} on"
        case ViolationKind.ROBOTS if violation.before is None:
            return f"no robots.txt of {violation.request.origin} was fetched in time before"
        case ViolationKind.ROBOTS if early is not None:
            return (
                f"started {early:.3f} s before the robots.txt of {violation.request.origin} had been received"
            )
        case ViolationKind.ROBOTS:
            return f"the robots.txt of {violation.request.origin} had expired, or was unavailable"


def _format_request(request: LoggedRequest) -> str:
    return f"{moment(request.start)}  {request.worker}  {request.kind}  {request.result}  {request.url}"


def _as_object(violation: Violation) -> dict[str, Any]:
    return {
        "kind": str(violation.kind),
        "key": violation.request.key,
        "clock": violation.clock,
        "allowed_at": plain(violation.allowed_at),
        "seconds": plain(violation.seconds),
        "request": _request(violation.request),
        "before": None if violation.before is None else _request(violation.before),
    }


def _request(request: LoggedRequest) -> dict[str, Any]:
    names = ("start", "end", "url", "kind", "status", "error", "worker", "delay", "number")
    return {name: plain(getattr(request, name)) for name in names}


def _totals(totals: AuditTotals, merged: MergedRequests, logs: FetchLogs) -> dict[str, Any]:
    return {
        "requests": totals.requests,
        "workers": sorted(totals.workers),
        "started_at": plain(totals.started_at),
        "ended_at": plain(totals.ended_at),
        "violations": {str(kind): totals.violations[kind] for kind in ViolationKind},
        "unproved": totals.unproved,
        "missing": totals.missing,
        "without_delay": totals.without_delay,
        "cut_off": totals.cut_off,
        "not_sent": totals.not_sent,
        "cached": totals.cached,
        "copies": totals.copies,
        "late": merged.late,
        "unreadable": merged.unreadable + logs.damaged,
    }


def _summary(
    totals: AuditTotals, merged: MergedRequests, logs: FetchLogs, rules: AuditRules
) -> Iterator[str]:
    if totals.started_at is None or totals.ended_at is None:
        yield "The logs hold no request."
    else:
        yield (
            f"{units.things(totals.requests, 'request')} of {units.things(len(totals.workers), 'worker')} from "
            f"{moment(totals.started_at)} to {moment(totals.ended_at)} UTC"
        )
    if number := totals.violations.total():
        kinds = ", ".join(f"{units.count(totals.violations[kind])} {kind}" for kind in ViolationKind)
        yield f"{units.things(number, 'violation')}: {kinds}"
    else:
        yield f"No violation: every clock was kept, to {rules.tolerance_seconds:g} s."
    remarks = (
        (
            totals.unproved,
            "whose robots.txt may have been fetched before the logs begin, or by another worker",
        ),
        (totals.missing, "missing in the logs, by the numbers of the others"),
        (totals.without_delay, "whose delay is not in the log: checked with the delay of the settings"),
        (totals.cut_off, "open when their worker lost the key: counted as ended at that time"),
        (totals.not_sent, "cancelled before anything was sent: not counted"),
        (totals.cached, "from a cache, without a contact: not counted"),
        (totals.copies, "found twice: counted once"),
        (merged.late, "far out of order in their log: perhaps not checked against all others"),
    )
    for number, remark in remarks:
        if number:
            yield f"  {units.things(number, 'request')} {remark}"
    if unreadable := merged.unreadable + logs.damaged:
        yield f"  {units.things(unreadable, 'line')} could not be read"
