"""Links to hosts that cannot be reached, each kind in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb.content import Link
from tests.fakeweb.geography import Page

if TYPE_CHECKING:
    from tests.fakeweb.config import Config
    from tests.fakeweb.ports import Ports

DEAD_KINDS = {
    "dead-port": "connections are refused",
    "dead-silent": "connections are never answered",
    "dead-tls": "https is spoken to a server that speaks http",
    "dead-name": "the name does not exist (with the name server only)",
}
HOSTS_OF_A_KIND = 2
URLS_OF_A_HOST = 3


def dead_names(config: Config) -> list[str]:
    """Return the names of the hosts of the kind dead-name."""
    return [f"dead-name{number}.{config.suffix}" for number in range(HOSTS_OF_A_KIND)]


def dead_kind(link: Link) -> str:
    """Return the kind of host a dead link leads to."""
    name = link.origin.partition("://")[2]
    return next(kind for kind in DEAD_KINDS if name.startswith(kind))


def dead_links(config: Config, ports: Ports) -> dict[Page, list[Link]]:
    """Return the dead links a web has, by the page that has them: the roots of its first hosts."""
    links: dict[Page, list[Link]] = {}
    for kind in config.dead:
        for number in range(HOSTS_OF_A_KIND):
            page = Page(number % config.hosts, 0)
            origin = _origin(kind, f"{kind}{number}.{config.suffix}", ports)
            links.setdefault(page, []).extend(Link(origin, f"/{path}.html") for path in range(URLS_OF_A_HOST))
    return links


def _origin(kind: str, host: str, ports: Ports) -> str:
    match kind:
        case "dead-port":
            return f"http://{host}:{ports.closed}"
        case "dead-silent":
            return f"http://{host}:{ports.silent}"
        case "dead-tls":
            return f"https://{host}:{ports.http}"
        case "dead-name":
            return f"http://{host}:{ports.http}"
        case _:
            raise ValueError(f"no way of being dead is called {kind!r}")
