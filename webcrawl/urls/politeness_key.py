"""Whose clock a URL is under: the host, or the registrable domain it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from webcrawl.urls.registrable import load_suffixes, registrable_domain

REMEMBERED_HOSTS = 65_536
"""Hosts whose key is remembered, in about 10 MB; the least recently used are forgotten."""
REMEMBERED_PORTS = 4_096
"""Authorities whose port is remembered: the same few are asked about again and again, for each page and its links."""


def host_of(url: str) -> str:
    """Return the host of a resolved URL, without its port; IPv6 addresses keep their brackets."""
    start = 8 if url[4] == "s" else 7
    host = url[start : url.index("/", start)]
    if ":" not in host:
        return host
    return host[: host.index("]") + 1] if host[0] == "[" else host[: host.index(":")]


def port_of(url: str) -> int:
    """Return the port of a resolved URL; its scheme's where it names none."""
    start = 8 if url[4] == "s" else 7
    port = port_in(url[start : url.index("/", start)])
    return (443 if start == 8 else 80) if port is None else port


@lru_cache(maxsize=REMEMBERED_PORTS)
def port_in(authority: str) -> int | None:
    """Return the port that an authority names, 0 too; None where it names none."""
    _, colon, digits = authority.rpartition(":")
    # The colons of an IPv6 address stand in brackets.
    return int(digits) if colon and digits.isdecimal() else None


def origin_of(url: str) -> str:
    """Return ``scheme://host[:port]`` of a resolved URL; a default port is not in it."""
    return url[: url.index("/", 8)]


class PolitenessKey:
    """Names the queue and clock of a host.

    Two ports of one machine have one key, and so have a name and the same name with a final dot. In mode
    ``host`` the key is the host name; in mode ``domain`` its registrable domain. A key never changes within a
    crawl.
    """

    def __init__(self, mode: Literal["domain", "host"], known_as: Callable[[str], str] | None = None) -> None:
        """``known_as`` gives the name under which a host is known, where several are one site: those have one key."""
        if mode not in ("domain", "host"):
            raise ValueError(f"a politeness key is made of a 'domain' or a 'host', not of {mode!r}")
        self.mode = mode
        if mode == "domain":
            load_suffixes()
        named = registrable_domain if mode == "domain" else _host_alone
        key = named if known_as is None else lambda host: named(known_as(host))
        self._cached: Callable[[str], str] = lru_cache(REMEMBERED_HOSTS)(key)

    def of_host(self, host: str) -> str:
        """Return the key of a host as ``host_of`` gives it. Never raises."""
        return self._cached(host)

    def of_url(self, url: str) -> str:
        """Return the key of a resolved URL."""
        return self._cached(host_of(url))


def _host_alone(host: str) -> str:
    return host.rstrip(".").lower() or host
