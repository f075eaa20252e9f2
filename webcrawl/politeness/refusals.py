"""The ways in which a site refuses a request, each with what it means and what would help.

A refusal is a response in place of the content that was asked for: a challenge, a demand for a login or a payment, a
block. It is not content, and no error that another try could end.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class RefusalKind(NamedTuple):
    """A way to refuse."""

    meaning: str
    remedy: str
    """The advice to the operator, as an imperative sentence. Nothing that would deceive the site."""
    is_of_host: bool
    """True if it is a sign that the host as a whole refuses the crawler; see ``Health.refused``."""


CHALLENGE, BLOCKED, SIGNATURE_WANTED = "challenge", "blocked", "signature-wanted"
LOGIN_REQUIRED, LICENSE_REQUIRED, PAYMENT_REQUIRED = "login-required", "license-required", "payment-required"
LEGAL, PROTOCOL_WANTED, RATE_LIMITED = "legal", "protocol-wanted", "rate-limited"
SCRIPT_REQUIRED, CONSENT_REQUIRED, PARKED = "script-required", "consent-required", "parked"

IN_PLACE_OF_CONTENT = (CHALLENGE, BLOCKED, SIGNATURE_WANTED)
"""Kinds that say nothing of what the URL has: a robots.txt behind one is not absent."""

KINDS: Mapping[str, RefusalKind] = MappingProxyType(
    {
        CHALLENGE: RefusalKind(
            "the site or its network asks for proof of a human or a browser",
            "sign the requests (Web Bot Auth) and have the network know the key, or ask the site's owner",
            is_of_host=True,
        ),
        BLOCKED: RefusalKind(
            "the site or its network does not answer this crawler",
            "ask the site's owner; if the crawl is not wanted, exclude the site",
            is_of_host=True,
        ),
        SIGNATURE_WANTED: RefusalKind(
            "the site answers signed requests only (Accept-Signature)",
            "sign the requests (Web Bot Auth)",
            is_of_host=True,
        ),
        LOGIN_REQUIRED: RefusalKind(
            "the page is for users with a login (status 401)",
            "ask the site's owner for a login, and give it to a spider of your own",
            is_of_host=False,
        ),
        LICENSE_REQUIRED: RefusalKind(
            "the site asks for a licence (WWW-Authenticate: License)",
            "read the licence that the site names, and agree on it with the site's owner",
            is_of_host=True,
        ),
        PAYMENT_REQUIRED: RefusalKind(
            "the site asks for a payment (status 402)",
            "agree on a price with the site's owner; the fetch log has the price that was named",
            is_of_host=True,
        ),
        LEGAL: RefusalKind(
            "the page is not available for legal reasons (status 451)",
            "ask the authority that the fetch log names, or leave the page out",
            is_of_host=False,
        ),
        PROTOCOL_WANTED: RefusalKind(
            "the server wants another protocol (status 426 or 505), and not HTTP/2",
            "fetch the site with the protocol that it names, such as https",
            is_of_host=True,
        ),
        RATE_LIMITED: RefusalKind(
            "the server has had too many requests (status 429)",
            "wait: webcrawl asks again later; raise POLITENESS_MIN_DELAY if it comes often",
            is_of_host=False,
        ),
        SCRIPT_REQUIRED: RefusalKind(
            "the page has no content without scripts",
            "have the pages of the site drawn by the browser, or use an API of the site",
            is_of_host=False,
        ),
        CONSENT_REQUIRED: RefusalKind(
            "the page asks for a consent before it shows its content",
            "ask the site's owner for access without it",
            is_of_host=False,
        ),
        PARKED: RefusalKind(
            "the domain is parked: it shows the page of a registrar or a domain trader",
            "leave the domain out; if it is a real site, release it as a trap",
            is_of_host=False,
        ),
    }
)
"""All kinds, by the words that ``fetch.jsonl`` uses for them."""


@dataclass(frozen=True, slots=True)
class SiteRefusal:
    """A response by which a site has refused a request."""

    kind: str
    """A word of ``KINDS``."""
    by: str = ""
    """The network or software that refuses, as far as it is known."""
    detail: str = ""
    """The price, licence, protocol or authority that the response names."""

    @property
    def is_of_host(self) -> bool:
        """True if it is a sign that the host as a whole refuses the crawler."""
        return KINDS[self.kind].is_of_host

    @property
    def is_final(self) -> bool:
        """True if another try would not help."""
        return self.kind != RATE_LIMITED

    def facts(self) -> dict[str, str]:
        """Return it by name, for the fetch log."""
        facts = {"refusal": self.kind, "refusal_by": self.by, "refusal_detail": self.detail}
        return {name: value for name, value in facts.items() if value}

    def __str__(self) -> str:
        named = [text for text in (self.by, self.detail) if text]
        return f"{self.kind} ({', '.join(named)})" if named else self.kind
