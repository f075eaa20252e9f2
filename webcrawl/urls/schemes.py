"""URLs of other schemes than http and https that a crawl fetches: ftp, ftps, gopher, and those of further handlers.

The WHATWG URL standard knows ftp as a special scheme. The others have opaque hosts, and keep a default port and an
empty path; here their URLs get the host, the port and the path of a special scheme, so that all rules apply to them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ada_url import join_url

from webcrawl.urls.resolve import resolve, resolve_other_scheme

DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21, "ftps": 990, "gopher": 70, "gemini": 1965}
"""The ports of URLs without one. A port of another scheme is always written."""

WEB_SCHEMES = ("http", "https")
NEVER = frozenset({"about", "blob", "data", "file", "javascript", "mailto", "s3", *WEB_SCHEMES})
"""Schemes whose links are never followed by a handler: their URLs name no host on the network, or have rules of their
own.
"""
ROBOTS_PATH = "/robots.txt"

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?#]*)([^#]*)", re.DOTALL)
_AUTHORITY = re.compile(r"(?:.*@)?(\[[^\[\]]*\]|[^:@\[\]]+)(?::(\d*))?", re.DOTALL)
_LAST_PORT = 65_535


def requested_form(url: str) -> str | None:
    """Return a URL of any scheme, as the standard serialises it, in the form in which it is requested.

    User name, password and fragment are dropped, as of http URLs. Return None if it names no host.
    """
    match = _URL.match(url)
    if match is None or (authority := _AUTHORITY.fullmatch(match[2])) is None:
        return None
    scheme, port = match[1], authority[2]
    host = _host(authority[1])
    if host is None or (port and int(port) > _LAST_PORT):
        return None
    shown = f":{int(port)}" if port and int(port) != DEFAULT_PORTS.get(scheme) else ""
    path = match[3] if match[3].startswith("/") else f"/{match[3]}"
    return f"{scheme}://{host}{shown}{path}"


def resolve_any(href: str, base: str) -> str | None:
    """Return the URL of ``href`` in the form in which it is requested, whatever its scheme; None if it names no
    host. For lists and questions of the operator, which may be about any crawl.
    """
    url = resolve(href, base)
    if url is None and (other := resolve_other_scheme(href, base)) is not None:
        url = None if other.partition(":")[0] in NEVER else requested_form(other)
    return url


def _host(text: str) -> str | None:
    """Return a host in the form of special schemes: in lower case and ASCII, an IPv4 address with four numbers."""
    try:
        url = join_url("about:blank", f"http://{text}/")
    except ValueError:
        return None
    return url[7:-1] if url.count("/") == 3 and url.endswith("/") and "@" not in url else None


@dataclass(frozen=True, slots=True)
class Schemes:
    """The schemes that a crawl fetches by the rules of the web: http and https, and those that are named here."""

    robots_paths: Mapping[str, str | None] = field(default_factory=dict)
    """Further schemes, each with the path of robots.txt; None if the scheme has no robots.txt."""
    others: frozenset[str] = frozenset()
    """Schemes whose handler the project names, and does not follow the rules of the web."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all schemes."""
        return (*WEB_SCHEMES, *self.robots_paths)

    def resolve(self, href: str, base: str, encoding: str = "utf-8") -> str | None:
        """Return the URL of ``href`` on a page at ``base``; None if this crawl cannot request it. As
        ``urls.resolve.resolve``, for all schemes of the crawl.
        """
        url = resolve(href, base, encoding)
        if url is not None or not self.robots_paths:
            return url
        other = resolve_other_scheme(href, base, encoding)
        return None if other is None else self.followed(other)

    def followed(self, url: str) -> str | None:
        """Return a resolved URL of another scheme than http and https as it is requested; None if the crawl does not
        fetch its scheme.
        """
        return requested_form(url) if url.partition(":")[0] in self.robots_paths else None

    def robots_url(self, origin: str) -> str | None:
        """Return the URL of the robots.txt of an origin; None if its scheme has none."""
        if not self.robots_paths:
            return f"{origin}{ROBOTS_PATH}"
        path = self.robots_paths.get(origin.partition(":")[0], ROBOTS_PATH)
        return None if path is None else f"{origin}{path}"


WEB = Schemes()
"""The schemes of a crawl without further handlers."""
