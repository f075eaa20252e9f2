"""What a behaviour is given when it plays, and what it says of itself for the ground truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, Request

if TYPE_CHECKING:
    from tests.fakeweb.config import Option


@dataclass(frozen=True, slots=True)
class Stage:
    """One request for a page that misbehaves."""

    url: str
    """The page's own URL, absolute."""
    origin: str
    """``scheme://host:port`` of the page."""
    goal: str
    """A well-behaved page of the same host, as an absolute URL: where redirects end."""
    elsewhere: str
    """``scheme://host:port`` of another host."""
    other_scheme: str = ""
    """The origin of the same host where the other scheme is spoken; empty where none is."""
    mime: str = "text/html; charset=utf-8"
    """The ordinary Content-Type."""
    body: bytes = b""
    """The page's ordinary HTML."""
    visit: int = 1
    """The how-manieth request for this URL it is, from 1; always 1 where only the truth is asked for."""
    options: Mapping[str, Option] = field(default_factory=dict)
    request: Request | None = None

    def number(self, name: str, default: float) -> float:
        """Return an option that is a number."""
        return float(self.options.get(name, default))

    def text(self, name: str, default: str) -> str:
        """Return an option that is text."""
        return str(self.options.get(name, default))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client that does everything right makes of the first answer that is final.

    ``status`` is None where no HTTP response can be made of it; ``size`` is the length of the content after
    transfer and content coding are removed, None where it has no end or does not matter. ``disputed``: good
    clients differ, and one may record a failure where another has a response (or part of one).
    """

    status: int | None = 200
    location: str | None = None
    mime: str | None = "text/html"
    size: int | None = None
    disputed: bool = False


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One way of misbehaving: what it sends, and what is right to make of it."""

    name: str
    about: str
    """One line for people; the first line of the function's docstring."""
    play: Callable[[Stage], Answer]
    outcome: Callable[[Stage], Outcome]


Registry = dict[str, Behaviour]
Play = Callable[[Stage], Answer]


def behaviour(
    registry: Registry, name: str, outcome: Outcome | Callable[[Stage], Outcome] | None = None
) -> Callable[[Play], Play]:
    """Enter the decorated function into ``registry``; no outcome: an ordinary page arrives in the end."""

    def enter(play: Play) -> Play:
        about = (play.__doc__ or "").strip().partition("\n")[0]
        registry[name] = Behaviour(name, about, play, _as_function(outcome))
        return play

    return enter


def _as_function(outcome: Outcome | Callable[[Stage], Outcome] | None) -> Callable[[Stage], Outcome]:
    if outcome is None:
        return lambda stage: Outcome(size=len(stage.body))
    if isinstance(outcome, Outcome):
        return lambda stage: outcome
    return outcome
