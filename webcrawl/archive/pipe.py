"""What goes between a crawl and the process that keeps its archive: values in frames, on two pipes.

A frame is its length (8 bytes, little-endian) and a value in marshal's form. Both ends are the same Python and the
same code, and nobody else writes to these pipes.

::

    crawl                               keeper
    options of the archive        ->
                                  <-    ("done", sentences of the repair)
    an entry, an entry, ..., None ->
                                  <-    ("done",), or ("full" | "failed" | "wrong", ...)
    CLOSE                         ->
                                  <-    as above
"""

from __future__ import annotations

import marshal
import struct
from typing import TYPE_CHECKING, Any

from webcrawl.archive.capture import Capture, Entry, FetchRecord

if TYPE_CHECKING:
    from typing import BinaryIO

CLOSE = "close"

_LENGTH = struct.Struct("<Q")


def send(stream: BinaryIO, value: Any) -> None:
    """Write one frame; it may stay in the stream's buffer."""
    data = marshal.dumps(value)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)


def receive(stream: BinaryIO) -> Any:
    """The value of the next frame. :raises EOFError: the other end is gone, maybe in the middle of it"""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    [length] = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return marshal.loads(data)


def row_of(entry: Entry) -> tuple[Any, ...]:
    """An entry as plain values."""
    record, capture = entry.record, entry.capture
    said = (
        *(
            record.start,
            record.end,
            record.url,
            record.key,
            record.ip,
            record.kind,
            record.status,
            record.error,
        ),
        *(record.mime, record.bytes, record.location, record.via, record.depth, record.worker, record.extra),
    )
    if capture is None:
        return said, None
    kept = (
        *(
            capture.url,
            capture.method,
            capture.started_at,
            capture.ended_at,
            capture.ip,
            capture.request_head,
        ),
        *(capture.request_body, capture.response_head, capture.payload, capture.truncated),
    )
    return said, kept


def entry_of(row: tuple[Any, ...]) -> Entry:
    """The entry that ``row_of`` was given."""
    said, kept = row
    return Entry(FetchRecord(*said), None if kept is None else Capture(*kept))
