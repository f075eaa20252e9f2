"""What scope is asked about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Candidate:
    """A URL that wants to be queued or fetched."""

    url: str
    """As ``urls.resolve`` returns it."""
    host: str
    """As ``urls.politeness_key.host_of`` returns it."""
    key: str
    """Its politeness key."""
    depth: int = 0
    """Links followed from a seed; redirects do not count."""
    redirects: int = 0
    """Redirects followed since the last link."""
    linked_from: str | None = None
    """The page or the list that leads there; None for a seed, and for where a seed redirects to."""
