"""The card of the crawler: a JSON document with its name, contact, keys and habits.

Follows draft-meunier-webbotauth-registry-04 (Signature Agent Card). All names of its members are here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

DRAFT = "draft-meunier-webbotauth-registry-04"
FILE_NAME = "signature-agent-card.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """Facts about the crawler; empty texts for what is not known."""

    url: str
    """The URL of the card, which is the ID of the crawler."""
    name: str
    page_url: str = ""
    contacts: Sequence[str] = ()
    keys_url: str
    user_agent: str
    product_token: str = ""
    purpose: str = ""
    rate_expectation: str = ""
    ranges_url: str = ""


def card(facts: AgentFacts) -> bytes:
    """Return the card."""
    web_bot_auth = {
        "expected-user-agent": facts.user_agent,
        "rfc9309-product-token": facts.product_token,
        "rfc9309-compliance": True,
        "trigger": "crawler",
        "purpose": facts.purpose,
        "rate-control": "Crawl-delay in robots.txt; status 429 or 503 with Retry-After",
        "rate-expectation": facts.rate_expectation,
        "known-urls": ["/robots.txt"],
        "ips_uri": facts.ranges_url,
    }
    content: dict[str, Any] = {
        "client_id": facts.url,
        "client_name": facts.name,
        "client_uri": facts.page_url,
        "contacts": [_uri(contact) for contact in facts.contacts],
        "jwks_uri": facts.keys_url,
        "web_bot_auth": {name: value for name, value in web_bot_auth.items() if value},
    }
    known = {name: value for name, value in content.items() if value}
    return json.dumps(known, indent=2).encode("ascii") + b"\n"


def card_problems(body: bytes, url: str, keys_url: str) -> list[str]:
    """Return what is wrong with a card that was fetched from ``url``."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return ["is no JSON"]
    if not isinstance(content, dict):
        return ["is no JSON object"]
    problems = []
    if content.get("client_id") != url:
        problems.append(f"has the client_id {content.get('client_id')!r}, which must be its own URL")
    if "jwks" in content and "jwks_uri" in content:
        problems.append("has both jwks and jwks_uri")
    if content.get("jwks_uri") != keys_url:
        problems.append(f"names the keys at {content.get('jwks_uri')!r}, not at {keys_url}")
    return problems


def _uri(contact: str) -> str:
    return contact if "://" in contact or contact.startswith("mailto:") else f"mailto:{contact}"
