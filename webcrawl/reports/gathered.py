"""Values by key, exact and in bounded memory: what does not fit is kept in sorted runs on the disk."""

from __future__ import annotations

import marshal
import tempfile
import weakref
from heapq import merge
from operator import add, itemgetter
from typing import IO, TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Value = TypeVar("Value")

HELD_MAX = 200_000
"""Keys in memory, with their values some 60 MB."""
WEIGHT_MAX = 32_000_000
"""Characters of these keys."""
RUNS_MAX = 64
"""Files that are open at a time."""
_BATCH = 500

Sums = tuple[int, ...]


def summed(one: Sums, other: Sums) -> Sums:
    """Two tuples of one length, added up."""
    return tuple(map(add, one, other))


class Gathered(Generic[Value]):
    """For each key one value; values of a key are combined when they meet.

    ``combine`` must not depend on the order in which it is given values. Values are plain (numbers, texts, bytes and
    tuples of these). Runs lie in the system's folder for temporary files, unnamed, and are gone with this object.
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
        self._runs: list[IO[bytes]] = []
        weakref.finalize(self, _close, self._runs)

    def add(self, key: str, value: Value, weight: int = 0) -> None:
        """``weight``: bytes of the value, where they are more than some numbers'."""
        held = self._held
        known = held.get(key)
        if known is not None:
            held[key] = self._combine(known, value)
            return
        held[key] = value
        self._weight += len(key) + weight
        if len(held) >= self._held_max or self._weight >= self._weight_max:
            self._spill()

    def __iter__(self) -> Iterator[tuple[str, Value]]:
        """All keys in their order, each once. May be repeated, one iteration after the other."""
        ordered = sorted(self._held.items(), key=itemgetter(0))
        if not self._runs:
            return iter(ordered)
        return self._merged([*map(_read, self._runs), ordered])

    def __bool__(self) -> bool:
        return bool(self._held or self._runs)

    def _spill(self) -> None:
        self._runs.append(_written(sorted(self._held.items(), key=itemgetter(0))))
        self._held, self._weight = {}, 0
        if len(self._runs) >= RUNS_MAX:
            merged = _written(self._merged([*map(_read, self._runs)]))
            _close(self._runs)
            self._runs[:] = [merged]

    def _merged(self, streams: list[Iterable[tuple[str, Value]]]) -> Iterator[tuple[str, Value]]:
        items = merge(*streams, key=itemgetter(0))
        last, value = next(items)
        for key, other in items:
            if key == last:
                value = self._combine(value, other)
            else:
                yield last, value
                last, value = key, other
        yield last, value


def _written(items: Iterable[tuple[str, Value]]) -> IO[bytes]:
    run = tempfile.TemporaryFile(prefix="webcrawl-")  # noqa: SIM115 - it lives as long as its owner
    batch: list[tuple[str, Value]] = []
    for item in items:
        batch.append(item)
        if len(batch) == _BATCH:
            marshal.dump(batch, run)
            batch = []
    marshal.dump(batch, run)
    return run


def _close(runs: list[IO[bytes]]) -> None:
    for run in runs:
        run.close()


def _read(run: IO[bytes]) -> Iterator[tuple[str, Value]]:
    run.seek(0)
    while True:
        try:
            yield from marshal.load(run)
        except EOFError:
            return
