"""External sorting: items that do not fit in memory are kept in sorted runs on the disk and merged from there.

``Sorter`` sorts lines; ``Gathered`` keeps one value for each key. Runs are unnamed files in the system's folder for
temporary files, and are deleted with the object that they belong to.
"""

from __future__ import annotations

import marshal
import tempfile
import weakref
from contextlib import ExitStack, contextmanager
from functools import partial
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

Item = TypeVar("Item")
Value = TypeVar("Value")

RUNS_MAX = 64
"""The number of files that are open and merged at a time."""
_BUFFER = 1 << 16
_BATCH = 200
"""Items that are read at a time."""
_LENGTH_BYTES = 8


class SortedRuns(Generic[Item]):
    """Sorted runs of plain values, in any number but few files: when there are too many, they are merged into one."""

    def __init__(
        self,
        key: Callable[[Item], Any] | None = None,
        combine: Callable[[Iterable[Item]], Iterator[Item]] = iter,
    ) -> None:
        """Items are ordered by ``key``. ``combine`` is applied to the items of several runs in their order."""
        self._key = key
        self._combine = combine
        self._files: list[IO[bytes]] = []
        self.close = weakref.finalize(self, _close, self._files)
        """Delete all runs."""

    def __bool__(self) -> bool:
        return bool(self._files)

    def add(self, items: Iterable[Item]) -> None:
        """Write one more run of items in their order. Raises OSError when there is no room for a file of many."""
        self._files.append(_written(items))
        if len(self._files) >= RUNS_MAX:
            joined = _written(self.merged())
            _close(self._files)
            self._files.append(joined)

    def merged(self, *more: Iterable[Item]) -> Iterator[Item]:
        """Yield the items of all runs, and of further sorted items, in one order. One iteration at a time."""
        return self._combine(merge(*map(_read, self._files), *more, key=self._key))


def _written(items: Iterable[Item]) -> IO[bytes]:
    file = tempfile.TemporaryFile(prefix="webcrawl-", buffering=_BUFFER)  # noqa: SIM115
    items = iter(items)
    while batch := list(islice(items, _BATCH)):
        data = marshal.dumps(batch)
        file.write(len(data).to_bytes(_LENGTH_BYTES, "little"))
        file.write(data)
    return file


def _read(file: IO[bytes]) -> Iterator[Any]:
    file.seek(0)
    while head := file.read(_LENGTH_BYTES):
        yield from marshal.loads(file.read(int.from_bytes(head, "little")))


def _close(files: list[IO[bytes]]) -> None:
    for file in files:
        file.close()
    files.clear()


CHUNK_BYTES = 16 << 20
"""Lines that are sorted at once, in bytes of their text; they take some three times as much memory."""


@contextmanager
def merged(paths: Sequence[Path], *more: Iterable[bytes]) -> Iterator[Iterator[bytes]]:
    """Merge sorted files and further sorted lines into one order. Raises OSError."""
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("rb", buffering=_BUFFER)) for path in paths]
        yield merge(*files, *more)


class Sorter:
    """Takes lines in any order and returns them sorted. It is a context manager: its files are deleted at the end."""

    def __init__(self, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._chunk_bytes = chunk_bytes
        self._lines: list[bytes] = []
        self._bytes = 0
        self._runs: SortedRuns[bytes] = SortedRuns()

    def __enter__(self) -> Sorter:
        return self

    def __exit__(self, *_: object) -> None:
        self._runs.close()

    def add(self, line: bytes) -> None:
        """Add a line, including its line end. Raises OSError when there is no room for a file of many."""
        self._lines.append(line)
        self._bytes += len(line)
        if self._bytes >= self._chunk_bytes:
            self._lines.sort()
            self._runs.add(self._lines)
            self._lines, self._bytes = [], 0

    def sorted(self) -> Iterator[bytes]:
        """Return all lines in order. Call it once, when all lines have been added."""
        self._lines.sort()
        return self._runs.merged(self._lines)


HELD_MAX = 200_000
"""The number of keys in memory, with their values some 60 MB."""
WEIGHT_MAX = 32_000_000
"""The number of characters of these keys."""


class Gathered(Generic[Value]):
    """One value for each key; the values that are added to a key are combined.

    The result of ``combine`` must not depend on the order of the values. Values are plain (numbers, texts, bytes and
    tuples of these).
    """

    def __init__(
        self,
        combine: Callable[[Value, Value], Value],
        *,
        held_max: int = HELD_MAX,
        weight_max: int = WEIGHT_MAX,
    ) -> None:
        self._combine = combine
        self._held_max = held_max
        self._weight_max = weight_max
        self._held: dict[str, Value] = {}
        self._weight = 0
        self._runs: SortedRuns[tuple[str, Value]] = SortedRuns(itemgetter(0), partial(_combined, combine))

    def add(self, key: str, value: Value, weight: int = 0) -> None:
        """``weight``: bytes of the value, if it is more than a few numbers."""
        held = self._held
        known = held.get(key)
        if known is not None:
            held[key] = self._combine(known, value)
            return
        held[key] = value
        self._weight += len(key) + weight
        if len(held) >= self._held_max or self._weight >= self._weight_max:
            self._runs.add(self._sorted())
            self._held, self._weight = {}, 0

    def __iter__(self) -> Iterator[tuple[str, Value]]:
        """Yield all keys in their order, each once. May be repeated, one iteration after the other."""
        ordered = self._sorted()
        return self._runs.merged(ordered) if self._runs else iter(ordered)

    def __bool__(self) -> bool:
        return bool(self._held or self._runs)

    def _sorted(self) -> list[tuple[str, Value]]:
        return sorted(self._held.items(), key=itemgetter(0))


def _combined(
    combine: Callable[[Value, Value], Value], items: Iterable[tuple[str, Value]]
) -> Iterator[tuple[str, Value]]:
    """Yield each key once. ``items`` are ordered by key, and at least one."""
    items = iter(items)
    last, value = next(items)
    for key, other in items:
        if key == last:
            value = combine(value, other)
        else:
            yield last, value
            last, value = key, other
    yield last, value
