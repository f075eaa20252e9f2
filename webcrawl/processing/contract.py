"""The contract of a processing module: the page it gets, the kinds of its fields, and its loading by import path.

The values that a module returns are checked and cleaned by their kinds, so that every store, feed or terminal accepts
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, assert_never

from webcrawl.parsing.charset import detect_encoding
from webcrawl.parsing.text import line, lines

if TYPE_CHECKING:
    from webcrawl.parsing.html import ParsedPage


Row = tuple[str, int, str, str | None, dict[str, str], bytes, bool]
"""A Content as plain values."""


@dataclass(slots=True)
class Content:
    """A page as it was fetched, with its content coding removed."""

    url: str
    status: int
    mime: str
    """The type in lower case, without parameters; HTML only if the page is HTML: see
    ``parsing.mime.document_type``.
    """
    encoding: str | None
    """The Python codec of its text if it is known already; otherwise ``text`` detects it."""
    headers: Mapping[str, str]
    """Headers by their names in lower case; several of a name are joined by commas."""
    body: bytes
    truncated: bool = False
    """True if the body was cut, as one longer than DOWNLOAD_MAXSIZE is."""
    document: ParsedPage | None = None
    """The parser's findings in an HTML page; for modules that run in place, None for all others."""
    shared: dict[str, Any] = field(default_factory=dict)
    """Values that modules leave for later modules on the same page."""
    _text: str | None = None

    @property
    def text(self) -> str:
        """The body as text, decoded as in browsers, whatever it contains. It is the whole body, so mind the time."""
        if self._text is None:
            encoding = self.encoding or detect_encoding(self.body, self.headers.get("content-type"))
            self._text = self.body.decode(encoding, "replace").removeprefix("\ufeff")
        return self._text

    def row(self) -> Row:
        """Return the page as plain values, without the data for modules in place."""
        return (
            self.url,
            self.status,
            self.mime,
            self.encoding,
            dict(self.headers),
            self.body,
            self.truncated,
        )


LINE_MAX = 2_000
"""The most characters of a line."""
TEXT_MAX = 1 << 24
"""The most characters of a text: more than a body of any usual limit has."""
ENTRIES_MAX = 1_000
"""The most entries of a list or a mapping."""
_WHOLE_MAX = 2**63 - 1
"""Typed file formats have 64 bits for a number."""

Value = str | int | float | bool | list[str] | dict[str, int] | dict[str, str] | None


class FieldType(StrEnum):
    """The types of fields. In CSV lists and mappings are JSON."""

    LINE = "line"
    """Text in one line, at most ``LINE_MAX`` characters."""
    TEXT = "text"
    """Text in several lines, at most ``TEXT_MAX`` characters."""
    WHOLE = "whole"
    REAL = "real"
    """A number; moments are epoch seconds."""
    FLAG = "flag"
    LINES = "lines"
    """A list of lines."""
    COUNTS = "counts"
    """A mapping from lines to whole numbers."""
    NAMED = "named"
    """Lines by names, which are lines too."""


def cleaned(value: Any, kind: FieldType) -> Value:
    """Return ``value`` as a field of this kind; None for an empty, non-finite or too large value.

    :raises TypeError: :raises ValueError: the value is not of that kind
    """
    if value is None:
        return None
    match kind:
        case FieldType.LINE:
            return line(_text(value), LINE_MAX) or None
        case FieldType.TEXT:
            return lines(_text(value), TEXT_MAX) or None
        case FieldType.WHOLE:
            return _whole(value)
        case FieldType.REAL:
            number = float(value)
            return number if math.isfinite(number) else None
        case FieldType.FLAG:
            return bool(value)
        case FieldType.LINES:
            return [each for each in dict.fromkeys(_lines(value)) if each] or None
        case FieldType.COUNTS:
            counts = zip(_lines(value), map(_whole, value.values()), strict=False)
            return {name: count for name, count in counts if count is not None} or None
        case FieldType.NAMED:
            named = zip(_lines(value), _lines(value.values()), strict=False)
            return {name: text for name, text in named if text} or None
        case _:
            assert_never(kind)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is expected, not {type(value).__name__}")
    return value


def _whole(value: Any) -> int | None:
    number = int(value)
    return number if -_WHOLE_MAX <= number <= _WHOLE_MAX else None


def _lines(value: Iterable[Any] | Mapping[Any, Any]) -> list[str]:
    if isinstance(value, str):
        raise TypeError("several lines are expected, not one")
    lines = []
    for number, each in enumerate(value):
        if number == ENTRIES_MAX:
            break
        lines.append(line(_text(each), LINE_MAX))
    return lines


TITLE, LINKS = "title", "links"
"""Fields that a module may return without declaring them: the page's title if the parser found none, and links.

Links are URLs as written in the page, or pairs of URL and text; they are resolved and followed as a page's links are.
"""


class Module(Protocol):
    """A class without arguments. It is instantiated once in each process that runs it, which is where it imports
    heavy libraries; its class attributes are read in the crawl itself.

    It may have ``in_place = True``: then it runs on the event loop, gets ``content.document``, and must be done in
    some microseconds. Without that it runs in another process, where it may take its time and fail in any way.

    It may have ``packages``, the names of packages that it imports and that not every environment has: a crawl with
    the module does not start without them.
    """

    mime_types: Sequence[str]
    """The types that it processes, in lower case, ``text/*`` and the like included."""
    fields: Mapping[str, str]
    """The fields that it may return, by their names, with their types: values of ``FieldType``. The columns of feeds
    are made of these, so undeclared fields are dropped. Several modules may return the same field, of one type: the
    first one that returns it for a page counts.
    """

    def process(self, content: Content) -> Mapping[str, Any]:
        """Return the fields of a page; missing ones and None are left out. May raise any exception: it is an error of
        this page.
        """


class ModuleResult(NamedTuple):
    """The result of one module for one page; plain values."""

    fields: dict[str, Value]
    links: list[tuple[str, str]]
    """URL as written in the page, and text."""
    problem: str | None = None
    """The reason why there is no result, or an incomplete one."""


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A module's class with its declarations."""

    path: str
    type: type[Module]
    mime_types: tuple[str, ...]
    fields: dict[str, FieldType]
    in_place: bool
    packages: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the module in logs and figures, and the type of the links that it finds."""
        return self.path.rpartition(".")[2].lower()


def load(path: str) -> LoadedModule:
    """Return the module with this import path. Raises ImportError if there is none, TypeError if it is no module."""
    package, _, name = path.rpartition(".")
    try:
        module_class = getattr(import_module(package), name)
    except (AttributeError, ValueError) as error:
        raise ImportError(str(error)) from error
    if not isinstance(module_class, type) or not callable(getattr(module_class, "process", None)):
        raise TypeError(f"{path} is no class with a method process")
    mime_types = getattr(module_class, "mime_types", None)
    if isinstance(mime_types, str) or not mime_types or not all("/" in str(each) for each in mime_types):
        raise TypeError(f"{path}.mime_types is no list of MIME types")
    declared = getattr(module_class, "fields", None)
    try:
        fields = {str(name): FieldType(kind) for name, kind in declared.items()}  # type: ignore[union-attr]
    except (AttributeError, ValueError) as error:
        kinds = ", ".join(FieldType)
        raise TypeError(f"{path}.fields must name each field with its kind ({kinds}): {error}") from error
    packages = getattr(module_class, "packages", ())
    if isinstance(packages, str) or not all(isinstance(each, str) for each in packages):
        raise TypeError(f"{path}.packages is no list of the names of packages")
    in_place = bool(getattr(module_class, "in_place", False))
    return LoadedModule(path, module_class, tuple(mime_types), fields, in_place, tuple(packages))


def merge_schemas(modules: Iterable[LoadedModule]) -> dict[str, FieldType]:
    """Return all fields that these modules may produce, in their order. Raises TypeError if two declare one
    differently.
    """
    schema: dict[str, FieldType] = {}
    for module in modules:
        for name, kind in module.fields.items():
            if name == TITLE:
                continue
            if name == LINKS or schema.setdefault(name, kind) != kind:
                raise TypeError(f"{module.path} has a field {name} of another kind than the one before it")
    return schema
