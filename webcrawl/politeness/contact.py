"""The operator's contact in the User-Agent, and the rule that a crawl of the public web needs one.

A site owner who is bothered by a crawler must be able to find out from the server's log alone whose it is.
"""

from __future__ import annotations

import re
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING

from webcrawl.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

PRODUCT = "webcrawl"

_URL = re.compile(
    r"https?://[^\s/()<>;,]+\.[^\s()<>;,]+|https?://(?:localhost|\[)[^\s()<>;,]*", re.IGNORECASE
)
_EMAIL = re.compile(r"[^\s@()<>;,:]+@[^\s@()<>;,:]+\.[^\s@()<>;,:.]+")
_FOREIGN = "scrapy.org"
"""Scrapy's own User-Agent has this address; scrapy.org is not responsible for a crawl."""

# RFC 2606, 6761, 6762, 8375 and ICANN's reservation of .internal: names that are on no public web.
_PRIVATE_SUFFIXES = ("test", "example", "invalid", "localhost", "internal", "local", "home.arpa")
_BELOW_PRIVATE_SUFFIXES = tuple(f".{suffix}" for suffix in _PRIVATE_SUFFIXES)


def is_contact(text: str) -> bool:
    """Return True if ``text`` has a web address or an e-mail address that could be the operator's."""
    return _FOREIGN not in text and bool(_URL.search(text) or _EMAIL.search(text))


def user_agent(configured: str, contact: str) -> str:
    """Return the User-Agent to send: ``configured`` or ours, with the contact added if it has none itself."""
    agent = configured if configured and _FOREIGN not in configured else f"{PRODUCT}/{__version__}"
    return f"{agent} (+{contact})" if contact and not is_contact(agent) else agent


def is_public(host: str) -> bool:
    """Return True if ``host``, a name or an IP literal, may be on the public web. Names are not looked up."""
    name = host.strip("[]").rstrip(".").lower()
    if name[-1:].isdigit() or ":" in name:
        # Nothing else can be an address, and to find that out by trying takes longer than the rest.
        with suppress(ValueError):
            return ip_address(name).is_global
    return not (name in _PRIVATE_SUFFIXES or name.endswith(_BELOW_PRIVATE_SUFFIXES))


def contact_problem(agent: str, contact: str, hosts: Iterable[str]) -> str | None:
    """Return why a crawl that starts at ``hosts`` may not start with this User-Agent; None if it may.

    ``hosts`` are those of the seeds and of the whitelist. With a contact they are not even looked at.
    """
    if is_contact(agent) or is_contact(contact):
        return None
    public = next((host for host in hosts if is_public(host)), None)
    if public is None:
        return None
    return (
        f"a crawl of the public web (here: {public}) needs a contact; add "
        "-s CRAWLER_CONTACT=https://your.site/about-the-crawler or -s CRAWLER_CONTACT=you@your.site, "
        'or write CRAWLER_CONTACT = "you@your.site" into settings.py, or such an address into its USER_AGENT'
    )
