"""Parts of URLs that change nothing of the page: the numbers by which a server tells its visitors apart."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from webcrawl.traps.pattern import Shape, is_session_name
from webcrawl.traps.strands import SAMPLES, Evidence
from webcrawl.traps.wording import Wording, alike, same

BASES_MAX = 100_000
"""Pages whose URLs have a session: so many are remembered, 20 MB at most."""
NAMES_MAX = 10_000
EQUAL_LEAST = 3
"""Pages that were the same as before under another session."""
TIMES_AS_OFTEN = 4
"""So many times as often they have to be the same as not."""
PAGES_LEAST = 3
"""Different pages of which that was so, where the name says nothing."""
EQUAL_MANY = 20
"""Or so often of fewer."""
HOPELESS = 8
"""Pages that were not the same, after which nothing more is compared."""


@dataclass(slots=True)
class _Name:
    equal: int = 0
    different: int = 0
    bases: set[int] = field(default_factory=set)
    samples: list[str] = field(default_factory=list)


class Sessions:
    """Compares pages whose URLs differ in their sessions alone."""

    def __init__(self) -> None:
        self._bases: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        self._names: OrderedDict[str, _Name] = OrderedDict()

    def has(self, base: int) -> bool:
        """Whether the page of this base was fetched already, under whatever session."""
        return base in self._bases

    def seen(self, shape: Shape, url: str, wording: Callable[[], Wording], settled: bool) -> list[Evidence]:
        """A page with a session in its URL was fetched; what that proves. ``settled``: it is known already that the
        session changes nothing.
        """
        names = {name: self._name(shape.of_session(name)) for name in shape.sessions}
        if not settled and all(one.different >= HOPELESS and not one.equal for one in names.values()):
            return []
        base = shape.base()
        before = self._bases.get(base)
        signature = () if settled else wording().signature()
        self._remember(base, before or signature)
        if before is None or not before or not signature:
            return []
        found = []
        for name, one in names.items():
            # Where the name says nothing, pages must not be taken for one because most of each is what all say.
            if not (alike if is_session_name(name) else same)(before, signature):
                one.different += 1
                continue
            one.equal += 1
            if len(one.bases) < PAGES_LEAST:
                one.bases.add(base)
            if len(one.samples) < SAMPLES:
                one.samples.append(url)
            if _is_void(name, one):
                why = f"{one.equal} pages said the same under another {_called(name)}"
                found.append(
                    Evidence(shape.of_session(name), why, one.equal + one.different, tuple(one.samples))
                )
        return found

    def _remember(self, base: int, signature: tuple[int, ...]) -> None:
        self._bases[base] = signature
        self._bases.move_to_end(base)
        if len(self._bases) > BASES_MAX:
            self._bases.popitem(last=False)

    def _name(self, pattern: str) -> _Name:
        one = self._names.setdefault(pattern, _Name())
        self._names.move_to_end(pattern)
        if len(self._names) > NAMES_MAX:
            self._names.popitem(last=False)
        return one


def _is_void(name: str, one: _Name) -> bool:
    if one.equal < EQUAL_LEAST or one.equal < TIMES_AS_OFTEN * one.different:
        return False
    return is_session_name(name) or len(one.bases) >= PAGES_LEAST or one.equal >= EQUAL_MANY


def _called(name: str) -> str:
    return "segment" if name == "/*" else name.lstrip(";")
