"""Endpoints for stored pages: the versions of a URL, one as it was, and search in titles and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web

from webcrawl.errors import CrawlError
from webcrawl.web.access import Denial
from webcrawl.web.answers import json_schema
from webcrawl.web.dashboard import stored_pages
from webcrawl.web.dashboard.endpoint import Api, Call, Endpoint, error_sentence, to_denial
from webcrawl.web.dashboard.stored_pages import SANDBOX, NoVersion, PagesAnswer, SearchAnswer
from webcrawl.web.fields import Field

if TYPE_CHECKING:
    from collections.abc import Callable

QUERY_MAX = 500
LIMIT_MAX = 200


async def _call_source(api: Api, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return await api.blocking(function, api.source, *arguments)
    except NoVersion as error:
        raise Denial(404, error_sentence(error)) from error
    except (CrawlError, ValueError) as error:
        raise to_denial(error) from error


async def pages(api: Api, call: Call) -> Any:
    """Return the versions of a URL, and one of them in detail."""
    return await _call_source(api, stored_pages.describe, call.values["url"], call.values["record"] or None)


async def content(api: Api, call: Call) -> Any:
    """Send a stored body in a sandbox."""
    shown = await _call_source(api, stored_pages.show, call.values["record"])
    headers = {**SANDBOX, "Content-Type": shown.content_type}
    if shown.is_download:
        headers["Content-Disposition"] = "attachment; filename=stored-page.bin"
    return web.Response(body=shown.body, headers=headers)


async def search(api: Api, call: Call) -> Any:
    """Return the pages that match best."""
    return await _call_source(api, stored_pages.search, call.values["q"], call.values["limit"])


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/pages",
        name="pages",
        summary="The versions of a URL in the archive, the last one first, and one of them in detail",
        answer=pages,
        query=(
            Field(name="url", meaning="the URL", required=True, least=1),
            Field(name="record", meaning="the version in detail; the last one", default="", most=300),
        ),
        result=json_schema(PagesAnswer),
        finds=True,
    ),
    Endpoint(
        method="GET",
        path="/pages/content",
        name="page_content",
        summary="The body of a stored version, in a sandbox: HTML, text, an image, or a download",
        answer=content,
        query=(Field(name="record", meaning="the version", required=True, least=1, most=300),),
        media_type="*/*",
        result={"type": "string", "format": "binary"},
        finds=True,
    ),
    Endpoint(
        method="GET",
        path="/search",
        name="search",
        summary="The pages that have these words in title or text, the best first",
        answer=search,
        query=(
            Field(
                name="q", meaning="words, as scrapy search takes them", required=True, least=1, most=QUERY_MAX
            ),
            Field(name="limit", meaning="rows", kind="integer", default=50, least=1, most=LIMIT_MAX),
        ),
        result=json_schema(SearchAnswer),
        finds=True,
    ),
)
