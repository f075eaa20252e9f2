"""Four hosts of 40 pages for a crawl that is killed again and again."""

from __future__ import annotations

from tests.gauntlet.web.site import Host, Site, page, pages, text

HOSTS, PAGES = 4, 40
KILLS = (40, 90)
"""After so many requests the crawl is killed."""
REQUESTS = 8
"""The most requests that a process may have on their way, answers that it has not stored yet included."""


def build(number: int) -> Site:
    """Return the site."""
    site = Site("resume", number)
    for index in range(HOSTS):
        paths = [f"/p{n}" for n in range(PAGES)]
        contents = {"/": page(f"host {index}", paths[:4])}
        for n, path in enumerate(paths):
            further = [paths[child] for child in range(4 * n + 4, 4 * n + 8) if child < PAGES]
            contents[path] = page(f"host {index} {path}", [*further, "/", paths[(n * 7 + 3) % PAGES]])
        site.add(
            Host(
                f"host{index}",
                pages(contents),
                text("User-agent: *\nDisallow:\n"),
                wanted=frozenset(contents),
            )
        )
    return site
