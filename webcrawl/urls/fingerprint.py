"""What the seen test remembers of a URL: 64 bits of its comparable form."""

from __future__ import annotations

from struct import unpack
from typing import TYPE_CHECKING

from xxhash import xxh3_64_digest, xxh3_64_intdigest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SIGN = 1 << 63
_WRAP = 1 << 64


def fingerprint(canonical_url: str) -> int:
    """Return the xxh3 of a comparable URL as a signed 64-bit number, which is what an SQLite INTEGER holds.

    The same in every process, so it also serves for other texts that all workers are to judge alike.

    Among ten million URLs two share a number with a probability of about 3 in a million.
    """
    digest = xxh3_64_intdigest(canonical_url.encode("utf-8", "surrogatepass"))
    return digest if digest < _SIGN else digest - _WRAP


def request_fingerprint(method: str, canonical_url: str, body: bytes) -> int:
    """Return what tells requests apart: of a plain GET the URL alone, of any other its method and body too."""
    if method == "GET" and not body:
        return fingerprint(canonical_url)
    return fingerprint(f"{method} {canonical_url} {body.hex()}")


def fingerprint_all(canonical_urls: Sequence[str]) -> list[int]:
    """Return the fingerprints of comparable URLs, in their order."""
    try:
        digests = b"".join(map(xxh3_64_digest, map(str.encode, canonical_urls)))
    except UnicodeEncodeError:
        return [fingerprint(url) for url in canonical_urls]
    # One unpacking of all: a Python number for each step of each URL costs twice as much.
    return list(unpack(f">{len(canonical_urls)}q", digests))


def digest_all(encoded: Iterable[bytes]) -> list[int]:
    """Return the fingerprints of comparable URLs in UTF-8 as unsigned numbers: the same 64 bits, for less."""
    return list(map(xxh3_64_intdigest, encoded))
