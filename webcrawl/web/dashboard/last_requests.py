"""The last requests of a crawl: the ends of its fetch logs, one for each folder of a worker, read backwards."""

from __future__ import annotations

import heapq
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.archive import fetchlog
from webcrawl.reports.counting import number_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TAIL_BYTES = 4 << 20
"""Bytes at the ends of all logs together that are read."""


class _LogEnd(NamedTuple):
    lines: Sequence[bytes]
    """Complete lines, the last one first."""
    is_cut: bool
    """True if the log has earlier ones."""


def last_requests(folders: Sequence[Path], sought: bytes = b"") -> Iterator[dict[str, Any]]:
    """Yield the lines at the ends of the fetch logs, the last one first. They are all lines of all logs since the
    time of the last one that is yielded. ``sought``: only lines with these bytes."""
    tails = [_read(folder, TAIL_BYTES // len(folders)) for folder in folders]
    if len(tails) == 1:
        yield from _records(tails[0].lines, sought)
        return
    # Before that, the log of one worker would be missing.
    since = max((_oldest(tail.lines) for tail in tails if tail.is_cut), default=0.0)
    for record in heapq.merge(*(_records(tail.lines, sought) for tail in tails), key=lambda one: -_end(one)):
        if _end(record) < since:
            return
        yield record


def _read(folder: Path, most: int) -> _LogEnd:
    """Read the end of a log; nothing if it cannot be read."""
    try:
        with (folder / fetchlog.NAME).open("rb") as file:
            end = file.seek(0, 2)
            file.seek(max(end - most, 0))
            text = file.read(most)
    except OSError:
        return _LogEnd((), False)
    lines = text.split(b"\n")
    # What follows the last line break is not complete, and neither is the first line, unless the file begins there.
    return _LogEnd(lines[0 if end <= most else 1 : -1][::-1], end > most)


def _records(lines: Sequence[bytes], sought: bytes) -> Iterator[dict[str, Any]]:
    for line in lines:
        if sought in line:
            with suppress(ValueError):
                record = json.loads(line)
                if isinstance(record, dict):
                    yield record


def _oldest(lines: Sequence[bytes]) -> float:
    return next((_end(record) for record in _records(lines[::-1], b"")), 0.0)


def _end(record: dict[str, Any]) -> float:
    return number_in(record.get("end")) or 0.0
