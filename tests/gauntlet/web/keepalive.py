"""Servers that close a kept connection when the next request comes, or a moment before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, Cut, Pause, http_answer
from tests.gauntlet.web.site import Host, Respond, Site, page, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakeweb.answer import Request, Step

PAGES = 12
WAYS: dict[str, str] = {
    "reset": "If a server resets a kept connection as the next request comes, no page is lost.",
    "close": "If a server closes a kept connection as the next request comes, no page is lost.",
    "after": "If a server closes each connection a moment after its answer, no page is lost.",
}


def build(number: int) -> Site:
    """Return the site."""
    site = Site("keepalive", number)
    paths = [f"/p{n}" for n in range(PAGES)]
    for way in WAYS:
        site.add(
            Host(
                way, _closing(way, paths), text("User-agent: *\nDisallow:\n"), wanted=frozenset({"/", *paths})
            )
        )
    return site


def _closing(way: str, paths: list[str]) -> Respond:
    contents = {"/": page(way, paths), **{path: page(f"{way} {path}") for path in paths}}
    used: set[int] = set()
    ended: Callable[[], Answer] = {
        "reset": lambda: Answer(None, steps=iter([Cut.RESET])),
        "close": lambda: Answer(None, close=True),
        "after": lambda: Answer(None, close=True),
    }[way]

    def respond(request: Request, visit: int) -> Answer | None:
        body = contents.get(request.path)
        if body is None:
            return None
        if request.connection in used and way != "after":
            return ended()
        used.add(request.connection)
        wire = http_answer(200, body).wire
        after: list[Step] = [Pause(0.02), Cut.CLOSE] if way == "after" else []
        return Answer(200, wire, iter(after))

    return respond
