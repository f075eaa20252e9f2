"""A site whose real sections are finite and whose traps never end: the fake web's labyrinth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.fakeweb.labyrinth import TRAPS, Labyrinth
from tests.fakeweb.robots import ALLOW_ALL
from tests.gauntlet.web.site import Host, Respond, Site, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Answer, Request

LABYRINTH = Labyrinth(1, suffix="127.0.0.1")


def build(number: int) -> Site:
    """Return the site."""
    site = Site("traps", number)
    real = {
        f"{urlsplit(url).path}{'?' if urlsplit(url).query else ''}{urlsplit(url).query}"
        for url in LABYRINTH.truth()
    }
    site.add(Host("labyrinth", _labyrinth(), text(ALLOW_ALL), wanted=frozenset(real)))
    return site


def _labyrinth() -> Respond:
    labyrinth = Labyrinth(1, suffix="127.0.0.1")

    def respond(request: Request, visit: int) -> Answer | None:
        # What its pages say, and which there are, depends on the name of the host.
        return labyrinth.answer(replace(request, host=labyrinth.hosts[0]))

    return respond


NAMES = tuple(TRAPS)
