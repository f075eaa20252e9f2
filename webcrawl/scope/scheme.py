"""Is the URL of a kind that this crawl can fetch?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links

DEFAULT_SCHEMES = ("http", "https")


class SchemeRule:
    """Refuses URLs of every scheme but these."""

    name = "scheme"

    def __init__(self, schemes: Iterable[str] = DEFAULT_SCHEMES) -> None:
        self._beginnings = tuple([f"{scheme.lower()}:" for scheme in schemes])
        self._has_web = {f"{scheme}:" for scheme in DEFAULT_SCHEMES} <= set(self._beginnings)

    def refuses(self, candidate: Candidate) -> str | None:
        if candidate.url.startswith(self._beginnings):
            return None
        return candidate.url.partition(":")[0][:20]

    def refuses_none(self, links: Links) -> bool:
        # Nothing else is ever resolved.
        return self._has_web or all(url.startswith(self._beginnings) for url in links.urls)
