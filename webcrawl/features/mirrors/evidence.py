"""The evidence about hosts: digests of pages, with which two hosts are compared, and signs that two hosts may be
one. A host is an origin here: scheme, name and port."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_64_intdigest

from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES_PER_ORIGIN, PAGES_IN_ALL = 1000, 20_000
"""Pages that are remembered of hosts without candidates."""
ORIGINS = 20_000
"""Hosts whose signs are remembered."""
ORIGIN_LENGTH_MAX, TARGET_LENGTH_MAX = 200, 2000
"""Hosts with longer names, and URLs with longer paths, are passed over."""


class Sign(StrEnum):
    """The signs that two hosts can have in common."""

    ROBOTS = "robots.txt"
    HOME = "home page"
    ADDRESS = "address"


class PageMark(NamedTuple):
    """A page of a host, as it is compared with that of another host."""

    target: str
    """The path with the query."""
    body: int
    """Digest of the body."""
    own: int
    """Digest of the body without the name of the host in its URLs: links are the same then if they lead to the same
    paths."""
    at: float
    """When it was fetched, epoch seconds."""
    depth: int = 0

    @property
    def id(self) -> bytes:
        return target_id(self.target)

    @property
    def is_missing(self) -> bool:
        """True if there was no page."""
        return self.own == MISSING

    def equals(self, other: PageMark) -> bool:
        """Return whether two pages have the same body, or would if the host in their URLs had one name."""
        if self.is_missing or other.is_missing:
            return False
        return self.body == other.body or (self.own == other.own and self.own != UNREAD)

    def may_equal(self, other: PageMark) -> bool:
        """Return whether two pages may be equal as far as their digests tell."""
        return self.equals(other) or UNREAD in (self.own, other.own)


_ENDS = (b"/", b'"', b"'")
"""The characters that can follow the name of a host in a URL, so that it is not the beginning of another name."""
UNREAD = -1
"""The digest without the name of the host, where it was not computed."""
MISSING = 0
"""The digests of a page that is not there."""


def target_id(target: str) -> bytes:
    """Return eight bytes that stand for a path."""
    return fingerprint(target).to_bytes(8, "big", signed=True)


def split(url: str) -> tuple[str, str] | None:
    """Return the origin and the path of a resolved URL of http or https; None for others and for those too long."""
    if not url.startswith("http"):
        return None
    start = url.find("/", 8)
    if start < 0 or start > ORIGIN_LENGTH_MAX or len(url) - start > TARGET_LENGTH_MAX:
        return None
    return url[:start], url[start:]


def body_digests(body: bytes, origin: str, *, reads_all: bool = True) -> tuple[int, int]:
    """Return the digest of a body, and that without the name of its host in URLs. ``reads_all``: False to leave the
    second one out, which takes much longer."""
    if not reads_all:
        return xxh3_64_intdigest(body) or 1, UNREAD
    whole = xxh3_64_intdigest(body) or 1
    name = origin[origin.index("/") :].encode("utf-8", "surrogatepass")
    # Most bodies have relative links.
    if name not in body:
        return whole, whole
    for scheme in (b"https:", b"http:"):
        body = body.replace(scheme + name, name)
    for end in _ENDS:
        body = body.replace(name + end, end)
    return whole, xxh3_64_intdigest(body) or 1


@dataclass(slots=True)
class _Origin:
    signs: dict[Sign, str] = field(default_factory=dict)
    shown: dict[Sign, str] = field(default_factory=dict)
    """The signs as they were published last."""
    pages: OrderedDict[str, PageMark] = field(default_factory=OrderedDict)


class MirrorEvidence:
    """The evidence of this process, in bounded memory: the host that was not seen for longest is forgotten first."""

    def __init__(self) -> None:
        self._origins: OrderedDict[str, _Origin] = OrderedDict()
        self._pages = 0
        self._new: set[str] = set()

    def page(self, origin: str, page: PageMark, address: str | None) -> None:
        """Remember a page, and the address that it came from."""
        known = self._origin(origin)
        if known.pages.pop(page.target, None) is None:
            self._pages += 1
        known.pages[page.target] = page
        if page.target == "/":
            self._sign(origin, known, Sign.HOME, f"{page.own:016x}")
        if address is not None:
            self._sign(origin, known, Sign.ADDRESS, address)
        self._bound(known)

    def missing(self, origin: str, page: PageMark) -> None:
        """Remember that a path has no page."""
        known = self._origin(origin)
        if page.target not in known.pages:
            self._pages += 1
            known.pages[page.target] = page
            self._bound(known)

    def robots(self, origin: str, text: str) -> None:
        """Remember the robots.txt of a host; an empty one says nothing."""
        if text.strip():
            _, own = body_digests(text.encode("utf-8", "surrogatepass"), origin)
            self._sign(origin, self._origin(origin), Sign.ROBOTS, f"{own:016x}")

    def pages(self, origin: str) -> Iterator[PageMark]:
        """Yield the pages that are remembered of a host."""
        known = self._origins.get(origin)
        return iter(()) if known is None else iter(list(known.pages.values()))

    def take_signs(self) -> list[tuple[str, dict[Sign, str]]]:
        """Return the hosts with at least two signs that have new ones since the last call."""
        new, self._new = self._new, set()
        taken = []
        for origin in sorted(new):
            known = self._origins.get(origin)
            if known is not None and len(known.signs) > 1 and known.signs != known.shown:
                known.shown = dict(known.signs)
                taken.append((origin, known.shown))
        return taken

    def give_back(self, signs: list[tuple[str, dict[Sign, str]]]) -> None:
        """Take back signs that could not be published."""
        for origin, _ in signs:
            if (known := self._origins.get(origin)) is not None:
                known.shown = {}
                self._new.add(origin)

    def _sign(self, origin: str, known: _Origin, sign: Sign, value: str) -> None:
        if known.signs.get(sign) != value:
            known.signs[sign] = value
            self._new.add(origin)

    def _origin(self, origin: str) -> _Origin:
        known = self._origins.get(origin)
        if known is None:
            known = self._origins[origin] = _Origin()
            if len(self._origins) > ORIGINS:
                self._forget_first()
        else:
            self._origins.move_to_end(origin)
        return known

    def _bound(self, known: _Origin) -> None:
        if len(known.pages) > PAGES_PER_ORIGIN:
            known.pages.popitem(last=False)
            self._pages -= 1
        while self._pages > PAGES_IN_ALL and len(self._origins) > 1:
            self._forget_first()

    def _forget_first(self) -> None:
        origin, known = self._origins.popitem(last=False)
        self._pages -= len(known.pages)
        self._new.discard(origin)
