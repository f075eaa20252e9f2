"""Endpoints for short lists: requests, errors, traps and parked hosts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from webcrawl.errors import CrawlError
from webcrawl.web.access import Denial
from webcrawl.web.dashboard import listings, log_tail
from webcrawl.web.dashboard.endpoint import Api, Call, Endpoint, sentence_of
from webcrawl.web.dashboard.listings import LIMIT_MAX, SEARCH_MAX
from webcrawl.web.fields import Field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from webcrawl.web.dashboard.source import CrawlSource

    List = Callable[[CrawlSource, Mapping[str, Any]], dict[str, Any]]


async def _list(function: List, api: Api, call: Call) -> Any:
    try:
        return await api.blocking(function, api.source, call.values)
    except CrawlError as error:
        raise Denial(503, sentence_of(error), 5.0) from error
    except ValueError as error:
        raise Denial(400, sentence_of(error)) from error


_NUMBER = {"type": ["number", "null"]}
_TEXT = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_STATUSES = ("", "2xx", "3xx", "4xx", "5xx", "none")
_ERROR = Field(name="error", meaning="only this kind of error", default="", most=100)


def _log(source: CrawlSource, values: Mapping[str, Any]) -> dict[str, Any]:
    found = log_tail.tail(source.folder, values["log"], values["level"], values["search"], values["limit"])
    return {**found, "note": listings.note(source)}


def _endpoint(
    name: str,
    summary: str,
    function: List,
    columns: Mapping[str, Any],
    filters: tuple[Field, ...] = (),
    **more: Any,
) -> Endpoint:
    row = {"type": "object", "properties": dict(columns)}
    return Endpoint(
        method="GET",
        path=f"/{name}",
        name=name,
        summary=summary,
        answer=partial(_list, function),
        query=(
            Field(name="search", meaning="only rows with this text", default="", most=SEARCH_MAX),
            Field(name="limit", meaning="rows", kind="integer", default=100, least=1, most=LIMIT_MAX),
            *filters,
        ),
        result={
            "type": "object",
            "required": ["rows"],
            "properties": {"rows": {"type": "array", "items": row}, **more},
        },
    )


ENDPOINTS = (
    _endpoint(
        "fetches",
        "The last requests, the last one first",
        listings.fetches,
        {
            **dict.fromkeys(("url", "kind", "error", "mime", "key", "via", "worker"), _TEXT),
            **dict.fromkeys(("status", "bytes", "start", "end", "depth", "seconds"), _NUMBER),
        },
        (
            Field(
                name="status", meaning="only these; none: without a response", default="", choices=_STATUSES
            ),
            Field(name="kind", meaning="only this kind: page, robots", default="", most=50),
            Field(name="host", meaning="only this politeness key", default="", most=300),
            _ERROR,
        ),
        since=_NUMBER,
        note=_TEXT,
    ),
    _endpoint(
        "errors",
        "The last requests that ended without a response, and the number of each kind at the end of the log",
        listings.errors,
        {
            **dict.fromkeys(("error", "url", "kind", "key", "via"), _TEXT),
            **dict.fromkeys(("at", "seconds", "attempt"), _NUMBER),
        },
        (_ERROR,),
        total={"type": "integer"},
        since=_NUMBER,
        kinds={"type": "object", "additionalProperties": {"type": "integer"}},
        note=_TEXT,
    ),
    _endpoint(
        "traps",
        "The URL patterns that are or were in quarantine, the last one first",
        listings.traps,
        {
            **dict.fromkeys(("id", "pattern", "covers", "reason"), _TEXT),
            **dict.fromkeys(("since", "released_at", "examined", "withheld"), _NUMBER),
            "samples": _TEXTS,
        },
        total={"type": "integer"},
    ),
    _endpoint(
        "parked",
        "The parked hosts, those that wait longest first",
        listings.parked,
        {
            **dict.fromkeys(("key", "reason"), _TEXT),
            **dict.fromkeys(("queued", "failures", "until"), _NUMBER),
        },
        total={"type": "integer"},
        as_of=_NUMBER,
    ),
    _endpoint(
        "log",
        "The last messages of a log, the last one first, with its rotated parts",
        _log,
        {
            **dict.fromkeys(("level", "logger", "message"), _TEXT),
            "at": _NUMBER,
            "more": _TEXTS,
        },
        (
            Field(name="log", meaning="the log", default="crawl", choices=tuple(log_tail.NAMES)),
            Field(name="level", meaning="the lowest level; all", default="", choices=("", *log_tail.LEVELS)),
        ),
        since=_NUMBER,
        note=_TEXT,
    ),
)
