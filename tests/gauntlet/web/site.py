"""A site: hosts with pages, what is true of them, and all sites together as one server answers for them."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, http_answer
from tests.fakeweb.behaviours.stage import Stage
from tests.fakeweb.ports import Ports

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request
    from tests.fakeweb.behaviours.stage import Behaviour
    from tests.fakeweb.config import Option
    from tests.fakeweb.robots import Robots

NETWORK = "127.77.0.0/16"
"""Where all sites are; nothing else on loopback belongs to the web."""

Respond = Callable[["Request", int], "Answer | None"]
"""Given a request and how often its path was asked for, this time included; None: there is no such page."""

FILLER = (
    "A page of the gauntlet says this and that, and each says something else, so that none equals another."
)


@dataclass(slots=True)
class Host:
    """One host: how it answers, and what a crawler must and must not ask it for."""

    name: str
    respond: Respond
    robots: Respond | None = None
    """Its robots.txt; None for 404."""
    seeds: tuple[str, ...] = ("/",)
    wanted: frozenset[str] = frozenset()
    """Paths that a complete crawl requests."""
    forbidden: tuple[str, ...] = ()
    """Beginnings of paths that are never to be requested."""
    address: str = ""


@dataclass(slots=True)
class Site:
    """The hosts of one subject. ``number`` is the third byte of their addresses."""

    name: str
    number: int
    ports: Ports = field(default_factory=Ports)
    hosts: dict[str, Host] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Names for the name server, with the address of each."""
    excluded: tuple[str, ...] = ()
    """Hosts (by name) that the crawl is told never to contact."""
    folder: Path = field(default_factory=Path)
    """Where the server's log is; pages with ``file:`` links name files in it."""
    start: Callable[[], None] | None = None
    """Starts what the site needs; ``folder`` is set by then."""
    stop: Callable[[], None] | None = None

    def add(self, host: Host) -> Host:
        """Add a host; it gets the next address."""
        host.address = f"127.77.{self.number}.{len(self.hosts) + 1}"
        self.hosts[host.name] = host
        return host

    def address(self, name: str) -> str:
        """Return the address of a host."""
        return self.hosts[name].address

    def url(self, name: str, path: str = "/") -> str:
        """Return an absolute URL."""
        return f"http://{self.address(name)}:{self.ports.http}{path}"

    def seeds(self) -> list[str]:
        """Return the URLs that a crawl starts from."""
        return [self.url(host.name, path) for host in self.hosts.values() for path in host.seeds]

    def host_at(self, address: str) -> Host | None:
        """Return the host that has an address."""
        return next((host for host in self.hosts.values() if host.address == address), None)


@dataclass(slots=True)
class Wire:
    """A listener that no crawler has a reason to contact. ``port`` 0: one that is free, shown as ``bound``.

    Without an address it is no listener: the server's named pipe.
    """

    name: str
    address: str
    port: int = 0
    bound: int | None = None
    """None where the system did not allow it."""


class World:
    """All sites that one server answers for: a Site of the fake web's server."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self.sites = list(sites)
        self._hosts = {host.address: host for site in self.sites for host in site.hosts.values()}
        self._names = {name: address for site in self.sites for name, address in site.names.items()}
        self._visits: Counter[tuple[str, str]] = Counter()

    @property
    def addresses(self) -> list[str]:
        """The addresses to listen on."""
        return list(self._hosts)

    def bind(self, ports: Ports) -> None:
        """Take note of the server's ports."""
        for site in self.sites:
            site.ports = ports

    def answer(self, request: Request) -> Answer:
        """Answer for the host that the request names."""
        host = self._hosts.get(self._names.get(request.host, request.host))
        if host is None:
            return http_answer(421, b"No such host here.\n", mime="text/plain")
        self._visits[host.address, request.path] += 1
        visit = self._visits[host.address, request.path]
        if request.path == "/robots.txt":
            answer = host.robots(request, visit) if host.robots is not None else None
        else:
            answer = host.respond(request, visit)
        return answer or http_answer(404, b"<title>Not found</title><p>Nothing here.</p>\n")


def page(title: str, links: Iterable[str] = (), text: str = FILLER) -> bytes:
    """Return an ordinary HTML page; links are written as given, escaped for HTML."""
    anchors = "".join(
        f'<li><a href="{html.escape(link)}">{html.escape(link[-30:])}</a></li>\n' for link in links
    )
    return (
        f"<!DOCTYPE html>\n<html><head><meta charset=utf-8><title>{html.escape(title)}</title></head>\n"
        f"<body><h1>{html.escape(title)}</h1>\n<p>{html.escape(title)}: {text}</p>\n<ul>\n"
        f"{anchors}</ul></body></html>\n"
    ).encode()


def pages(contents: Mapping[str, bytes], more: Respond | None = None) -> Respond:
    """Return a function that answers with fixed contents, and with ``more`` for other paths."""

    def respond(request: Request, visit: int) -> Answer | None:
        content = contents.get(request.path)
        if content is None:
            return more(request, visit) if more is not None else None
        return http_answer(200, content)

    return respond


def text(content: str | bytes, mime: str = "text/plain") -> Respond:
    """Return a function that always answers with this text."""
    body = content.encode() if isinstance(content, str) else content
    return lambda request, visit: http_answer(200, body, mime=mime)


def played(
    part: Behaviour | Robots,
    site: Site,
    host: str,
    body: bytes = b"",
    options: Mapping[str, Option] | None = None,
) -> Respond:
    """Return a function that answers as a behaviour of the fake web does."""

    def respond(request: Request, visit: int) -> Answer:
        origin = site.url(host, "")
        stage = Stage(
            url=origin + request.path,
            origin=origin,
            goal=site.url(host),
            elsewhere=origin,
            body=body or page(f"{host}{request.path}"),
            visit=visit,
            options=options or {},
            request=request,
        )
        return part.play(stage)

    return respond
