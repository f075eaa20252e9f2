"""Quarantine: the patterns found to be traps, the URLs they cover and withhold, and the scope rule that refuses
these."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from webcrawl.features.traps.copies import base_without, copies_pattern
from webcrawl.features.traps.pattern import (
    DEEP,
    PATH_SESSION,
    REPEATED,
    VOID,
    Shape,
    is_session_name,
    parse_shape,
    session_of_folder,
)
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from webcrawl.features.traps.parameters import Evidence
    from webcrawl.scope.scope import Candidate, LinkBatch


SAMPLE_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Trap:
    """A pattern that is or was in quarantine."""

    pattern: str
    """The pattern as ``Shape`` builds it; see docs/guides/traps.md."""
    why: str
    since: float
    """Epoch seconds."""
    looked: int
    """Number of pages that were examined."""
    samples: tuple[str, ...]
    """URLs of some of these pages."""
    released_at: float | None = None
    """Epoch seconds; a released pattern is never evaluated again."""
    withheld: int = 0
    """Number of URLs that were not fetched because of it."""

    @property
    def id(self) -> str:
        """Eight hexadecimal digits that identify the pattern."""
        return pattern_id(self.pattern)

    @property
    def covers(self) -> str:
        """A description of the URLs that the pattern covers."""
        return in_words(self.pattern)


@dataclass(frozen=True, slots=True)
class Withheld:
    """A URL that was not fetched because of a trap."""

    url: str
    depth: int
    via: str | None


@dataclass(slots=True)
class Kept:
    """Withheld URLs of one pattern that are not stored yet: some of the URLs, and the number of all."""

    urls: list[Withheld] = field(default_factory=list)
    count: int = 0


def pattern_id(pattern: str) -> str:
    """Return the id of a pattern, see ``Trap.id``."""
    return f"{fingerprint(pattern) & 0xFFFFFFFF:08x}"


def how_to_release(trap: Trap) -> str:
    """Return the command that releases a pattern, for messages."""
    return f"scrapy traps release {trap.id}"


class Quarantine:
    """Decides from memory which URLs are withheld; costs one look-up for hosts without a pattern in quarantine."""

    def __init__(
        self,
        withheld_max: int = 1000,
        fetched: Callable[[int], bool] = lambda base: True,
        copied: Callable[[int], bool] = lambda base: True,
    ) -> None:
        """``withheld_max``: number of URLs stored for each pattern. ``fetched``: returns whether a page was fetched
        under any session, by its ``Shape.base``; ``copied``: whether it was with any value of a parameter, by
        ``copies.base_without``."""
        self._copied = copied
        self._withheld_max = withheld_max
        self._fetched = fetched
        self._traps: dict[str, Trap] = {}
        self._released: set[str] = set()
        self._hosts: dict[str, tuple[bool, bool, int]] = {}
        """Hosts with patterns in quarantine: whether any is of sessions, whether any is of deep paths, and the number
        of patterns."""
        self._remembered: dict[str, set[int]] = {}
        self._new: list[Trap] = []
        self._kept: dict[str, Kept] = {}

    def __len__(self) -> int:
        return len(self._traps)

    def traps(self) -> list[Trap]:
        """Return the patterns in quarantine, without released ones."""
        return list(self._traps.values())

    # -- queries ---------------------------------------------------------------------------------------------

    def holds(self, host: str) -> bool:
        """Return whether any pattern of a host, given without its port, is in quarantine."""
        return host in self._hosts

    def find_trap(self, url: str, host: str) -> Trap | None:
        """Return the pattern by which a URL is withheld, if any."""
        known = self._hosts.get(host)
        if known is None:
            return None
        shape = parse_shape(url)
        traps = self._traps
        if (trap := traps.get(shape.pattern)) is not None:
            return trap
        if shape.path.endswith(REPEATED) and (trap := self._by_repetition(shape.pattern)) is not None:
            return trap
        for name in shape.parameters:
            if (trap := traps.get(shape.of_parameter(name))) is not None:
                return trap
        void = self.void_parameters(shape)
        if void and self._copied(base_without(shape, *void)):
            return next(iter(void.values()))
        has_sessions, has_deep, _ = known
        if has_sessions and (trap := self._by_session(self.with_session(shape))) is not None:
            return trap
        return self._by_depth(shape) if has_deep else None

    def void_parameters(self, shape: Shape) -> dict[str, Trap]:
        """Return the parameters of a URL that are known to change nothing, with the patterns that say so."""
        if not self.holds(_place_host(shape.place)):
            return {}
        traps = ((name, self._traps.get(copies_pattern(shape, name))) for name in shape.parameters)
        return {name: trap for name, trap in traps if trap is not None}

    def with_session(self, shape: Shape) -> Shape:
        """Return the shape with the session that only its folder identifies, if that folder's sessions are in
        quarantine."""
        if shape.sessions or shape.parameters or not self._has_sessions(shape.place):
            return shape
        return session_of_folder(shape, self._traps.__contains__)

    def is_settled(self, shape: Shape) -> bool:
        """Return whether every session of a URL is known to change nothing."""
        return all(self._session(shape.of_session(name)) is not None for name in shape.sessions)

    def is_decided(self, pattern: str) -> bool:
        """Return whether a pattern is in quarantine or was released, so that it needs no further evaluation."""
        every = _of_every_folder(pattern)
        return pattern in self._traps or not self._released.isdisjoint((pattern, every))

    def _by_repetition(self, pattern: str) -> Trap | None:
        """Return the pattern of a repeating path above this one that covers it; a pattern of the whole
        host does not.
        """
        above = pattern.rpartition("/")[0].rpartition("/")[0]
        while above.count("/") > 0:
            trap = self._traps.get(f"{above}/{REPEATED}")
            if trap is not None:
                return trap
            above = above.rpartition("/")[0]
        return None

    def _by_session(self, shape: Shape) -> Trap | None:
        for name in shape.sessions:
            trap = self._session(shape.of_session(name))
            if trap is not None:
                return trap if self._fetched(shape.base()) else None
        return None

    def _session(self, pattern: str) -> Trap | None:
        return self._traps.get(pattern) or self._traps.get(_of_every_folder(pattern))

    def _by_depth(self, shape: Shape) -> Trap | None:
        if (trap := self._traps.get(shape.whole)) is not None:
            return trap
        if len(shape.segments) <= DEEP_AT_LEAST:
            return None
        return self._traps.get(shape.below(1))

    def is_released(self, pattern: str) -> bool:
        """Return whether an operator has released a pattern."""
        return pattern in self._released

    # -- changes ---------------------------------------------------------------------------------------------

    def add(self, evidence: Evidence, now: float) -> Trap | None:
        """Put a pattern into quarantine; return None if it is already there or was released."""
        if self.is_decided(evidence.pattern):
            return None
        samples = tuple(url[:SAMPLE_LENGTH] for url in evidence.samples)
        trap = Trap(evidence.pattern, evidence.why, now, evidence.looked, samples)
        self._enter(trap)
        self._new.append(trap)
        return trap

    def learn(self, known: Iterable[Trap]) -> tuple[list[Trap], list[Trap]]:
        """Load the stored patterns; return those that are new here, and those that were released since.

        Patterns that are in quarantine here but not in the store are marked to be stored again.
        """
        entered: list[Trap] = []
        left: list[Trap] = []
        stored = {trap.pattern: trap for trap in known}
        for trap in stored.values():
            if trap.released_at is not None:
                if trap.pattern in self._traps:
                    left.append(trap)
                self._leave(trap.pattern)
            elif trap.pattern not in self._traps:
                self._enter(trap)
                entered.append(trap)
        waiting = {trap.pattern for trap in self._new}
        self._new += [
            trap for pattern, trap in self._traps.items() if pattern not in stored and pattern not in waiting
        ]
        return entered, left

    def withhold(self, trap: Trap, withheld: Withheld) -> None:
        """Record a withheld URL."""
        remembered = self._remembered.setdefault(trap.pattern, set())
        mark = fingerprint(withheld.url)
        if mark in remembered:
            return
        kept = self._kept.setdefault(trap.pattern, Kept())
        kept.count += 1
        if len(remembered) < self._withheld_max:
            remembered.add(mark)
            kept.urls.append(withheld)

    def take_news(self) -> tuple[list[Trap], dict[str, Kept]]:
        """Return patterns and withheld URLs (by pattern) that are to be stored since the last call."""
        new, self._new = self._new, []
        kept, self._kept = self._kept, {}
        return new, kept

    def has_news(self) -> bool:
        """Return whether something is to be stored."""
        return bool(self._new or self._kept)

    def give_back(self, new: list[Trap], kept: dict[str, Kept]) -> None:
        """Take back the result of ``take_news``, which could not be stored; the next call returns it again."""
        self._new = [*(trap for trap in new if trap.pattern in self._traps), *self._new]
        for pattern, withheld in kept.items():
            later = self._kept.setdefault(pattern, Kept())
            later.urls, later.count = [*withheld.urls, *later.urls], withheld.count + later.count

    def _enter(self, trap: Trap) -> None:
        self._traps[trap.pattern] = replace(trap, withheld=0)
        self._count(trap.pattern)

    def _leave(self, pattern: str) -> None:
        self._released.add(pattern)
        self._remembered.pop(pattern, None)
        if self._traps.pop(pattern, None) is not None:
            self._hosts.clear()
            for other in self._traps:
                self._count(other)

    def _has_sessions(self, place: str) -> bool:
        return self._hosts.get(_place_host(place), (False, False, 0))[0]

    def _count(self, pattern: str) -> None:
        host = _place_host(pattern.partition("/")[0].partition("?")[0])
        sessions, deep, count = self._hosts.get(host, (False, False, 0))
        is_session = "/" not in pattern.partition("?")[0]
        self._hosts[host] = (
            sessions or is_session,
            deep or pattern.endswith(f"/{DEEP}"),
            count + 1,
        )


DEEP_AT_LEAST = 3
"""Paths with more segments than this are covered by the pattern of everything below their first segment."""


def _place_host(place: str) -> str:
    return place.rpartition(":")[0] if ":" in place.rpartition("]")[2] else place


def _of_every_folder(pattern: str) -> str:
    """Return the form in which earlier versions wrote the pattern of a session in the path; other
    patterns unchanged.
    """
    place, _, name = pattern.partition("?")
    return f"{place}?{PATH_SESSION}" if "/" not in place and name.endswith(PATH_SESSION) else pattern


def in_words(pattern: str) -> str:
    """Return a description of the URLs that a pattern covers, for messages."""
    before, has_name, name = pattern.partition("?")
    if has_name and "/" not in before:
        folder = name.removesuffix(PATH_SESSION).removeprefix("/")
        in_path = f"long number in the path below /{folder}" if folder else "long number in the path"
        if name.endswith(PATH_SESSION):
            value = in_path
        else:
            value = f"{'session' if is_session_name(name) else 'value of'} {name.lstrip(';')}"
        return f"pages of {before} that were already fetched with another {value}"
    if has_name and name.endswith(VOID):
        return f"pages of {before} that were already fetched with another value of {name.removesuffix(VOID)}"
    if has_name:
        return f"{before} with the parameter {name}"
    if before.endswith(f"/{DEEP}") and before.count("/") == 1:
        return f"all URLs of {before.removesuffix(f'/{DEEP}')}"
    if before.endswith(f"/{DEEP}"):
        return f"all URLs deep below {before.removesuffix(DEEP)}"
    return before


TRAP = "trap"


class TrapRule:
    """Scope rule that refuses URLs of patterns in quarantine."""

    name = TRAP

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine

    def refuses(self, candidate: Candidate) -> str | None:
        if not self._quarantine.holds(candidate.host):
            return None
        trap = self._quarantine.find_trap(candidate.url, candidate.host)
        if trap is None:
            return None
        return f"{trap.pattern}: {trap.why}; {how_to_release(trap)} releases it"

    def refuses_none(self, links: LinkBatch) -> bool:
        return not any(map(self._quarantine.holds, links.different_hosts))
