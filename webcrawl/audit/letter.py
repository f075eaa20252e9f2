"""The answer to a site owner who complains, with the facts filled in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.reports import text
from webcrawl.reports.text import second

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.audit.complaint import Complaint

HOSTS_LISTED = 20
"""The most hosts with a line of their own."""
TO_FILL_IN, CONTACT = "[what you changed]", "[your name and address]"
"""The places that the operator must fill in: if the domain is not excluded, and if the settings have no contact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFacts:
    """Facts that are not in the requests. Empty texts for what does not exist."""

    user_agent: str
    product_token: str
    contact: str
    robots_ttl_seconds: float
    exclusion: str = ""
    """The entry of the exclusion list that covers the domain."""
    keys_url: str = ""
    """The URL of the public keys, if requests are signed."""
    addresses: Sequence[str] = ()


def letter(
    complaint: Complaint, facts: LetterFacts, robots: Sequence[str], requests: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of a letter. ``robots`` and ``requests``: lines on the robots.txt that was obeyed, and on each
    request, which come last.
    """
    domain = complaint.domain
    yield f"Subject: Requests of our crawler to {domain}"
    yield ""
    yield "Dear site owner,"
    yield ""
    yield (
        f"you wrote to us about our crawler and {domain}. Below are the facts from its logs, what we changed, and how"
    )
    yield "you keep the crawler out yourself. All times are UTC."
    yield from ("", "What the crawler did", "")
    yield from _facts(complaint)
    if complaint.pace.requests and robots:
        yield from ("", *robots)
    yield from ("", "What we changed", "")
    if facts.exclusion:
        yield f"{domain} is on the list of sites that the crawler does not visit, with all its subdomains"
        yield f"(entry: {facts.exclusion}). The crawler sends no requests there any more."
    else:
        yield TO_FILL_IN
    yield from ("", "How you keep the crawler out", "")
    yield "Write this into the robots.txt of your site:"
    yield ""
    yield f"    User-agent: {facts.product_token or '*'}"
    yield "    Disallow: /"
    yield ""
    yield f"The crawler notices it within {_span(facts.robots_ttl_seconds)}."
    yield from ("", "How you recognise its requests", "")
    yield f"User-Agent: {facts.user_agent}"
    if facts.addresses:
        yield f"IP addresses: {', '.join(facts.addresses)}"
    if facts.keys_url:
        yield "Each request is signed (RFC 9421). A request without a valid signature was not sent by us. The keys:"
        yield facts.keys_url
    elif not facts.addresses:
        yield "Anybody can send this User-Agent. Please compare the requests in your log with those below."
    yield from ("", "We apologise for the trouble. Please answer this letter if anything is left.", "")
    yield facts.contact or CONTACT
    if requests:
        yield from ("", "", *requests)


def _facts(complaint: Complaint) -> Iterator[str]:
    pace = complaint.pace
    if not pace.requests:
        yield f"Our logs have no request to {complaint.domain} or its subdomains in this time."
        return
    begin, end = second(pace.first_at), second(pace.last_at)
    yield f"From {begin} to {end} it sent {text.things(pace.requests, 'request')}"
    yield f"and received {text.size(pace.bytes)}, at most {text.count(pace.most_in_a_minute)} requests in a minute"
    yield f"(from {second(pace.busiest_at)})."
    pause = pace.shortest_pause_seconds
    if pause is not None and pause >= 0:
        seconds = math.floor(pause * 100) / 100
        yield f"It sent one request at a time, and waited {seconds:g} s or more after each response."
    elif pause is not None:
        yield "Some requests were open at the same time."
    results = ", ".join(
        f"{result} {text.count(number)}" for result, number in complaint.results.most_common()
    )
    yield f"The results, by status: {results}."
    hosts = sorted(complaint.hosts.items(), key=lambda item: (-item[1].requests, item[0]))
    if len(hosts) > 1:
        yield ""
        for host, of_host in hosts[:HOSTS_LISTED]:
            yield f"    {host}: {text.things(of_host.requests, 'request')}, {text.size(of_host.bytes)}"
        if len(hosts) > HOSTS_LISTED:
            yield f"    and {text.things(len(hosts) - HOSTS_LISTED, 'host')} more"


def _span(seconds: float) -> str:
    for unit, noun in ((3600.0, "hour"), (60.0, "minute")):
        if seconds >= unit and seconds % unit == 0:
            return text.things(int(seconds // unit), noun)
    return f"{seconds:g} seconds"
