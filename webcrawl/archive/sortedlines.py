"""External sorting of lines: chunks are sorted in memory and merged from files."""

from __future__ import annotations

import heapq
import tempfile
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

CHUNK_BYTES = 16 << 20
"""Lines that are sorted at once, in bytes of their text; they take some three times as much memory."""
_FAN_IN = 64
"""Files that are merged at a time."""
_BUFFER = 1 << 16


@contextmanager
def merged(paths: Sequence[Path], *more: Iterable[bytes]) -> Iterator[Iterator[bytes]]:
    """Merge sorted files and further sorted lines into one order. Raises OSError."""
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("rb", buffering=_BUFFER)) for path in paths]
        yield heapq.merge(*files, *more)


class Sorter:
    """Takes lines in any order and returns them sorted. It is a context manager: its files are deleted at the end."""

    def __init__(self, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._chunk_bytes = chunk_bytes
        self._lines: list[bytes] = []
        self._bytes = 0
        self._stack = ExitStack()
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> Sorter:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, line: bytes) -> None:
        """Add a line with its line end. Raises OSError if there is no room for a temporary file."""
        self._lines.append(line)
        self._bytes += len(line)
        if self._bytes >= self._chunk_bytes:
            self._lines.sort()
            self._spill(self._lines)
            self._lines, self._bytes = [], 0
            if len(self._files) >= _FAN_IN:
                self._fold()

    def sorted(self) -> Iterator[bytes]:
        """Yield all lines in order; call it once, after all have been added."""
        self._lines.sort()
        for file in self._files:
            file.seek(0)
        return heapq.merge(*self._files, self._lines)

    def _spill(self, lines: Iterable[bytes]) -> None:
        file = self._stack.enter_context(tempfile.TemporaryFile(buffering=_BUFFER))  # noqa: SIM115
        file.writelines(lines)
        self._files.append(file)

    def _fold(self) -> None:
        """Merge all files into one."""
        files, self._files = self._files, []
        for file in files:
            file.seek(0)
        self._spill(heapq.merge(*files))
        for file in files:
            file.close()
