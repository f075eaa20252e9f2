"""A crawl that nobody answers for stays off the public web."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from webcrawl.scope.candidate import Candidate
from webcrawl.scope.links import Links

REMEMBERED_HOSTS = 65_536


class ContactRule:
    """Refuses hosts of the public web. For crawls whose User-Agent names no contact."""

    name = "contact"

    def __init__(self, is_public: Callable[[str], bool]) -> None:
        self._is_public = lru_cache(REMEMBERED_HOSTS)(is_public)

    def refuses(self, candidate: Candidate) -> str | None:
        if self._is_public(candidate.host):
            return "a public host, and no contact in the User-Agent; set CRAWLER_CONTACT"
        return None

    def refuses_none(self, links: Links) -> bool:
        return not any(map(self._is_public, links.different_hosts))
