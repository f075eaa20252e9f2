"""Fingerprints, which the seen test stores: 64 bits of a URL's canonical form."""

from __future__ import annotations

from struct import unpack
from typing import TYPE_CHECKING

from xxhash import xxh3_64_digest, xxh3_64_intdigest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SIGN = 1 << 63
_WRAP = 1 << 64


def fingerprint(canonical_url: str) -> int:
    """Return the xxh3 of a canonical URL as a signed 64-bit number, the type of an SQLite INTEGER.

    It is the same in every process, so it also serves for other texts that all workers must treat alike.

    Among ten million URLs two have the same fingerprint with a probability of about 3 in a million.
    """
    digest = xxh3_64_intdigest(canonical_url.encode("utf-8", "surrogatepass"))
    return digest if digest < _SIGN else digest - _WRAP


def request_fingerprint(method: str, canonical_url: str, body: bytes) -> int:
    """Return the fingerprint of a request: for a plain GET of the URL alone, otherwise of its method and body too."""
    if method == "GET" and not body:
        return fingerprint(canonical_url)
    return fingerprint(f"{method} {canonical_url} {body.hex()}")


def fingerprint_all(canonical_urls: Sequence[str]) -> list[int]:
    """Return the fingerprints of canonical URLs, in their order."""
    try:
        digests = b"".join(map(xxh3_64_digest, map(str.encode, canonical_urls)))
    except UnicodeEncodeError:
        return [fingerprint(url) for url in canonical_urls]
    # Unpacked at once: a Python number for each step of each URL costs twice as much.
    return list(unpack(f">{len(canonical_urls)}q", digests))


def digest_all(encoded: Iterable[bytes]) -> list[int]:
    """Return the fingerprints of canonical URLs in UTF-8 as unsigned numbers: the same 64 bits, at a lower cost."""
    return list(map(xxh3_64_intdigest, encoded))
