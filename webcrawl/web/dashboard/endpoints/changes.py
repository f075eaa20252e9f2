"""Endpoints for what operators change of the crawl."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TypedDict

from webcrawl.features.steering.store import JOURNAL_MOST, JournalEntry
from webcrawl.web.answers import json_schema
from webcrawl.web.dashboard.endpoint import Api, Call, Endpoint
from webcrawl.web.dashboard.source import GraphMark
from webcrawl.web.fields import Field


class ChangesAnswer(TypedDict):
    """The last changes by operators."""

    rows: list[JournalEntry]


class MarksAnswer(TypedDict):
    """Moments for graphs."""

    rows: list[GraphMark]


async def journal(api: Api, call: Call) -> Any:
    """Return the last changes."""
    return {
        "rows": [asdict(change) for change in await api.blocking(api.source.journal, call.values["limit"])]
    }


async def marks(api: Api, call: Call) -> Any:
    """Return the moments that explain a bend in a graph."""
    return {"rows": await api.blocking(api.source.marks)}


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/marks",
        name="marks",
        summary="Moments for graphs: when runs began and ended, and changes by operators; in the order of time",
        answer=marks,
        result=json_schema(MarksAnswer),
    ),
    Endpoint(
        method="GET",
        path="/changes",
        name="changes",
        summary="The last changes by operators, the latest first: who, when, what, old and new",
        answer=journal,
        query=(
            Field(
                name="limit",
                meaning="the number of changes",
                kind="integer",
                default=100,
                least=1,
                most=JOURNAL_MOST,
            ),
        ),
        result=json_schema(ChangesAnswer),
    ),
)
