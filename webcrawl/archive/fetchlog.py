"""The fetch log ``fetch.jsonl``: a line for every finished request, the rotated parts, and their reader.

A part passes through these files. Each step is durable before the next, and a reader finds each line exactly once at
any moment, because the compressed file counts as soon as it has its final name::

    fetch.jsonl -> fetch-<time>.jsonl -> fetch-<time>.jsonl.gz.part -> fetch-<time>.jsonl.gz
                                   (and the plain one goes last)
"""

from __future__ import annotations

import json
import logging
import math
import re
import threading
import time
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from isal import igzip, igzip_lib, isal_zlib

from webcrawl.archive.disk import AppendFile, ArchiveError, Disk, OneFile, translated
from webcrawl.archive.reading import GZIP_MEMBER
from webcrawl.archive.sinks import ArchiveSink
from webcrawl.archive.warc import stamp
from webcrawl.atomic_file import unfinished_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import ArchiveEntry, Fact, FetchRecord


CHUNK_BYTES = 1 << 20
LEVEL = 2
"""Compression level of isal; one level higher takes twice the time for two per cent."""

_PART = re.compile(r"fetch-(\d{17,})\.jsonl(\.gz)?")
_log = logging.getLogger(__name__)


def stamps(directory: Path) -> list[str]:
    """Return the times in the names of all rotated parts, in the order of writing."""
    with translated(directory):
        serials = {match[1] for path in directory.iterdir() if (match := _PART.fullmatch(path.name))}
    return sorted(serials, key=int)


def next_part(directory: Path, now: float) -> Path:
    """Return the name for a part that is rotated now; it sorts behind all others even if the clock was set back."""
    earlier = stamps(directory)
    time = stamp(now)
    if earlier and int(time) <= int(earlier[-1]):
        time = str(int(earlier[-1]) + 1)
    return directory / f"fetch-{time}.jsonl"


def open_part(directory: Path, time: str) -> BinaryIO:
    """Open the lines of a part, at whatever stage of compression it is."""
    plain = directory / f"fetch-{time}.jsonl"
    compressed = plain.with_name(plain.name + ".gz")
    if not compressed.exists():
        try:
            return plain.open("rb")
        except FileNotFoundError:
            pass  # it was compressed between the two attempts
    return cast(BinaryIO, igzip.IGzipFile(compressed, "rb"))  # type: ignore[no-untyped-call]


def remove_older(directory: Path, disk: Disk, before: float) -> None:
    """Delete the parts that were rotated before an epoch second: all their lines are older. Raises ArchiveError."""
    for moment in stamps(directory):
        if int(moment[:17]) >= int(stamp(before)):
            break
        for name in (f"fetch-{moment}.jsonl", f"fetch-{moment}.jsonl.gz"):
            with translated(directory / name), suppress(FileNotFoundError):
                disk.remove(directory / name)
                _log.info("%s was deleted: it is older than FETCH_LOG_KEEP_DAYS", name)


def compress(plain: Path, disk: Disk) -> None:
    """Replace a plain part by ``fetch-<time>.jsonl.gz``, with one chunk in memory.

    Raises ArchiveError; the plain part stays then.
    """
    target = plain.with_name(plain.name + ".gz")
    packer = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, GZIP_MEMBER)
    with translated(unfinished_path(target)):
        with disk.replacing(target, durable=True) as handle, plain.open("rb") as source:
            while chunk := source.read(CHUNK_BYTES):
                disk.write_whole(handle, packer.compress(chunk))
            disk.write_whole(handle, packer.flush())
        disk.remove(plain)


def clean_up(directory: Path, disk: Disk) -> list[str]:
    """Finish what a crash interrupted, except for compression. Return sentences about what was done."""
    done = []
    for path in sorted(directory.glob("fetch-*.jsonl.gz.part")):
        disk.remove(path)
        done.append(f"{path.name}: removed, its compression had not ended; the plain file is complete.")
    for path in sorted(directory.glob("fetch-*.jsonl")):
        if path.with_name(path.name + ".gz").exists():
            disk.remove(path)
            done.append(f"{path.name}: removed, {path.name}.gz holds the same lines.")
    return done


class Compressor:
    """Compresses rotated parts on a thread of its own, one after the other.

    A part that cannot be compressed (no room) stays plain, which every reader accepts; the next ``start`` tries it
    again. The end of the process waits for the thread.
    """

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._directory = directory
        self._disk = disk
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread for all plain parts; do nothing when there is none."""
        self.wait()
        if next(self._plain_parts(), None) is not None:
            self._thread = threading.Thread(target=self.run, name="fetch-log-compressor")
            self._thread.start()

    def wait(self) -> None:
        """Wait until no part is being compressed."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def run(self) -> None:
        """Compress every plain part, on the calling thread."""
        for plain in self._plain_parts():
            try:
                compress(plain, self._disk)
            except ArchiveError as error:
                _log.warning("A part of the fetch log stays uncompressed: %s", error)
                return

    def _plain_parts(self) -> Iterator[Path]:
        for moment in stamps(self._directory):
            plain = self._directory / f"fetch-{moment}.jsonl"
            if plain.exists():
                yield plain


NAME = "fetch.jsonl"

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder().raw_decode


def log_line(record: FetchRecord) -> bytes:
    """Return the record as one line of ASCII: no character of a URL or header can end the line or control a terminal.

    Raises ValueError when not exactly one of ``status`` and ``error`` is set, or when ``extra`` uses the name of a
    field of the contract.
    """
    if (record.status is None) == (record.error is None):
        raise ValueError(f"either status or error must be set: {record!r}")
    line: dict[str, Any] = {
        "start": round(record.start, 6),
        "end": round(record.end, 6),
        "url": record.url,
        "key": record.key,
        "ip": record.ip,
        "kind": record.kind,
        "status": record.status,
        "error": record.error,
        "mime": record.mime,
        "bytes": record.bytes,
        "location": record.location,
        "via": record.via,
        "depth": record.depth,
        "worker": record.worker,
    }
    if not line.keys().isdisjoint(record.extra):
        raise ValueError(f"extra facts must not use the name of a field: {record!r}")
    line |= {name: _finite(value) for name, value in record.extra.items()}
    del line["error" if record.error is None else "status"]
    return _encode(line).replace("\x7f", "\\u007f").encode("ascii") + b"\n"


def read(
    directory: Path, on_damage: Callable[[str], None] | None = None, *, holding: bytes = b""
) -> Iterator[dict[str, Any]]:
    """Yield every line under ``directory`` once, oldest first: rotated parts, then the current file.

    The log may grow and rotate meanwhile; an incomplete last line is left out. A line that is no JSON object raises
    ArchiveError, or is passed to ``on_damage`` and left out. One line is in memory at a time. Only lines that contain
    ``holding`` are decoded; the others cost a tenth.
    """
    done: set[str] = set()
    while True:
        with _open_current(directory) as current:  # first, so that a rotation is noticed
            parts = [part for part in stamps(directory) if part not in done]
            if not parts:
                yield from _objects(current, directory / NAME, on_damage, holding)
                return
        for part in parts:
            done.add(part)
            with open_part(directory, part) as stream:
                yield from _objects(stream, directory / f"fetch-{part}.jsonl", on_damage, holding)


class FetchLog(OneFile, ArchiveSink):
    """Writes ``fetch.jsonl`` in groups as ``AppendFile`` defines them, and rotates it by size.

    Lines are complete at the end of every group. One thread at a time may call; compression has its own thread.
    """

    def __init__(
        self,
        directory: Path,
        *,
        roll_bytes: int = 1_000_000_000,
        keep_days: float = 0.0,
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
        compressor: Compressor | None = None,
    ) -> None:
        """``keep_days``: how long rotated parts are kept; 0 keeps them all."""
        self._directory = directory
        self._roll_bytes = roll_bytes
        self._keep_seconds = keep_days * 86_400
        self._clock = clock
        self._disk = disk or Disk()
        self._compressor = compressor or Compressor(directory, self._disk)
        self._file: AppendFile | None = None

    def open(self) -> tuple[()]:
        """Open the file, after a repair, and compress the parts that an earlier run left plain. Raises
        ArchiveError.
        """
        self._ready_file()
        self._forget()
        self._compressor.start()
        return ()

    def write(self, entries: Sequence[ArchiveEntry]) -> None:
        """Add a line for each entry. Raises ValueError for a record that is no valid line, ArchiveError; the owner
        then calls ``rollback``.
        """
        self._ready_file().write(b"".join([log_line(entry.record) for entry in entries]))

    def roll_if_full(self) -> None:
        """Rotate a file that has reached its size; between groups only.

        Raises ArchiveError; nothing is lost, and the next call tries again.
        """
        file = self._file
        if file is None or file.size < self._roll_bytes:
            return
        file.settle()
        with translated(file.path):
            self._disk.rename(file.path, next_part(self._directory, self._clock()))
        self._file = None
        file.release()
        self._forget()
        self._compressor.start()

    def close(self) -> None:
        """Close the file and wait for the compression. Raises ArchiveError; kept lines are durable."""
        try:
            self.let_go()
        finally:
            self._compressor.wait()

    def _forget(self) -> None:
        """Delete the parts whose last line is older than ``keep_days``."""
        if self._keep_seconds:
            self._compressor.wait()
            remove_older(self._directory, self._disk, self._clock() - self._keep_seconds)

    def _ready_file(self) -> AppendFile:
        if self._file is None:
            self._file = AppendFile(self._directory / NAME, self._disk, new=False)
        return self._file


def _finite(value: Fact) -> Fact:
    """Return None for infinity and NaN, which JSON lacks; return other values unchanged."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _open_current(directory: Path) -> BinaryIO:
    try:
        return (directory / NAME).open("rb")
    except FileNotFoundError:
        return BytesIO()


def _objects(
    stream: BinaryIO, path: Path, on_damage: Callable[[str], None] | None, holding: bytes
) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_complete_lines(stream, path), start=1):
        if holding not in line:
            continue
        value = _value(line)
        if isinstance(value, dict):
            yield value
        elif on_damage is None:
            raise ArchiveError(path, f"line {number} is no JSON object")
        else:
            on_damage(f"{path}: line {number} is no JSON object")


def _value(line: bytes) -> Any:
    """Return the value of a line; None if it is not JSON."""
    try:
        # The form that log_line writes; this takes two thirds of the time of the general decoder.
        value, end = _decode(line.decode("ascii"))
        if end == len(line) - 1:
            return value
    except ValueError:
        pass
    try:
        return json.loads(line)
    except ValueError:
        return None


def _complete_lines(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    try:
        with translated(path):
            for line in stream:
                if line.endswith(b"\n"):
                    yield line
    except (EOFError, igzip_lib.IsalError) as error:  # type: ignore[misc]  # the stub calls it an instance
        raise ArchiveError(path, f"its compressed form is damaged: {error}") from error
