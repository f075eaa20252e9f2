"""The robots.txt of each host, and what it forbids: the default allows everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.fakeweb.answer import Answer, http_answer
from tests.fakeweb.behaviours.stage import Stage

ALLOW_ALL = b"User-agent: *\nDisallow:\n"


@dataclass(frozen=True, slots=True)
class Robots:
    """One kind of robots.txt: the answer, and the paths (with query) it keeps every crawler from."""

    name: str
    about: str
    play: Callable[[Stage], Answer]
    forbids: Callable[[str], bool]


ROBOTS: dict[str, Robots] = {}
Play = Callable[[Stage], Answer]


def nothing(path: str) -> bool:
    """Forbid no path."""
    return False


def everything(path: str) -> bool:
    """Forbid every path."""
    return True


def private(path: str) -> bool:
    """Forbid what is below /private/."""
    return path.startswith("/private/")


def robots(name: str, forbids: Callable[[str], bool]) -> Callable[[Play], Play]:
    """Enter the decorated function as the robots.txt called ``name``."""

    def enter(play: Play) -> Play:
        ROBOTS[name] = Robots(name, (play.__doc__ or "").strip().partition("\n")[0], play, forbids)
        return play

    return enter


@robots("robots-allow", nothing)
def allow(stage: Stage) -> Answer:
    """Everything is allowed: what hosts have unless told otherwise."""
    return http_answer(200, ALLOW_ALL, mime="text/plain")


@robots("robots-404", nothing)
def missing(stage: Stage) -> Answer:
    """There is none: everything is allowed."""
    return http_answer(404, b"Not found.\n", mime="text/plain")


@robots("robots-private", private)
def keep_private(stage: Stage) -> Answer:
    """/private/ is forbidden."""
    return http_answer(200, b"User-agent: *\nDisallow: /private/\n", mime="text/plain")


@robots("robots-delay", private)
def delay(stage: Stage) -> Answer:
    """Crawl-delay of ``seconds`` (1); /private/ is forbidden."""
    text = f"User-agent: *\nCrawl-delay: {stage.text('seconds', '1')}\nDisallow: /private/\n"
    return http_answer(200, text.encode(), mime="text/plain")


@robots("robots-500", everything)
def server_error(stage: Stage) -> Answer:
    """A ``status`` (500) of the 5xx class: nothing may be fetched."""
    return http_answer(int(stage.number("status", 500)), b"Oops.\n", mime="text/plain")
