"""Is the host under one of the top-level domains of this crawl?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links


class TopLevelRule:
    """Refuses hosts whose name does not end in one of these: ``de``, ``gov.uk``. An address has no such ending."""

    name = "top-level-domain"

    def __init__(self, domains: Iterable[str]) -> None:
        self._endings = tuple(f".{domain.strip('.').lower()}" for domain in domains)

    def refuses(self, candidate: Candidate) -> str | None:
        host = candidate.host.rstrip(".")
        return None if host.endswith(self._endings) else f"{host} is not under {', '.join(self._endings)}"

    def refuses_none(self, links: Links) -> bool:
        return all(host.rstrip(".").endswith(self._endings) for host in links.different_hosts)
