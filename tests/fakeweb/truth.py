"""What a perfect crawler would find on a closed web: one fact for each page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.fakeweb.behaviours import BEHAVIOURS
from tests.fakeweb.robots import ROBOTS

if TYPE_CHECKING:
    from tests.fakeweb.web import Page, Web


@dataclass(frozen=True, slots=True)
class Fact:
    """The truth about one URL.

    ``status`` None: no HTTP response can be made of what the server sends. ``location`` is absolute. ``size``
    is the content's length in bytes, None where it has no end or does not matter.
    """

    url: str
    host: str
    status: int | None
    location: str | None
    forbidden: bool
    """robots.txt (or its state) keeps every crawler away."""
    mime: str | None
    size: int | None
    behaviour: str | None
    """The name of the behaviour that plays here; None for an ordinary page."""
    robots: str
    """The name of the robots.txt of its host."""


def facts_of(web: Web) -> dict[str, Fact]:
    """Return the facts of every page of a closed web by URL."""
    robots = [web.robots_part(host).behaviour for host in range(len(web.hosts))]
    return {fact.url: fact for fact in (fact_of(web, page, robots[page.host]) for page in web.pages())}


def fact_of(web: Web, page: Page, robots: str) -> Fact:
    """Return the fact of one page."""
    part = web.part(page)
    path = web.path(page)
    stage = web.stage(page, part.options if part else {})
    status, location, mime, size = 200, None, "text/html", len(stage.body)
    outcome = BEHAVIOURS[part.behaviour].outcome(stage) if part else None
    return Fact(
        url=stage.url,
        host=web.hosts[page.host],
        status=outcome.status if outcome else status,
        location=outcome.location if outcome else location,
        forbidden=ROBOTS[robots].forbids(path),
        mime=outcome.mime if outcome else mime,
        size=outcome.size if outcome else size,
        behaviour=part.behaviour if part else None,
        robots=robots,
    )
