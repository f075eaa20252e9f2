"""The fetch log boiled down to figures, in memory that does not grow with the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.reports.heavy import HeavyHitters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HOSTS = 20_000
"""So many hosts are counted at a time."""
NAMES = 500
"""So many statuses, errors, MIME types: servers invent some."""
EXTENSION_MAX = 10
"""Characters; what is longer is no extension."""
USELESS_FROM = 10
"""So many pages tell that an extension is never that of a text."""
BINS = 240
"""A time line has between half of these and all."""


@dataclass(slots=True)
class Bin:
    """What ended within one stretch of a time line."""

    pages: int = 0
    bytes: int = 0


class TimeLine:
    """Pages and bytes over time, in equal stretches that double in length whenever there would be too
    many.
    """

    def __init__(self, bins: int = BINS) -> None:
        self._bins_max = bins
        self._bins: dict[int, Bin] = {}
        self.width_seconds = 1

    def add(self, at: float, pages: int, size: int) -> None:
        """Count what ended ``at`` epoch seconds."""
        number = int(at) // self.width_seconds
        if number not in self._bins:
            self._bins[number] = Bin()
            while max(self._bins) - min(self._bins) >= self._bins_max:
                self._double()
            number = int(at) // self.width_seconds
        found = self._bins[number]
        found.pages += pages
        found.bytes += size

    def bins(self) -> list[Bin]:
        """All stretches from the first to the last, empty ones in between included."""
        if not self._bins:
            return []
        return [self._bins.get(number, Bin()) for number in range(min(self._bins), max(self._bins) + 1)]

    @property
    def starts_at(self) -> float:
        return min(self._bins, default=0) * self.width_seconds

    def _double(self) -> None:
        self.width_seconds *= 2
        halves, self._bins = self._bins, {}
        for number, half in halves.items():
            whole = self._bins.setdefault(number // 2, Bin())
            whole.pages += half.pages
            whole.bytes += half.bytes


@dataclass(slots=True)
class Digest:
    """Figures of a crawl, over all its runs."""

    requests: int = 0
    pages: int = 0
    """Requests for pages that got an HTTP response."""
    bytes: int = 0
    failed: int = 0
    truncated: int = 0
    started_at: float | None = None
    ended_at: float | None = None
    kinds: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(NAMES))
    statuses: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(NAMES))
    """Of pages."""
    errors: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(NAMES))
    """Of all requests."""
    mimes: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(NAMES))
    """Of pages with status 200."""
    hosts: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(HOSTS))
    """Politeness keys, by pages."""
    texts: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(NAMES))
    """Extensions of the paths of pages with status 200 that were text or XHTML, or did not say what they were."""
    others: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(NAMES))
    """Extensions of the other ones."""
    failing: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(HOSTS))
    """Politeness keys, by requests that failed."""
    skipped: dict[str, float] = field(default_factory=dict)
    """Origins that ask for a longer Crawl-delay than is obeyed, and which (seconds); not more than ``HOSTS``."""
    time_line: TimeLine = field(default_factory=TimeLine)

    def useless_extensions(self, number: int) -> list[tuple[str, int]]:
        """Extensions that never were that of a text, with how many pages they had, the most first."""
        texts = {extension for extension, _ in self.texts.most(len(self.texts))}
        found = [one for one in self.others.most(len(self.others)) if one[0] not in texts]
        return [one for one in found if one[1] >= USELESS_FROM][:number]

    def add(self, line: Mapping[str, Any]) -> None:
        """Count one line of the fetch log. Fields that are missing or of another type count as nothing."""
        start, end = _number(line.get("start")), _number(line.get("end"))
        size, status, kind = int(_number(line.get("bytes"))), line.get("status"), str(line.get("kind"))
        self.requests += 1
        self.bytes += size
        self.kinds.add(kind)
        self.truncated += bool(line.get("truncated"))
        if status is None:
            self.failed += 1
            self.errors.add(str(line.get("error")))
            self.failing.add(str(line.get("key")))
        page = kind == "page" and status is not None
        if page:
            self.pages += 1
            self.statuses.add(str(status))
            self.hosts.add(str(line.get("key")))
            if status == 200:
                mime = str(line.get("mime") or "")
                self.mimes.add(mime or "none given")
                if extension := _extension(str(line.get("url"))):
                    (self.texts if _is_text(mime) else self.others).add(extension)
        if kind == "robots" and line.get("robots") == "rules":
            self._note_delay(line)
        if start > 0 and end > 0:
            self._place(start, end, int(page), size)

    def _note_delay(self, line: Mapping[str, Any]) -> None:
        """The last word of an origin counts."""
        origin = str(line.get("origin"))
        if not line.get("skipped"):
            self.skipped.pop(origin, None)
        elif len(self.skipped) < HOSTS:
            self.skipped[origin] = _number(line.get("crawl_delay"))

    def _place(self, start: float, end: float, pages: int, size: int) -> None:
        self.started_at = start if self.started_at is None else min(start, self.started_at)
        self.ended_at = end if self.ended_at is None else max(end, self.ended_at)
        self.time_line.add(end, pages, size)


def digest(lines: Iterable[Mapping[str, Any]]) -> Digest:
    """The figures of a whole log."""
    figures = Digest()
    for line in lines:
        figures.add(line)
    return figures


def _extension(url: str) -> str:
    """What stands behind the last dot of a path's last segment, in lower case; empty without anything like it."""
    name = url.partition("?")[0].partition("#")[0].rpartition("/")[2]
    extension = name.rpartition(".")[2].lower() if "." in name and url.count("/") > 2 else ""
    return extension if extension.isalnum() and len(extension) <= EXTENSION_MAX else ""


def _is_text(mime: str) -> bool:
    return not mime or mime.startswith("text/") or mime == "application/xhtml+xml"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
