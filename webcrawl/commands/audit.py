"""``scrapy audit [JOBDIR...]``: check the politeness of a crawl by its fetch logs alone.

Exit status 0: no violation. 1: a violation. 2: an argument or a setting is wrong, or a log cannot be read.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from webcrawl.archive.disk import ArchiveError
from webcrawl.audit.audit import TOLERANCE_SECONDS, Audit, Totals
from webcrawl.audit.clocks import Kind, Violation
from webcrawl.command import ProjectCommand, number
from webcrawl.commands.fetch_logs import FetchLogs, logs_of, plain
from webcrawl.commands.output import tell
from webcrawl.politeness.groups import GroupsError
from webcrawl.reports import text as units
from webcrawl.reports.text import moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.audit.audit import Rules
    from webcrawl.errors import Problem
    from webcrawl.reports.fetch_logs import Merged, Request


class Command(ProjectCommand):
    expected = (ArchiveError, GroupsError, OSError)
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "[JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "Check the politeness of a crawl from its fetch logs and list violations"

    def long_desc(self) -> str:
        return (
            "Check from the fetch logs of all workers, compressed parts included, that each request kept the "
            "clock of its politeness key and the clocks that keys share, and that its robots.txt was known. "
            "Without JOBDIR, that of the settings is used. If an older log lacks a delay, it is computed from "
            "the POLITENESS settings. Shared clocks in the settings apply to every request. The exit status is "
            "1 if there is a violation."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--tolerance",
            type=seconds,
            default=TOLERANCE_SECONDS,
            metavar="S",
            help="tolerance for differences between machines' clocks, in seconds (default: %(default)s)",
        )
        parser.add_argument(
            "--least",
            type=seconds,
            default=0.0,
            metavar="S",
            help="minimum delay for every request, even if the log has a shorter one",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        self._logs, problems = logs_of(self, args)
        yield from problems

    def answer(self, args: list[str], opts: argparse.Namespace) -> int | None:
        # Scrapy imports all commands at each start.
        from webcrawl.crawl.report_facts import audit_rules

        rules = audit_rules(self._logs.configuration, opts.tolerance, opts.least)
        return carry_out(self._logs, rules, as_json=opts.json)


def carry_out(logs: FetchLogs, rules: Rules, *, as_json: bool) -> int:
    """Print every violation when it is found, and the totals at the end. Return the exit status."""
    audit, merged = Audit(rules), logs.requests()
    found = audit.violations(merged)
    if as_json:
        tell('{"violations": [')
        for number, violation in enumerate(found):
            tell(("," if number else "") + json.dumps(_as_object(violation)))
        tell(f'], "totals": {json.dumps(_totals(audit.totals, merged, logs), indent=2)}}}')
    else:
        for violation in found:
            tell("\n".join(_as_lines(violation)) + "\n")
        tell("\n".join(_summary(audit.totals, merged, logs, rules)))
    return 1 if audit.totals.violations else 0


seconds = number(float, 0, 3600, "a number of seconds from 0 to 3600")


def _as_lines(violation: Violation) -> Iterator[str]:
    yield f"{violation.kind}: {violation.clock or violation.request.key}: {_reason(violation)}"
    if violation.before is not None:
        yield f"  {_shown(violation.before)}, ended {moment(violation.before.end)}"
    yield f"  {_shown(violation.request)}"


def _reason(violation: Violation) -> str:
    early = violation.seconds
    match violation.kind:
        case Kind.OVERLAP:
            return f"started {early:.3f} s before the end of another request"
        case Kind.EARLY:
            return f"started {early:.3f} s too early; allowed from {moment(violation.allowed_at or 0.0)} on"
        case Kind.ROBOTS if violation.before is None:
            return f"no robots.txt of {violation.request.origin} was fetched in time before"
        case Kind.ROBOTS if early is not None:
            return (
                f"started {early:.3f} s before the robots.txt of {violation.request.origin} had been received"
            )
        case Kind.ROBOTS:
            return f"the robots.txt of {violation.request.origin} had expired, or was unavailable"


def _shown(request: Request) -> str:
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


def _request(request: Request) -> dict[str, Any]:
    names = ("start", "end", "url", "kind", "status", "error", "worker", "delay", "number")
    return {name: plain(getattr(request, name)) for name in names}


def _totals(totals: Totals, merged: Merged, logs: FetchLogs) -> dict[str, Any]:
    return {
        "requests": totals.requests,
        "workers": sorted(totals.workers),
        "started_at": plain(totals.started_at),
        "ended_at": plain(totals.ended_at),
        "violations": {str(kind): totals.violations[kind] for kind in Kind},
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


def _summary(totals: Totals, merged: Merged, logs: FetchLogs, rules: Rules) -> Iterator[str]:
    if totals.started_at is None or totals.ended_at is None:
        yield "The logs hold no request."
    else:
        yield (
            f"{units.things(totals.requests, 'request')} of {units.things(len(totals.workers), 'worker')} from "
            f"{moment(totals.started_at)} to {moment(totals.ended_at)} UTC"
        )
    if number := totals.violations.total():
        kinds = ", ".join(f"{units.count(totals.violations[kind])} {kind}" for kind in Kind)
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
