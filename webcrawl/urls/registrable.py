"""Registrable domains by the public suffix list that tldextract brings along, without the network.

The list is the package's snapshot, private suffixes included: two blogs at one provider are two sites.
Loading it takes about 20 ms and 6 MB, the import of tldextract up to 150 ms and 20 MB more; both happen at
the first question, so that commands which ask none do not pay.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tldextract.tldextract import ExtractResult

_SPECIAL_NAMES = ("test", "example", "invalid", "localhost", "local", "internal", "home.arpa")
"""Names that are in no list of suffixes and are meant all the same (RFC 2606, 6761, 6762, 8375)."""

_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}").fullmatch


def is_address(host: str) -> bool:
    """Tell whether a host, as it stands in a resolved URL, is an IP address."""
    return host.startswith("[") or _IPV4(host) is not None


def registrable_domain(host: str) -> str:
    """Return the public suffix of a host and one label more (publicsuffix.org, "Algorithm").

    A name under no known suffix falls under the default rule ``*``: its last label is the suffix. IP
    addresses, single labels and public suffixes themselves are their own domain. Never raises.
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
    """Tell whether a host ends in a suffix of the list, and not merely in some label."""
    return bool(_extractor()(host).suffix)


def is_meant_as_host(host: str) -> bool:
    """Tell a host from a word or the name of a file: an address, a name below a known suffix, or a special name."""
    if is_address(host) or ("." in host and has_known_suffix(host)):
        return True
    return any(host == name or host.endswith(f".{name}") for name in _SPECIAL_NAMES)


def load_suffixes() -> None:
    """Load the list now, where a first question would hold up something that must not wait."""
    _extractor()


@lru_cache(maxsize=1)
def _extractor() -> Callable[[str], ExtractResult]:
    from tldextract import TLDExtract

    extract = TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
    extract("example.com")
    return extract
