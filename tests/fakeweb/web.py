"""A fake web as a Site: the map with ports, content, and those of its pages and hosts that misbehave."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl

from tests.fakeweb.answer import Answer, Request, http_answer, redirect
from tests.fakeweb.behaviours import BEHAVIOURS, Stage
from tests.fakeweb.cast import Cast
from tests.fakeweb.config import Config, Option, Placement
from tests.fakeweb.content import Link, Writer
from tests.fakeweb.dead import dead_links
from tests.fakeweb.geography import Geography, Page
from tests.fakeweb.ports import Ports
from tests.fakeweb.robots import ROBOTS
from tests.fakeweb.truth import Fact, facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class Web:
    """One fake web. ``ports`` are what absolute URLs name, set when a server binds it.

    With ``pages`` None it is endless and has no ground truth; otherwise it is closed: ``urls`` lists its
    pages, and ``truth`` tells of each what a perfect crawler finds there. Below ``/x/`` every host shows
    every behaviour by its name, ``/x/NAME?option=value``, whether it is placed on a page or not.
    """

    def __init__(self, seed: int = 1, hosts: int = 20, pages: int | None = 400, **more: Any) -> None:
        """Build a web; ``more`` are further fields of Config by their names."""
        self.config = Config(seed=seed, hosts=hosts, pages=pages, **more)
        self.geography = Geography(self.config)
        self.hosts = self.geography.hosts
        self.ports = Ports()
        self._cast = Cast(self.config.seed, self.config.placements)
        self._writer = Writer(
            self.config.seed,
            words=self.config.words,
            dirty=self.config.dirty,
            charsets=self.config.charsets,
        )
        self._dead: dict[Page, list[Link]] = {}
        self._visits: Counter[str] = Counter()
        self.bind(self.ports)

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Build the web that a configuration describes."""
        return cls(**{field.name: getattr(config, field.name) for field in fields(config)})

    def bind(self, ports: Ports) -> None:
        """Take note of the server's ports."""
        self.ports = ports
        self._dead = dead_links(self.config, ports)

    @property
    def seeds(self) -> list[str]:
        """URLs from which every page of a closed web is reachable."""
        return [self.url(Page(0, 0))]

    def pages(self) -> Iterator[Page]:
        """Return every page of a closed web."""
        return self.geography.pages()

    def urls(self) -> list[str]:
        """Return the URLs of every page of a closed web."""
        return [self.url(page) for page in self.pages()]

    def truth(self) -> dict[str, Fact]:
        """Return what is true of every page of a closed web, and of the dead links in it, by URL."""
        return facts_of(self)

    def url(self, page: Page) -> str:
        """Return a page's absolute URL."""
        return f"{self.origin(page.host)}{self.geography.path(page)}"

    def origin(self, host: int) -> str:
        """Return ``scheme://host:port`` of a host."""
        if self.geography.secure[host] and self.ports.https is not None:
            return f"https://{self.hosts[host]}:{self.ports.https}"
        return f"http://{self.hosts[host]}:{self.ports.http}"

    def part(self, page: Page) -> Placement | None:
        """Return the behaviour a page plays; None for an ordinary page."""
        path = self.geography.path(page)
        return self._cast.of_page(self.hosts[page.host], path, spare=self.geography.is_spare(page))

    def robots_part(self, host: int) -> Placement:
        """Return the behaviour of a host's robots.txt."""
        part = self._cast.of_host(self.hosts[host], spare=self.geography.is_spare_host(host))
        return part or Placement("robots-allow")

    def dead(self) -> list[Link]:
        """Return the links of this web that lead to hosts which cannot be reached."""
        return [link for links in self._dead.values() for link in links]

    def links(self, page: Page) -> list[Link]:
        """Return where a page's links lead, in their order."""
        targets = self.geography.targets(page)
        links = [Link(self.origin(to.host), self.geography.path(to)) for to in targets]
        return links + self._dead.get(page, [])

    def html(self, page: Page) -> tuple[str, bytes]:
        """Return a page's Content-Type and its HTML."""
        path = self.geography.path(page)
        return self._writer.page(self.origin(page.host), path, self.links(page))

    def stage(self, page: Page, part: Placement, request: Request | None = None) -> Stage:
        """Set the stage for a page's behaviour."""
        path = self.geography.path(page)
        return self._stage(page.host, path, part.options, request, self.links(page))

    def answer(self, request: Request) -> Answer:
        """Answer a request: robots.txt, an exhibit under /x/, a page, or 404."""
        host = self.geography.host_index(request.host)
        if host is None:
            return http_answer(421, b"No such host here.\n", mime="text/plain")
        if self.geography.secure[host] and self.ports.https is not None and request.scheme == "http":
            return redirect(301, self.origin(host) + request.path)
        if request.path == "/robots.txt":
            part = self.robots_part(host)
            return ROBOTS[part.behaviour].play(self._stage(host, request.path, part.options, request, []))
        if request.path.startswith("/x/"):
            return self._exhibit(host, request)
        page = self.geography.find(host, request.path)
        if page is None:
            return http_answer(404, b"<title>Not found</title><p>Nothing here.</p>\n")
        part_of_page = self.part(page)
        if part_of_page is not None:
            return BEHAVIOURS[part_of_page.behaviour].play(self.stage(page, part_of_page, request))
        mime, body = self.html(page)
        return http_answer(200, body, mime=mime)

    def exhibit_stage(self, host: int, path: str, request: Request | None = None) -> Stage:
        """Set the stage for an exhibit, ``/x/NAME?option=value``."""
        options: dict[str, Option] = dict(parse_qsl(path.partition("?")[2], keep_blank_values=True))
        return self._stage(host, path, options, request, [Link(self.origin(host), "/")])

    def _other_scheme(self, host: int, request: Request | None) -> str:
        if self.ports.https is None:
            return ""
        over_tls = request is not None and request.scheme == "https"
        name = self.hosts[host]
        return f"http://{name}:{self.ports.http}" if over_tls else f"https://{name}:{self.ports.https}"

    def _exhibit(self, host: int, request: Request) -> Answer:
        name = request.path.removeprefix("/x/").partition("?")[0].partition("/")[0]
        stage = self.exhibit_stage(host, request.path, request)
        if name in BEHAVIOURS:
            return BEHAVIOURS[name].play(stage)
        if name in ROBOTS:
            return ROBOTS[name].play(stage)
        if name:
            return http_answer(404, b"No such exhibit.\n", mime="text/plain")
        exhibits = [Link(stage.origin, f"/x/{behaviour}") for behaviour in BEHAVIOURS]
        mime, body = self._writer.page(stage.origin, request.path, exhibits)
        return http_answer(200, body, mime=mime)

    def _stage(
        self, host: int, path: str, options: dict[str, Option], request: Request | None, links: list[Link]
    ) -> Stage:
        """Set the stage anywhere on a host; a request counts as a visit of its URL."""
        origin = self.origin(host)
        url = origin + path
        if request is not None:
            self._visits[url] += 1
        elsewhere = 0 if host else min(1, len(self.hosts) - 1)
        mime, body = self._writer.page(origin, path, links)
        return Stage(
            url=url,
            origin=origin,
            goal=self.url(Page(host, 0)),
            elsewhere=self.origin(elsewhere),
            other_scheme=self._other_scheme(host, request),
            mime=mime,
            body=body,
            visit=max(1, self._visits[url]),
            options=options,
            request=request,
        )
