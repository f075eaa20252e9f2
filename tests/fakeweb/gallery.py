"""A page with all that pages embed, on other hosts: images, style sheets, a script, fonts, frames, a film.

``pages`` is the site that a crawl is for; its pages embed from ``cdn``, ``store`` and ``frames``, in every way that
HTML and CSS have. A name that begins with ``no-`` is what a crawl of complete pages leaves alone: links of pages that
are embedded only, what lies too many hops away, what robots.txt forbids, and links to other sites.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.fakeweb.answer import Answer, Request, http_answer
from tests.fakeweb.ports import Ports

_MIMES = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
    "html": "text/html; charset=utf-8",
    "woff2": "font/woff2",
    "mp4": "video/mp4",
    "ogg": "audio/ogg",
}

_HOME = """<!DOCTYPE html>
<html lang="en"><head><title>Gallery</title>
<link rel="stylesheet" href="{cdn}/style.css"><link rel="icon" href="/icon.svg">
<script src="{cdn}/script.js" defer></script>
<style>@import url(imported.css); .inline {{ background: url("{cdn}/inline.svg") }}
/* url({cdn}/no-comment.svg) */</style></head>
<body><h1>Gallery</h1><p id="said">the script has not run</p>
<img src="{cdn}/photo.svg" srcset="{cdn}/photo-large.svg 2x, {cdn}/photo-huge.svg 3x" alt="photo">
<picture><source srcset="{cdn}/source.svg"><img src="{cdn}/fallback.svg" alt="picture"></picture>
<img data-src="{cdn}/late.svg" alt="late"><img src="{cdn}/moved.svg" alt="moved">
<img src="{cdn}/no-robots/x.svg" alt="forbidden">
<div class="inline box">inline style</div>
<div class="box" style="background-image: url('{cdn}/declared.svg')">style attribute</div>
<table background="{cdn}/table.svg"><tr><td>a table</td></tr></table>
<form><input type="image" src="{cdn}/button.svg" alt="button"></form>
<video poster="{cdn}/poster.svg" src="{cdn}/film.mp4"></video><audio src="{cdn}/sound.ogg"></audio>
<iframe src="{frames}/frame.html" width="300" height="160"></iframe>
<p><a href="/second.html" style="background:url({cdn}/anchor.svg)">second page</a>
<a href="{cdn}/no-link.html">another site</a> <a href="{cdn}/no-linked.svg">an image there</a>
<a href="/no-archive.zip">files</a></p></body></html>
"""
_SECOND = """<!DOCTYPE html><title>Second</title>
<link rel="stylesheet" href="{cdn}/style.css"><img src="own.svg" alt="own"><a href="/">home</a>
"""
_FRAME = """<!DOCTYPE html><title>Frame</title><body style="background:#ffd"><p>A frame of another site
<img src="frame.svg" width="60" alt="in the frame"><iframe src="inner.html" width="100" height="60"></iframe>
<a href="no-frame-link.html">a link in the frame</a><a href="{pages}/no-linked-by-frame.html">a link back</a>
"""
_INNER = """<!DOCTYPE html><title>Inner</title><img src="inner.svg" width="40" alt="inner">
<iframe src="innermost.html"></iframe><a href="no-inner-link.html">x</a>
"""
_INNERMOST = (
    '<!DOCTYPE html><title>Innermost</title><img src="no-deeper.svg" alt="x"><a href="no-link.html">x</a>'
)
_STYLE = """@charset "utf-8"; @import "more.css";
body { background: #eef url(back.svg) no-repeat right top; font-family: sans-serif }
h1 { color: #a02 } .box { width: 300px; height: 60px; color: #fff }
"""
_MORE = """@font-face { font-family: Made; src: url( "font.woff2" ) format("woff2") }
@import url('deeper.css'); p::before { content: "url(no-string.svg)" }
"""
_SCRIPT = """document.getElementById("said").textContent = "the script has run";"""


class Gallery:
    """A Site; see the top of this module."""

    def __init__(self, suffix: str = "localhost") -> None:
        self._suffix = suffix
        self.hosts = [f"{name}.{suffix}" for name in ("pages", "cdn", "store", "frames")]
        self.ports = Ports()

    @property
    def seeds(self) -> list[str]:
        """The home page."""
        return [f"{self.origin('pages')}/"]

    def origin(self, name: str) -> str:
        """The origin of one of the hosts, by its first label."""
        return f"http://{name}.{self._suffix}:{self.ports.http}"

    def bind(self, ports: Ports) -> None:
        """Take note of the server's ports."""
        self.ports = ports

    @property
    def pages(self) -> list[str]:
        """The URLs of the pages that are in scope."""
        return [f"{self.origin('pages')}/", f"{self.origin('pages')}/second.html"]

    def embeds(self) -> dict[str, int]:
        """What the pages embed, each with how many hops it is from them; the redirect of an image too."""
        of_cdn = (
            "style.css script.js inline.svg photo.svg photo-large.svg photo-huge.svg source.svg fallback.svg "
            "late.svg moved.svg declared.svg table.svg button.svg poster.svg film.mp4 sound.ogg anchor.svg"
        )
        found = {f"{self.origin('cdn')}/{name}": 1 for name in of_cdn.split()}
        found |= {f"{self.origin('pages')}/{name}": 1 for name in ("icon.svg", "imported.css", "own.svg")}
        found |= {f"{self.origin('cdn')}/{name}": 2 for name in ("more.css", "back.svg")}
        found |= {f"{self.origin('cdn')}/{name}": 3 for name in ("font.woff2", "deeper.css")}
        found[f"{self.origin('store')}/moved-to.svg"] = 1
        frames = {"frame.html": 1, "frame.svg": 2, "inner.html": 2, "inner.svg": 3, "innermost.html": 3}
        found |= {f"{self.origin('frames')}/{name}": hops for name, hops in frames.items()}
        found[f"{self.origin('pages')}/from-import.svg"] = 2
        return found

    def body(self, url: str) -> bytes:
        """What a URL has."""
        path = urlsplit(url).path
        texts = {
            "/": _HOME,
            "/second.html": _SECOND,
            "/frame.html": _FRAME,
            "/inner.html": _INNER,
            "/innermost.html": _INNERMOST,
        }
        if text := texts.get(path):
            return text.format(**{name: self.origin(name) for name in ("pages", "cdn", "frames")}).encode()
        sheets = {
            "/style.css": _STYLE,
            "/more.css": _MORE,
            "/deeper.css": '@import "no-deepest.css"; .x { background: url(no-deep.svg) }',
            "/imported.css": ".box { outline: 2px solid #080; background-image: url(from-import.svg) }",
            "/script.js": _SCRIPT,
        }
        if text := sheets.get(path):
            return text.encode()
        if path.endswith(".svg"):
            return _drawing(path.rpartition("/")[2].removesuffix(".svg"))
        return f"bytes of {path}".encode()

    def answer(self, request: Request) -> Answer:
        """Answer robots.txt, a page or what it embeds."""
        if request.path == "/robots.txt":
            rules = "User-agent: *\nDisallow: /no-robots/\n"
            return http_answer(200, rules.encode(), mime="text/plain")
        if request.path == "/moved.svg":
            target = f"{self.origin('store')}/moved-to.svg"
            return http_answer(302, b"", headers=(("Location", target),))
        mime = _MIMES.get(request.path.rpartition(".")[2], "text/html; charset=utf-8")
        return http_answer(200, self.body(request.path), mime=mime)


def _drawing(name: str) -> bytes:
    """Return an image with a name in it, of a colour that follows from the name."""
    hue = sum(name.encode()) * 37 % 360
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="150" height="60"><rect width="150" height="60" '
        f'fill="hsl({hue},60%,45%)"/><text x="8" y="36" font-size="18" fill="#fff">{name}</text></svg>'
    ).encode()
