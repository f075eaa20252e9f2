"""Figures of hosts, and of those that fail: exact for each, however many there are."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from heapq import heappush, heappushpop, nlargest
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.reports.gathered import Gathered, Sums, summed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEP = math.log(1.02)
"""Bytes of hosts are told apart to 2 %."""
_BETWEEN = "\0"


class Failing(NamedTuple):
    """A politeness key with requests that failed."""

    number: int
    key: str
    errors: tuple[tuple[str, int], ...]
    """What went wrong, and how often; the most frequent first."""


@dataclass(slots=True)
class HostsDigest:
    """What a crawl had of each host."""

    _hosts: Gathered[tuple[int, int]] = field(default_factory=lambda: Gathered(_both))
    """Pages and bytes."""
    _failures: Gathered[Sums] = field(default_factory=lambda: Gathered(summed))

    def add(self, host: str, *, pages: int, size: int) -> None:
        self._hosts.add(host, (pages, size))

    def add_failure(self, key: str, error: str) -> None:
        self._failures.add(f"{key.replace(_BETWEEN, '')}{_BETWEEN}{error.replace(_BETWEEN, '')}", (1,))

    def ranked(self, number: int) -> Ranks:
        """All that is told of hosts; ``number`` of them by name."""
        ranks = Ranks()
        for host, (pages, size) in self._hosts:
            ranks.hosts += 1
            if pages:
                ranks.pages[pages] += 1
                _keep(ranks.most_pages, (pages, host), number)
            if size > 0:
                ranks.bytes[math.floor(math.log(size) / STEP)] += 1
                _keep(ranks.most_bytes, (size, host), number)
        for most in (ranks.most_pages, ranks.most_bytes):
            most.sort(key=lambda item: (-item[0], item[1]))
        return ranks

    def failing(self, number: int) -> list[Failing]:
        """The politeness keys with the most failed requests."""

        return nlargest(number, self._by_key(), key=attrgetter("number"))

    def _by_key(self) -> Iterator[Failing]:
        pairs = ((place.partition(_BETWEEN), count) for place, (count,) in self._failures)
        for key, group in groupby(pairs, key=lambda pair: pair[0][0]):
            errors = sorted(((place[2], count) for place, count in group), key=lambda one: (-one[1], one[0]))
            yield Failing(sum(count for _, count in errors), key, tuple(errors))


@dataclass(slots=True)
class Ranks:
    """Hosts by what they had."""

    hosts: int = 0
    pages: Counter[int] = field(default_factory=Counter)
    """How many hosts had so many pages."""
    bytes: Counter[int] = field(default_factory=Counter)
    """How many hosts had about so many bytes: the logarithm in ``STEP``."""
    most_pages: list[tuple[int, str]] = field(default_factory=list)
    most_bytes: list[tuple[int, str]] = field(default_factory=list)

    def curve_of_pages(self) -> list[tuple[int, float]]:
        """Rank and pages; hosts with the same number of pages are one step, told by its first and last rank."""
        return _curve(sorted(self.pages.items(), reverse=True), float)

    def curve_of_bytes(self) -> list[tuple[int, float]]:
        """Rank and bytes, to 2 %."""
        return _curve(sorted(self.bytes.items(), reverse=True), lambda step: math.exp((step + 0.5) * STEP))


def _both(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _curve(steps: list[tuple[int, int]], value_of: Callable[[int], float]) -> list[tuple[int, float]]:
    points: list[tuple[int, float]] = []
    rank = 1
    for step, hosts in steps:
        value = value_of(step)
        points.append((rank, value))
        if hosts > 1:
            points.append((rank + hosts - 1, value))
        rank += hosts
    return points


def _keep(most: list[tuple[int, str]], item: tuple[int, str], number: int) -> None:
    """Keep the largest in a heap."""
    if len(most) < number:
        heappush(most, item)
    elif item > most[0]:
        heappushpop(most, item)
