"""Endpoints for short lists: requests, errors, traps and parked hosts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from webcrawl.errors import CrawlError
from webcrawl.features.dashboard import listings
from webcrawl.features.dashboard.access import Denial
from webcrawl.features.dashboard.endpoint import Api, Call, Endpoint, sentence_of
from webcrawl.features.dashboard.fields import Field
from webcrawl.features.dashboard.listings import LIMIT_MAX, SEARCH_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from webcrawl.features.dashboard.source import CrawlSource

    List = Callable[[CrawlSource, str, int], dict[str, Any]]


async def _list(function: List, api: Api, call: Call) -> Any:
    try:
        return await api.blocking(function, api.source, call.values["search"], call.values["limit"])
    except CrawlError as error:
        raise Denial(503, sentence_of(error), 5.0) from error
    except ValueError as error:
        raise Denial(400, sentence_of(error)) from error


_NUMBER = {"type": ["number", "null"]}
_TEXT = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": {"type": "string"}}


def _endpoint(name: str, summary: str, function: List, columns: Mapping[str, Any], **more: Any) -> Endpoint:
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
            **dict.fromkeys(("status", "bytes", "end", "depth", "seconds"), _NUMBER),
        },
        note=_TEXT,
    ),
    _endpoint(
        "errors",
        "The last URLs that failed, and the number of each kind of error among those at the end of the log",
        listings.errors,
        {"at": _NUMBER, "error": _TEXT, "url": _TEXT, "detail": _TEXT},
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
            **dict.fromkeys(("key", "last_error"), _TEXT),
            **dict.fromkeys(("queued", "failures", "until"), _NUMBER),
        },
        total={"type": "integer"},
        as_of=_NUMBER,
    ),
)
