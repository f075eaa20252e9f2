"""URLs in parts: those that a DUST rule may change, and those that say to which URLs it applies."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

URL_LENGTH_MAX = 500
"""Longer URLs are neither learned from nor rewritten."""

_SCRIPTS = frozenset({"php", "cgi", "asp", "aspx", "jsp", "pl", "do", "py", "cfm"})
_DISPATCHERS = frozenset(
    {
        "a",
        "act",
        "action",
        "area",
        "cmd",
        "controller",
        "do",
        "feed",
        "func",
        "function",
        "mod",
        "mode",
        "module",
    }
    | {"op", "option", "r", "route", "section", "task", "type", "view"}
)
"""Parameters that often choose the function of a script: their values are a part of the place, if they are words."""
_DIGITS = re.compile(r"[0-9]+")
_LETTERS = re.compile(r"[A-Za-z%]")
_WORD = re.compile(r"[a-z_-]{1,24}")
_TOKEN = re.compile(
    r"(?=[^0-9]{0,64}[0-9])(?=[^A-Za-z]{0,64}[A-Za-z])[0-9A-Za-z_-]{8,64}|[0-9A-Za-z_-]{16,64}"
)


class Outline(NamedTuple):
    """The facts of a URL that tell whether a rule can change it."""

    segments: int
    first: str
    """The first segment; empty if it is the last one too."""
    slash: bool
    names: tuple[str, ...]
    """Those of the parameters."""


class UrlParts(NamedTuple):
    """The parts of a resolved URL."""

    scheme: str
    authority: str
    segments: tuple[str, ...]
    """The segments of the path without the empty one behind its last slash."""
    slash: bool
    """True if the path ends with a slash."""
    query: tuple[str, ...]
    """The parameters as they are written, without what separates them."""
    separator: str = "&"
    """The separator of the parameters: a semicolon if there is no ampersand (HTML 4.01, appendix B.2.2)."""

    @property
    def site(self) -> str:
        """The name of the site: the authority without ``www.``."""
        return self.authority.removeprefix("www.")

    @property
    def shape(self) -> Outline:
        """The shape of the URL."""
        segments, query = self.segments, self.query
        names = tuple([piece.partition("=")[0] for piece in query]) if query else ()
        return Outline(len(segments), segments[0] if len(segments) > 1 else "", self.slash, names)

    def with_query(self, pieces: Sequence[str], separator: str | None = None) -> UrlParts:
        """Return the URL with other parameters."""
        several = len(pieces) > 1
        return self._replace(query=tuple(pieces), separator=(separator or self.separator) if several else "&")

    @property
    def url(self) -> str:
        """The URL."""
        path = "/".join(self.segments) + ("/" if self.slash and self.segments else "")
        query = "?" + self.separator.join(self.query) if self.query else ""
        return f"{self.scheme}://{self.authority}/{path}{query}"


def is_script(segment: str) -> bool:
    """Return whether a segment names a script."""
    return segment.lower().rpartition(".")[2] in _SCRIPTS


def is_dispatcher(name: str, value: str) -> bool:
    """Return whether a parameter chooses the function of a script."""
    return name in _DISPATCHERS and _WORD.fullmatch(value) is not None


@lru_cache(maxsize=2048)
def url_parts(url: str) -> UrlParts | None:
    """Return the parts of a resolved URL of http or https; None for others, and for those that are too long."""
    if len(url) > URL_LENGTH_MAX or not url.startswith("http"):
        return None
    before, _, query = url.partition("?")
    scheme, _, rest = before.partition("://")
    authority, _, path = rest.partition("/")
    segments = path.split("/")
    slash = not segments[-1]
    if slash:
        segments.pop()
    separator = ";" if ";" in query and "&" not in query else "&"
    pieces = tuple(query.split(separator)) if query else ()
    return UrlParts(scheme, authority, tuple(segments), slash, pieces, separator)


def parameter_name(piece: str) -> str:
    """Return the name of a parameter as it is written."""
    return piece.partition("=")[0]


def is_token(value: str) -> bool:
    """Return whether a value looks like a session: long, and no word."""
    return _TOKEN.fullmatch(value) is not None


@lru_cache(maxsize=1024)
def place(parts: UrlParts, without: str | None = None) -> str:
    """Return the place of a URL: URLs with the same place are made by the same part of a site, as far as their form
    tells. ``without``: the name of a parameter that is not a part of it.

    It has the first segment, the form of the last one and the names of the parameters.
    """
    segments = parts.segments
    first = _DIGITS.sub("#", segments[0].lower()) if len(segments) > 1 else ""
    names = []
    for piece in parts.query:
        name, _, value = piece.partition("=")
        if name != without:
            names.append(f"{name}={value}" if is_dispatcher(name, value) else name)
    return f"/{first}/{_form(segments[-1]) if segments else ''}?{'&'.join(sorted(names))}"


@lru_cache(maxsize=1024)
def path_place(parts: UrlParts, position: int) -> str:
    """Return the place of a segment in paths: their number of segments, the first one unless it is this one, the form
    of the last one, and the names of the parameters."""
    first = _DIGITS.sub("#", parts.segments[0].lower()) if position else "*"
    names = "&".join(sorted(map(parameter_name, parts.query)))
    return f"/{first}/{len(parts.segments)}/{_form(parts.segments[-1])}?{names}"


@lru_cache(maxsize=1024)
def _form(segment: str) -> str:
    """Return the form of a segment: the name of a script, or which kinds of characters it has."""
    name, dot, extension = segment.lower().rpartition(".")
    if not dot:
        name, extension = extension, ""
    if extension in _SCRIPTS:
        return f"{name}.{extension}"
    letters = "a" if _LETTERS.search(name) else ""
    digits = "#" if _DIGITS.search(name) else ""
    hyphens = "-" if "-" in name or "_" in name else ""
    return f"{letters}{digits}{hyphens}{dot}{extension if len(extension) <= 5 else '…'}"


def without_origins(urls: str, site: str) -> str:
    """Return URLs, one a line and in lower case, without the origin where that is one of a site."""
    # One pass for nearly all pages: their links have one of these origins.
    for name in (site, f"www.{site}"):
        while (start := urls.find(f"://{name}/")) >= 0:
            before = urls[max(start - 5, 0) : start]
            if not before.endswith(("http", "https")):
                break
            urls = urls.replace(f"{'https' if before == 'https' else 'http'}://{name}/", "/")
    return urls
