"""``scrapy complaint DOMAIN [JOBDIR...]``: report the requests to a domain, as a letter to its operator or as JSON.

All times are UTC. Exit status 0: done, even if there were no requests. 2: an argument or a setting is wrong, or a log
cannot be read.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webcrawl.archive.disk import ArchiveError
from webcrawl.audit.complaint import Complaint
from webcrawl.audit.letter import LetterFacts, letter
from webcrawl.command import ProjectCommand
from webcrawl.commands.fetch_logs import open_logs, plain
from webcrawl.errors import Problem
from webcrawl.reports import text
from webcrawl.reports.text import moment, read_moment, second
from webcrawl.scope.exclusion import ExclusionError, ExclusionList
from webcrawl.terminal import tell
from webcrawl.urls.politeness_key import get_host
from webcrawl.urls.schemes import resolve_any

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

    from webcrawl.audit.complaint import RequestRate, Version
    from webcrawl.reports.fetch_logs import LoggedRequest


HOSTS = 50
"""The number of hosts with a line of their own, those with most requests."""


@dataclass(frozen=True, slots=True)
class ComplaintFacts:
    """Facts that are not in the requests themselves. Times are epoch seconds, None for no bound."""

    user_agent: str
    begins_at: float | None
    ends_at: float | None


def as_lines(complaint: Complaint, about: ComplaintFacts) -> Iterator[str]:
    """Yield the lines of the letter."""
    yield f"Requests to {complaint.domain} and its subdomains, {_period(about)}. All times are UTC."
    yield f"User-Agent: {about.user_agent}"
    yield ""
    if not complaint.pace.requests:
        yield "There was no request in the logs."
        return
    yield from _figures(complaint)
    if len(complaint.hosts) > 1:
        yield from ("", *_hosts(complaint))
    yield from ("", *_robots(complaint))
    if complaint.listed:
        yield ""
    yield from _requests(complaint)


def as_object(complaint: Complaint, about: ComplaintFacts) -> dict[str, Any]:
    """Return the same as an object for JSON. Times are epoch seconds."""
    return {
        "domain": complaint.domain,
        "user_agent": about.user_agent,
        "from": about.begins_at,
        "to": about.ends_at,
        **_pace(complaint.pace),
        "kinds": dict(complaint.kinds.most_common()),
        "results": dict(complaint.results.most_common()),
        "hosts": {host: _pace(pace) for host, pace in complaint.hosts.items()},
        "robots": {
            origin: [_version(version) for version in versions]
            for origin, versions in complaint.robots.items()
        },
        "without_robots": complaint.without_robots,
        "listed": [
            {
                name: plain(getattr(request, name))
                for name in ("start", "end", "kind", "status", "error", "bytes", "url", "worker")
            }
            for request in complaint.listed
        ],
        "unlisted": complaint.unlisted,
    }


def _requests(complaint: Complaint) -> Iterator[str]:
    if complaint.listed:
        yield "Each request: start, seconds until the response had ended, kind, status, bytes, URL"
        yield from (f"  {_request(request)}" for request in complaint.listed)
    if complaint.unlisted:
        unlisted = text.things(complaint.unlisted, "request")
        yield f"  and {unlisted} not listed" if complaint.listed else f"  {unlisted} not listed"


def _period(about: ComplaintFacts) -> str:
    if about.begins_at is None and about.ends_at is None:
        return "in the logs"
    begin = "" if about.begins_at is None else f"from {second(about.begins_at)}"
    end = "" if about.ends_at is None else f"until {second(about.ends_at)}"
    return f"{begin} {end}".strip()


def _figures(complaint: Complaint) -> Iterator[str]:
    pace = complaint.pace
    yield (
        f"{text.things(pace.requests, 'request')} from {second(pace.first_at)} to {second(pace.last_at)}, "
        f"{text.size(pace.bytes)} received"
    )
    yield f"  kind    {_counts(complaint.kinds)}"
    yield f"  status  {_counts(complaint.results)}"
    rate = f"at most {text.count(pace.most_in_a_minute)} in a minute (from {second(pace.busiest_at)})"
    if pace.mean_gap_seconds is not None:
        rate += f", one every {_exact(pace.mean_gap_seconds, 2)} on average"
    yield f"  rate    {rate}"
    if pace.shortest_pause_seconds is None:
        return
    if pace.shortest_pause_seconds < 0:
        yield f"  pause   {_pause(pace)} between responses and requests: some were open at once"
    else:
        yield f"  pause   {_pause(pace)} at least from the end of a response to the next request"


def _hosts(complaint: Complaint) -> Iterator[str]:
    ordered = sorted(complaint.hosts.items(), key=lambda item: (-item[1].requests, item[0]))
    width = max(len(host) for host, _ in ordered[:HOSTS])
    yield f"{'host':<{width}}  requests  received  most in a minute  shortest pause"
    for host, pace in ordered[:HOSTS]:
        yield (
            f"{host:<{width}}  {text.count(pace.requests):>8}  {text.size(pace.bytes):>8}  "
            f"{text.count(pace.most_in_a_minute):>16}  {_pause(pace):>14}"
        )
    if len(ordered) > HOSTS:
        yield f"and {text.things(len(ordered) - HOSTS, 'host')} more"


def _robots(complaint: Complaint) -> Iterator[str]:
    yield "robots.txt: time of the response, status, digest of its text, requests made under it"
    for origin in sorted(complaint.robots):
        yield f"  {origin}/robots.txt"
        yield from (f"    {_version_facts(version)}" for version in complaint.robots[origin])
    if complaint.without_robots:
        yield (
            f"  {text.things(complaint.without_robots, 'request')} under one that was received before these "
            "logs begin"
        )


def _version_facts(version: Version) -> str:
    facts = [version.result]
    if version.digest is not None:
        facts.append(version.digest)
    elif version.state == "rules":
        facts.append("the text before stayed in force")
    elif version.state is not None:
        facts.append("no restriction" if version.state == "allowed_all" else "nothing was fetched under it")
    if version.crawl_delay is not None:
        facts.append(f"Crawl-delay {version.crawl_delay:g} s")
    again = "" if version.answers == 1 else f", {version.answers} times until {second(version.last_at)}"
    return (
        f"{second(version.first_at)}{again}: {', '.join(facts)}; {text.things(version.requests, 'request')}"
    )


def _request(request: LoggedRequest) -> str:
    seconds = request.end - request.start
    return (
        f"{moment(request.start)} {seconds:.3f} {request.kind} {request.result} {request.bytes} {request.url}"
    )


def _pause(pace: RequestRate) -> str:
    pause = pace.shortest_pause_seconds
    if pause is None:
        return "-"
    return _exact(pause, 3) if pause >= 0 else "none"


def _exact(seconds: float, places: int) -> str:
    """Format seconds with as many places as matter, at most ``places``."""
    return f"{seconds:.{places}f} s" if seconds < 600 else text.duration(seconds)


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {text.count(number)}" for name, number in counts.most_common())


def _pace(pace: RequestRate) -> dict[str, Any]:
    return {
        "requests": pace.requests,
        "bytes": pace.bytes,
        "first_at": plain(pace.first_at) if pace.requests else None,
        "last_at": plain(pace.last_at) if pace.requests else None,
        "most_in_a_minute": pace.most_in_a_minute,
        "busiest_at": plain(pace.busiest_at) if pace.requests else None,
        "mean_gap_seconds": plain(pace.mean_gap_seconds),
        "shortest_pause_seconds": plain(pace.shortest_pause_seconds),
    }


def _version(version: Version) -> dict[str, Any]:
    names = ("result", "state", "digest", "crawl_delay", "first_at", "last_at", "answers", "requests")
    return {name: plain(getattr(version, name)) for name in names}


LISTED = 1000
"""The number of requests that are listed by default."""
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")


class Command(ProjectCommand):
    expected = (ArchiveError, ExclusionError, OSError)
    json_help = "print one JSON object"

    def syntax(self) -> str:
        return "DOMAIN [JOBDIR ...] [options]"

    def short_desc(self) -> str:
        return "List the requests to a domain: when, how fast, under which robots.txt"

    def long_desc(self) -> str:
        return (
            "List from the fetch logs of all workers, compressed parts included, the requests to a domain and "
            "its subdomains, as a letter to its owner. Without JOBDIR, that of the settings is used. Dates are "
            "UTC, such as 2026-03-01 or 2026-03-01T12:30; --to with a date alone includes that day."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add(
            "--from",
            dest="begin",
            type=parse_begin,
            metavar="DATE",
            help="only requests that began at this time or later",
        )
        add(
            "--to",
            dest="end",
            type=parse_end,
            metavar="DATE",
            help="only requests that began at this time or earlier",
        )
        add(
            "--list",
            dest="listed",
            type=number,
            default=LISTED,
            metavar="N",
            help="maximum number of listed requests (default: %(default)s)",
        )

        add(
            "--letter",
            action="store_true",
            help="print a letter to the owner: what was done, what was changed, how to keep the crawler out",
        )

    def wrong_words(self, args: list[str], opts: argparse.Namespace) -> Iterator[Problem]:
        if opts.letter and opts.json:
            yield Problem("--letter", "is a text, and not for --json")
        if not args:
            yield Problem("", "no domain; give the one that complains")
            return
        yield from _wrong(args[0], opts)
        self._logs, problems = open_logs(self, args[1:])
        yield from problems

    def answer(self, args: list[str], opts: argparse.Namespace) -> None:
        complaint = Complaint(parse_domain(args[0]) or "", opts.begin, opts.end, opts.listed)
        for request in self._logs.requests():
            complaint.take(request)
        about = ComplaintFacts(self._logs.configuration.user_agent, opts.begin, opts.end)
        if opts.letter:
            tell("\n".join(self._letter(complaint)))
        elif opts.json:
            tell(json.dumps(as_object(complaint, about), indent=2))
        else:
            tell("\n".join(as_lines(complaint, about)))

    def _letter(self, complaint: Complaint) -> Iterator[str]:
        configuration = self._logs.configuration
        keys_url = ""
        if configuration.identity_agent is not None:
            # Scrapy imports all commands at each start.
            from webcrawl.features.identity import publishing

            keys_url = publishing.keys_url(configuration.identity_agent)
        facts = LetterFacts(
            user_agent=configuration.user_agent,
            product_token=configuration.product_tokens[0],
            contact=configuration.botpage_contact or configuration.crawler_contact,
            robots_ttl_seconds=configuration.robots_ttl_seconds,
            exclusion=_exclusion(configuration.exclusion_file, complaint.domain),
            keys_url=keys_url,
            addresses=configuration.botpage_addresses,
        )
        return letter(complaint, facts, list(_robots(complaint)), list(_requests(complaint)))


def _exclusion(path: Path | None, domain: str) -> str:
    """Return the entry of an exclusion list that covers a domain with all that is below it; empty for none."""
    if path is None:
        return ""
    return ExclusionList.load(path).domain_objection(domain) or ""


def parse_domain(text: str) -> str | None:
    """Return the named host as URLs in the log name it; of a URL its host. None if it is not valid."""
    url = resolve_any(text if "://" in text else f"http://{text}/", "about:blank")
    if url is None:
        return None
    host = get_host(url).rstrip(".")
    return host if _HOST.fullmatch(host) else None


def parse_begin(text: str) -> float:
    return _moment(text, ends=False)


def parse_end(text: str) -> float:
    return _moment(text, ends=True)


def number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > 10_000_000:
        raise argparse.ArgumentTypeError(f"must be a whole number up to 10000000, not {text!r}")
    return int(text)


def _moment(text: str, *, ends: bool) -> float:
    try:
        return read_moment(text, ends=ends)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"must be a date such as 2026-03-01 or 2026-03-01T12:30, not {text!r}"
        ) from None


def _wrong(domain: str, opts: argparse.Namespace) -> Iterator[Problem]:
    if parse_domain(domain) is None:
        yield Problem(domain, "is no domain such as example.org")
    if opts.begin is not None and opts.end is not None and opts.begin >= opts.end:
        yield Problem("--to", "must be later than --from")
