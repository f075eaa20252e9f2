"""Endpoints for the state of the crawl, and of one URL."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from webcrawl.errors import CrawlError
from webcrawl.explain.account import Fate
from webcrawl.web.answers import json_schema
from webcrawl.web.dashboard.endpoint import Api, Call, Endpoint, to_denial
from webcrawl.web.dashboard.state import CrawlAnswer
from webcrawl.web.fields import Field

if TYPE_CHECKING:
    from collections.abc import Mapping

URL_MAX = 8192


async def crawl(api: Api, call: Call) -> Any:
    """Return the state of the crawl, at most two seconds old."""
    return (await api.state.latest()).value


async def url(api: Api, call: Call) -> Any:
    """Return what ``scrapy explain`` says; in public mode only whether it is known."""
    is_public = api.access.public
    if is_public:
        api.ration.take(call)
    try:
        answer: dict[str, Any] = await api.blocking(
            partial(api.source.explanation, call.values["url"], reads_logs=not is_public)
        )
    except (CrawlError, ValueError) as error:
        raise to_denial(error) from error
    return _short(answer) if is_public else answer


_PUBLIC = {
    Fate.DONE: "done",
    Fate.FAILED: "failed",
    Fate.REFUSED: "refused",
    Fate.SETTLED: "done",
    Fate.WAITS: "queued",
    Fate.KEPT: "queued",
    Fate.WILL_BE_REFUSED: "queued",
    Fate.WOULD_BE_REFUSED: "refused",
    Fate.WOULD_BE_QUEUED: "unknown",
    Fate.ROBOTS: "unknown",
}
"""The fates of a URL that everybody may know."""


def _short(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"fate": _PUBLIC[Fate(answer["conclusion"]["fate"])]}


_URL = Field(name="url", meaning="the URL", required=True, least=1, most=URL_MAX)

ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/crawl",
        name="crawl",
        summary="The state of the crawl",
        answer=crawl,
        result=json_schema(CrawlAnswer),
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
