"""Sitemaps in all their forms, good and broken."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from html import escape

from tests.fakeweb.answer import Answer, http_answer, redirect
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

SITEMAPS: Registry = {}
_XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def _set(urls: list[str], root: str = "urlset", element: str = "url") -> str:
    inner = "".join(
        f"<{element}><loc>{escape(url)}</loc><lastmod>2026-01-01</lastmod><priority>0.7</priority></{element}>\n"
        for url in urls
    )
    return f"{_HEAD}<{root} {_XMLNS}>\n{inner}</{root}>\n"


def _index(urls: list[str]) -> str:
    return _set(urls, "sitemapindex", "sitemap")


def _rss(urls: list[str]) -> str:
    items = "".join(f"<item><title>x</title><link>{escape(url)}</link></item>" for url in urls)
    return f'{_HEAD}<rss version="2.0"><channel><link>/not-an-item</link>{items}</channel></rss>'


def _atom(urls: list[str]) -> str:
    entries = "".join(f'<entry><link href="{escape(url)}"/></entry>' for url in urls)
    return f'{_HEAD}<feed xmlns="http://www.w3.org/2005/Atom"><link href="/not-an-entry"/>{entries}</feed>'


def _guid(urls: list[str]) -> str:
    items = "".join(f"<item><title>x</title><guid>{escape(url)}</guid></item>" for url in urls)
    return f'{_HEAD}<rss version="2.0"><channel><link>/not-an-item</link>{items}</channel></rss>'


def _messy(urls: list[str]) -> str:
    """A message of the server first, bare ampersands, no end tags."""
    inner = "".join(f"<url><loc>\n  {url}<lastmod>2026-01-01" for url in urls)
    message = "\ufeff\ufeff<br />\n<b>Warning</b>: a < b in <b>x.php</b>\n"
    return f"{message}{_HEAD}<!DOCTYPE urlset>\n<urlset>{inner}</urlset>"


def _bomb(urls: list[str]) -> str:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "/x/bomb"}">' for n in range(12))
    return f"<!DOCTYPE urlset [{entities}]><urlset><url><loc>&e11;</loc></url></urlset>"


def _long(urls: list[str]) -> str:
    """A megabyte that cannot be packed to less than half of that, with the URLs at its end."""
    filling = random.Random(urls[0]).randbytes(500_000).hex()
    comments = "".join(
        f"<!-- {filling[start : start + 1000]} -->\n" for start in range(0, len(filling), 1000)
    )
    return _set(urls).replace("<url>", comments + "<url>", 1)


def _huge(urls: list[str]) -> str:
    """52 MB, more than the protocol allows, which can be packed to some hundredth of that."""
    comments = "".join(f"<!-- {number:06} {'x' * 1024} -->\n" for number in range(50_000))
    return _set(urls).replace("<url>", comments + "<url>", 1)


_FORMS: dict[str, tuple[str, Callable[[list[str]], str]]] = {
    "xml": ("application/xml", _set),
    "gz": ("application/gzip", _set),
    "huge": ("application/xml", _huge),
    "huge-gz": ("application/gzip", _huge),
    "long": ("application/xml", _long),
    "long-gz": ("application/gzip", _long),
    "index": ("text/xml", _index),
    "text": ("text/plain", lambda urls: "\r\n".join([*urls, "# no URL"])),
    "utf16": ("text/plain", lambda urls: "\n\t".join(["Our pages", *urls])),
    "guid": ("application/rss+xml", _guid),
    "messy": ("application/xml", _messy),
    "rss": ("application/rss+xml", _rss),
    "atom": ("application/atom+xml", _atom),
    "cut": ("application/xml", lambda urls: _set(urls).partition("</urlset>")[0][:-20]),
    "html": ("text/html", lambda urls: f"<title>Nothing</title><a href='{urls[0]}'>x</a>"),
    "bomb": ("application/xml", _bomb),
    "many": ("application/xml", lambda urls: _set([f"{urls[0]}{number}" for number in range(1000)])),
    "thousands": (
        "application/xml",
        lambda urls: _set([f"{urls[0]}{number}" for number in range(2500)]),
    ),
    "indices": ("application/xml", lambda urls: _index([f"{urls[0]}{number}" for number in range(100)])),
}


def _outcome(stage: Stage) -> Outcome:
    form = stage.text("form", "xml")
    if form == "moved":
        return Outcome(301, stage.text("urls", stage.goal))
    return Outcome(mime=_FORMS[form][0])


@behaviour(SITEMAPS, "sitemap", _outcome)
def sitemap(stage: Stage) -> Answer:
    """Of a ``form`` (xml), with ``urls`` (the host's front page) that are parted by ``|``."""
    paths = stage.text("urls", stage.goal).split("|")
    if stage.text("form", "xml") == "moved":
        return redirect(301, paths[0])
    urls = [path if "//" in path else stage.origin + path for path in paths]
    form = stage.text("form", "xml")
    mime, write = _FORMS[form]
    body = write(urls).encode("utf-16" if form == "utf16" else "utf-8")
    return http_answer(200, gzip.compress(body) if mime == "application/gzip" else body, mime=mime)
