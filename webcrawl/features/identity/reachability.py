"""A check of what an origin serves about the crawler, as a server that verifies signatures would see it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from webcrawl.features.identity.address_ranges import RELATION, read_ranges
from webcrawl.features.identity.agent_card import card_problems
from webcrawl.features.identity.publishing import card_url, keys_url, ranges_url
from webcrawl.features.identity.web_bot_auth import (
    DIRECTORY_MAX_BYTES,
    DIRECTORY_TYPE,
    proved_keys,
    read_directory,
)
from webcrawl.reports import text
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from webcrawl.features.identity.keys import KeyRing

SECONDS = 20.0
"""The longest time of one request."""
SOON_SECONDS = 3 * 86_400.0
"""A proof that expires within this time should be made anew."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Verifying servers follow none either."""


@dataclass(frozen=True, slots=True)
class Served:
    """A response."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


def fetch(url: str, accept: str, user_agent: str) -> Served:
    """Fetch a URL without following redirects. Raises OSError if there is no response."""
    opener = build_opener(_NoRedirects, HTTPSHandler(context=ssl.create_default_context()))
    request = Request(url, headers={"Accept": accept, "User-Agent": user_agent})
    try:
        with opener.open(request, timeout=SECONDS) as response:
            body = response.read(DIRECTORY_MAX_BYTES + 1)
            return Served(response.status, _lower(response.headers.items()), body)
    except HTTPError as error:
        with error:
            return Served(error.code, _lower(error.headers.items()), b"")
    except URLError as error:
        raise OSError(str(error.reason)) from error


def _lower(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}


@dataclass(slots=True)
class OriginFindings:
    """The findings at each URL: lines, with True for what is right."""

    lines: list[tuple[str, bool, str]] = field(default_factory=list)

    @property
    def all_right(self) -> bool:
        return all(is_right for _, is_right, _ in self.lines)

    def add(self, url: str, is_right: bool, finding: str) -> None:
        self.lines.append((url, is_right, finding))


def check_origin(
    agent: str,
    ring: KeyRing | None,
    addresses: Iterable[str],
    user_agent: str,
    now: float,
    page_url: str = "",
) -> OriginFindings:
    """Check the key directory, the card and, if there are addresses, their ranges; and the page about the crawler, if
    it is given. Without keys of the crawler, only whether the directory is right by itself.
    """
    findings = OriginFindings()
    if (served := _served(findings, keys_url(agent), DIRECTORY_TYPE, user_agent)) is not None:
        _check_keys(findings, agent, served, ring, now)
    if (served := _served(findings, card_url(agent), "application/json", user_agent)) is not None:
        problems = card_problems(served.body, card_url(agent), keys_url(agent))
        for problem in problems:
            findings.add(card_url(agent), False, f"the card {printable(problem)}")
        if not problems:
            findings.add(card_url(agent), True, "the card names its URL and the keys")
    if addresses := list(addresses):
        served = _served(findings, ranges_url(agent), "application/json", user_agent)
        if served is not None:
            _check_ranges(findings, ranges_url(agent), served, addresses)
    if (
        page_url
        and (served := _served(findings, page_url, "text/html", user_agent)) is not None
        and addresses
    ):
        has_link = f'rel="{RELATION}"'.encode() in served.body
        link = f"{'links' if has_link else 'does not link'} to the addresses as {RELATION}"
        findings.add(page_url, has_link, f"the page {link}{'' if has_link else '; scrapy botpage'}")
    return findings


def _served(findings: OriginFindings, url: str, media_type: str, user_agent: str) -> Served | None:
    """Return a response that has the right form; None for any other, which is noted."""
    try:
        served = fetch(url, media_type, user_agent)
    except OSError as error:
        findings.add(url, False, f"cannot be fetched: {printable(str(error))}")
        return None
    if served.status != 200:
        target = served.headers.get("location")
        more = f", to {printable(target)}: redirects are not followed" if target else ""
        findings.add(url, False, f"status {served.status}, not 200{more}")
        return None
    if len(served.body) > DIRECTORY_MAX_BYTES:
        findings.add(url, False, f"is longer than {DIRECTORY_MAX_BYTES} bytes")
        return None
    given = served.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_right = given == media_type
    findings.add(
        url,
        is_right,
        f"status 200, {media_type}"
        if is_right
        else f"Content-Type {printable(given) or 'is missing'}, not {media_type}",
    )
    return served


def _check_keys(
    findings: OriginFindings, agent: str, served: Served, ring: KeyRing | None, now: float
) -> None:
    url, authority = keys_url(agent), agent.removeprefix("https://")
    try:
        proofs = list(proved_keys(served.body, served.headers, authority, now))
        ended = {jwk.get("kid") for jwk in read_directory(served.body) if _has_ended(jwk, now)}
    except ValueError as error:
        findings.add(url, False, f"the directory {printable(str(error))}")
        return
    signing = None if ring is None else ring.signing(now)
    for name, expires, reason in proofs:
        what = f"key {name}" + (", which signs now" if signing and signing.thumbprint == name else "")
        if reason:
            findings.add(url, False, f"{what}, {printable(reason)}")
        elif expires is not None:
            left = expires - now
            until = f"{what}: its proof is valid until {text.second(expires)} UTC"
            write = "; write the directory anew: scrapy identity write" if left < SOON_SECONDS else ""
            findings.add(url, not write, until + write)
        if name in ended:
            findings.add(url, False, f"key {name} has ended, and must not be there")
    there = {name for name, _, _ in proofs}
    for key in () if ring is None else ring.published(now):
        if key.thumbprint not in there:
            role = ", which signs now," if signing is key else ""
            findings.add(url, False, f"key {key.thumbprint}{role} is not there; scrapy identity write")


def _has_ended(jwk: Mapping[str, Any], now: float) -> bool:
    ends_at = jwk.get("exp")
    return isinstance(ends_at, int | float) and ends_at <= now


def _check_ranges(findings: OriginFindings, url: str, served: Served, addresses: list[str]) -> None:
    try:
        networks = read_ranges(served.body)
    except ValueError as error:
        findings.add(url, False, f"the file {printable(str(error))}")
        return
    wanted = [network if "/" in network else _with_length(network) for network in addresses]
    missing, further = sorted(set(wanted) - set(networks)), sorted(set(networks) - set(wanted))
    for network in missing:
        findings.add(url, False, f"{network} of BOTPAGE_ADDRESSES is not there; scrapy identity write")
    for network in further:
        findings.add(url, False, f"{printable(network)} is there, and not in BOTPAGE_ADDRESSES")
    if not missing and not further:
        findings.add(url, True, text.things(len(networks), "range") + ", those of BOTPAGE_ADDRESSES")


def _with_length(address: str) -> str:
    return f"{address}/{128 if ':' in address else 32}"
