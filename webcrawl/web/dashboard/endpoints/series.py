"""Endpoints for time series."""

from __future__ import annotations

from typing import Any, TypedDict

from webcrawl.features.timeseries.reading import POINTS_MAX, SeriesObject
from webcrawl.features.timeseries.store import SeriesStore
from webcrawl.web.access import Denial
from webcrawl.web.answers import json_schema
from webcrawl.web.dashboard.endpoint import Api, Call, Endpoint
from webcrawl.web.fields import Field

_LATEST = 1e11
"""Epoch seconds that no crawl reaches."""


class SeriesName(TypedDict):
    """A series that there is."""

    name: str
    unit: str
    meaning: str


class NamesAnswer(TypedDict):
    """All series."""

    rows: list[SeriesName]


async def names(api: Api, call: Call) -> NamesAnswer:
    """Return the names of all series, with units and meanings."""
    return {
        "rows": [
            {
                "name": figure.name,
                "unit": f"{figure.unit} per second" if figure.is_counter else figure.unit,
                "meaning": figure.meaning,
            }
            for figure in SeriesStore.names()
        ]
    }


async def series(api: Api, call: Call) -> Any:
    """Return series of the whole crawl."""
    values = call.values
    wanted = [name for name in values["names"].split(",") if name]
    try:
        values_read = await api.blocking(
            api.source.series, wanted, values["from"], values["to"], values["points"]
        )
    except ValueError as error:
        known = [figure.name for figure in SeriesStore.names()]
        raise Denial(400, str(error), allowed=known if "no series" in str(error) else None) from error
    return values_read.as_object()


_NAME = f"({'|'.join(figure.name for figure in SeriesStore.names())})"
ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/series/names",
        name="series_names",
        summary="The names of all time series, with units and meanings",
        answer=names,
        result=json_schema(NamesAnswer),
    ),
    Endpoint(
        method="GET",
        path="/series",
        name="series",
        summary="Time series of the whole crawl in steps of equal length; null where nothing is known",
        answer=series,
        query=(
            Field(
                name="names",
                meaning="names with commas between; NAME:max for the largest mean of 10 seconds in each step",
                required=True,
                least=1,
                pattern=f"^{_NAME}(,{_NAME})*$",
            ),
            Field(
                name="from",
                meaning="epoch seconds; the beginning of the crawl",
                kind="number",
                least=0,
                most=_LATEST,
            ),
            Field(name="to", meaning="epoch seconds; now", kind="number", least=0, most=_LATEST),
            Field(
                name="points",
                meaning="about how many values",
                kind="integer",
                default=300,
                least=1,
                most=POINTS_MAX,
            ),
        ),
        result=json_schema(SeriesObject),
    ),
)
