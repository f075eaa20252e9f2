"""The sites that a spider names itself, Scrapy's ``allowed_domains``."""

from __future__ import annotations

from collections.abc import Iterable

from webcrawl.scope.candidate import Candidate
from webcrawl.scope.links import Links


class OffsiteRule:
    """Refuses hosts that are neither one of the named domains nor below one."""

    name = "offsite"

    def __init__(self, domains: Iterable[str]) -> None:
        self._domains = frozenset(domain.lower().strip(".") for domain in domains)

    def refuses(self, candidate: Candidate) -> str | None:
        return None if self._covers(candidate.host) else "not in allowed_domains"

    def refuses_none(self, links: Links) -> bool:
        return all(map(self._covers, links.different_hosts))

    def _covers(self, host: str) -> bool:
        labels = host.rstrip(".").split(".")
        return any(".".join(labels[start:]) in self._domains for start in range(len(labels)))
