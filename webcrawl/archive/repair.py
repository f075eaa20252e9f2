"""The repair of an archive after a crash: incomplete records and lines are cut off, half-done renames are
finished.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from webcrawl.archive import fetchlog
from webcrawl.archive import fetchlog as rotation
from webcrawl.archive.disk import Disk, translated
from webcrawl.archive.reading import next_whole_member, whole_members
from webcrawl.archive.warc import OPEN

if TYPE_CHECKING:
    from pathlib import Path

WARC_FOLDER = "warc"
DAMAGED = ".damaged"
BLOCK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class RepairReport:
    """The repairs, a sentence each; empty if the archive had been closed properly."""

    sentences: tuple[str, ...] = ()


def repair(directory: Path, disk: Disk | None = None) -> RepairReport:
    """Bring the archive of a crashed crawl into the state that a clean end leaves.

    The caller has locked the crawl's folder. Files with their final names are not read. Nothing that a group commit
    made durable is removed. Raises ArchiveError.
    """
    disk = disk or Disk()
    done = []
    for path in sorted((directory / WARC_FOLDER).glob(f"*.warc.gz{OPEN}")):
        with translated(path):
            done.append(_close_warc(path, disk))
    with translated(directory / fetchlog.NAME):
        done += cut_lines(directory / fetchlog.NAME, disk)
        done += rotation.clean_up(directory, disk)
    return RepairReport(tuple(done))


def _close_warc(path: Path, disk: Disk) -> str:
    """Cut the file behind its last whole record and give it its final name; remove it if it holds no exchange."""
    closed = path.with_name(path.name.removesuffix(OPEN))
    if closed.exists():
        return f"{path.name}: left unchanged, since {closed.name} exists too."
    with path.open("r+b") as file:
        end, records, holds_more = 0, 0, False
        for member in whole_members(file):
            end, records = member.end, records + 1
            holds_more = holds_more or member.record_type != "warcinfo"
        size = file.seek(0, os.SEEK_END)
        notes = _cut_warc(file, path, end, size, disk) if size > end else ""
        file.flush()
        disk.sync(file.fileno())
    if not holds_more:
        disk.remove(path)
        return f"{path.name}: removed, it held no exchange{notes}."
    disk.rename(path, closed)
    disk.sync_folder(path.parent)
    return f"{closed.name}: closed with {records} whole records{notes}."


def _cut_warc(file: BinaryIO, path: Path, end: int, size: int, disk: Disk) -> str:
    """Cut the file at ``end``. If whole records follow, the file is damaged, not torn: they are saved in a separate
    file.
    """
    notes = f", {size - end} bytes of an unfinished record cut off"
    if next_whole_member(file, end) is not None:
        aside = path.with_name(path.name.removesuffix(OPEN) + DAMAGED)
        with aside.open("wb") as target:
            file.seek(end)
            shutil.copyfileobj(file, target)
            target.flush()
            disk.sync(target.fileno())
        notes = f", damaged at byte {end}: the {size - end} bytes from there are now in {aside.name}"
    disk.truncate(file.fileno(), end)
    return notes


def cut_lines(path: Path, disk: Disk) -> list[str]:
    """Cut a file of lines behind its last line break. Return a sentence about it, or nothing."""
    if not path.exists():
        return []
    with path.open("r+b") as file:
        size = end = file.seek(0, os.SEEK_END)
        start = end
        while start > 0:
            start = max(0, start - BLOCK_BYTES)
            file.seek(start)
            end = start + file.read(BLOCK_BYTES).rfind(b"\n") + 1
            if end > start:
                break
        if end == size:
            return []
        disk.truncate(file.fileno(), end)
        disk.sync(file.fileno())
    return [f"{path.name}: {size - end} bytes of an unfinished line cut off."]
