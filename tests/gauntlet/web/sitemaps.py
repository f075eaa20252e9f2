"""Sitemaps in their forms; the pages that they name are linked nowhere."""

from __future__ import annotations

import functools
import gzip
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, http_answer
from tests.gauntlet.web.site import Host, Respond, Site, page

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakeweb.answer import Request

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
HUGE_BYTES = 12_000_000
FORMS = {
    "xml": "Pages of an XML sitemap are found.",
    "gz": "Pages of a compressed sitemap are found.",
    "index": "Pages of the sitemaps of an index are found.",
    "text": "Pages of a text sitemap are found.",
    "bom": "A byte order mark before the XML hides no page.",
    "rss": "Pages of an RSS feed that is named as a sitemap are found.",
    "atom": "Pages of an Atom feed that is named as a sitemap are found.",
    "cut": "Pages of a sitemap that breaks off are found as far as it goes.",
    "huge": f"Pages at the end of a sitemap of {HUGE_BYTES // 1_000_000} MB are found.",
    "entities": "A sitemap with nested entities (a billion laughs) does no harm; pages beside it are found.",
}


def build(number: int) -> Site:
    """Return the site."""
    site = Site("sitemaps", number)
    for form in FORMS:
        wanted = {"/", "/hidden/1", "/hidden/2"} if form != "entities" else {"/", "/beside"}
        site.add(Host(form, _pages(site, form), _robots(site, form), wanted=frozenset(wanted)))
    return site


def _robots(site: Site, form: str) -> Respond:
    return lambda request, visit: http_answer(
        200,
        f"User-agent: *\nDisallow: /private/\n\nSitemap: {site.url(form, '/sitemap')}\n".encode(),
        mime="text/plain",
    )


def _pages(site: Site, form: str) -> Respond:
    def respond(request: Request, visit: int) -> Answer | None:
        urls = [site.url(form, f"/hidden/{n}") for n in (1, 2)]
        match request.path:
            case "/":
                return http_answer(200, page(f"{form} home", ["/beside"] if form == "entities" else []))
            case "/sitemap":
                if form == "index":
                    return http_answer(
                        200, _set([site.url(form, "/sitemap-1")], "sitemapindex", "sitemap"), mime="text/xml"
                    )
                mime, write = WRITERS[form]
                return http_answer(200, write(urls), mime=mime)
            case "/sitemap-1":
                return http_answer(200, _set(urls), mime="text/xml")
            case "/hidden/1" | "/hidden/2" | "/beside":
                return http_answer(200, page(f"{form} {request.path}"))
        return None

    return respond


def _set(urls: list[str], root: str = "urlset", element: str = "url") -> bytes:
    inner = "".join(f"<{element}><loc>{url}</loc></{element}>\n" for url in urls)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{NAMESPACE}">\n{inner}</{root}>\n'.encode()
    )


def _rss(urls: list[str]) -> bytes:
    items = "".join(f"<item><title>x</title><link>{url}</link></item>" for url in urls)
    return (
        f'<?xml version="1.0"?><rss version="2.0"><channel><title>x</title>{items}</channel></rss>'.encode()
    )


def _atom(urls: list[str]) -> bytes:
    entries = "".join(f'<entry><link href="{url}"/></entry>' for url in urls)
    return f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>'.encode()


def _laughs(urls: list[str]) -> bytes:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha"}">' for n in range(10))
    return f"<!DOCTYPE urlset [{entities}]><urlset><url><loc>{urls[0]}&e9;</loc></url></urlset>".encode()


@functools.cache
def _filling() -> bytes:
    line = b"<!-- " + b"x" * 1000 + b" -->\n"
    return line * (HUGE_BYTES // len(line))


WRITERS: dict[str, tuple[str, Callable[[list[str]], bytes]]] = {
    "xml": ("application/xml", _set),
    "gz": ("application/gzip", lambda urls: gzip.compress(_set(urls))),
    "text": ("text/plain", lambda urls: "\r\n".join(urls).encode()),
    "bom": ("application/xml", lambda urls: b"\xef\xbb\xbf" + _set(urls)),
    "rss": ("application/rss+xml", _rss),
    "atom": ("application/atom+xml", _atom),
    "cut": ("application/xml", lambda urls: _set([*urls, urls[0] + "-cut"])[:-60]),
    "huge": ("application/xml", lambda urls: _set(urls).replace(b"<url>", _filling() + b"<url>", 1)),
    "entities": ("application/xml", _laughs),
}
