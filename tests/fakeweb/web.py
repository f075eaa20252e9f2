"""The map of a fake web: which hosts and pages exist and what they link to, all a function of the seed.

A page is a host and a number. Pages of a host form a tree (page n has the children 8n+1 .. 8n+8), and so do
the hosts' roots; on top of that come links by chance, most of them within the host. The tree makes every page
of a closed web reachable from the seed, whatever the chance links do.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl

from tests.fakeweb.answer import Answer, Request, http_answer
from tests.fakeweb.behaviours import BEHAVIOURS, Stage
from tests.fakeweb.cast import Cast
from tests.fakeweb.config import Config, Option, Placement
from tests.fakeweb.content import Link, Writer
from tests.fakeweb.names import host_names, numbers, zipf_sizes, zipf_weights
from tests.fakeweb.robots import ROBOTS
from tests.fakeweb.truth import Fact, facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


@dataclass(frozen=True, slots=True)
class Origin:
    """A host as it is written in URLs."""

    scheme: str
    name: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.name}:{self.port}"


class Web:
    """One fake web; a Site for the server. ``port`` is what absolute URLs name, set when a server binds it.

    With ``pages`` None it is endless and has no ground truth; otherwise it is closed and ``urls`` lists it.
    """

    def __init__(
        self,
        seed: int = 1,
        hosts: int = 20,
        pages: int | None = 400,
        *,
        links: int = 20,
        same_host: float = 0.8,
        zipf: float = 1.0,
        suffix: str = "localhost",
        per_domain: int = 1,
        words: int = 120,
        dirty: bool = False,
        charsets: bool = False,
        placements: Sequence[Placement] = (),
    ) -> None:
        self.seed = seed
        self.hosts = host_names(hosts, suffix, per_domain)
        self.sizes = [ENDLESS_PAGES] * hosts if pages is None else zipf_sizes(hosts, pages, zipf)
        self.closed = pages is not None
        self.port = 80
        self.tls_port: int | None = None
        self._index = {name: index for index, name in enumerate(self.hosts)}
        self._shares = list(itertools.accumulate(zipf_weights(hosts, zipf)))
        self._links = links
        self._same_host = int(same_host * 2**32)
        self._dirty = dirty
        self._cast = Cast(seed, placements)
        self._writer = Writer(seed, words=words, dirty=dirty, charsets=charsets)
        self._visits: Counter[str] = Counter()

    @classmethod
    def from_config(cls, config: Config) -> Web:
        """Build the web a configuration describes."""
        return cls(
            config.seed,
            config.hosts,
            config.pages,
            links=config.links,
            same_host=config.same_host,
            zipf=config.zipf,
            suffix=config.suffix,
            per_domain=config.per_domain,
            words=config.words,
            dirty=config.dirty,
            charsets=config.charsets,
            placements=config.placements,
        )

    def bind(self, port: int, tls_port: int | None) -> None:
        """Take note of the server's ports."""
        self.port = port
        self.tls_port = tls_port

    @property
    def seeds(self) -> list[str]:
        """URLs from which every page of a closed web is reachable."""
        return [self.url(Page(0, 0))]

    def pages(self) -> Iterator[Page]:
        """Return every page of a closed web."""
        if not self.closed:
            raise ValueError("an endless web cannot be listed")
        for host, size in enumerate(self.sizes):
            for number in range(size):
                yield Page(host, number)

    def urls(self) -> list[str]:
        """Return the URLs of every page of a closed web."""
        return [self.url(page) for page in self.pages()]

    def truth(self) -> dict[str, Fact]:
        """Return what is true of every page of a closed web, by URL."""
        return facts_of(self)

    def url(self, page: Page) -> str:
        """Return a page's absolute URL."""
        return f"{self.origin(page.host)}{self.path(page)}"

    def origin(self, host: int) -> Origin:
        """Return the origin of a host."""
        return Origin("http", self.hosts[host], self.port)

    def path(self, page: Page) -> str:
        """Return a page's path and query."""
        host, number = page
        if number == 0:
            return "/"
        style, section, word, secret = numbers(f"{self.seed} path {host} {number}", 4)
        folder = _SECTIONS[section % len(_SECTIONS)]
        if secret < _PRIVATE_SHARE * 2**32 and self._is_spare(page):
            folder = "private"
        name = self._writer.word(word)
        match style % (5 if self._dirty else 4):
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

    def find(self, host_name: str, path: str) -> Page | None:
        """Return the page at exactly this host and path, if there is one."""
        host = self._index.get(host_name)
        if host is None:
            return None
        if path == "/":
            return Page(host, 0)
        number = _LAST_NUMBER.search(path)
        if number is None or len(number[0]) > 10:
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

    def part(self, page: Page) -> Placement | None:
        """Return the behaviour a page plays; None for an ordinary page."""
        return self._cast.of_page(self.hosts[page.host], self.path(page), spare=self._is_spare(page))

    def robots_part(self, host: int) -> Placement:
        """Return the behaviour of a host's robots.txt."""
        spare = host > 0 and host * FAN + 1 >= len(self.hosts)
        return self._cast.of_host(self.hosts[host], spare=spare) or Placement("robots-allow")

    def stage(self, page: Page, options: dict[str, Option], request: Request | None = None) -> Stage:
        """Set the stage for a page's behaviour."""
        url = self.url(page)
        return Stage(
            url=url,
            origin=str(self.origin(page.host)),
            goal=self.url(Page(page.host, 0)),
            elsewhere=str(self.origin((page.host + 1) % len(self.hosts))),
            body=self.html(page)[1],
            visit=self._visits[url] if request is not None else 1,
            options=options,
            request=request,
        )

    def html(self, page: Page) -> tuple[str, bytes]:
        """Return a page's Content-Type and its HTML."""
        links = [Link(str(self.origin(to.host)), self.path(to)) for to in self.targets(page)]
        return self._writer.page(str(self.origin(page.host)), self.path(page), links)

    def answer(self, request: Request) -> Answer:
        """Answer a request: robots.txt, an exhibit under /x/, a page, or 404."""
        host = self._index.get(request.host)
        if host is None:
            return http_answer(421, b"No such host here.\n", mime="text/plain")
        if request.path == "/robots.txt":
            part = self.robots_part(host)
            return ROBOTS[part.behaviour].play(self._exhibit_stage(host, part.options, request))
        if request.path.startswith("/x/"):
            return self._exhibit(host, request)
        page = self.find(request.host, request.path)
        if page is None:
            return http_answer(404, b"<title>Not found</title><p>Nothing here.</p>\n")
        return self._page(page, request)

    def _page(self, page: Page, request: Request) -> Answer:
        self._visits[self.url(page)] += 1
        part = self.part(page)
        if part is not None:
            return BEHAVIOURS[part.behaviour].play(self.stage(page, part.options, request))
        mime, body = self.html(page)
        return http_answer(200, body, mime=mime)

    def _exhibit(self, host: int, request: Request) -> Answer:
        """Play any behaviour by its name, /x/NAME?option=value, on any host."""
        name, _, query = request.path.removeprefix("/x/").partition("?")
        shown = BEHAVIOURS.get(name.partition("/")[0])
        if shown is None:
            return http_answer(404, b"No such exhibit.\n", mime="text/plain")
        self._visits[f"{host}{request.path}"] += 1
        return shown.play(self._exhibit_stage(host, dict(parse_qsl(query)), request))

    def _exhibit_stage(
        self, host: int, options: dict[str, Option] | dict[str, str], request: Request
    ) -> Stage:
        origin = str(self.origin(host))
        return Stage(
            url=origin + request.path,
            origin=origin,
            goal=self.url(Page(host, 0)),
            elsewhere=str(self.origin((host + 1) % len(self.hosts))),
            body=self._writer.page(origin, request.path, [Link(origin, "/")])[1],
            visit=max(1, self._visits[f"{host}{request.path}"]),
            options={**options},
            request=request,
        )

    def _is_spare(self, page: Page) -> bool:
        """Whether no other page of a closed web depends on this one for being found."""
        return page.number > 0 and (not self.closed or page.number * FAN + 1 >= self.sizes[page.host])

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
