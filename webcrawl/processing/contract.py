"""The contract of a processing module, and how a setting's import path becomes one.

What a module is given of a page.

Fields: what kinds there are, and how what a module gives becomes a value that no store, feed or terminal minds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, assert_never

from webcrawl.parsing.charset import encoding_of
from webcrawl.parsing.text import line, lines

if TYPE_CHECKING:
    from webcrawl.parsing.html import Document


Row = tuple[str, int, str, str | None, dict[str, str], bytes, bool]
"""A Content as plain values."""


@dataclass(slots=True)
class Content:
    """A page as it was fetched, with its content coding taken off."""

    url: str
    status: int
    mime: str
    """In lower case, without parameters, and HTML only where it is: see ``documents.mime.document_type``."""
    encoding: str | None
    """The Python codec of its text where it is known already; ``text`` finds out otherwise."""
    headers: Mapping[str, str]
    """By their names in lower case; several of a name are joined by commas."""
    body: bytes
    truncated: bool = False
    """Whether the body was cut, as one longer than DOWNLOAD_MAXSIZE is."""
    document: Document | None = None
    """What the parser found in an HTML page; for modules that run in place, None for all others."""
    shared: dict[str, Any] = field(default_factory=dict)
    """What modules leave for those that come after them on the same page."""
    _text: str | None = None

    @property
    def text(self) -> str:
        """The body as text: decoded as browsers do, whatever it holds. The whole of it: see to your time."""
        if self._text is None:
            encoding = self.encoding or encoding_of(self.body, self.headers.get("content-type"))
            self._text = self.body.decode(encoding, "replace").removeprefix("\ufeff")
        return self._text

    def row(self) -> Row:
        """This as plain values, without what is for modules in place."""
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
"""Characters of a line."""
TEXT_MAX = 1 << 24
"""Characters of a text: more than a body of any usual limit has."""
ENTRIES_MAX = 1_000
"""Entries of a list or a mapping."""
_WHOLE_MAX = 2**63 - 1
"""Files with types have 64 bits for a number."""

Value = str | int | float | bool | list[str] | dict[str, int] | dict[str, str] | None


class Kind(StrEnum):
    """What a field holds. In CSV lists and mappings are JSON."""

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
    """Whole numbers by lines."""
    NAMED = "named"
    """Lines by lines."""


def cleaned(value: Any, kind: Kind) -> Value:
    """``value`` as a field of this kind; None for what says nothing: empty, not finite, too large.

    :raises TypeError: :raises ValueError: it is nothing of the kind
    """
    if value is None:
        return None
    match kind:
        case Kind.LINE:
            return line(_text(value), LINE_MAX) or None
        case Kind.TEXT:
            return lines(_text(value), TEXT_MAX) or None
        case Kind.WHOLE:
            return _whole(value)
        case Kind.REAL:
            number = float(value)
            return number if math.isfinite(number) else None
        case Kind.FLAG:
            return bool(value)
        case Kind.LINES:
            return [each for each in dict.fromkeys(_lines(value)) if each] or None
        case Kind.COUNTS:
            counts = zip(_lines(value), map(_whole, value.values()), strict=False)
            return {name: count for name, count in counts if count is not None} or None
        case Kind.NAMED:
            named = zip(_lines(value), _lines(value.values()), strict=False)
            return {name: said for name, said in named if said} or None
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
    found = []
    for number, each in enumerate(value):
        if number == ENTRIES_MAX:
            break
        found.append(line(_text(each), LINE_MAX))
    return found


TITLE, LINKS = "title", "links"
"""What a module may give without declaring it: the page's title where the parser found none, and links.

Links are URLs as they stand in the page, or pairs of URL and text; they are resolved and followed as a page's links
are.
"""


class Module(Protocol):
    """A class without arguments. It is built once in each process that runs it, which is where it imports what is
    heavy; its class attributes are read in the crawl itself.

    It may have ``in_place = True``: then it runs on the event loop, is given ``content.document``, and must be done
    in some microseconds. Without that it runs in another process, where it may take its time and fail in any way.
    """

    mime_types: Sequence[str]
    """Types that it is for, in lower case, ``text/*`` and the like included."""
    fields: Mapping[str, str]
    """The fields that it may give, by their names, with what each holds: a word of ``fields.Kind``. The columns of
    feeds are made of these, so what is not declared is not kept. Several modules may give the same field, of one
    kind: of a page the first that gives it counts.
    """

    def process(self, content: Content) -> Mapping[str, Any]:
        """What was found in a page; what is missing or None was not. May raise whatever it likes: that is an error
        of this page.
        """


@dataclass(frozen=True, slots=True)
class Loaded:
    """A module's class, with what it says of itself."""

    path: str
    type: type[Module]
    mime_types: tuple[str, ...]
    fields: dict[str, Kind]
    in_place: bool

    @property
    def name(self) -> str:
        """How it is called in logs and figures, and what the links are that it finds."""
        return self.path.rpartition(".")[2].lower()


def load(path: str) -> Loaded:
    """The module with this import path. Raises ImportError when there is none, TypeError when it is no module."""
    package, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(package), name)
    except (AttributeError, ValueError) as error:
        raise ImportError(str(error)) from error
    if not isinstance(found, type) or not callable(getattr(found, "process", None)):
        raise TypeError(f"{path} is no class with a method process")
    mime_types = getattr(found, "mime_types", None)
    if isinstance(mime_types, str) or not mime_types or not all("/" in str(each) for each in mime_types):
        raise TypeError(f"{path}.mime_types is no list of MIME types")
    declared = getattr(found, "fields", None)
    try:
        fields = {str(name): Kind(kind) for name, kind in declared.items()}  # type: ignore[union-attr]
    except (AttributeError, ValueError) as error:
        kinds = ", ".join(Kind)
        raise TypeError(f"{path}.fields must name each field with its kind ({kinds}): {error}") from error
    return Loaded(path, found, tuple(mime_types), fields, bool(getattr(found, "in_place", False)))


def schema_of(modules: Iterable[Loaded]) -> dict[str, Kind]:
    """All fields that these modules may give, in their order. Raises TypeError where two differ about one."""
    schema: dict[str, Kind] = {}
    for module in modules:
        for name, kind in module.fields.items():
            if name == TITLE:
                continue
            if name == LINKS or schema.setdefault(name, kind) != kind:
                raise TypeError(f"{module.path} has a field {name} of another kind than the one before it")
    return schema
