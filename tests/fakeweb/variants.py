"""A web of articles that come again with other dates, counters and surroundings, and of articles that share a frame
and differ, with truth. Each page has a link of its own, which tells whether its links were followed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, Request, http_answer
from tests.fakeweb.ports import Ports
from tests.fakeweb.robots import ALLOW_ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

SITE, MIRROR = "variants", "mirror"
COPIES = ("dated", "reworded")
"""Kinds of near-duplicates on the same site."""
_FRAME_WORDS = 60
_WORDS = 220


def prose(seed: str, count: int) -> list[str]:
    """Return made words, the same for the same seed."""
    chance = random.Random(seed)
    syllables = [
        start + end for start in "bdfgklmnprst" for end in ("a", "e", "i", "o", "u", "an", "er", "is")
    ]
    return ["".join(chance.choices(syllables, k=chance.randint(1, 3))) for _ in range(count)]


class Variants:
    """A Site of ``size`` articles.

    The front page links to each article; an article leads over two short pages to its near-duplicates, to a mirror's
    copy of it, and to another article in the same frame. So an article is always processed before its copies.
    """

    def __init__(self, size: int = 10, *, suffix: str = "localhost") -> None:
        self.size = size
        self.hosts = [f"{name}.{suffix}" for name in (SITE, MIRROR)]
        self._suffix = suffix
        self.ports = Ports()

    def bind(self, ports: Ports) -> None:
        """Take note of the server's ports."""
        self.ports = ports

    def url(self, path: str, name: str = SITE) -> str:
        """Return a URL of a site."""
        return f"http://{name}.{self._suffix}:{self.ports.http}{path}"

    @property
    def seeds(self) -> list[str]:
        """The front page."""
        return [self.url("/")]

    def articles(self) -> list[str]:
        """The first pages of clusters."""
        return [self.url(f"/article/{number}") for number in range(self.size)]

    def near(self) -> dict[str, str]:
        """Near-duplicates on the same site, each with its article."""
        return {
            self.url(f"/{kind}/{number}"): self.url(f"/article/{number}")
            for kind in COPIES
            for number in range(self.size)
        }

    def mirrored(self) -> dict[str, str]:
        """Near-duplicates on the other site, each with its article."""
        return {
            self.url(f"/mirrored/{number}", MIRROR): self.url(f"/article/{number}")
            for number in range(self.size)
        }

    def leaf(self, url: str) -> str:
        """The page to which only the given one links."""
        origin, _, path = url.partition("://")
        host, _, rest = path.partition("/")
        return f"{origin}://{host}/leaf/{rest}"

    def pages(self) -> set[str]:
        """All pages but the leaves of near-duplicates of the same site."""
        others = [self.url(f"/other/{number}") for number in range(self.size)]
        shown = [*self.articles(), *others, *self.mirrored()]
        waits = [self.url(f"/wait/{step}/{number}") for step in (1, 2) for number in range(self.size)]
        return {*self.seeds, *shown, *waits, *self.near(), *map(self.leaf, shown)}

    def answer(self, request: Request) -> Answer:
        """Answer robots.txt or a page; 404 for URLs that have none."""
        if request.path == "/robots.txt":
            return http_answer(200, ALLOW_ALL, mime="text/plain")
        kind, _, name = request.path.strip("/").partition("/")
        body = self._page(request.host, kind, name)
        if body is None:
            return http_answer(404, b"<title>Not found</title>\n")
        return http_answer(200, body.encode())

    def _page(self, host: str, kind: str, name: str) -> str | None:
        name_of_site = host.partition(".")[0]
        if not kind:
            return _html("Front", "", [f"/article/{number}" for number in range(self.size)])
        if kind == "leaf":
            return _html(f"Leaf {name}", "", [])
        number = name.rpartition("/")[2]
        if not number.isdigit() or int(number) >= self.size:
            return None
        if kind == "wait":
            first = name.startswith("1/")
            return _html(f"Wait {name}", "", [f"/wait/2/{number}"] if first else list(self._ends(number)))
        links = [f"/wait/1/{number}"] if kind == "article" else []
        around = random.Random(f"{name_of_site} {kind} {number}")
        words = [*prose("frame", _FRAME_WORDS), *prose(f"article {number}", _WORDS)]
        if kind == "other":
            words[_FRAME_WORDS:] = prose(f"other {number}", _WORDS)
        elif kind in ("dated", "mirrored"):
            words += [f"seen {around.randint(2, 9999)} times", f"on day {around.randint(1, 365)}"]
        elif kind == "reworded":
            words[around.randrange(_WORDS)] = "changed"
        elif kind != "article":
            return None
        return _html(f"{kind} {number}", " ".join(words), [f"/leaf/{kind}/{number}", *links], around)

    def _ends(self, number: str) -> Iterator[str]:
        for kind in (*COPIES, "other"):
            yield f"/{kind}/{number}"
        yield self.url(f"/mirrored/{number}", MIRROR)


def _html(title: str, text: str, links: list[str], around: random.Random | None = None) -> str:
    """Return a page whose boilerplate no other page has."""
    others = " ".join(prose(f"{around.random() if around else title}", 40))
    shown = "".join(f"<a href='{link}'>{link}</a> " for link in links)
    return (
        f"<!DOCTYPE html><title>{title}</title><nav>{others}</nav>"
        f"<main><p>{text or title}</p></main><footer>{shown}{others}</footer>\n"
    )
