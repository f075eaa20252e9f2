"""The stream of server-sent events: the state of the crawl, for pages that show it live."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from webcrawl.web.access import Denial
from webcrawl.web.dashboard.endpoint import EVENTS, Api, Call, Endpoint
from webcrawl.web.fields import as_json

VIEWERS_MAX = 100
"""Streams that are open at a time."""
AWAY_SECONDS = 2.0
"""Time until a crawl that could not be read is read again."""


async def events(api: Api, call: Call) -> Any:
    """Send the state whenever there is a new one. A reader who is slow misses some."""
    if api.viewers >= VIEWERS_MAX:
        raise Denial(503, "too many viewers", 10.0)
    api.viewers += 1
    try:
        response = web.StreamResponse(headers={"Content-Type": EVENTS})
        await response.prepare(call.request)
        await _send(api, response)
        return response
    finally:
        api.viewers -= 1


async def _send(api: Api, response: web.StreamResponse) -> None:
    last = None
    while True:
        try:
            last = await api.state.next(last)
        except Denial as denial:
            # The page says so; the stream stays open until the crawl can be read again.
            await response.write(_event("away", as_json({"error": denial.sentence})))
            await asyncio.sleep(AWAY_SECONDS)
            last = None
        else:
            await response.write(_event("crawl", last.text))


def _event(name: str, text: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + text + b"\n\n"


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/events",
        name="events",
        summary="Server-sent events: crawl, the object of /crawl, every two seconds; away, if it cannot be read",
        answer=events,
        media_type=EVENTS,
        result={"type": "string"},
    ),
)
