"""The table of endpoints below ``/api/v1``: their parameters, rights and answers.

The routes of the server and the OpenAPI description are both made from it. An answer is a function of the values of a
request; it calls what blocks with ``Api.blocking``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.errors import CrawlError
from webcrawl.features.dashboard.access import Asked, Denial, Granted, Right
from webcrawl.features.dashboard.fields import Field

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from webcrawl.features.dashboard.access import Access
    from webcrawl.features.dashboard.reading import Readers, SharedState
    from webcrawl.features.dashboard.source import CrawlSource

URL_MAX = 8192
SENTENCE_MAX = 500
"""Characters of an error."""
PREFIX = "/api/v1"


@dataclass(slots=True)
class Api:
    """What the answers use."""

    source: CrawlSource
    access: Access
    readers: Readers
    state: SharedState

    async def blocking(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function that blocks. :raises Denial: too many others wait, or the crawl's storage
        cannot be read"""
        return await self.readers.run(function, *arguments)


@dataclass(slots=True)
class Call:
    """A request whose values were checked."""

    asked: Asked
    granted: Granted
    values: Mapping[str, Any]
    now: float

    @property
    def by(self) -> str:
        """Who makes a change, for the journal."""
        return f"dashboard {self.asked.client or 'unknown'}"


@dataclass(slots=True)
class Reply:
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
    """It may have ``{name}``."""
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
    """True if it is there in public mode; there everybody may use it."""
    result: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    """The JSON Schema of its answer."""
    media_type: str = "application/json"
    finds: bool = False
    """True if it answers 404 for what is not there."""


# -- sessions --------------------------------------------------------------------------------------------------


async def session(api: Api, call: Call) -> Any:
    """Say what this browser may do."""
    right = call.granted.right
    own = call.granted.session
    return {
        "public": api.access.public,
        "read": right >= Right.READ,
        "write": right >= Right.WRITE,
        "csrf": None if own is None else own.csrf,
        "expires_at": None if own is None else own.expires_at,
    }


async def log_in(api: Api, call: Call) -> Any:
    """Begin a session of a browser."""
    api.access.check_token(call.values["token"], call.asked, call.now)
    cookie, begun = api.access.sessions.begin(call.now)
    value = {
        "public": False,
        "read": True,
        "write": True,
        "csrf": begun.csrf,
        "expires_at": begun.expires_at,
    }
    return Reply(value, cookie=cookie)


async def log_out(api: Api, call: Call) -> Any:
    """End the session in this browser."""
    value = {"public": False, "read": False, "write": False, "csrf": None, "expires_at": None}
    return Reply(value, cookie="")


# -- the crawl -------------------------------------------------------------------------------------------------


async def crawl(api: Api, call: Call) -> Any:
    """Return the state of the crawl, at most two seconds old."""
    return (await api.state.latest()).value


async def url(api: Api, call: Call) -> Any:
    """Return what ``scrapy explain`` says; in public mode only whether it is known."""
    if api.source.has_long_log():
        raise Denial(
            503, "the fetch log is too long to be searched for a page; scrapy explain --json URL answers"
        )
    try:
        found: dict[str, Any] = await api.blocking(api.source.explanation, call.values["url"])
    except (CrawlError, ValueError) as error:
        raise Denial(400, sentence_of(error)) from error
    return _short(found) if api.access.public else found


def sentence_of(error: Exception) -> str:
    """Return the message of an exception in one line. What it quotes may be long."""
    line = " ".join(str(error).split())
    return (
        line if len(line) <= SENTENCE_MAX else f"{line[: SENTENCE_MAX // 2]} ... {line[-SENTENCE_MAX // 2 :]}"
    )


def _short(found: Mapping[str, Any]) -> dict[str, Any]:
    conclusion = found.get("conclusion")
    fate = conclusion.get("fate") if isinstance(conclusion, dict) else None
    return {"fate": fate}


_SESSION = {
    "type": "object",
    "required": ["public", "read", "write", "csrf", "expires_at"],
    "properties": {
        "public": {"type": "boolean", "description": "The dashboard is in public mode."},
        "read": {"type": "boolean"},
        "write": {"type": "boolean"},
        "csrf": {
            "type": ["string", "null"],
            "description": "The value of the header X-CSRF-Token for changes.",
        },
        "expires_at": {"type": ["number", "null"]},
    },
}
_NUMBER = {"type": ["number", "null"]}
_TEXT = {"type": ["string", "null"]}
_CRAWL = {
    "type": "object",
    "required": [
        "name",
        "spider",
        "state",
        "now",
        "storage",
        "version",
        "counts",
        "rates",
        "totals",
        "workers",
    ],
    "properties": {
        "name": {"type": "string"},
        "spider": {"type": "string"},
        "state": {"enum": ["running", "paused", "stopping", "ended", "killed", "not running"]},
        "reason": _TEXT,
        "begun_at": _NUMBER,
        "now": {"type": "number", "description": "Time of these figures, by the clock of the crawl."},
        "user_agent": _TEXT,
        "jobdir": _TEXT,
        "storage": {"type": "string"},
        "version": {"type": "string"},
        "counts": {"type": "object", "additionalProperties": _NUMBER},
        "rates": {"type": "object", "additionalProperties": _NUMBER},
        "totals": {"type": "object", "additionalProperties": _NUMBER},
        "workers": {"type": "array", "items": {"type": "object"}},
        "public": {"type": "boolean"},
    },
}
_URL = Field(name="url", meaning="the URL", required=True, least=1, most=URL_MAX)

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/session",
        name="session",
        summary="What this client may do",
        answer=session,
        right=Right.NONE,
        in_public=True,
        result=_SESSION,
    ),
    Endpoint(
        method="POST",
        path="/session",
        name="log_in",
        summary="Log in with the token: begin a session of a browser",
        answer=log_in,
        body=(Field(name="token", meaning="the token of the dashboard", required=True, least=1, most=1024),),
        right=Right.NONE,
        result=_SESSION,
    ),
    Endpoint(
        method="DELETE",
        path="/session",
        name="log_out",
        summary="Log out: delete the cookie of the session",
        answer=log_out,
        right=Right.NONE,
        result=_SESSION,
    ),
    Endpoint(
        method="GET",
        path="/crawl",
        name="crawl",
        summary="The state of the crawl",
        answer=crawl,
        result=_CRAWL,
    ),
    Endpoint(
        method="GET",
        path="/url",
        name="url",
        summary="Why a URL is fetched or not: what scrapy explain says; in public mode, whether it is known",
        answer=url,
        query=(_URL,),
        in_public=True,
    ),
)
