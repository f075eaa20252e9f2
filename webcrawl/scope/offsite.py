"""The sites that a spider names itself, Scrapy's ``allowed_domains``."""

from __future__ import annotations

from collections.abc import Iterable

from webcrawl.scope.rule import Candidate


class OffsiteRule:
    """Refuses hosts that are neither one of the named domains nor below one."""

    name = "offsite"

    def __init__(self, domains: Iterable[str]) -> None:
        self._domains = frozenset(domain.lower().strip(".") for domain in domains)

    def refuses(self, candidate: Candidate) -> str | None:
        labels = candidate.host.rstrip(".").split(".")
        if any(".".join(labels[start:]) in self._domains for start in range(len(labels))):
            return None
        return "not in allowed_domains"
