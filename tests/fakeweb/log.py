"""The server's own record of what was asked of it: the witness in every test of politeness."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


@dataclass(frozen=True, slots=True)
class Hit:
    """One request that was answered, or was being answered when its connection ended.

    ``start`` and ``end`` are epoch seconds, ``start_mono`` and ``end_mono`` the monotonic clock at the same
    moments: when the request's last byte had arrived, and when the response's last byte was written (or the
    connection was lost). A crawler on the same machine sees its response end later than ``end`` and sends its
    next request earlier than ``start``: a gap measured here is never shorter than the one the crawler kept.
    """

    start: float
    end: float
    start_mono: float
    end_mono: float
    scheme: str
    host: str
    address: str
    """The local address that was connected to."""
    method: str
    path: str
    status: int | None
    """None where the answer has no status line."""
    sent: int
    """Bytes written, head included."""
    complete: bool
    """False where the peer left before the answer had ended."""
    connection: int
    user_agent: str
    resumed: bool = False
    """Whether its connection resumed a TLS session."""
    protocol: str = "http/1.1"
    """This, or ``h2``."""

    @property
    def is_robots(self) -> bool:
        """Whether robots.txt was asked for."""
        return self.path == "/robots.txt"


_FIELDS = tuple(field.name for field in fields(Hit))
_VALUES = attrgetter(*_FIELDS)
_ENCODE = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode


class AccessLog:
    """Keeps hits in memory, in a file of JSON lines, or both. A line is written when its answer has ended."""

    def __init__(self, path: Path | None = None, *, keep: bool = True) -> None:
        self.hits: list[Hit] = []
        self._keep = keep
        self._file: IO[str] | None = None
        if path is not None:
            self._file = path.open("a", buffering=1, encoding="utf-8")

    def add(self, hit: Hit) -> None:
        """Note one request."""
        if self._keep:
            self.hits.append(hit)
        if self._file is not None:
            self._file.write(_ENCODE(dict(zip(_FIELDS, _VALUES(hit), strict=True))) + "\n")

    def close(self) -> None:
        """Close the file; the hits stay."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_log(path: Path) -> list[Hit]:
    """Read a log file, sorted by the requests' arrival; a line still being written is left out."""
    # In one piece: the rest of such a line may come while the file is being read.
    lines = path.read_bytes().split(b"\n")[:-1]
    hits = [Hit(**json.loads(line)) for line in lines]
    return sorted(hits, key=lambda hit: hit.start_mono)
