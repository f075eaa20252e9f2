"""Does the link stay on the site of the page that it is on?"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from webcrawl.urls.politeness_key import host_of
from webcrawl.urls.registrable import registrable_domain

if TYPE_CHECKING:
    from webcrawl.scope.candidate import Candidate
    from webcrawl.scope.links import Links

REMEMBERED_HOSTS = 65_536

Site = Literal["domain", "host"]
SITES: tuple[Site, ...] = ("domain", "host")


class StayRule:
    """Refuses links from one site to another, so that every page is on the site of the seed it was reached from.

    That follows link by link: a page on the seed's site leads only to pages on it. So no URL carries its seed with
    it, and a restart or another process decides the same. Where a seed redirects to is where its crawl begins: there
    the rule has no objection, and what is reached from there stays on that site.
    """

    name = "stay"

    def __init__(self, site: Site) -> None:
        """``site``: hosts of one registrable domain are one site, or each host is."""
        named = registrable_domain if site == "domain" else _host_alone
        self._site = lru_cache(REMEMBERED_HOSTS)(named)
        self._detail = f"another {site} than the page that leads there"

    def refuses(self, candidate: Candidate) -> str | None:
        own = self._site_of(candidate.linked_from)
        return None if own is None or self._site(candidate.host) == own else self._detail

    def refuses_none(self, links: Links) -> bool:
        own = self._site_of(links.linked_from)
        return own is None or all(self._site(host) == own for host in links.different_hosts)

    def _site_of(self, page: str | None) -> str | None:
        """The site of a page; None where the operator named the URL, or what leads there is no page of the web."""
        if page is None or not page.startswith("http"):
            return None
        return self._site(host_of(page))


def _host_alone(host: str) -> str:
    return host.rstrip(".")
