"""The web of the benchmarks: 1,000 hosts, 29 KB and 100 links a page, made in some 20 microseconds each.

Four links in five stay on their host. ``fresh`` of a page's links lead to pages that no other page leads to,
however long a crawl goes on. The others lead into a closed space of ``pages`` URLs a host: the fewer, the sooner
they are known.

Plain Scrapy resolves names through the system, which may not know *.localhost; see ``scrapy_names`` for the
resolver that makes it.
"""

from __future__ import annotations

import hashlib
import struct

from tests.fakeweb.answer import Answer, Request, http_answer
from tests.fakeweb.names import host_names, numbers
from tests.fakeweb.ports import Ports
from tests.fakeweb.robots import ALLOW_ALL

INSIDE_LINKS = 80
ACROSS_LINKS = 20
PAGE_BYTES = 29_000
FRESH_PAGES = 2_000_000_000
"""Of a host, outside the closed space: so many that no two links of a crawl meet there."""
_TEMPLATES = 16
_TEXT = """
the of and to in a is that for it as was with be by on not he his but at are this have from or had an
they which one you were all her she there would their we him been has when who will no more if out so
said what up its about than into them can only other time new some could these two may first then do any
like my now over such our man me even most made after also well many before must through years where much
your way down
"""
_WORDS = _TEXT.split()


class BenchWeb:
    """A Site that costs next to nothing to serve; robots.txt allows everything."""

    def __init__(
        self, seed: int = 1, hosts: int = 1000, pages: int = 100, fresh: int = 0, *, suffix: str = "localhost"
    ) -> None:
        """``fresh``: a multiple of five, so that four in five of these links stay on their host too."""
        self.seed = seed
        self.hosts = host_names(hosts, suffix)
        self.pages = pages
        self.fresh = fresh
        self.ports = Ports()
        self._suffix = suffix
        self._index = {name: index for index, name in enumerate(self.hosts)}
        self._templates: list[bytes] = []
        self._draw = struct.Struct(f">{INSIDE_LINKS + 2 * ACROSS_LINKS}I")
        self._robots = http_answer(200, ALLOW_ALL, mime="text/plain").wire
        self.bind(self.ports)

    @property
    def seeds(self) -> list[str]:
        """The roots of all hosts."""
        return [f"http://{name}:{self.ports.http}/" for name in self.hosts]

    def bind(self, ports: Ports) -> None:
        """Take note of the server's ports, and write the page templates, which name them."""
        self.ports = ports
        self._templates = [self._template(number) for number in range(_TEMPLATES)]

    def answer(self, request: Request) -> Answer:
        """Answer robots.txt or a page; 404 for what is not on the map."""
        host = self._index.get(request.host)
        path = request.path
        if path == "/robots.txt" and host is not None:
            return Answer(200, self._robots)
        number = int(path[3:]) if path.startswith("/p/") and path[3:].isdecimal() else -1
        if path == "/":
            number = 0
        if host is None or not 0 <= number < self.pages + bool(self.fresh) * FRESH_PAGES:
            return http_answer(404, b"Nothing here.\n", mime="text/plain")
        return Answer(200, self.page(host, number))

    def page(self, host: int, number: int) -> bytes:
        """Return head and body of a page."""
        stream = hashlib.shake_128(b"%d %d %d" % (self.seed, host, number)).digest(self._draw.size)
        draws = self._draw.unpack(stream)
        pages, hosts = self.pages, len(self.hosts)
        links = [draw % pages for draw in draws]
        fresh_across = self.fresh // 5
        for place in range(self.fresh - fresh_across):
            links[place] = pages + draws[place] % FRESH_PAGES
        for place in range(INSIDE_LINKS, len(links), 2):
            links[place] = draws[place] % hosts
        for place in range(INSIDE_LINKS + 1, INSIDE_LINKS + 2 * fresh_across, 2):
            links[place] = pages + draws[place] % FRESH_PAGES
        body = self._templates[(host + number) % _TEMPLATES] % (number, host, *links)
        return (
            b"HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/html; charset=utf-8\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        )

    def _template(self, number: int) -> bytes:
        """Return a page with places for its number, its host, and the numbers of its links."""
        draws = numbers(f"{self.seed} template {number}", 6000)
        words = [_WORDS[draw % len(_WORDS)] for draw in draws]
        inside = ['<a class="nav-link" href="/p/%d">{}</a>'] * INSIDE_LINKS
        across = [
            f'<a rel="external" href="http://h%04d.{self._suffix}:{self.ports.http}/p/%d">{{}}</a>'
        ] * ACROSS_LINKS
        parts = [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<title>Page %d of host %d</title>\n<meta name="viewport" content="width=device-width">\n'
            '</head>\n<body>\n<div id="main" class="content">\n'
        ]
        anchors = inside + across
        length = (PAGE_BYTES - sum(map(len, anchors)) - 500) // len(anchors)
        for anchor in anchors:
            text = ""
            while len(text) < length - 46:
                text += words.pop() + " "
            parts.append(
                f'<div class="item"><p>{text}<em>{words.pop()}</em></p>\n{anchor.format(words.pop())}</div>\n'
            )
        parts.append("</div>\n</body>\n</html>\n")
        return "".join(parts).encode()
