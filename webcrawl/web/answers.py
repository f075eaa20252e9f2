"""The description of answers: the JSON Schema of the types that the functions return which make them.

An answer is a TypedDict beside its function, so the type checker sees a member that is missing, and the description
has all of them. Rows that are dataclasses are sent by ``asdict``.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

Figures = dict[str, float | None]
"""Numbers by name."""

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


def json_schema(form: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type: ``str``, ``int``, ``float``, ``bool``, a ``StrEnum``, a ``Literal``, a
    TypedDict or a dataclass, lists and dictionaries of these, each of them perhaps None; ``Annotated`` has a
    description.
    """
    origin, arguments = get_origin(form), get_args(form)
    if is_typeddict(form) or is_dataclass(form):
        members = get_type_hints(form, include_extras=True)
        required = [name for name, member in members.items() if get_origin(member) is not NotRequired]
        properties = {name: json_schema(member) for name, member in members.items()}
        return {"type": "object", "required": required, "properties": properties}
    if origin is NotRequired:
        return json_schema(arguments[0])
    if origin is Annotated:
        return json_schema(arguments[0]) | {"description": arguments[1]}
    if origin in (Union, UnionType):
        [other] = [argument for argument in arguments if argument is not NoneType]
        schema = json_schema(other)
        if "enum" in schema:
            return {"enum": [*schema["enum"], None]}
        return schema | {"type": [schema["type"], "null"]}
    if origin is list:
        return {"type": "array", "items": json_schema(arguments[0])}
    if origin is dict:
        items = {} if arguments[1] is Any else {"additionalProperties": json_schema(arguments[1])}
        return {"type": "object", **items}
    if origin is Literal:
        return {"enum": list(arguments)}
    if issubclass(form, StrEnum):
        return {"enum": [str(value) for value in form]}
    return {"type": _TYPES[form]}
