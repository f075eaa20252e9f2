"""The work of ``scrapy identity``: making and rotating keys, and showing them without their private part."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from webcrawl.errors import CrawlError
from webcrawl.features.identity import keys
from webcrawl.features.identity.keys import KeyFileError, KeyRing
from webcrawl.features.identity.publishing import DIRECTORY_MAX_AGE_SECONDS
from webcrawl.reports import text
from webcrawl.terminal import table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from webcrawl.features.identity.keys import SigningKey
    from webcrawl.features.identity.reachability import OriginFindings
    from webcrawl.features.identity.reverse_dns import ReverseName

BEGINS_AFTER_SECONDS = 2 * DIRECTORY_MAX_AGE_SECONDS
"""The time from a rotation until the new key signs, by default: a day to publish it, and one for caches."""
ENDS_AFTER_SECONDS = DIRECTORY_MAX_AGE_SECONDS
"""The time from then on until the old key is no longer published, by default."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """The times of a rotation, in epoch seconds."""

    begins_at: float
    """The time at which the new key begins to sign."""
    ends_at: float
    """The time until which the old keys are published."""

    @classmethod
    def of(cls, begins_at: float | None, ends_at: float | None, now: float) -> Rotation:
        """Complete what was not given. :raises CrawlError: the old keys would end before the new one begins"""
        begins_at = now + BEGINS_AFTER_SECONDS if begins_at is None else max(begins_at, now)
        ends_at = begins_at + ENDS_AFTER_SECONDS if ends_at is None else ends_at
        if ends_at < begins_at:
            raise CrawlError(
                "--until must not be before --from: between them no key would sign; --at-once removes a key that "
                "others know"
            )
        return cls(begins_at, ends_at)


def new(path: Path) -> KeyRing:
    """Write a file with a new key. :raises CrawlError: there is such a file"""
    if path.exists() or path.is_symlink():
        raise CrawlError(
            f"{path} exists, and is not replaced; scrapy identity rotate adds a key to a key file"
        )
    ring = KeyRing([keys.new_key()])
    keys.write_file(path, ring)
    return ring


def load(path: Path) -> KeyRing:
    """Return the keys of a file. :raises CrawlError: it cannot be used"""
    try:
        return keys.load_file(path)
    except KeyFileError as error:
        raise KeyFileError(f"{path} {error}") from None


def rotate(path: Path, rotation: Rotation) -> KeyRing:
    """Add a new key to a file, and let the others end."""
    now = time.time()
    key = keys.new_key(rotation.begins_at if rotation.begins_at > now else 0.0)
    ring = load(path).rotated(key, rotation.ends_at, now)
    ring = KeyRing(key for key in ring.keys if key.ends_at > now)
    keys.write_file(path, ring)
    return ring


def as_objects(ring: KeyRing, now: float) -> list[dict[str, Any]]:
    """Return the keys for JSON, without their private part."""
    return [
        {
            "thumbprint": key.thumbprint,
            "begins_at": key.begins_at or None,
            "ends_at": key.ends_at if key.ends_at < inf else None,
            "state": _state(key, ring, now),
        }
        for key in ring.keys
    ]


def as_lines(ring: KeyRing, now: float) -> Iterator[str]:
    """Yield a table of the keys."""
    rows = [("key", "state", "signs from", "published until")]
    rows += [
        (
            key.thumbprint,
            _state(key, ring, now),
            f"{text.second(key.begins_at)} UTC" if key.begins_at else "-",
            f"{text.second(key.ends_at)} UTC" if key.ends_at < inf else "-",
        )
        for key in ring.keys
    ]
    yield from table(rows, len(rows[0]))


def _state(key: SigningKey, ring: KeyRing, now: float) -> str:
    if key is ring.signing(now):
        return "signs"
    if key.ends_at <= now:
        return "ended"
    return "to come" if key.begins_at > now else "published"


def finding_lines(findings: OriginFindings, names: list[ReverseName], sample: str) -> Iterator[str]:
    """Yield what was found, under the URL or the subject to which it belongs. ``sample``: what is said if not all
    addresses were looked up."""
    current = ""
    for url, is_right, finding in findings.lines:
        if url != current:
            current = url
            yield url
        yield f"  {'ok' if is_right else 'wrong':<7}{finding}"
    if names:
        yield "reverse DNS"
    if sample:
        yield f"  {sample}"
    for one in names:
        yield f"  {'ok' if one.name else 'wrong':<7}{one.address} {'is ' + one.name if one.name else one.reason}"
