"""The description of an answer follows from its type."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from tests.rows import each_row
from webcrawl.web.answers import Figures, json_schema


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(TypedDict):
    name: str
    count: int | None


class Whole(Part):
    parts: Annotated[list[Part], "the parts"]
    more: NotRequired[bool]
    colour: Colour
    first: Part | None


PART = {"name": {"type": "string"}, "count": {"type": ["integer", "null"]}}
DESCRIBED = {"type": "object", "required": ["name", "count"], "properties": PART}


@each_row(
    ("form", "schema"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (float | None, {"type": ["number", "null"]}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Colour, {"enum": ["red", "blue"]}),
        (Colour | None, {"enum": ["red", "blue", None]}),
        (dict[str, Any], {"type": "object"}),
        (Figures, {"type": "object", "additionalProperties": {"type": ["number", "null"]}}),
        (Annotated[int | None, "why"], {"type": ["integer", "null"], "description": "why"}),
        (
            Whole,
            {
                "type": "object",
                "required": ["name", "count", "parts", "colour", "first"],
                "properties": {
                    **PART,
                    "parts": {"type": "array", "items": DESCRIBED, "description": "the parts"},
                    "more": {"type": "boolean"},
                    "colour": {"enum": ["red", "blue"]},
                    "first": {**DESCRIBED, "type": ["object", "null"]},
                },
            },
        ),
    ],
    ids=str,
)
def test_a_schema_is_that_of_the_type(form: Any, schema: dict[str, Any]) -> None:
    assert json_schema(form) == schema
