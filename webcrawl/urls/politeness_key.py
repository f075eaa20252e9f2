"""The politeness key of a URL: its host, or the registrable domain of the host.

Registrable domains are determined by the public suffix list in the package tldextract, without the network. Private
suffixes are included: two blogs at one provider are two sites. Loading the list takes about 20 ms and 6 MB, the
import of tldextract up to 150 ms and 20 MB more; both happen at the first use, so that commands that do not need it
do not pay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from webcrawl.urls.schemes import DEFAULT_PORTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tldextract.tldextract import ExtractResult


_SPECIAL_NAMES = ("test", "example", "invalid", "localhost", "local", "internal", "home.arpa")
"""Names that are in no list of suffixes and are valid all the same (RFC 2606, 6761, 6762, 8375)."""

_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}").fullmatch


def is_address(host: str) -> bool:
    """Return True if a host, as in a resolved URL, is an IP address."""
    return host.startswith("[") or _IPV4(host) is not None


def registrable_domain(host: str) -> str:
    """Return the public suffix of a host and one label more (publicsuffix.org, "Algorithm").

    A name under no known suffix is subject to the default rule ``*``: its last label is the suffix. IP addresses,
    single labels and public suffixes themselves are their own domain. Never raises.
    """
    host = host.rstrip(".").lower() or host
    if is_address(host):
        return host
    extracted = _extractor()(host)
    if extracted.suffix:
        return extracted.top_domain_under_public_suffix or host
    domain = ".".join(host.split(".")[-2:])
    return host if domain.startswith(".") else domain


def has_known_suffix(host: str) -> bool:
    """Return True if a host ends in a suffix of the list, and not merely in some label."""
    return bool(_extractor()(host).suffix)


def is_meant_as_host(host: str) -> bool:
    """Distinguish a host from a word or a file name: an address, a name below a known suffix, or a special name."""
    if is_address(host) or ("." in host and has_known_suffix(host)):
        return True
    return any(host == name or host.endswith(f".{name}") for name in _SPECIAL_NAMES)


def load_suffixes() -> None:
    """Load the list now, if loading it at the first use would delay an urgent step."""
    _extractor()


def suffix_extractor() -> Callable[[str], ExtractResult]:
    """Return tldextract with the list that it brings: it never asks the network for another one."""
    return _extractor()


@lru_cache(maxsize=1)
def _extractor() -> Callable[[str], ExtractResult]:
    from tldextract import TLDExtract

    extract = TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
    extract("example.com")
    return extract


REMEMBERED_HOSTS = 65_536
"""The number of hosts whose key is cached, in about 10 MB; the least recently used are removed."""
REMEMBERED_PORTS = 4_096
"""The number of authorities whose port is cached: the same few are used repeatedly, for each page and its links."""


def get_host(url: str) -> str:
    """Return the host of a resolved URL, without its port; IPv6 addresses keep their brackets."""
    start = url.index("/") + 2
    host = url[start : url.index("/", start)]
    if ":" not in host:
        return host
    return host[: host.index("]") + 1] if host[0] == "[" else host[: host.index(":")]


def get_port(url: str) -> int:
    """Return the port of a resolved URL; its scheme's default if it has none, 0 if there is no default."""
    start = url.index("/") + 2
    port = port_in(url[start : url.index("/", start)])
    return DEFAULT_PORTS.get(url[: start - 3], 0) if port is None else port


@lru_cache(maxsize=REMEMBERED_PORTS)
def port_in(authority: str) -> int | None:
    """Return the port in an authority, 0 too; None if it has none."""
    _, colon, digits = authority.rpartition(":")
    # The colons of an IPv6 address are in brackets.
    return int(digits) if colon and digits.isdecimal() else None


def get_origin(url: str) -> str:
    """Return ``scheme://host[:port]`` of a resolved URL, without a default port."""
    return url[: url.index("/", url.index("/") + 2)]


class PolitenessKey:
    """Returns the politeness key of a host, which identifies its queue and clock.

    Two ports of one machine have one key, and so have a name and the same name with a final dot. In mode ``host`` the
    key is the host name; in mode ``domain`` its registrable domain. A key never changes within a crawl.
    """

    def __init__(self, mode: Literal["domain", "host"], known_as: Callable[[str], str] | None = None) -> None:
        """``known_as`` returns the name under which a host is known, if several names are one site: those have one
        key.
        """
        if mode not in ("domain", "host"):
            raise ValueError(f"a politeness key is made of a 'domain' or a 'host', not of {mode!r}")
        self.mode = mode
        if mode == "domain":
            load_suffixes()
        named = registrable_domain if mode == "domain" else _host_alone
        key = named if known_as is None else lambda host: named(known_as(host))
        self._cached: Callable[[str], str] = lru_cache(REMEMBERED_HOSTS)(key)

    def of_host(self, host: str) -> str:
        """Return the key of a host as ``get_host`` gives it. Never raises."""
        return self._cached(host)

    def of_url(self, url: str) -> str:
        """Return the key of a resolved URL."""
        return self._cached(get_host(url))


def _host_alone(host: str) -> str:
    return host.rstrip(".").lower() or host
