"""Statistics of the pages of one path by their parameters, and the choice of the parameters that make the path a
trap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.features.traps.pattern import VOID, is_paging_name
from webcrawl.urls.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webcrawl.features.traps.pattern import Shape

SAMPLES = 5
VALUES_MAX = 64
PARAMETERS_MAX = 128
VALUES_LEAST, SETS_LEAST = 3, 4
"""A parameter is blamed if it took at least so many values, or appeared beside so many different sets of parameters.
"""
WARMED_UP = 8
"""Number of first examined pages whose new content is not counted: nothing is known before them."""
DULL_FROM = 4
"""After so many pages without new content, links to their kind no longer count as leading on."""
GAPS = 3
"""A parameter with fruitful pages now and then may be uninformative for so many times its usual gap."""
USUAL = 0.9
"""Share of a path's pages from which on a parameter counts as always present."""
COMMON = 3
"""The more patterns of a path are in quarantine, the fewer points the rest needs, down to one third."""


SPARSE = 300
"""Range of a path's numbers per page: above this, the numbers do not count anything."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A pattern that is a trap, and the reason."""

    pattern: str
    why: str
    looked: int
    samples: tuple[str, ...]


@dataclass(slots=True)
class ParameterStats:
    """Statistics of the pages of a path that have a certain parameter, or of those without any."""

    looked: int = 0
    new: int = 0
    """Pages with new content."""
    fruitful: int = 0
    """Pages with new content or that lead on; not counted during the first ``WARMED_UP`` pages."""
    run: int = 0
    """Uninformative pages in a row."""
    points: float = 0.0
    values: set[int] = field(default_factory=set)
    """Hashes of the parameter's values in the run."""
    sets: set[int] = field(default_factory=set)
    """Hashes of the sets of parameters that the URLs of the run have."""
    samples: list[str] = field(default_factory=list)
    kinds: set[int] = field(default_factory=set)
    """Up to two values that the parameter ever took."""

    def rest(self) -> None:
        """Restart the count."""
        self.run, self.points = 0, 0.0
        self.values.clear()
        self.sets.clear()
        self.samples.clear()

    def add_uninformative(self, points: float, value: int, names: int, url: str) -> None:
        """Count an uninformative page."""
        self.run += 1
        self.points += points
        if len(self.values) < VALUES_MAX:
            self.values.add(value)
            self.sets.add(names)
        if len(self.samples) < SAMPLES:
            self.samples.append(url)

    def as_plain(self) -> dict[str, Any]:
        """Return all of it as values that JSON has."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {name: sorted(value) if isinstance(value, set) else value for name, value in plain.items()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> ParameterStats:
        """Return what ``as_plain`` was made of. :raises TypeError: it is of another form"""
        sets: dict[str, Any] = {name: set(value) for name, value in plain.items() if name in _SETS}
        return cls(**{**plain, **sets})

    @property
    def is_never_fruitful(self) -> bool:
        """True if at most one of its pages brought something; one may be chance."""
        return self.fruitful <= 1

    @property
    def is_patient(self) -> bool:
        """True if the run is not longer than the usual gaps before it allow."""
        return not self.is_never_fruitful and self.run * self.fruitful < GAPS * (self.looked - self.run)


_SETS = frozenset(["values", "sets", "kinds"])


@dataclass(slots=True)
class PathRecord:
    """Statistics of the pages of one path."""

    pages: int = 0
    look_at: int = 0
    """Number of the page that is examined next."""
    looked: int = 0
    new: int = 0
    """Pages with new content after the first ``WARMED_UP``."""
    streak: int = 0
    """Pages in a row that were not uninformative."""
    parameters: dict[str, ParameterStats] = field(default_factory=dict)
    traps: int = 0
    """Number of patterns of this path found to be traps."""
    has_ids: bool = False
    """True if its numbers are ids and not dates, see ``url_shape.has_id``."""
    lowest: int = 0
    highest: int = -1
    """``lowest`` and ``highest``: range of the numbers in which its URLs differ."""
    stride: int = 1
    """Examination interval for pages with few points."""
    hollow: int = 0
    """Hollow pages in a row."""

    def as_plain(self) -> dict[str, Any]:
        """Return all of it as values that JSON has."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {**plain, "parameters": {name: stats.as_plain() for name, stats in self.parameters.items()}}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> PathRecord:
        """Return what ``as_plain`` was made of. :raises TypeError: it is of another form"""
        parameters = {
            name: ParameterStats.from_plain(stats)
            for name, stats in dict(plain.get("parameters", {})).items()
        }
        return cls(**{**plain, "parameters": parameters})

    def count_page(self, shape: Shape, *, has_id: bool) -> None:
        """Count a fetched page, whether or not it is examined."""
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
        """True if its numbers are drawn from a wide range, unlike those of lists and of most databases."""
        return self.highest - self.lowest > SPARSE * self.pages

    def take_back(self, points: float) -> None:
        """Take back some of the points of each parameter."""
        for parameter in self.parameters.values():
            parameter.points = max(0.0, parameter.points - points)

    def rest(self) -> None:
        """Restart all counts."""
        self.hollow = 0
        for parameter in self.parameters.values():
            parameter.rest()

    @property
    def is_suspect(self) -> bool:
        """True if any parameter has points at the moment."""
        return any(parameter.points for parameter in self.parameters.values())

    def is_dull(self, shape: Shape) -> bool:
        """Return whether several pages of this kind were examined and none had new content."""
        if self.looked >= WARMED_UP + DULL_FROM and not self.new:
            return True
        parameters = [self.parameters.get(name) for name in list(shape.parameters) or [""]]
        return any(
            parameter is not None and parameter.looked >= DULL_FROM and not parameter.new
            for parameter in parameters
        )

    def count_examined(self, shape: Shape, *, has_news: bool, uninformative: bool) -> None:
        """Count an examined page."""
        self.looked += 1
        self.new += has_news and self.looked > WARMED_UP
        self.streak = 0 if uninformative else self.streak + 1
        self.hollow = self.hollow if uninformative else 0
        for name in list(shape.parameters) or [""]:
            if name not in self.parameters and len(self.parameters) >= PARAMETERS_MAX:
                continue
            parameter = self.parameters.setdefault(name, ParameterStats())
            parameter.looked += 1
            parameter.new += has_news
            if len(parameter.kinds) < 2:
                parameter.kinds.add(_hash_of_value(shape, name))
            if not uninformative:
                parameter.fruitful += self.looked > WARMED_UP
                parameter.rest()

    def add_points(self, shape: Shape, points: float, url: str) -> None:
        """Add points for the last examined page, which was uninformative."""
        names = fingerprint("&".join(sorted(shape.parameters)))
        for name in self._suspects(shape):
            self.parameters[name].add_uninformative(points, _hash_of_value(shape, name), names, url)

    def evidence(self, shape: Shape, pattern: str, quota: float) -> list[Evidence]:
        """Return the evidence that the last page completes. ``quota``: points that make a trap."""
        blamed = self._blamed(shape, quota)
        if blamed and shape.parameters:
            # Of a combination, all parameters that combine are blamed.
            blamed |= {
                name: parameter
                for name, parameter in self.parameters.items()
                if name and len(parameter.sets) >= SETS_LEAST and _is_guilty(parameter, quota / 2)
            }
        evidence = [
            _evidence(shape.of_parameter(name) if name else pattern, parameter)
            for name, parameter in blamed.items()
        ]
        self.traps += len(evidence)
        if evidence:
            self.rest()
        return evidence

    def evidence_of_void(self, shape: Shape, quota: float) -> list[Evidence]:
        """Return the evidence that the only parameter of the last page is void on this path too."""
        (name,) = shape.parameters
        parameter = self.parameters.get(name)
        if parameter is None or not _is_guilty(parameter, quota):
            return []
        evidence = _evidence(f"{shape.of_parameter(name)}{VOID}", parameter)
        self.rest()
        return [evidence]

    def _suspects(self, shape: Shape) -> list[str]:
        """Return the parameters to blame for an uninformative page; paging is not blamed if another
        parameter varies.
        """
        names = [name for name in shape.parameters if name in self.parameters]
        if not shape.parameters:
            return [""]
        others = [name for name in names if not is_paging_name(name)]
        return others if any(len(self.parameters[name].kinds) > 1 for name in others) else names

    def _blamed(self, shape: Shape, quota: float) -> dict[str, ParameterStats]:
        """Return the parameters that explain the run best: without fruitful pages if there are any, then the most
        varied."""
        parameters = {
            name: self.parameters[name] for name in self._suspects(shape) if name in self.parameters
        }
        # The more patterns of a path are in quarantine, the fewer points the rest needs, except the paging of its
        # list.
        less = 1 if all(map(is_paging_name, parameters)) else min(1 + self.traps, COMMON)
        quota /= less
        guilty = {
            name: parameter
            for name, parameter in parameters.items()
            if _is_guilty(parameter, quota) and self._varies(name)
        }
        never_fruitful = {
            name: parameter
            for name, parameter in parameters.items()
            if parameter.is_never_fruitful and _is_guilty(parameter, quota / 2) and self._varies(name)
        }
        if not guilty:
            return {}
        pool = never_fruitful or guilty
        most = max(len(parameter.values) for parameter in pool.values())
        return {name: parameter for name, parameter in pool.items() if len(parameter.values) == most}

    def _varies(self, name: str) -> bool:
        """Return whether the parameter took several values, appeared beside several others, or is not always
        present."""
        parameter = self.parameters[name]
        if not name or len(parameter.values) >= VALUES_LEAST or len(parameter.sets) >= SETS_LEAST:
            return True
        return parameter.looked < USUAL * self.looked


def _is_guilty(parameter: ParameterStats, quota: float) -> bool:
    return parameter.points >= quota and not parameter.is_patient


def _hash_of_value(shape: Shape, name: str) -> int:
    """Return a number that is the same in each process of a crawl."""
    return fingerprint(shape.parameters.get(name, ""))


def pages(number: int) -> str:
    """Return a number of pages for a message: ``1 page``, ``12 pages``."""
    return f"{number} page{'' if number == 1 else 's'}"


def _evidence(pattern: str, parameter: ParameterStats) -> Evidence:
    why = f"{pages(parameter.run)} in a row had no new content"
    return Evidence(pattern, why, parameter.looked, tuple(parameter.samples))
