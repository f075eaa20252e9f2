"""Endpoints for short lists: requests, errors, traps and parked hosts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from webcrawl.errors import CrawlError
from webcrawl.politeness.refusals import KINDS
from webcrawl.web.access import Denial
from webcrawl.web.answers import json_schema
from webcrawl.web.dashboard import listings, log_tail
from webcrawl.web.dashboard.endpoint import Api, Call, Endpoint, error_sentence
from webcrawl.web.dashboard.listings import LIMIT_MAX, SEARCH_MAX
from webcrawl.web.fields import Field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from webcrawl.web.dashboard.source import CrawlSource

    List = Callable[[CrawlSource, Mapping[str, Any]], Mapping[str, Any]]


async def _list(function: List, api: Api, call: Call) -> Any:
    try:
        return await api.blocking(function, api.source, call.values)
    except CrawlError as error:
        raise Denial(503, error_sentence(error), 5.0) from error
    except ValueError as error:
        raise Denial(400, error_sentence(error)) from error


class LogAnswer(log_tail.LogTail):
    """The last messages of a log."""

    note: str | None


_STATUSES = ("", "2xx", "3xx", "4xx", "5xx", "none")
_ERROR = Field(name="error", meaning="only this kind of error", default="", most=100)


def _log(source: CrawlSource, values: Mapping[str, Any]) -> LogAnswer:
    tail = log_tail.tail(source.folder, values["log"], values["level"], values["search"], values["limit"])
    return {**tail, "note": listings.note(source)}


def _endpoint(
    name: str,
    summary: str,
    function: List,
    form: type,
    filters: tuple[Field, ...] = (),
) -> Endpoint:
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
        result=json_schema(form),
    )


ENDPOINTS = (
    _endpoint(
        "fetches",
        "The last requests, the last one first",
        listings.fetches,
        listings.FetchesAnswer,
        (
            Field(
                name="status", meaning="only these; none: without a response", default="", choices=_STATUSES
            ),
            Field(name="kind", meaning="only this kind: page, robots", default="", most=50),
            Field(name="host", meaning="only this politeness key", default="", most=300),
            _ERROR,
            Field(
                name="refusal",
                meaning="only responses by which sites refused, of this kind; any: of all kinds",
                default="",
                choices=("", "any", *KINDS),
            ),
            Field(
                name="withheld",
                meaning="yes: only what may not be used for what the crawl is for",
                default="",
                choices=("", "yes"),
            ),
        ),
    ),
    _endpoint(
        "errors",
        "The last requests that ended without a response, and the number of each kind at the end of the log",
        listings.errors,
        listings.ErrorsAnswer,
        (_ERROR,),
    ),
    _endpoint(
        "traps",
        "The URL patterns that are or were in quarantine, the last one first",
        listings.traps,
        listings.TrapsAnswer,
    ),
    _endpoint(
        "parked",
        "The parked hosts, those that wait longest first",
        listings.parked,
        listings.ParkedAnswer,
    ),
    _endpoint(
        "log",
        "The last messages of a log, the last one first, with its rotated parts",
        _log,
        LogAnswer,
        (
            Field(name="log", meaning="the log", default="crawl", choices=tuple(log_tail.NAMES)),
            Field(name="level", meaning="the lowest level; all", default="", choices=("", *log_tail.LEVELS)),
        ),
    ),
)
