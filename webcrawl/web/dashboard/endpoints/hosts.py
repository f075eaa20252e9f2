"""Endpoints for the hosts of the crawl: a table of all of them, and one in whole."""

from __future__ import annotations

from typing import Any

from webcrawl.errors import CrawlError
from webcrawl.web.access import Denial
from webcrawl.web.answers import json_schema
from webcrawl.web.dashboard.endpoint import Api, Call, Endpoint, error_sentence
from webcrawl.web.dashboard.host_index import CHOICES, LIMIT_MAX, OFFSET_MAX, SEARCH_MAX, SORTS, HostsAnswer
from webcrawl.web.fields import Field

KEY_MAX = 300


async def hosts(api: Api, call: Call) -> Any:
    """Return a page of the table of hosts."""
    try:
        return await api.blocking(api.source.hosts, dict(call.values))
    except ValueError as error:
        raise Denial(400, error_sentence(error)) from error
    except (CrawlError, OSError) as error:
        raise Denial(503, error_sentence(error), 5.0) from error


async def host(api: Api, call: Call) -> Any:
    """Return everything that is known of a host."""
    key = call.values["key"].lower()
    try:
        summary = await api.blocking(api.source.host, key)
    except CrawlError as error:
        raise Denial(503, error_sentence(error), 5.0) from error
    if summary is None:
        raise Denial(404, "the crawl does not know this host")
    return summary


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/hosts",
        name="hosts",
        summary="The hosts of the crawl: sorted, searched and in pages. They are those of the time as_of",
        answer=hosts,
        query=(
            Field(name="search", meaning="a part of the name", default="", most=SEARCH_MAX),
            Field(
                name="state",
                meaning="only hosts of this state; refusing: parked since they refuse",
                default="",
                choices=("", *CHOICES),
            ),
            Field(name="sort", meaning="the column", default="queued", choices=tuple(SORTS)),
            Field(name="order", meaning="the direction", default="desc", choices=("asc", "desc")),
            Field(name="limit", meaning="rows", kind="integer", default=50, least=1, most=LIMIT_MAX),
            Field(
                name="offset",
                meaning="rows to pass over",
                kind="integer",
                default=0,
                least=0,
                most=OFFSET_MAX,
            ),
        ),
        result=json_schema(HostsAnswer),
    ),
    Endpoint(
        method="GET",
        path="/host",
        name="host",
        summary="Everything that is known of one host",
        answer=host,
        query=(Field(name="key", meaning="its politeness key", required=True, least=1, most=KEY_MAX),),
        finds=True,
    ),
)
