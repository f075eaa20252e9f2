"""Seeds for the next crawl: of each site the page from which it is best entered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawl.export.safe import one_line
from webcrawl.export.tree import NO_HOST, domain_of, host_in
from webcrawl.reports.gathered import Gathered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LARGEST = 10**18

Entrance = tuple[int, int, str, int]
"""Links from a seed, characters, URL; and how many pages its site has."""


def seeds_of(lines: Iterable[Mapping[str, Any]], *, by_domain: bool = False) -> Iterator[str]:
    """One URL for each host that answered with a page, of those with the most pages first.

    It is the page that lay nearest to a seed of this crawl, and of these the shortest; only pages with a status of
    200 to 299 count. ``by_domain``: one for each registrable domain.
    """
    sites: Gathered[Entrance] = Gathered(_nearer)
    for line in lines:
        url, status, depth = line.get("url"), line.get("status"), line.get("depth")
        good = isinstance(status, int) and 200 <= status < 300 and line.get("kind") == "page"
        if not good or not isinstance(url, str) or (host := host_in(url)) == NO_HOST:
            continue
        site = domain_of(host) if by_domain else host
        sites.add(site, (depth if isinstance(depth, int) else 0, len(url), url, 1), len(url))
    largest: Gathered[str] = Gathered(min)
    for site, (_, _, url, pages) in sites:
        largest.add(f"{_LARGEST - pages:019d}{site}", url, len(url))
    for _, url in largest:
        yield one_line(url) + "\n"


def _nearer(one: Entrance, other: Entrance) -> Entrance:
    nearest = min(one, other)
    return (*nearest[:3], one[3] + other[3])
