"""``fetch.jsonl``: a line for every finished request, and the way to read all of them again."""

from __future__ import annotations

import json
import math
import time
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

from isal import igzip_lib

from webcrawl.archive import rotation
from webcrawl.archive.disk import AppendFile, Disk, OneFile
from webcrawl.archive.errors import ArchiveError, translated
from webcrawl.archive.part import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import Entry, Fact, FetchRecord

NAME = "fetch.jsonl"

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder().raw_decode


def log_line(record: FetchRecord) -> bytes:
    """The record as one line of ASCII: no character of a URL or header can end the line or steer a terminal.

    Raises ValueError when not exactly one of ``status`` and ``error`` is set, or when ``extra`` uses the name
    of a field of the contract.
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
    """Every line under ``directory`` once, oldest first: rotated parts, then the current file.

    The log may grow and rotate meanwhile; a last line that is not complete yet is left out. A line that is no
    JSON object raises ArchiveError, or is told to ``on_damage`` and left out. Memory is that of a line.
    Only lines with ``holding`` in them are looked at, the others cost a tenth.
    """
    done: set[str] = set()
    while True:
        with _open_current(directory) as current:  # and only then look at the parts: a rotation is noticed
            parts = [part for part in rotation.stamps(directory) if part not in done]
            if not parts:
                yield from _objects(current, directory / NAME, on_damage, holding)
                return
        for part in parts:
            done.add(part)
            with rotation.open_part(directory, part) as stream:
                yield from _objects(stream, directory / f"fetch-{part}.jsonl", on_damage, holding)


class FetchLog(OneFile, Part):
    """Writes ``fetch.jsonl`` in groups as ``AppendFile`` defines them, and rotates it by size.

    Lines are complete at the end of every group. One thread at a time; compression has its own.
    """

    def __init__(
        self,
        directory: Path,
        *,
        roll_bytes: int = 1_000_000_000,
        keep_days: float = 0.0,
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
        compressor: rotation.Compressor | None = None,
    ) -> None:
        """``keep_days``: how long parts are kept that were set aside; 0 for good."""
        self._directory = directory
        self._roll_bytes = roll_bytes
        self._keep_seconds = keep_days * 86_400
        self._clock = clock
        self._disk = disk or Disk()
        self._compressor = compressor or rotation.Compressor(directory, self._disk)
        self._file: AppendFile | None = None

    def open(self) -> tuple[()]:
        """Open the file, after a repair, and compress what an earlier run left plain. Raises ArchiveError."""
        self._ready_file()
        self._forget()
        self._compressor.start()
        return ()

    def write(self, entries: Sequence[Entry]) -> None:
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
            self._disk.rename(file.path, rotation.next_part(self._directory, self._clock()))
        self._file = None
        file.release()
        self._forget()
        self._compressor.start()

    def close(self) -> None:
        """Close the file and wait for the compression. Raises ArchiveError; what was kept is durable."""
        try:
            self.let_go()
        finally:
            self._compressor.wait()

    def _forget(self) -> None:
        """Delete the parts whose last line is older than lines are kept."""
        if self._keep_seconds:
            self._compressor.wait()
            rotation.remove_older(self._directory, self._disk, self._clock() - self._keep_seconds)

    def _ready_file(self) -> AppendFile:
        if self._file is None:
            self._file = AppendFile(self._directory / NAME, self._disk, new=False)
        return self._file


def _finite(value: Fact) -> Fact:
    """JSON has no infinity and no NaN."""
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
    """What a line says; None where that is no JSON."""
    try:
        # As log_line writes it; this way takes two thirds of the time of the general one.
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
