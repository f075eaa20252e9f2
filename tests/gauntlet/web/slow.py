"""Answers that dribble, stall or never end, on hosts of their own beside an ordinary one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer
from tests.fakeweb.behaviours.costly import COSTLY
from tests.fakeweb.behaviours.huge import HUGE
from tests.fakeweb.behaviours.slow import SLOW
from tests.gauntlet.web.site import Host, Respond, Site, page, pages, played, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request
    from tests.fakeweb.behaviours.stage import Behaviour

ENDLESS = b"".join(b"X-Endless-%06d: and another one\r\n" % number for number in range(500))
PARTS: dict[str, tuple[str, Behaviour | None]] = {
    "drip": ("A body that comes by drops is ended.", SLOW["drip"]),
    "stall": ("A body that stops in the middle is ended.", SLOW["stall"]),
    "silent": ("A request without an answer is ended.", SLOW["silent"]),
    "slow-head": ("A head that comes by drops is ended.", SLOW["slow-head"]),
    "endless-head": ("A head without end is ended.", None),
    "endless-body": ("A body without end is cut.", HUGE["huge-until-close"]),
    "endless-chunks": ("Chunks without end are cut.", HUGE["huge-chunked"]),
    "one-chunk": ("A chunk that announces 2**62 bytes is cut.", HUGE["huge-chunk"]),
    "extensions": ("Chunk extensions without end are ended.", COSTLY["chunk-extensions"]),
}
OTHERS = 12


def build(number: int) -> Site:
    """Return the site."""
    site = Site("slow", number)
    allow = text("User-agent: *\nDisallow:\n")
    for name, (_, part) in PARTS.items():
        worst = played(part, site, name) if part is not None else _endless_head
        site.add(Host(name, _one(name, worst), allow, wanted=frozenset({"/", "/worst", "/after"})))
    paths = [f"/p{n}" for n in range(OTHERS)]
    contents = {"/": page("ordinary", paths), **{path: page(f"ordinary {path}") for path in paths}}
    site.add(Host("ordinary", pages(contents), allow, wanted=frozenset(contents)))
    return site


def _one(name: str, worst: Respond) -> Respond:
    contents = {"/": page(name, ["/worst", "/after"]), "/after": page(f"{name} after")}
    return pages(contents, lambda request, visit: worst(request, visit) if request.path == "/worst" else None)


def _endless_head(request: Request, visit: int) -> Answer:
    return Answer(200, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", itertools.repeat(ENDLESS))
