"""What a perfect crawler would find on a closed web: one fact for each page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.fakeweb.behaviours import BEHAVIOURS, Outcome
from tests.fakeweb.config import Placement
from tests.fakeweb.dead import dead_kind
from tests.fakeweb.robots import ROBOTS

if TYPE_CHECKING:
    from tests.fakeweb.content import Link
    from tests.fakeweb.geography import Page
    from tests.fakeweb.web import Web


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
    disputed: bool
    """Good clients differ here: a failure is as right as a response."""
    behaviour: str | None
    """The name of the behaviour that plays here; None for an ordinary page."""
    robots: str
    """The name of the robots.txt of its host; empty for a dead host, which has none."""


def facts_of(web: Web) -> dict[str, Fact]:
    """Return the facts of every page of a closed web, and of its dead links, by URL."""
    robots = [web.robots_part(host) for host in range(len(web.hosts))]
    facts = [_of_page(web, page, robots[page.host]) for page in web.pages()]
    facts += [_of_dead(link) for link in web.dead()]
    return {fact.url: fact for fact in facts}


def _of_page(web: Web, page: Page, robots: Placement) -> Fact:
    part = web.part(page)
    stage = web.stage(page, part or Placement(""))
    outcome = BEHAVIOURS[part.behaviour].outcome(stage) if part else Outcome(size=len(stage.body))
    return Fact(
        url=stage.url,
        host=web.hosts[page.host],
        status=outcome.status,
        location=outcome.location,
        forbidden=ROBOTS[robots.behaviour].forbids(web.geography.path(page), robots.options),
        mime=outcome.mime,
        size=outcome.size,
        disputed=outcome.disputed,
        behaviour=part.behaviour if part else None,
        robots=robots.behaviour,
    )


def _of_dead(link: Link) -> Fact:
    return Fact(
        url=link.origin + link.path,
        host=link.origin.partition("://")[2].rpartition(":")[0],
        status=None,
        location=None,
        forbidden=True,
        mime=None,
        size=None,
        disputed=False,
        behaviour=dead_kind(link),
        robots="",
    )
