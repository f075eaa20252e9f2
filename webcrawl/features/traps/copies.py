"""Copy finder: finds parameters that do not change the page, by pages that are equal byte for byte.

The value of such a parameter says where a visitor came from or how a list elsewhere is shown, so the same page is
offered under every value: ``/rev/HASH?revcount=30``, ``/rev/HASH?revcount=60``. These pages need not link to further
ones of their kind, so they never look like a pattern that breeds (see ``pattern_evaluator``). As with sessions, what
proves that a parameter is void is that the same pages are equal under other values of it; each page is fetched once
then, under the value with which it is found first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.features.traps.parameters import SAMPLES, Evidence, pages
from webcrawl.features.traps.pattern import is_paging_name
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.features.traps.pattern import Shape

BASES_MAX = 50_000
"""Maximum number of pages, without one of their parameters, whose content is remembered: 10 MB at most."""
PARAMETERS_MAX = 5_000
"""Maximum number of parameters that are counted."""
COMPARED_MAX = 8
"""Number of parameters up to which a URL is compared; longer queries are combinations, which have other rules."""
PAGES_LEAST = 15
"""Minimum number of different pages that were equal under another value."""
EQUAL_LEAST = 30
"""Minimum number of comparisons in which a page was equal."""
TIMES_AS_OFTEN = 40
"""Pages have to be equal so many times as often as different: a parameter may be void for most pages and select among
the rest.
"""
CONTENTS_LEAST = 4
"""Minimum number of different contents among those pages: one content under many URLs may be the answer to anything
that a server does not find.
"""


@dataclass(slots=True)
class _Counts:
    """The comparisons under different values of one parameter."""

    equal: int = 0
    different: int = 0
    bases: set[int] = field(default_factory=set)
    contents: set[int] = field(default_factory=set)
    samples: list[str] = field(default_factory=list)

    @property
    def is_void(self) -> bool:
        return (
            self.equal >= EQUAL_LEAST
            and len(self.bases) >= PAGES_LEAST
            and len(self.contents) >= CONTENTS_LEAST
            and self.equal >= TIMES_AS_OFTEN * self.different
        )


class Copies:
    """Compares pages whose URLs differ only in the value of one parameter, or in whether they have it."""

    def __init__(self) -> None:
        self._contents: OrderedDict[int, tuple[int, int]] = OrderedDict()
        """Of pages without one of their parameters: its value, and their content."""
        self._counts: OrderedDict[str, _Counts] = OrderedDict()

    def has(self, base: int) -> bool:
        """Return whether the page of this base was fetched, under any value of the parameter."""
        return base in self._contents

    def seen(self, shape: Shape, url: str, content: Callable[[], int]) -> list[Evidence]:
        """Compare a fetched page; return the evidence that it completes. ``content``: a fingerprint of its bytes."""
        if len(shape.parameters) > COMPARED_MAX:
            return []
        now, found = content(), list[Evidence]()
        # It is the page without a parameter too, to which those that have one more are compared.
        self._put(base_without(shape, ""), 0, now)
        for name, value in shape.parameters.items():
            base, mark = base_without(shape, name), fingerprint(f"={value}")
            before = self._contents.get(base)
            self._put(base, mark, now)
            if before is None or before[0] == mark or is_paging_name(name):
                continue
            counts = self._count(shape.of_parameter(name))
            if before[1] != now:
                counts.different += 1
                continue
            counts.equal += 1
            if len(counts.bases) < PAGES_LEAST:
                counts.bases.add(base)
            if len(counts.contents) < CONTENTS_LEAST:
                counts.contents.add(now)
            if len(counts.samples) < SAMPLES:
                counts.samples.append(url)
            if counts.is_void:
                why = f"{pages(counts.equal)} were the same, byte for byte, with another value of {name}"
                total = counts.equal + counts.different
                found.append(Evidence(copies_of(shape, name), why, total, tuple(counts.samples)))
        return found

    def _put(self, base: int, value: int, content: int) -> None:
        self._contents[base] = value, content
        self._contents.move_to_end(base)
        if len(self._contents) > BASES_MAX:
            self._contents.popitem(last=False)

    def _count(self, pattern: str) -> _Counts:
        counts = self._counts.setdefault(pattern, _Counts())
        self._counts.move_to_end(pattern)
        if len(self._counts) > PARAMETERS_MAX:
            self._counts.popitem(last=False)
        return counts


VOID = "="
"""The end of the pattern of a void parameter: its pages are fetched once, whatever its value."""


def copies_of(shape: Shape, name: str) -> str:
    """Return the pattern of the pages of this path that were fetched with another value of a parameter."""
    return f"{shape.of_parameter(name)}{VOID}"


def base_without(shape: Shape, name: str) -> int:
    """Return a fingerprint of a URL without one of its parameters."""
    others = "&".join(f"{one}={value}" for one, value in sorted(shape.parameters.items()) if one != name)
    return fingerprint(f"{shape.place}/{'/'.join(shape.segments)}?{others}")
