"""A web with truth whose hosts serve the pages of another one, or seem to: a mirror with some pages of its own, one
that lacks pages, an imitator, an older copy, and one whose pages begin to differ. The unit tests of mirrors crawl the
same hosts in memory. A portal has links to the pages that only the mirror has."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.fakeweb.answer import Answer, Request, http_answer
from tests.fakeweb.ports import Ports

if TYPE_CHECKING:
    from collections.abc import Callable

ROBOTS = b"User-agent: *\nDisallow: /private/\n"
OWN = 5
"""Pages that only the mirror has, to which the portal links."""

Text = str | None


def original(number: int, size: int) -> Text:
    """Each page once."""
    return f"page {number}" if number < size else None


def mirror(number: int, size: int) -> Text:
    """The same pages, and some of its own behind them."""
    return f"page {number}" if number < size else f"own page {number}" if number < size + OWN else None


def lacking(number: int, size: int) -> Text:
    """The same pages, of which the original lacks every tenth: those are missing there."""
    return None if number and number % 10 == 0 else original(number, size)


def imitator(number: int, size: int) -> Text:
    """The home page of the original, and pages of its own."""
    return original(number, size) if number == 0 else f"imitation {number}" if number < size else None


def older(number: int, size: int) -> Text:
    """An older copy: every fourth page has changed since."""
    return f"old page {number}" if number % 4 == 3 and number < size else original(number, size)


def turning(number: int, size: int) -> Text:
    """The pages of the original up to the middle, then pages of its own."""
    return original(number, size) if number < size // 2 else f"turned {number}" if number < size else None


def portal(number: int, size: int) -> Text:
    """A page with links."""
    return "portal" if number == 0 else None


HOSTS: dict[str, Callable[[int, int], Text]] = {
    "original": original,
    "mirror": mirror,
    "lacking": lacking,
    "imitator": imitator,
    "older": older,
    "turning": turning,
    "portal": portal,
}


class Mirrored:
    """A Site; see the top of this module. ``size``: pages of the original; ``names``: the hosts that it has."""

    def __init__(self, size: int = 200, *, suffix: str = "localhost", names: tuple[str, ...] = ()) -> None:
        self.names = names or tuple(HOSTS)
        self._size = size
        self._suffix = suffix
        self.hosts = [f"{name}.{suffix}" for name in self.names]
        self.ports = Ports()

    def bind(self, ports: Ports) -> None:
        """Take note of the server's ports."""
        self.ports = ports

    def origin(self, name: str) -> str:
        """Return the origin of a host by its name here."""
        return f"http://{name}.{self._suffix}:{self.ports.http}"

    @property
    def seeds(self) -> list[str]:
        """The home page of each host."""
        return [f"{self.origin(name)}/" for name in self.names]

    def look(self, url: str) -> tuple[str, list[str]] | None:
        """Return the text and the links of a URL; None if there is no page."""
        parts = urlsplit(url)
        name = parts.netloc.partition(".")[0]
        word = parts.path.strip("/")
        if name not in self.names or (word and not word.removeprefix("page-").isdigit()):
            return None
        number = int(word.removeprefix("page-") or 0)
        if (word == "page-0") or (text := HOSTS[name](number, self._size)) is None:
            return None
        if name == "portal":
            own = range(self._size, self._size + OWN)
            return text, [f"{self.origin('mirror')}/page-{other}" for other in own]
        following = range(number * 3 + 1, min(number * 3 + 4, self._size))
        links = [
            f"/page-{other}" if other % 2 else f"{self.origin(name)}/page-{other}" for other in following
        ]
        return text, ["/", *links]

    def text(self, url: str) -> str | None:
        """Return the text of the page that a URL has; None if there is none."""
        shown = self.look(url)
        return None if shown is None else shown[0]

    def truth(self) -> set[str]:
        """Return the texts of all pages that a crawl without mirrors finds from the seeds."""
        found: set[str] = set()
        seen = set(self.seeds)
        queue = list(self.seeds)
        for url in queue:
            shown = self.look(url)
            if shown is None:
                continue
            found.add(shown[0])
            for link in shown[1]:
                target = link if "://" in link else url[: url.index("/", 8)] + link
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        return found

    def answer(self, request: Request) -> Answer:
        """Answer robots.txt or a page; 404 for URLs that have none."""
        if request.path == "/robots.txt":
            if request.host.startswith("portal."):
                return http_answer(404, b"")
            return http_answer(200, ROBOTS, mime="text/plain")
        shown = self.look(f"http://{request.host}:{self.ports.http}{request.path}")
        if shown is None:
            return http_answer(404, b"<title>Not found</title>\n")
        links = "".join(f'<a href="{html.escape(link)}">page</a>\n' for link in shown[1])
        page = f"<!DOCTYPE html>\n<title>{shown[0]}</title>\n<p>{shown[0]}</p>\n{links}"
        return http_answer(200, page.encode())
