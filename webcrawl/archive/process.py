"""An archive that is kept by a process of its own, with the same three operations.

What goes between a crawl and the process that keeps its archive: values in frames, on two pipes.

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

The payloads of a group on their way to the process that keeps the archive: a file in memory.

They are nearly all of what an archive is given. A pipe holds less than a group, so that both ends would work on it at
once, each waiting for the other's lock; this file is written before the pipe says that it is.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import struct
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from webcrawl.archive.capture import Capture, Entry, FetchRecord, Revisit, Spooled
from webcrawl.archive.disk import ArchiveError, StorageFull, translated
from webcrawl.archive.listed_links import SpooledLinks
from webcrawl.archive.repair import RepairReport
from webcrawl.archive.sinks import load
from webcrawl.child_process import command, environment
from webcrawl.parsing.links import LinkColumns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import BinaryIO

    from webcrawl.archive.sinks import Named


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


KEPT_BYTES = 16 << 20
"""What a group of larger payloads took beyond this is given back by the next one."""
_AT_ONCE = 1000
"""Payloads that a system call is given; it takes 1,024 (IOV_MAX)."""


class Payloads:
    """One group at a time: it is put here by one process, and taken by another before the next is put."""

    def __init__(self, handle: int) -> None:
        """``handle``: of a file that nobody else uses; its position is for ``put`` alone."""
        self.handle = handle

    @classmethod
    def new(cls) -> Payloads:
        """:raises OSError: there is no room"""
        if hasattr(os, "memfd_create"):
            return cls(os.memfd_create("webcrawl-payloads"))
        with tempfile.TemporaryFile() as file:
            return cls(os.dup(file.fileno()))

    def put(self, payloads: Sequence[bytes]) -> None:
        """:raises OSError: there is no room; what was there is lost"""
        if os.fstat(self.handle).st_size > KEPT_BYTES:
            os.ftruncate(self.handle, 0)
        os.lseek(self.handle, 0, os.SEEK_SET)
        for start in range(0, len(payloads), _AT_ONCE):
            some = payloads[start : start + _AT_ONCE]
            written = os.writev(self.handle, some)
            if written < sum(map(len, some)):  # a signal came
                rest = memoryview(b"".join(some))[written:]
                while rest:
                    rest = rest[os.write(self.handle, rest) :]

    def take(self, lengths: Iterable[int]) -> list[bytes]:
        """What was put, of which these are the lengths. :raises EOFError: it is not there"""
        at, found = 0, []
        for length in lengths:
            payload = os.pread(self.handle, length, at)
            if len(payload) < length:
                raise EOFError
            found.append(payload)
            at += length
        return found

    def close(self) -> None:
        os.close(self.handle)


PIPE_BYTES = 1 << 20
"""What may be on its way to the keeper at a time; the most that Linux allows without privileges."""

PATIENCE_SECONDS = 60.0
"""How long the keeper may take to end after its files were closed."""


class RemoteArchive:
    """An ``Archive`` in a process that this one starts (``webcrawl.archive.keeper``) and ends.

    One thread at a time may call; all calls wait. When the keeper is gone every call raises ArchiveError: what was
    appended before is durable, and the next start repairs the rest.
    """

    def __init__(
        self,
        directory: Path,
        *,
        held: Callable[[], Sequence[int]] = tuple,
        stores: Sequence[Named] = (),
        **options: Mapping[str, str] | str | float | None,
    ) -> None:
        """``options``: those of ``Archive`` that are plain values. ``stores`` are built over there.

        ``held``: file descriptors whose locks protect the directory; asked at ``open``, they are the keeper's too, so
        that nobody takes its place while it writes.
        """
        self._directory = directory
        classes = [load(path) for path, _ in stores]
        self.wants_links = any(store.wants_links for store in classes)
        """Whether a store wants the links of pages."""
        self.wants_fields = any(store.wants_fields for store in classes)
        """Whether a store wants what processing finds in pages."""
        self._options = {**options, "stores": [list(store) for store in stores]}
        self._held = held
        self._keeper: _Keeper | None = None

    def open(self) -> RepairReport:
        """Start the process; create the folders and repair what a crash left. Raises ArchiveError."""
        with translated(self._directory):
            self._keeper = keeper = _Keeper(self._held())
        options = {"directory": str(self._directory), "payloads": keeper.payloads.handle, **self._options}
        [sentences] = self._ask(options)
        return RepairReport(sentences)

    def append(self, entries: Sequence[Entry]) -> None:
        """Write and make durable, all or nothing. Raises StorageFull, ArchiveError as ``Archive.append`` does."""
        links, fields = self.wants_links, self.wants_fields
        rows = [row_of(entry, links=links, fields=fields) for entry in entries]
        self._ask(rows, list(map(payload_of, entries)))

    def close(self) -> None:
        """Close all files and end the process. Raises ArchiveError; what was appended is durable anyway."""
        if self._keeper is None:
            return
        try:
            self._ask(CLOSE)
        finally:
            keeper, self._keeper = self._keeper, None
            keeper.end()

    def _ask(self, value: Any, payloads: Sequence[bytes] = ()) -> list[Any]:
        """Send a frame and wait for the answer: what comes behind ``done``."""
        keeper = self._keeper
        if keeper is None:
            raise ArchiveError(self._directory, "the archive is not open")
        with translated(self._directory):
            keeper.payloads.put(payloads)
        try:
            send(keeper.asked, value)
            keeper.asked.flush()
            answer: tuple[Any, ...] = receive(keeper.answers)
        except (BrokenPipeError, EOFError):
            raise ArchiveError(self._directory, f"what keeps the archive {keeper.how_it_ended()}") from None
        kind, *said = answer
        if kind == "wrong":
            raise RuntimeError(f"the archive could not be kept:\n{said[0]}")
        if kind != "done":
            path, reason = said
            raise (StorageFull if kind == "full" else ArchiveError)(Path(path), reason)
        return said


class _Keeper:
    """The process, and the pipes to it and from it, and the file of payloads."""

    def __init__(self, held: Sequence[int]) -> None:
        """:raises OSError: there is no room for such a file, or none for a process"""
        self.payloads = Payloads.new()
        try:
            self._process = self._started(held)
        except OSError:
            self.payloads.close()
            raise
        self.asked = cast("BinaryIO", self._process.stdin)
        self.answers = cast("BinaryIO", self._process.stdout)
        with suppress(OSError, AttributeError):
            fcntl.fcntl(self.asked, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def _started(self, held: Sequence[int]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command("webcrawl.archive.keeper"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            pass_fds=(*held, self.payloads.handle),
            # A key that interrupts the crawl must not interrupt what it still has to keep.
            process_group=0,
        )

    def how_it_ended(self) -> str:
        """In words, when it does not answer any more."""
        try:
            return f"has ended with status {self._process.wait(PATIENCE_SECONDS)}"
        except subprocess.TimeoutExpired:
            return "does not answer"

    def end(self) -> None:
        """Wait for its end, or see to it."""
        with suppress(OSError):
            self.asked.close()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.answers.close()
        self.payloads.close()
