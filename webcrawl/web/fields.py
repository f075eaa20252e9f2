"""The values that endpoints take, and JSON as the API reads and writes it.

One table of fields gives both the check of a request and its part of the OpenAPI description.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl

from webcrawl.web.access import Denial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Kind = Literal["string", "integer", "number", "boolean", "strings", "scalar"]
"""``strings``: a list of them. ``scalar``: a string, a number, a boolean, or null."""

TEXT_MAX = 2048
"""Characters of a text, unless its field says otherwise."""
FIELDS_MAX = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A parameter of a query or a member of a body."""

    name: str
    meaning: str
    kind: Kind = "string"
    required: bool = False
    default: Any = None
    least: float | None = None
    most: float | None = None
    """The limits of a number, or of the length of a text or a list."""
    choices: tuple[str, ...] = ()
    nullable: bool = False
    each_most: int = TEXT_MAX
    """Characters of each text of a list."""
    pattern: str = ""
    """The expression of a text, for the description; its endpoint refuses other texts."""

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        if self.kind == "scalar":
            return {"type": ["string", "number", "boolean", "null"], "description": self.meaning}
        schema: dict[str, Any] = {"type": self.kind, "description": self.meaning}
        if self.kind == "strings":
            schema |= {"type": "array", "items": _text_schema(1, self.each_most)}
            schema |= {"minItems": self._items_min, "maxItems": int(self.most or 1)}
        elif self.choices:
            schema["enum"] = list(self.choices)
        elif self.kind == "string":
            schema |= _text_schema(int(self.least or 0), int(self.most or TEXT_MAX))
            schema |= {"pattern": self.pattern} if self.pattern else {}
        else:
            schema |= {} if self.least is None else {"minimum": self.least}
            schema |= {} if self.most is None else {"maximum": self.most}
        if self.default is not None:
            schema["default"] = self.default
        if self.nullable:
            schema["type"] = [schema["type"], "null"]
        return schema

    @property
    def _items_min(self) -> int:
        return 1 if self.least is None else int(self.least)

    def from_text(self, text: str) -> Any:
        """Return the value of a parameter in a query. :raises Denial: it is wrong"""
        if self.kind in ("integer", "number"):
            try:
                # Python also reads 1_000 and other digits.
                if not text.isascii() or "_" in text:
                    raise ValueError
                return self.checked(int(text) if self.kind == "integer" else float(text))
            except ValueError:
                raise self._wrong(text) from None
        if self.kind == "boolean":
            if text not in ("true", "false"):
                raise self._wrong(text)
            return text == "true"
        return self.checked(text)

    def checked(self, value: Any) -> Any:
        """Return a value, or raise Denial if it is not allowed."""
        if value is None and self.nullable:
            return None
        try:
            is_right = self._is_right(value)
        except OverflowError:
            # A whole number that no float can hold.
            is_right = False
        if not is_right:
            raise self._wrong(value)
        return value

    def _is_right(self, value: Any) -> bool:
        match self.kind:
            case "string":
                return (
                    isinstance(value, str)
                    and int(self.least or 0) <= len(value) <= int(self.most or TEXT_MAX)
                    and is_plain(value)
                    and (not self.choices or value in self.choices)
                )
            case "strings":
                return (
                    isinstance(value, list)
                    and self._items_min <= len(value) <= int(self.most or 1)
                    and all(
                        isinstance(item, str) and 0 < len(item) <= self.each_most and is_plain(item)
                        for item in value
                    )
                )
            case "boolean":
                return isinstance(value, bool)
            case "scalar":
                return value is None or (
                    is_plain(value) and len(value) <= (self.most or TEXT_MAX)
                    if isinstance(value, str)
                    else isinstance(value, bool | int | float) and math.isfinite(value)
                )
        is_number = isinstance(value, int if self.kind == "integer" else int | float)
        return (
            is_number
            and not isinstance(value, bool)
            and math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
        )

    def _wrong(self, value: Any) -> Denial:
        try:
            shown = ascii(value)
        except ValueError:
            # Python does not write numbers of thousands of digits.
            shown = "this number"
        shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
        return Denial(400, f"{self.name} must be {self.allowed()}, not {shown}", allowed=self.schema())

    def allowed(self) -> str:
        """Return the allowed values, which complete the sentence 'must be ...'."""
        match self.kind:
            case _ if self.choices:
                return f"one of {', '.join(self.choices)}"
            case "string":
                return (
                    f"text of {int(self.least or 0)} to {int(self.most or TEXT_MAX)} characters without null "
                    "characters and lone surrogates"
                )
            case "strings":
                least, most = self._items_min, int(self.most or 1)
                return f"a list of {least} to {most} texts of at most {self.each_most} characters"
            case "scalar":
                return "a text, a number, true, false or null"
            case "boolean":
                return "true or false"
        word = "a whole number" if self.kind == "integer" else "a number"
        limits = [
            *([] if self.least is None else [f"at least {self.least:.15g}"]),
            *([] if self.most is None else [f"at most {self.most:.15g}"]),
        ]
        return " ".join([word, " and ".join(limits)]).strip()


def _text_schema(least: int, most: int) -> dict[str, Any]:
    return {"type": "string", "minLength": least, "maxLength": most, "pattern": "^[^\\u0000]*$"}


def is_plain(text: str) -> bool:
    """Return True for text that can be encoded and stored anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def read_query(text: str, fields: Sequence[Field]) -> dict[str, Any]:
    """Return the values of a query string; missing ones have their defaults. :raises Denial: it is wrong"""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError:
        raise Denial(
            400, f"the query must be UTF-8 in percent-encoding, of at most {FIELDS_MAX} parameters"
        ) from None
    known = {field.name: field for field in fields}
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name not in known:
            raise _unknown(name, known)
        if name in values:
            raise Denial(400, f"{name} is given twice")
        values[name] = known[name].from_text(value)
    return _completed(values, fields)


def read_body(content: bytes, fields: Sequence[Field]) -> dict[str, Any]:
    """Return the values of a body, an object in JSON; no body is an empty one. :raises Denial: it is wrong"""
    if not content:
        return _completed({}, fields)
    try:
        value = json.loads(content.decode(), parse_constant=_no_number, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, _Wrong) else "the body must be JSON in UTF-8"
        raise Denial(400, why) from None
    if not isinstance(value, dict):
        raise Denial(400, "the body must be an object")
    known = {field.name: field for field in fields}
    for name in value:
        if name not in known:
            raise _unknown(name, known)
    return _completed({name: known[name].checked(item) for name, item in value.items()}, fields)


def _completed(values: dict[str, Any], fields: Sequence[Field]) -> dict[str, Any]:
    for field in fields:
        if field.name not in values:
            if field.required:
                raise Denial(400, f"{field.name} is missing: {field.meaning}")
            values[field.name] = field.default
    return values


def _unknown(name: str, known: Mapping[str, Field]) -> Denial:
    allowed = ", ".join(known) or "none"
    return Denial(400, f"{name[:60]!a} is not known here; known: {allowed}", allowed=list(known))


class _Wrong(ValueError):  # noqa: N818 - as Denial
    """A ValueError whose message is for the caller."""


def _no_number(name: str) -> None:
    raise _Wrong(f"{name} is no JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields_of_object = dict(pairs)
    if len(fields_of_object) < len(pairs):
        raise _Wrong("a member of the body is given twice")
    return fields_of_object


def as_json(value: Any) -> bytes:
    """Return a value as JSON in ASCII. Numbers that JSON does not have become null."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, separators=(",", ":")).encode("ascii")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
