"""The end of ``crawl.log`` and ``errors.log`` with their rotated parts, by level and text. All functions block.

Reads are bounded, however long the logs are. What could be a secret is left out: anybody who may read the dashboard
would have it otherwise.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import deque
from typing import TYPE_CHECKING, TypedDict

from webcrawl import rotated_log
from webcrawl.reports import logs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = {"crawl": logs.CRAWL, "errors": logs.ERRORS}
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
TAIL_BYTES = 2 << 20
"""Bytes at the end of a file that are read."""
PART_BYTES_MAX = 64 << 20
"""Bytes of a compressed part that are read to find its end."""
PARTS_MAX = 3
"""Rotated parts that are read if the newer ones have too few lines."""
MORE_SHOWN = 100
"""Further lines of a message."""
_SECRETS = (
    (re.compile(r"(#token=)[^\s\"'<>]+"), r"\1..."),
    (re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]+"), r"\1..."),
    (re.compile(r"(?i)\b((?:token|password|passwd|secret|api[_-]?key)\b\s*[=:]\s*)[^\s,;&]+"), r"\1..."),
    (re.compile(r"(://)[^/\s@?#]+@"), r"\1...@"),
)  # fmt: skip


class MessageRow(TypedDict):
    """A message of a log."""

    at: float | None
    level: str
    logger: str | None
    message: str
    more: list[str]


class LogTail(TypedDict):
    """The last messages of a log, and the time from which on these are all."""

    rows: list[MessageRow]
    since: float | None


def tail(folder: Path | None, log: str, level: str, search: str, limit: int) -> LogTail:
    """Return ``rows``, the last messages, the last one first, and ``since``, the time of the first one that was read.

    ``log``: one of ``NAMES``. ``level``: the lowest one of ``LEVELS``; empty for all. ``search``: a part of the
    message or of its further lines, in any case of letters.
    """
    rows: list[MessageRow] = []
    since: float | None = None
    least, sought = LEVELS.index(level) if level in LEVELS else 0, search.lower()
    for path in _files(folder, NAMES[log]):
        messages = list(logs.messages(path.with_name(NAMES[log]), _last_lines(path)))
        since = messages[0].at if messages else since
        for event in reversed(messages):
            row = _row(event)
            if _level(row["level"]) < least:
                continue
            if sought and sought not in "\n".join([row["message"], *row["more"]]).lower():
                continue
            rows.append(row)
            if len(rows) == limit:
                return {"rows": rows, "since": since}
    return {"rows": rows, "since": since}


def _files(folder: Path | None, name: str) -> Iterator[Path]:
    """Yield a log and its last rotated parts, the newest first."""
    if folder is None:
        return
    yield folder / name
    try:
        yield from list(reversed(list(rotated_log.parts(folder / name))))[:PARTS_MAX]
    except OSError:
        return


def _last_lines(path: Path) -> list[bytes]:
    """Return the whole lines at the end of a file; none if it cannot be read."""
    try:
        if path.suffix == ".gz":
            return _end_of_compressed(path)
        with path.open("rb") as file:
            end = file.seek(0, 2)
            file.seek(max(end - TAIL_BYTES, 0))
            lines = file.read(TAIL_BYTES).split(b"\n")
    except (OSError, EOFError, zlib.error):
        return []
    # What follows the last line break is not complete, and neither is the first line, unless the file begins there.
    return [line + b"\n" for line in lines[0 if end <= TAIL_BYTES else 1 : -1]]


def _end_of_compressed(path: Path) -> list[bytes]:
    pieces: deque[bytes] = deque(maxlen=2)
    read = 0
    with gzip.open(path, "rb") as file:
        while read < PART_BYTES_MAX and (piece := file.read(TAIL_BYTES)):
            pieces.append(piece)
            read += len(piece)
    lines = b"".join(pieces).split(b"\n")
    return [line + b"\n" for line in lines[0 if read <= 2 * TAIL_BYTES else 1 : -1]]


def _row(event: logs.Event) -> MessageRow:
    level = str(event.facts.get("level") or ("" if event.log == "errors" else "INFO"))
    return {
        "at": event.at,
        "level": level,
        "logger": event.facts.get("logger"),
        "message": without_secrets(event.message),
        "more": [without_secrets(line) for line in event.more[:MORE_SHOWN]],
    }


def _level(name: str) -> int:
    return LEVELS.index(name) if name in LEVELS else len(LEVELS)


def without_secrets(line: str) -> str:
    """Return a line without tokens, passwords and user names of URLs."""
    for pattern, instead in _SECRETS:
        line = pattern.sub(instead, line)
    return line
