"""Defines an endpoint of the API: its place, parameters, right and answer.

The routes of the server and the OpenAPI description are both made from the table of endpoints (``api.py``). An answer
is a function of the values of a request; it calls what blocks with ``Api.blocking``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.errors import CrawlError, StartRefused, StorageFull, StorageLost
from webcrawl.web.access import Denial, Rate, RateLimiter, Right, client_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from aiohttp import web

    from webcrawl.web.access import Access, Asked, Granted
    from webcrawl.web.dashboard.reading import ReaderThreads, SharedState
    from webcrawl.web.dashboard.source import CrawlSource
    from webcrawl.web.fields import Field

SENTENCE_MAX = 500
"""Characters of an error."""
PREFIX = "/api/v1"
EVENTS = "text/event-stream"


@dataclass(slots=True)
class Api:
    """The objects that endpoints use."""

    source: CrawlSource
    access: Access
    readers: ReaderThreads
    state: SharedState
    ration: Ration = field(default_factory=lambda: Ration())
    viewers: int = 0
    """Event streams that are open."""

    async def blocking(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function that blocks. :raises Denial: too many others wait, or the crawl's storage
        cannot be read"""
        return await self.readers.run(function, *arguments)


class Ration:
    """The limits of requests of a public dashboard's visitors: of each of them, and of all together."""

    def __init__(self) -> None:
        self._each = RateLimiter(Rate(0.5, 10))
        self._all = RateLimiter(Rate(5.0, 50))

    def take(self, call: Call) -> None:
        """Count a question. :raises Denial: there were too many"""
        if wait := self._each.take(client_name(call.asked.client), call.now):
            raise Denial(429, "too many questions from here", wait)
        if wait := self._all.take("", call.now):
            raise Denial(429, "too many questions at the moment", wait)


@dataclass(slots=True)
class Call:
    """A request whose values were checked."""

    asked: Asked
    granted: Granted
    values: Mapping[str, Any]
    now: float
    request: web.Request

    @property
    def by(self) -> str:
        """The person who makes a change, for the journal."""
        where = f"dashboard {self.asked.client or 'unknown'}"
        return f"{self.granted.name}, {where}" if self.granted.name else where


@dataclass(slots=True)
class EndpointReply:
    """An answer other than a value with status 200."""

    value: Any
    status: int = 200
    cookie: str | None = None
    """The value that the session's cookie gets; empty: it is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A method of a path below ``/api/v1``."""

    method: str
    path: str
    """The path, which may have ``{name}``."""
    name: str
    """The ``operationId``."""
    summary: str
    answer: Callable[[Api, Call], Awaitable[Any]]
    query: tuple[Field, ...] = ()
    body: tuple[Field, ...] | None = None
    inside: tuple[Field, ...] = ()
    """The parameters in the path."""
    right: Right = Right.READ
    in_public: bool = False
    """True if it is there in public mode, too; there everybody may use it."""
    result: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    """The JSON Schema of its answer."""
    media_type: str = "application/json"
    finds: bool = False
    """True if it answers 404 for what is not there."""
    conflicts: bool = False
    """True if it answers 409 for what cannot be done in the present state."""


def to_denial(error: CrawlError | ValueError) -> Denial:
    """Return the answer to a request that a crawl does not take: it is wrong, or the crawl cannot be used now."""
    if isinstance(error, StartRefused | StorageFull | StorageLost):
        return Denial(503, error_sentence(error), 5.0)
    return Denial(400, error_sentence(error))


def error_sentence(error: Exception) -> str:
    """Return the message of an exception in one line. What it quotes may be long."""
    line = " ".join(str(error).split())
    return (
        line if len(line) <= SENTENCE_MAX else f"{line[: SENTENCE_MAX // 2]} ... {line[-SENTENCE_MAX // 2 :]}"
    )
