"""Which page is next when all processes are busy: those that take long do not hold up those that do not.

There are two lines. While slow pages have all processes, quick ones have one more for themselves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawl.processing.content import Row

SLOW_SECONDS = 0.5
"""A page that is likely to take longer is slow."""
LARGE_BYTES = 1 << 18
LARGE_SECONDS = 1.0
"""What larger pages than that are likely to take, as long as nothing is known of their kind; smaller ones nothing."""
KINDS_MAX = 4096
_WEIGHT = 0.3
"""Of the last page in what is expected of the next one of its kind."""

Kind = tuple[str, int, tuple[int, ...]]

_T = TypeVar("_T")
_Turn = tuple[int, "asyncio.Future[_T]"]
"""When a page came, and what it waits for."""


class Costs:
    """How long pages take: those of about the same size, of one MIME type, with the same modules."""

    def __init__(self) -> None:
        self._seconds: dict[Kind, float] = {}

    @staticmethod
    def kind(row: Row, numbers: Sequence[int]) -> Kind:
        """The kind of a page; sizes of a kind differ by less than a factor of two."""
        return row[2], len(row[5]).bit_length(), tuple(numbers)

    def is_slow(self, kind: Kind) -> bool:
        """Whether a page of this kind is likely to take long."""
        return self._expected(kind) > SLOW_SECONDS

    def took(self, kind: Kind, seconds: float) -> None:
        """Learn from a page."""
        expected = self._expected(kind)
        if len(self._seconds) >= KINDS_MAX and kind not in self._seconds:
            self._seconds.clear()
        self._seconds[kind] = expected + _WEIGHT * (seconds - expected)

    def _expected(self, kind: Kind) -> float:
        known = self._seconds.get(kind)
        if known is not None:
            return known
        return LARGE_SECONDS if kind[1] > LARGE_BYTES.bit_length() else 0.0


class Line(Generic[_T]):
    """Hands out things of which there are too few, in the order in which pages came: to as many pages at a time as it
    is told, and to one quick page more when the others are all slow. Things given back last are handed out first.
    """

    def __init__(self, new: Callable[[], _T], at_once: int) -> None:
        """``new`` makes a thing, which nobody has had before."""
        self._idle = [new() for _ in range(at_once + 1)]
        self._at_once = at_once
        self._given = [0, 0]
        """How many quick and slow pages have one."""
        self._waiting: tuple[deque[_Turn[_T]], deque[_Turn[_T]]] = deque(), deque()
        self._numbers = count()

    async def get(self, is_slow: bool) -> _T:
        """One of them, in turn. It must be given back by ``put``, with the same word."""
        future: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._waiting[is_slow].append((next(self._numbers), future))
        self._hand_out()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.put(future.result(), is_slow)
            raise

    def put(self, thing: _T, is_slow: bool) -> None:
        """Give one back."""
        self._given[is_slow] -= 1
        self._idle.append(thing)
        self._hand_out()

    def _hand_out(self) -> None:
        for line in self._waiting:
            while line and line[0][1].done():
                line.popleft()
        while (is_slow := self._next()) is not None:
            _, future = self._waiting[is_slow].popleft()
            if not future.done():
                self._given[is_slow] += 1
                future.set_result(self._idle.pop())

    def _next(self) -> bool | None:
        """Whether a quick or a slow page is next; None when nobody is."""
        quick, slow = self._waiting
        if sum(self._given) < self._at_once:
            if quick and slow:
                return slow[0][0] < quick[0][0]
            return None if not (quick or slow) else bool(slow)
        return False if quick and self._given == [0, self._at_once] else None
