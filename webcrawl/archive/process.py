"""The archive in a process of its own, with the operations of ``Archive``, and the protocol between the processes.

The crawl and the process that keeps its archive exchange frames on two pipes. A frame is its length (8 bytes,
little-endian) and a value in marshal's form. Both ends run the same Python and the same code, and no other process
writes to these pipes::

    crawl                               keeper
    options of the archive        ->
                                  <-    ("done", sentences of the repair)
    a list of entries             ->
                                  <-    ("done",), or ("full" | "failed" | "wrong", ...)
    CLOSE                         ->
                                  <-    as above

The payloads of a group, nearly all of its bytes, are passed in a file in memory (``Payloads``). A pipe holds less
than a group, so both processes would work on it at the same time, each waiting for the other's lock; the file is
complete before the frame announces it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from webcrawl.archive.capture import ArchiveEntry, Capture, FetchRecord, Revisit, Spooled
from webcrawl.archive.disk import ArchiveError, DiskFull, translated
from webcrawl.archive.listed_links import SpooledLinks
from webcrawl.archive.repair import RepairReport
from webcrawl.archive.sinks import load
from webcrawl.child_process import receive, send, start_python
from webcrawl.parsing.links import LinkColumns
from webcrawl.processes import resident_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import BinaryIO

    from webcrawl.archive.sinks import Named


logger = logging.getLogger(__name__)

CLOSE = "close"

_PAYLOAD = 8
"""The position of the payload in a ``Capture``."""


def entry_to_row(entry: ArchiveEntry, *, links: bool = True, fields: bool = True) -> tuple[Any, ...]:
    """Return an entry as plain values, without its links and ``fields`` if no sink wants them, and with the length
    of its payload in place of the payload.
    """
    record, capture, revisit = entry.record, entry.capture, entry.revisit
    fetch = (
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
    fields_sent = dict(entry.fields) if fields else {}
    others = tuple(map(tuple, entry.other_links)) if links and entry.other_links else ()
    listed = entry.listed.path if links and entry.listed is not None else None
    behind = earlier, rows, fields_sent, tuple(entry.found), others, listed
    if capture is None:
        return fetch, None, *behind
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
            capture.source,
            capture.spooled and (capture.spooled.path, capture.spooled.length, capture.spooled.digest),
            capture.protocol,
            capture.cipher_suite,
        ),
    )
    return fetch, kept, *behind


def entry_payload(entry: ArchiveEntry) -> bytes:
    """Return the payload of an entry, which is not part of its frame; empty if there is none."""
    return b"" if entry.capture is None else entry.capture.payload


def payload_bytes(row: tuple[Any, ...]) -> int:
    """Return the length of the payload of a row, in bytes."""
    kept = row[1]
    length: int = 0 if kept is None else kept[_PAYLOAD]
    return length


def row_to_entry(row: tuple[Any, ...], payload: bytes) -> ArchiveEntry:
    """Rebuild the entry from the results of ``entry_to_row`` and ``entry_payload``."""
    fetch, kept, earlier, links, fields, found, others, listed = row
    capture = None
    if kept is not None:
        *of_capture, spooled, protocol, cipher_suite = kept
        capture = Capture(*of_capture)
        capture.protocol, capture.cipher_suite = protocol, cipher_suite
        capture.payload = payload
        capture.spooled = None if spooled is None else Spooled(*spooled)
    rows = () if links is None else LinkColumns(*links)
    return ArchiveEntry(
        FetchRecord(*fetch),
        capture,
        None if earlier is None else Revisit(*earlier),
        rows,
        fields,
        found,
        others,
        None if listed is None else SpooledLinks(listed),
    )


MEASURED_BYTES = 1 << 24
"""The memory of the process is measured after so many bytes of payloads."""

KEPT_BYTES = 16 << 20
"""The size to which the file is cut by the next group after a group of larger payloads."""
_AT_ONCE = 1000
"""The number of payloads per system call; the system allows 1,024 (IOV_MAX)."""


class Payloads:
    """A file in memory for the payloads of one group: one process puts them, the other takes them before the next
    ``put``.
    """

    def __init__(self, handle: int) -> None:
        """``handle``: a file that has no other user; ``put`` alone uses its position."""
        self.handle = handle

    @classmethod
    def new(cls) -> Payloads:
        """:raises OSError: there is no room"""
        if hasattr(os, "memfd_create"):
            return cls(os.memfd_create("webcrawl-payloads"))
        with tempfile.TemporaryFile() as file:
            return cls(os.dup(file.fileno()))

    def put(self, payloads: Sequence[bytes]) -> None:
        """Write the payloads. :raises OSError: there is no room; the previous content is lost"""
        if os.fstat(self.handle).st_size > KEPT_BYTES:
            os.ftruncate(self.handle, 0)
        os.lseek(self.handle, 0, os.SEEK_SET)
        for start in range(0, len(payloads), _AT_ONCE):
            some = payloads[start : start + _AT_ONCE]
            written = os.writev(self.handle, some)
            if written < sum(map(len, some)):  # a signal interrupted the call
                rest = memoryview(b"".join(some))[written:]
                while rest:
                    rest = rest[os.write(self.handle, rest) :]

    def take(self, lengths: Iterable[int]) -> list[bytes]:
        """Read the payloads with these lengths. :raises EOFError: the file is shorter"""
        at, payloads = 0, []
        for length in lengths:
            payload = os.pread(self.handle, length, at)
            if len(payload) < length:
                raise EOFError
            payloads.append(payload)
            at += length
        return payloads

    def close(self) -> None:
        os.close(self.handle)


PIPE_BYTES = 1 << 20
"""Capacity of the pipe to the process in bytes; the most that Linux allows without privileges."""

PATIENCE_SECONDS = 60.0
"""Seconds that the process may take to end after its files were closed."""


class RemoteArchive:
    """An ``Archive`` in a process that this one starts (``webcrawl.archive.keeper``) and ends.

    One thread at a time may call; all calls block. After the process has ended every call raises ArchiveError:
    appended groups are durable, and the next start repairs the rest.
    """

    def __init__(
        self,
        directory: Path,
        *,
        held: Callable[[], Sequence[int]] = tuple,
        sinks: Sequence[Named] = (),
        memory_bytes: int = 0,
        **options: Mapping[str, str] | str | float | None,
    ) -> None:
        """``options``: those options of ``Archive`` that are plain values. The process builds the ``sinks``.

        ``held``: returns file descriptors whose locks protect the directory. ``open`` calls it and passes them on to
        the process, so that no other crawl can lock the directory while the process writes. ``memory_bytes``: the
        resident memory above which another process takes its place between two groups; 0 for no limit.
        """
        self._directory = directory
        classes = [load(path) for path, _ in sinks]
        self.wants_links = any(sink.wants_links for sink in classes)
        """True if a sink wants the links of pages."""
        self.wants_fields = any(sink.wants_fields for sink in classes)
        """True if a sink wants the fields that processing finds in pages."""
        self._options = {**options, "sinks": [list(sink) for sink in sinks]}
        self._held = held
        self._memory_bytes = memory_bytes
        self._unmeasured = 0
        self._bytes_before = 0
        """Bytes of the groups that earlier processes have kept."""
        self._is_replaced = False
        """True while another process must take the place of one that was closed."""
        self.bytes_written = 0
        """Bytes of the groups kept since the archive was opened, over all parts."""
        self._archive_process: _ArchiveProcess | None = None

    def open(self) -> RepairReport:
        """Start the process; create the folders and repair what a crash left. Raises ArchiveError."""
        with translated(self._directory):
            self._archive_process = archive_process = _ArchiveProcess(self._held())
        options = {
            "directory": str(self._directory),
            "payloads": archive_process.payloads.handle,
            **self._options,
        }
        try:
            [sentences] = self._request(options)
        except BaseException:
            self._archive_process = None
            archive_process.end()
            raise
        return RepairReport(sentences)

    def append(self, entries: Sequence[ArchiveEntry]) -> None:
        """Write the group and make it durable, all or nothing. Raises DiskFull, ArchiveError as ``Archive.append``
        does.
        """
        links, fields = self.wants_links, self.wants_fields
        rows = [entry_to_row(entry, links=links, fields=fields) for entry in entries]
        payloads = list(map(entry_payload, entries))
        self._close_if_full(sum(map(len, payloads)))
        if self._is_replaced:
            self.open()
            self._is_replaced = False
        [written] = self._request(rows, payloads)
        self.bytes_written = self._bytes_before + written

    def _close_if_full(self, length: int) -> None:
        """Close a process that has grown too large: the next one takes its place."""
        self._unmeasured += length
        if not self._memory_bytes or self._unmeasured < MEASURED_BYTES or self._archive_process is None:
            return
        self._unmeasured = 0
        try:
            resident = self._archive_process.resident_bytes()
        except OSError:
            return  # the file cannot be opened now: the next group is in time too
        if resident > self._memory_bytes:
            logger.info(
                "The archive process has grown to %d MiB; another one takes its place", resident >> 20
            )
            self._bytes_before, self._is_replaced = self.bytes_written, True
            # All groups are durable whatever it says.
            with suppress(ArchiveError):
                self.close()

    def close(self) -> None:
        """Close all files and end the process. Raises ArchiveError; appended groups are durable in any case."""
        if self._archive_process is None:
            return
        try:
            self._request(CLOSE)
        finally:
            archive_process, self._archive_process = self._archive_process, None
            archive_process.end()

    def _request(self, value: Any, payloads: Sequence[bytes] = ()) -> list[Any]:
        """Send a frame and wait for the reply; return its values after ``done``."""
        archive_process = self._archive_process
        if archive_process is None:
            raise ArchiveError(self._directory, "the archive is not open")
        with translated(self._directory):
            archive_process.payloads.put(payloads)
        try:
            send(archive_process.requests, value)
            reply: tuple[Any, ...] = receive(archive_process.replies)
        except (BrokenPipeError, EOFError):
            ended = archive_process.how_it_ended()
            raise ArchiveError(self._directory, f"the archive process {ended}") from None
        kind, *values = reply
        if kind == "wrong":
            raise RuntimeError(f"the archive could not be written:\n{values[0]}")
        if kind != "done":
            path, reason = values
            raise (DiskFull if kind == "full" else ArchiveError)(Path(path), reason)
        return values


class _ArchiveProcess:
    """The process that writes the archive, the pipes to it and from it, and the file of payloads."""

    def __init__(self, held: Sequence[int]) -> None:
        """:raises OSError: there is no room for the file, or the process cannot be started"""
        self.payloads = Payloads.new()
        try:
            self._process = self._started(held)
        except OSError:
            self.payloads.close()
            raise
        self.requests = cast("BinaryIO", self._process.stdin)
        self.replies = cast("BinaryIO", self._process.stdout)
        with suppress(OSError, AttributeError):
            fcntl.fcntl(self.requests, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def _started(self, held: Sequence[int]) -> subprocess.Popen[bytes]:
        return start_python("webcrawl.archive.keeper", pass_fds=(*held, self.payloads.handle))

    def resident_bytes(self) -> int:
        """Return its resident memory; 0 if that is not known. :raises OSError: no file can be opened"""
        return resident_bytes(self._process.pid) or 0

    def how_it_ended(self) -> str:
        """Describe how the process ended, after it has stopped answering."""
        try:
            return f"has ended with status {self._process.wait(PATIENCE_SECONDS)}"
        except subprocess.TimeoutExpired:
            return "does not answer"

    def end(self) -> None:
        """Wait for the process to end, and kill it if it does not."""
        with suppress(OSError):
            self.requests.close()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.replies.close()
        self.payloads.close()
