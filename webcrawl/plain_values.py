"""Values as JSON and back, of exactly the same types, without pickle: plain data, dates, and items.

Decoded values are of known types alone. The class of an item is imported by its name, and must be an item class.
"""

from __future__ import annotations

import base64
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import TYPE_CHECKING, Any

from scrapy import Item
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TAG = "$"
LOST = object()
_DEEPEST = 50
_LARGEST_BITS = 10_000


def plain_items(items: dict[Any, Any], what: str, lost: list[str]) -> Any:
    """Return ``items`` without those that cannot be encoded."""
    pairs = []
    for name, value in items.items():
        key, part = (plain(each, f"{what}[{name!r}]", lost) for each in (name, value))
        if key is not LOST and part is not LOST:
            pairs.append((key, part))
    return _mapping(pairs)


def plain(value: Any, what: str, lost: list[str], depth: int = 0) -> Any:
    """Return ``value`` as JSON, with a tag for types that JSON lacks; LOST if it cannot be encoded.

    Of containers only the plain types are encoded: a subclass would be decoded as another type. An item of Scrapy or
    of a dataclass is decoded with its fields, without a call of its ``__init__``.
    """
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        if not isinstance(value, int) or value.bit_length() <= _LARGEST_BITS:
            return value
    elif type(value) is bytes:
        return {_TAG: "bytes", "v": base64.b64encode(value).decode("ascii")}
    elif depth < _DEEPEST and type(value) in (list, tuple, set, frozenset):
        parts = [plain(part, what, lost, depth + 1) for part in value]
        if any(part is LOST for part in parts):
            return LOST
        return parts if type(value) is list else {_TAG: type(value).__name__, "v": parts}
    elif depth < _DEEPEST and type(value) is dict:
        pairs = [tuple(plain(part, what, lost, depth + 1) for part in pair) for pair in value.items()]
        if any(part is LOST for pair in pairs for part in pair):
            return LOST
        return _mapping(pairs)
    elif (written := _of_a_class(value, what, lost, depth)) is not None:
        return written
    lost.append(f"{what} ({type(value).__name__})")
    return LOST


def _of_a_class(value: Any, what: str, lost: list[str], depth: int) -> Any:
    """Return a date, a number or an item with a tag; LOST for an item that contains a lost value, None for anything
    else.
    """
    if type(value) in _TEXTS and (text := _TEXTS[type(value)](value)):
        return {_TAG: type(value).__name__, "v": text}
    parts = _item_fields(value)
    name = None if parts is None or depth >= _DEEPEST else found_as(type(value))
    if name is None:
        return None
    written = plain(parts, what, lost, depth + 1)
    return written if written is LOST else {_TAG: "item", "v": [name, written]}


def _item_fields(value: Any) -> dict[str, Any] | None:
    """Return the fields of an item; None for other values, and for items with further attributes."""
    if isinstance(value, Item):
        return dict(value)
    if not is_dataclass(type(value)):
        return None
    values = {part.name: getattr(value, part.name, LOST) for part in fields(value)}
    return values if getattr(value, "__dict__", {}).keys() <= values.keys() else None


def found_as(kind: type) -> str | None:
    """Return the name by which a class can be imported; None if it cannot."""
    name = global_object_name(kind)
    try:
        return name if load_object(name) is kind else None
    except (ValueError, ImportError, NameError):
        return None


def _moment(value: datetime) -> str | None:
    """Return a datetime as text; None for one in a zone with rules, which the text would lose."""
    return value.isoformat() if type(value.tzinfo) in (NoneType, timezone) and not value.fold else None


_TEXTS: dict[type, Callable[[Any], str | None]] = {datetime: _moment, date: date.isoformat, Decimal: str}


def _mapping(pairs: Sequence[tuple[Any, ...]]) -> Any:
    if all(isinstance(key, str) and key != _TAG for key, _ in pairs):
        return dict(pairs)
    return {_TAG: "dict", "v": [list(pair) for pair in pairs]}


_BUILDERS: dict[str, Callable[[Any], Any]] = {
    "bytes": lambda value: base64.b64decode(value),
    "tuple": lambda value: tuple(plain_from(value)),
    "set": lambda value: set(plain_from(value)),
    "frozenset": lambda value: frozenset(plain_from(value)),
    "dict": lambda value: {plain_from(key): plain_from(part) for key, part in value},
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "Decimal": Decimal,
    "item": lambda value: _item(value[0], plain_from(value[1])),
}


def _item(name: str, parts: dict[str, Any]) -> Any:
    kind = load_object(name)
    if isinstance(kind, type) and issubclass(kind, Item):
        return kind(parts)
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise TypeError(f"{name} is no class of items")
    instance = object.__new__(kind)
    for field, value in parts.items():
        object.__setattr__(instance, field, value)
    return instance


def plain_from(value: Any) -> Any:
    if isinstance(value, list):
        return [plain_from(part) for part in value]
    if isinstance(value, dict):
        if _TAG in value:
            return _BUILDERS[value[_TAG]](value["v"])
        return {key: plain_from(part) for key, part in value.items()}
    return value
