"""What was fetched at a domain, as a letter for people and an object for programs. All times are UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webcrawl.commands.fetch_logs import plain
from webcrawl.reports import units
from webcrawl.reports.moments import moment, second

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from webcrawl.reports.complaint import Complaint, Pace, Version
    from webcrawl.reports.requests import Request

HOSTS = 50
"""So many hosts have a line of their own, those with most requests."""


@dataclass(frozen=True, slots=True)
class About:
    """What the requests themselves do not tell. Times are epoch seconds, None for no bound."""

    user_agent: str
    begins_at: float | None
    ends_at: float | None


def as_lines(complaint: Complaint, about: About) -> Iterator[str]:
    """The letter."""
    yield f"Requests to {complaint.domain} and its subdomains, {_period(about)}. All times are UTC."
    yield f"User-Agent: {about.user_agent}"
    yield ""
    if not complaint.pace.requests:
        yield "There was none, as far as the logs reach."
        return
    yield from _figures(complaint)
    if len(complaint.hosts) > 1:
        yield from ("", *_hosts(complaint))
    yield from ("", *_robots(complaint))
    if complaint.listed:
        yield from ("", "Each request: start, seconds until the response had ended, kind, status, bytes, URL")
        yield from (f"  {_request(request)}" for request in complaint.listed)
    if complaint.unlisted:
        yield f"  {'and ' if complaint.listed else ''}{units.things(complaint.unlisted, 'request')} not listed"


def as_object(complaint: Complaint, about: About) -> dict[str, Any]:
    """The same for programs. Times are epoch seconds."""
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


def _period(about: About) -> str:
    if about.begins_at is None and about.ends_at is None:
        return "as far as the logs reach"
    begin = "" if about.begins_at is None else f"from {second(about.begins_at)}"
    end = "" if about.ends_at is None else f"until {second(about.ends_at)}"
    return f"{begin} {end}".strip()


def _figures(complaint: Complaint) -> Iterator[str]:
    pace = complaint.pace
    yield (
        f"{units.things(pace.requests, 'request')} from {second(pace.first_at)} to {second(pace.last_at)}, "
        f"{units.size(pace.bytes)} received"
    )
    yield f"  kind    {_counts(complaint.kinds)}"
    yield f"  status  {_counts(complaint.results)}"
    yield (
        f"  rate    at most {units.count(pace.most_in_a_minute)} in a minute (from {second(pace.busiest_at)})"
        + (
            ""
            if pace.mean_gap_seconds is None
            else f", one every {_exact(pace.mean_gap_seconds, 2)} on average"
        )
    )
    if pace.shortest_pause_seconds is not None:
        least = "at least from the end of a response to the next request"
        several = "between responses and requests: some were open at once"
        yield f"  pause   {_pause(pace)} {several if pace.shortest_pause_seconds < 0 else least}"


def _hosts(complaint: Complaint) -> Iterator[str]:
    ordered = sorted(complaint.hosts.items(), key=lambda item: (-item[1].requests, item[0]))
    width = max(len(host) for host, _ in ordered[:HOSTS])
    yield f"{'host':<{width}}  requests  received  most in a minute  shortest pause"
    for host, pace in ordered[:HOSTS]:
        yield (
            f"{host:<{width}}  {units.count(pace.requests):>8}  {units.size(pace.bytes):>8}  "
            f"{units.count(pace.most_in_a_minute):>16}  {_pause(pace):>14}"
        )
    if len(ordered) > HOSTS:
        yield f"and {units.things(len(ordered) - HOSTS, 'host')} more"


def _robots(complaint: Complaint) -> Iterator[str]:
    yield "robots.txt, as it was found: when it came, status, digest of its text, requests made under it"
    for origin in sorted(complaint.robots):
        yield f"  {origin}/robots.txt"
        yield from (f"    {_told(version)}" for version in complaint.robots[origin])
    if complaint.without_robots:
        yield (
            f"  {units.things(complaint.without_robots, 'request')} under one that came before these logs begin"
        )


def _told(version: Version) -> str:
    facts = [version.result]
    if version.digest is not None:
        facts.append(version.digest)
    elif version.state == "rules":
        facts.append("the text before stayed in force")
    elif version.state is not None:
        facts.append("no restriction" if version.state == "allowed_all" else "nothing was fetched under it")
    if version.crawl_delay is not None:
        facts.append(f"Crawl-delay {version.crawl_delay:g} s")
    again = "" if version.asked == 1 else f", {version.asked} times until {second(version.last_at)}"
    return (
        f"{second(version.first_at)}{again}: {', '.join(facts)}; {units.things(version.requests, 'request')}"
    )


def _request(request: Request) -> str:
    seconds = request.end - request.start
    return (
        f"{moment(request.start)} {seconds:.3f} {request.kind} {request.result} {request.bytes} {request.url}"
    )


def _pause(pace: Pace) -> str:
    pause = pace.shortest_pause_seconds
    if pause is None:
        return "-"
    return _exact(pause, 3) if pause >= 0 else "none"


def _exact(seconds: float, places: int) -> str:
    """With so many places as long as they matter."""
    return f"{seconds:.{places}f} s" if seconds < 600 else units.duration(seconds)


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {units.count(number)}" for name, number in counts.most_common())


def _pace(pace: Pace) -> dict[str, Any]:
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
    names = ("result", "state", "digest", "crawl_delay", "first_at", "last_at", "asked", "requests")
    return {name: plain(getattr(version, name)) for name in names}
