"""What a crawl of a closed fake web must find, worked out from the map and from what is true of each page."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.fakeweb import Hit, Served


def depths(
    served: Served,
    seeds: Iterable[str] | None = None,
    follow: Callable[[str], bool] = lambda url: True,
    leads: Callable[[str], bool] = lambda url: True,
) -> dict[str, int]:
    """URL to the fewest links from a seed, for all pages that an obedient crawler fetches.

    ``follow`` says which links are in scope; seeds always are. ``leads`` says of which pages links are followed at
    all. For webs whose pages all behave.
    """
    web = served.web
    truth = web.truth()
    pages = {web.url(page): page for page in web.pages()}
    found = {url: 0 for url in (seeds or served.seeds) if not truth[url].forbidden}
    queue = deque(found)
    while queue:
        url = queue.popleft()
        for link in web.links(pages[url]) if leads(url) else ():
            target = link.origin + link.path
            if target not in found and not truth[target].forbidden and follow(target):
                found[target] = found[url] + 1
                queue.append(target)
    return found


def asked(served: Served) -> list[str]:
    """The URLs of all pages that were asked for, in order and as often as they were; robots.txt left out."""
    return [address(served, hit) for hit in served.hits() if not hit.is_robots]


def address(served: Served, hit: Hit) -> str:
    """The URL of a request."""
    port = served.ports.https if hit.scheme == "https" else served.ports.http
    return f"{hit.scheme}://{hit.host}:{port}{hit.path}"


def roots(served: Served) -> list[str]:
    """The front pages of all hosts."""
    return [f"{served.web.origin(host)}/" for host in range(len(served.web.hosts))]
