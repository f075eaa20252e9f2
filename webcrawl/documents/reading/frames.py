"""What goes between a crawl and a process that reads pages: values in frames, on one socket.

A frame is its length (4 bytes, little-endian) and a value in marshal's form, whose strings may hold lone surrogates
as pages do. Both ends are the same Python and the same code. The crawl asks about many pages at a time; answers come
as they are ready, each with the number of its question.
"""

from __future__ import annotations

import marshal
import struct
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.documents.html import Document
from webcrawl.documents.linkcolumns import LinkColumns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.documents.linkcolumns import Column

_LENGTH = struct.Struct("<I")
_VERSION = 2
"""Of marshal's format: later ones look for values that come twice, which costs more than it saves here."""

_values_of = attrgetter(*(field.name for field in fields(Document) if field.name != "links"))


class Question(NamedTuple):
    """A page to be read, as ``html.extract`` takes it."""

    number: int
    body: bytes
    url: str
    content_type: str | None
    links_max: int
    types: frozenset[str]
    agent: str
    surroundings: bool


def frame(value: Any) -> bytes:
    """A value as it goes over the socket."""
    data = marshal.dumps(value, _VERSION)
    return _LENGTH.pack(len(data)) + data


def answer(number: int, document: Document) -> bytes:
    """The frame that says what was found in the page of that number."""
    links = document.links
    return frame((number, _values_of(document), len(links), LinkColumns.of(links).columns))


def document_of(values: tuple[Any, ...], length: int, columns: tuple[Column, ...]) -> Document:
    """The document that an answer is about."""
    document = Document(*values)
    document.links = LinkColumns(length, columns)
    return document


class Frames:
    """Bytes in, as they come; whole values out."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """The values that are whole now."""
        buffer = self._buffer
        buffer += data
        start = 0
        while len(buffer) - start >= _LENGTH.size:
            [length] = _LENGTH.unpack_from(buffer, start)
            end = start + _LENGTH.size + length
            if len(buffer) < end:
                break
            with memoryview(buffer) as view:
                value = marshal.loads(view[start + _LENGTH.size : end])
            start = end
            yield value
        if start:
            del buffer[:start]
