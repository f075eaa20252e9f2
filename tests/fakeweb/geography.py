"""The map of a fake web: which hosts and pages exist and what they link to, all a function of the seed.

A page is a host and a number. Pages of a host form a tree (page n has the children 8n+1 .. 8n+8), and so do
the hosts' roots; on top of that come links by chance, most of them within the host. The tree makes every page
of a closed web reachable from the seed, whatever the chance links do.
"""

from __future__ import annotations

import bisect
import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from tests.fakeweb.content import word
from tests.fakeweb.names import chance, host_names, numbers, zipf_sizes, zipf_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakeweb.config import Config

FAN = 8
"""Children of a page in its host's tree, and of a host in the tree of hosts."""
ENDLESS_PAGES = 2**31
"""Pages of each host of an endless web."""
_SECTIONS = ("news", "products", "archive", "people", "docs", "blog/posts", "en/library", "shop")
_PRIVATE_SHARE = 0.1
_LAST_NUMBER = re.compile(r"\d+(?=\D*$)")


class Page(NamedTuple):
    """A page's place on the map: host by its index, page by its number; 0 is the host's root."""

    host: int
    number: int


class Geography:
    """Hosts, pages, paths and links, without ports and without content."""

    def __init__(self, config: Config) -> None:
        hosts = config.hosts
        self.seed = config.seed
        self.hosts = host_names(hosts, config.suffix, config.per_domain)
        self.closed = config.pages is not None
        self.sizes = (
            [ENDLESS_PAGES] * hosts if config.pages is None else zipf_sizes(hosts, config.pages, config.zipf)
        )
        self.secure = [chance(f"{config.seed} https {name}") < config.https for name in self.hosts]
        self._index = {name: index for index, name in enumerate(self.hosts)}
        self._shares = list(itertools.accumulate(zipf_weights(hosts, config.zipf)))
        self._links = config.links
        self._same_host = int(config.same_host * 2**32)
        self._path_styles = 5 if config.dirty else 4

    def pages(self) -> Iterator[Page]:
        """Return every page of a closed web."""
        if not self.closed:
            raise ValueError("an endless web cannot be listed")
        for host, size in enumerate(self.sizes):
            for number in range(size):
                yield Page(host, number)

    def host_index(self, name: str) -> int | None:
        """Return the index of the host of this name."""
        return self._index.get(name)

    def path(self, page: Page) -> str:
        """Return a page's path and query."""
        host, number = page
        if number == 0:
            return "/"
        style, section, name_number, secret = numbers(f"{self.seed} path {host} {number}", 4)
        folder = _SECTIONS[section % len(_SECTIONS)]
        if secret < _PRIVATE_SHARE * 2**32 and self.is_spare(page):
            folder = "private"
        name = word(name_number)
        match style % self._path_styles:
            case 0:
                return f"/{folder}/{name}-{number}.html"
            case 1:
                return f"/{folder}/{number}/"
            case 2:
                return f"/{folder}/view?view=full&id={number}"
            case 3:
                return f"/{folder}/{name}/{number}"
            case _:
                return f"/{folder}/caf%C3%A9%20{name}/{number}.html"

    def find(self, host: int, path: str) -> Page | None:
        """Return the page at exactly this path of a host, if there is one."""
        if path == "/":
            return Page(host, 0)
        number = _LAST_NUMBER.search(path)
        if number is None or len(number[0]) > len(str(ENDLESS_PAGES)):
            return None
        page = Page(host, int(number[0]))
        return page if 0 < page.number < self.sizes[host] and self.path(page) == path else None

    def targets(self, page: Page) -> list[Page]:
        """Return the pages this one links to: its children first, then some by chance."""
        children = self._children(page)
        count = max(self._links - len(children), 2)
        draws = numbers(f"{self.seed} links {page.host} {page.number}", 2 * count)
        for where, which in zip(draws[::2], draws[1::2], strict=True):
            host = page.host if where < self._same_host else self._draw_host(which)
            children.append(Page(host, which % self.sizes[host]))
        return children

    def is_spare(self, page: Page) -> bool:
        """Whether no other page of a closed web depends on this one for being found."""
        return page.number > 0 and (not self.closed or page.number * FAN + 1 >= self.sizes[page.host])

    def is_spare_host(self, host: int) -> bool:
        """Whether no other host depends on this one for being found."""
        return host > 0 and host * FAN + 1 >= len(self.hosts)

    def _children(self, page: Page) -> list[Page]:
        if not self.closed:
            return []
        first = page.number * FAN + 1
        last = min(first + FAN, self.sizes[page.host])
        children = [Page(page.host, number) for number in range(first, last)]
        if page.number == 0:
            first = page.host * FAN + 1
            children += [Page(host, 0) for host in range(first, min(first + FAN, len(self.hosts)))]
        return children

    def _draw_host(self, draw: int) -> int:
        return bisect.bisect_right(self._shares, draw * self._shares[-1] >> 32)
