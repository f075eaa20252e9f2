"""A seen test that knows no hosts, for a dupefilter: sets of integers, which Redis keeps in 8 bytes each."""

from __future__ import annotations

BUCKET_FULL = 300
"""Requests per bucket, on average, at which a bucket is added. The fullest then has about 420: the limit is 512."""

_MANTISSA = 1_000_000_000


def digits_of(fingerprint: int) -> str:
    """The decimal digits behind which a nought is put: 60 bits of the fingerprint, never nought."""
    digits = abs(fingerprint) // 10 or 1
    return f"-{digits}" if fingerprint < 0 else str(digits)


def bucket_of(fingerprint: int, buckets: int) -> int:
    """Linear hashing (Litwin, 1980): which of ``buckets`` a fingerprint is in."""
    hashed = (abs(fingerprint) // 10 or 1) % _MANTISSA
    whole = 1 << (buckets.bit_length() - 1)
    bucket = hashed % (2 * whole)
    return bucket if bucket < buckets else hashed % whole
