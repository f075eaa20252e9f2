"""One page under many spellings of its URL, and one content under many URLs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, http_answer
from tests.gauntlet.web.site import Host, Respond, Site, page, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request

SPELLINGS = {
    "fragment": ("/f#one", "/f#two", "/f"),
    "escapes": ("/%7euser", "/~user", "/%7Euser"),
    "dots": ("/d/./x", "/d/y/../x", "/d/x"),
    "empty query": ("/e?", "/e"),
    "case of the host": ("/h",),
    "entities": ("/n?a=1&b=2",),
}
"""Links that lead to the same page, by the way in which they differ."""
COPIES = 40
"""Copies of one page, each with links to more copies."""


def build(number: int) -> Site:
    """Return the site."""
    site = Site("duplicates", number)
    wanted = frozenset({"/", "/f", "/d/x", "/real"})
    site.add(Host("spellings", _spellings(site), text("User-agent: *\nDisallow:\n"), wanted=wanted))
    site.add(Host("copies", _copies, text("User-agent: *\nDisallow:\n"), wanted=frozenset({"/", "/end"})))
    return site


def _spellings(site: Site) -> Respond:
    def respond(request: Request, visit: int) -> Answer | None:
        if request.path == "/":
            links = [link for links in SPELLINGS.values() for link in links]
            links.append(site.url("spellings", "/h").replace("http:", "HTTP:"))
            return http_answer(200, page("spellings", [*links, "/real"]))
        return http_answer(200, page(f"spelling {plain(request.path)}"))

    return respond


def plain(path: str) -> str:
    """Return a path as it is written in the shortest way."""
    return path.replace("%7e", "~").replace("%7E", "~").removesuffix("?")


def _copies(request: Request, visit: int) -> Answer | None:
    """Every URL with another ``ref`` is a copy whose links have further refs: endless, and always the same."""
    if request.path == "/":
        return http_answer(200, page("copies", [f"/copy?ref={token('first')}", "/end"]))
    if request.path.startswith("/copy?ref="):
        return http_answer(200, page("A copy", ["/end"]).replace(b"</ul>", _further(request.path)))
    return http_answer(200, page("end")) if request.path == "/end" else None


def _further(path: str) -> bytes:
    """Return three links with tokens that nobody has met; the text of the page stays the same."""
    refs = (token(f"{path} {n}") for n in range(3))
    return b"".join(b'<li><a href="/copy?ref=%b">copy</a></li>' % ref.encode() for ref in refs) + b"</ul>"


def token(text: str) -> str:
    """Return a token that depends on ``text`` alone."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
