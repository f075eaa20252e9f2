"""What goes between a crawl and the process that keeps its archive: values in frames, on two pipes.

A frame is its length (8 bytes, little-endian) and a value in marshal's form. Both ends are the same Python and the
same code, and nobody else writes to these pipes. Payloads take another way: see ``payloads``.

::

    crawl                               keeper
    options of the archive        ->
                                  <-    ("done", sentences of the repair)
    a list of entries             ->
                                  <-    ("done",), or ("full" | "failed" | "wrong", ...)
    CLOSE                         ->
                                  <-    as above
"""

from __future__ import annotations

import marshal
import struct
from typing import TYPE_CHECKING, Any

from webcrawl.archive.capture import Capture, Entry, FetchRecord, Revisit, Spooled
from webcrawl.archive.listed_links import SpooledLinks
from webcrawl.documents.linkcolumns import LinkColumns

if TYPE_CHECKING:
    from typing import BinaryIO

CLOSE = "close"

_PAYLOAD = 8
"""Its place in a ``Capture``."""
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


def row_of(entry: Entry, *, links: bool = True, fields: bool = True) -> tuple[Any, ...]:
    """An entry as plain values, without its links and ``fields`` where nobody wants them, and with the length of
    its payload instead of that.
    """
    record, capture, revisit = entry.record, entry.capture, entry.revisit
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
    earlier = revisit and (revisit.profile, revisit.target_uri, revisit.date, revisit.record_id)
    packed = LinkColumns.of(entry.links) if links and entry.links else None
    rows = None if packed is None else (len(packed), packed.columns)
    found = dict(entry.fields) if fields else {}
    others = tuple(map(tuple, entry.other_links)) if links and entry.other_links else ()
    listed = entry.listed.path if links and entry.listed is not None else None
    behind = earlier, rows, found, tuple(entry.found), others, listed
    if capture is None:
        return said, None, *behind
    kept = (
        *(
            capture.url,
            capture.method,
            capture.started_at,
            capture.ended_at,
            capture.ip,
            capture.request_head,
        ),
        *(
            capture.request_body,
            capture.response_head,
            len(capture.payload),
            capture.truncated,
            capture.resource_type,
            capture.spooled and (capture.spooled.path, capture.spooled.length, capture.spooled.digest),
        ),
    )
    return said, kept, *behind


def payload_of(entry: Entry) -> bytes:
    """What goes another way; empty where there is none."""
    return b"" if entry.capture is None else entry.capture.payload


def payload_bytes(row: tuple[Any, ...]) -> int:
    """How long that is."""
    kept = row[1]
    length: int = 0 if kept is None else kept[_PAYLOAD]
    return length


def entry_of(row: tuple[Any, ...], payload: bytes) -> Entry:
    """The entry that ``row_of`` and ``payload_of`` were given."""
    said, kept, earlier, links, fields, found, others, listed = row
    capture = None
    if kept is not None:
        *of_capture, spooled = kept
        capture = Capture(*of_capture)
        capture.payload = payload
        capture.spooled = None if spooled is None else Spooled(*spooled)
    rows = () if links is None else LinkColumns(*links)
    return Entry(
        FetchRecord(*said),
        capture,
        None if earlier is None else Revisit(*earlier),
        rows,
        fields,
        found,
        others,
        None if listed is None else SpooledLinks(listed),
    )
