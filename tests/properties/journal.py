"""The append-only file of a Redis server, as far as one has to know it to cut it off between two transactions.

A server that starts with half a transaction at the end of its file leaves the beginning of it there, and carries it
out when it starts the next time (Redis up to 8 and Valkey up to 9.1 at least): a matter between it and its disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.redis_server import RedisServer

Mark = tuple[int, int]
"""How often the server had started when something was written, and how long its file was then."""


class Journal:
    """What a server has on its disk, and what it lost of it when it was killed."""

    def __init__(self, server: RedisServer, clock: Callable[[], float]) -> None:
        self._server = server
        self._clock = clock
        self._cuts: list[int] = []
        self._sizes = [(clock(), self.mark()[1])]

    def mark(self) -> Mark:
        return len(self._cuts), self._server.append_only_file.stat().st_size

    def note(self) -> None:
        """Time is about to pass."""
        self._sizes.append((self._clock(), self.mark()[1]))

    def is_forgotten(self, mark: Mark) -> bool:
        """Whether what was written by then is lost."""
        started, size = mark
        return any(size > cut for cut in self._cuts[started:])

    def lose(self, share: float) -> None:
        """Kill the server and start it again with all but a ``share`` of what it wrote in the last second."""
        now = self._clock()
        before = [size for at, size in self._sizes if at <= now - 1.0]
        start = before[-1] if before else self._sizes[0][1]
        self._server.kill()
        ends = ends_of_transactions(self._server.append_only_file, start)
        kept = ends[round((len(ends) - 1) * (1 - share))]
        self._server.forget(ends[-1] - kept).start()
        self._cuts.append(kept)
        self._sizes = [(at, min(size, kept)) for at, size in self._sizes]


def ends_of_transactions(path: Path, start: int) -> list[int]:
    """Where from ``start`` on, which is such a place, the file may end; ``start`` is the first of them."""
    with path.open("rb") as file:
        file.seek(start)
        data = file.read()
    ends, at, within = [start], 0, False
    while at < len(data):
        words, at = _command(data, at)
        within = words == [b"MULTI"] or (within and words != [b"EXEC"])
        if not within:
            ends.append(start + at)
    return ends


def _command(data: bytes, at: int) -> tuple[list[bytes], int]:
    number, at = _length(data, at)
    words = []
    for _ in range(number):
        length, at = _length(data, at)
        words.append(data[at : at + length])
        at += length + 2
    return words, at


def _length(data: bytes, at: int) -> tuple[int, int]:
    end = data.index(b"\r\n", at)
    return int(data[at + 1 : end]), end + 2
