"""Endpoints for the state of the crawl, and of one URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webcrawl.errors import CrawlError
from webcrawl.features.dashboard.access import Denial
from webcrawl.features.dashboard.endpoint import Api, Call, Endpoint, sentence_of
from webcrawl.features.dashboard.fields import Field

if TYPE_CHECKING:
    from collections.abc import Mapping

URL_MAX = 8192


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


def _short(found: Mapping[str, Any]) -> dict[str, Any]:
    conclusion = found.get("conclusion")
    fate = conclusion.get("fate") if isinstance(conclusion, dict) else None
    return {"fate": fate}


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
        "politeness": {"type": "object", "additionalProperties": _NUMBER},
        "disk": {"type": "object", "additionalProperties": _NUMBER},
        "memory": {"type": "object", "additionalProperties": _NUMBER},
        "bandwidth": {"type": "object", "additionalProperties": _NUMBER},
        "limits": {"type": "object", "additionalProperties": _NUMBER},
        "overlay": {"type": "object", "additionalProperties": {"type": "object"}},
        "workers": {"type": "array", "items": {"type": "object"}},
        "public": {"type": "boolean"},
    },
}
_URL = Field(name="url", meaning="the URL", required=True, least=1, most=URL_MAX)

ENDPOINTS = (
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
