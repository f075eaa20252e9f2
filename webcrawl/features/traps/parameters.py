"""The pages of one path, counted by the parameters they have, and which of those is to blame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.features.traps.pattern import is_paging_name

if TYPE_CHECKING:
    from webcrawl.features.traps.pattern import Shape

SAMPLES = 5
VALUES_MAX = 64
STRANDS_MAX = 128
VALUES_LEAST, SETS_LEAST = 3, 4
"""A parameter is to blame when it took so many values, or stood beside so many different others."""
WARMED_UP = 8
"""The first pages that are looked at say much that is new because nothing is known yet."""
DULL_FROM = 4
"""After so many pages that said nothing new, what leads to their kind leads nowhere."""
GAPS = 3
"""What brought something new now and then may be barren for so many times its usual gap."""
USUAL = 0.9
"""A parameter is one that pages of its path always have from this share of them on."""
COMMON = 3
"""With more of a path in quarantine less is needed for the rest, down to the third part."""


SPARSE = 300
"""Numbers that there are for each that was met: then these do not count anything."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A pattern that is a trap, and why."""

    pattern: str
    why: str
    looked: int
    samples: tuple[str, ...]


@dataclass(slots=True)
class ParameterStats:
    """The pages of a path that have a certain parameter, or those without any."""

    looked: int = 0
    told: int = 0
    """Those that said something new."""
    fruitful: int = 0
    """Those, and those that led on; not counted before it was known what is usual."""
    run: int = 0
    """Barren ones in a row."""
    points: float = 0.0
    values: set[int] = field(default_factory=set)
    """Of the parameter, in the run."""
    sets: set[int] = field(default_factory=set)
    """Of parameters that stood beside it, in the run."""
    samples: list[str] = field(default_factory=list)
    kinds: set[int] = field(default_factory=set)
    """Two values that the parameter ever took."""

    def rest(self) -> None:
        """Begin to count anew."""
        self.run, self.points = 0, 0.0
        self.values.clear()
        self.sets.clear()
        self.samples.clear()

    def charge(self, points: float, value: int, names: int, url: str) -> None:
        """A page was barren."""
        self.run += 1
        self.points += points
        if len(self.values) < VALUES_MAX:
            self.values.add(value)
            self.sets.add(names)
        if len(self.samples) < SAMPLES:
            self.samples.append(url)

    @property
    def is_ever_barren(self) -> bool:
        """Whether none of its pages brought anything, but for one by chance."""
        return self.fruitful <= 1

    @property
    def is_patient(self) -> bool:
        """Whether the run is not longer than what was usual before."""
        return not self.is_ever_barren and self.run * self.fruitful < GAPS * (self.looked - self.run)


@dataclass(slots=True)
class PathRecord:
    """What is known of the pages of one path."""

    pages: int = 0
    look_at: int = 0
    """The page at which it is looked at again."""
    looked: int = 0
    told: int = 0
    """Pages that said something new, when it was known already what is usual."""
    streak: int = 0
    """Pages in a row that were not barren."""
    strands: dict[str, ParameterStats] = field(default_factory=dict)
    traps: int = 0
    """Patterns of this path that were found guilty."""
    has_ids: bool = False
    """Whether its numbers are no dates, see ``dates.has_id``."""
    lowest: int = 0
    highest: int = -1
    """Of the numbers that its URLs differ in."""
    stride: int = 1
    """Pages for which one is looked at, where pages count for next to nothing."""
    hollow: int = 0
    """Pages in a row that said what all of their kind say."""

    def met(self, shape: Shape, *, has_id: bool) -> None:
        """A page was fetched, whether it is looked at or not."""
        self.pages += 1
        if has_id and not self.has_ids:
            self.has_ids = True
            self.rest()
        number = shape.number()
        if number is not None:
            self.lowest = number if self.highest < 0 else min(self.lowest, number)
            self.highest = max(self.highest, number)

    @property
    def is_sparse(self) -> bool:
        """Whether its numbers are drawn from a wide range, as no list counts and few databases do."""
        return self.highest - self.lowest > SPARSE * self.pages

    def take_back(self, points: float) -> None:
        """Some of what counts against it, counts no more."""
        for strand in self.strands.values():
            strand.points = max(0.0, strand.points - points)

    def rest(self) -> None:
        """Begin to count anew."""
        self.hollow = 0
        for strand in self.strands.values():
            strand.rest()

    @property
    def is_suspect(self) -> bool:
        """Whether something counts against it at the moment."""
        return any(strand.points for strand in self.strands.values())

    def is_dull(self, shape: Shape) -> bool:
        """Whether of the pages of a kind several were looked at, and none of them said anything new."""
        if self.looked >= WARMED_UP + DULL_FROM and not self.told:
            return True
        strands = [self.strands.get(name) for name in list(shape.parameters) or [""]]
        return any(one is not None and one.looked >= DULL_FROM and not one.told for one in strands)

    def saw(self, shape: Shape, *, says_new: bool, barren: bool) -> None:
        """A page was looked at."""
        self.looked += 1
        self.told += says_new and self.looked > WARMED_UP
        self.streak = 0 if barren else self.streak + 1
        self.hollow = self.hollow if barren else 0
        for name in list(shape.parameters) or [""]:
            if name not in self.strands and len(self.strands) >= STRANDS_MAX:
                continue
            strand = self.strands.setdefault(name, ParameterStats())
            strand.looked += 1
            strand.told += says_new
            if len(strand.kinds) < 2:
                strand.kinds.add(hash(shape.parameters.get(name)))
            if not barren:
                strand.fruitful += self.looked > WARMED_UP
                strand.rest()

    def charge(self, shape: Shape, points: float, url: str) -> None:
        """That page was barren."""
        names = hash(frozenset(shape.parameters))
        for name in self._accused(shape):
            self.strands[name].charge(points, hash(shape.parameters.get(name)), names, url)

    def verdict(self, shape: Shape, pattern: str, quota: float) -> list[Evidence]:
        """What its last page proves; so many points are guilt."""
        blamed = self._blamed(shape, quota)
        if blamed and shape.parameters:
            # Of combinations it is all that combine.
            blamed |= {
                name: one
                for name, one in self.strands.items()
                if name and len(one.sets) >= SETS_LEAST and _is_guilty(one, quota / 2)
            }
        found = [
            _evidence(shape.of_parameter(name) if name else pattern, one) for name, one in blamed.items()
        ]
        self.traps += len(found)
        if found:
            self.rest()
        return found

    def _accused(self, shape: Shape) -> list[str]:
        """The parameters that are to blame for a barren page; turning pages is not where something was chosen."""
        names = [name for name in shape.parameters if name in self.strands]
        if not shape.parameters:
            return [""]
        others = [name for name in names if not is_paging_name(name)]
        return others if any(len(self.strands[name].kinds) > 1 for name in others) else names

    def _blamed(self, shape: Shape, quota: float) -> dict[str, ParameterStats]:
        """Those that explain the run best: without a single fruitful page if there are such, and most varied."""
        strands = {name: self.strands[name] for name in self._accused(shape) if name in self.strands}
        # The more of a path is in quarantine the less is needed for the rest, but for the pages of its list.
        less = 1 if all(map(is_paging_name, strands)) else min(1 + self.traps, COMMON)
        quota /= less
        guilty = {name: one for name, one in strands.items() if _is_guilty(one, quota) and self._varies(name)}
        barren = {
            name: one
            for name, one in strands.items()
            if one.is_ever_barren and _is_guilty(one, quota / 2) and self._varies(name)
        }
        if not guilty:
            return {}
        pool = barren or guilty
        most = max(len(one.values) for one in pool.values())
        return {name: one for name, one in pool.items() if len(one.values) == most}

    def _varies(self, name: str) -> bool:
        """Whether the parameter took several values, stood beside several others, or is not always there."""
        strand = self.strands[name]
        if not name or len(strand.values) >= VALUES_LEAST or len(strand.sets) >= SETS_LEAST:
            return True
        return strand.looked < USUAL * self.looked


def _is_guilty(strand: ParameterStats, quota: float) -> bool:
    return strand.points >= quota and not strand.is_patient


def _evidence(pattern: str, strand: ParameterStats) -> Evidence:
    why = f"{strand.run} pages in a row brought nothing new"
    return Evidence(pattern, why, strand.looked, tuple(strand.samples))
