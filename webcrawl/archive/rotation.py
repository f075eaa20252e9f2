"""Rotated parts of the fetch log: their names, their compression, and what a crash in the middle of it
leaves.

A part passes through these files, each step durable before the next; a reader finds its lines exactly once in
any of them, because the compressed file counts as soon as it has its name::

    fetch.jsonl -> fetch-<time>.jsonl -> fetch-<time>.jsonl.gz.part -> fetch-<time>.jsonl.gz
                                   (and the plain one goes last)
"""

from __future__ import annotations

import logging
import re
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, cast

from isal import igzip, isal_zlib

from webcrawl.archive.errors import ArchiveError, translated
from webcrawl.archive.members import GZIP_MEMBER
from webcrawl.archive.warc import stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from webcrawl.archive.disk import Disk

CHUNK_BYTES = 1 << 20
LEVEL = 2
"""isal's; one level higher takes twice the time for two per cent."""

_PART = re.compile(r"fetch-(\d{17,})\.jsonl(\.gz)?")
_log = logging.getLogger(__name__)


def stamps(directory: Path) -> list[str]:
    """The times in the names of all rotated parts, in the order of writing."""
    with translated(directory):
        found = {match[1] for path in directory.iterdir() if (match := _PART.fullmatch(path.name))}
    return sorted(found, key=int)


def next_part(directory: Path, now: float) -> Path:
    """The name for the part rotated now; it sorts behind all others even when the clock was set back."""
    earlier = stamps(directory)
    time = stamp(now)
    if earlier and int(time) <= int(earlier[-1]):
        time = str(int(earlier[-1]) + 1)
    return directory / f"fetch-{time}.jsonl"


def open_part(directory: Path, time: str) -> BinaryIO:
    """The lines of a part, wherever it is on its way to being compressed."""
    plain = directory / f"fetch-{time}.jsonl"
    compressed = plain.with_name(plain.name + ".gz")
    if not compressed.exists():
        try:
            return plain.open("rb")
        except FileNotFoundError:
            pass  # compressed between the two looks
    return cast(BinaryIO, igzip.IGzipFile(compressed, "rb"))  # type: ignore[no-untyped-call]


def remove_older(directory: Path, disk: Disk, before: float) -> None:
    """Delete the parts that were rotated before an epoch second: all their lines are older. Raises ArchiveError."""
    for time in stamps(directory):
        if int(time[:17]) >= int(stamp(before)):
            break
        for name in (f"fetch-{time}.jsonl", f"fetch-{time}.jsonl.gz"):
            with translated(directory / name), suppress(FileNotFoundError):
                disk.remove(directory / name)
                _log.info("%s was deleted: it is older than FETCH_LOG_KEEP_DAYS", name)


def compress(plain: Path, disk: Disk) -> None:
    """Put ``fetch-<time>.jsonl.gz`` in the place of the plain part. Raises ArchiveError, the plain part
    stays.
    """
    target = plain.with_name(plain.name + ".gz")
    unfinished = target.with_name(target.name + ".part")
    try:
        with translated(unfinished):
            _write_compressed(plain, unfinished, disk)
            disk.rename(unfinished, target)
            disk.sync_folder(plain.parent)
            disk.remove(plain)
    except ArchiveError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


def clean_up(directory: Path, disk: Disk) -> list[str]:
    """Finish what a crash interrupted, but for compression itself. Returns sentences about what was done."""
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

    A part that cannot be compressed (no room) stays plain, which every reader takes as well; the next
    ``start`` tries it again. The thread is waited for at the end of the process.
    """

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._directory = directory
        self._disk = disk
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin with every plain part there is; a no-op when there is none."""
        self.wait()
        if next(self._plain_parts(), None) is not None:
            self._thread = threading.Thread(target=self.run, name="fetch-log-compressor")
            self._thread.start()

    def wait(self) -> None:
        """Return when nothing is being compressed any more."""
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
        for time in stamps(self._directory):
            plain = self._directory / f"fetch-{time}.jsonl"
            if plain.exists():
                yield plain


def _write_compressed(plain: Path, unfinished: Path, disk: Disk) -> None:
    """Write the compressed file and make it durable; its memory is one chunk."""
    unfinished.unlink(missing_ok=True)
    packer = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, GZIP_MEMBER)
    with disk.opened(unfinished) as handle, plain.open("rb") as source:
        while chunk := source.read(CHUNK_BYTES):
            disk.write_whole(handle, packer.compress(chunk))
        disk.write_whole(handle, packer.flush())
        disk.sync(handle)
