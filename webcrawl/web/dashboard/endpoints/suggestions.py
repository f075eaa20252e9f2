"""Endpoints for suggested URLs: visitors of a public dashboard suggest them, operators see them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TypedDict

from webcrawl.errors import CrawlError
from webcrawl.features.steering.store import Suggestion
from webcrawl.web.answers import json_schema
from webcrawl.web.dashboard.endpoint import Api, Call, Endpoint, to_denial
from webcrawl.web.fields import Field

NOTE_MAX = 500


class SuggestionsAnswer(TypedDict):
    """The suggested URLs."""

    rows: list[Suggestion]


class HeldAnswer(TypedDict):
    """What became of a suggestion."""

    sentence: str


async def suggest(api: Api, call: Call) -> Any:
    """Hold a URL until an operator decides."""
    api.ration.take(call)
    values = call.values
    try:
        await api.blocking(api.source.suggest, values["url"], values["note"], call.by)
    except (CrawlError, ValueError) as error:
        raise to_denial(error) from error
    return {"sentence": "The URL is held until an operator decides."}


async def suggestions(api: Api, call: Call) -> Any:
    """Return all suggestions that are kept."""
    return {"rows": [asdict(suggestion) for suggestion in await api.blocking(api.source.suggestions)]}


PUBLIC = (
    Endpoint(
        method="POST",
        path="/suggestions",
        name="suggest",
        summary="Suggest a URL, which an operator accepts or rejects",
        answer=suggest,
        body=(
            Field(name="url", meaning="the URL", required=True, least=1),
            Field(name="note", meaning="a note for the operators", default="", most=NOTE_MAX),
        ),
        in_public=True,
        result=json_schema(HeldAnswer),
    ),
)
ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/suggestions",
        name="suggestions",
        summary="The suggested URLs, oldest first",
        answer=suggestions,
        result=json_schema(SuggestionsAnswer),
    ),
)
