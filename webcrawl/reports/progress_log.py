"""``progress.jsonl``: periodic lines on the frontier and the resources of the process, which the fetch log does not
have.

A line has ``at`` (epoch seconds), ``worker``, ``run`` (when its process began); of this process until then the
figures ``frontier.figures.LOGGED``, ``cpu_seconds`` (its own and that of the processes it has started),
``longest_hold`` (the CPU seconds of the longest time that something blocked the event loop) and ``memory`` (resident
bytes by process: ``crawl``, the modules of its children such as ``parsing.reader``, other programs); on a shared
crawl ``workers``, and then ``queued`` and ``hosts`` are the whole crawl's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.reports.counting import number_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

NAME = "progress.jsonl"
POINTS = 400
"""A course has between half of these points and all."""


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Append a line. A line that a crash cut off stays as it is, and affects no other. :raises OSError: there is no
    room
    """
    with path.open("a+b") as file:
        end = file.seek(0, 2)
        if end:
            file.seek(end - 1)
        whole = not end or file.read(1) == b"\n"
        file.write((b"" if whole else b"\n") + json.dumps(line).encode("ascii") + b"\n")


def read(directory: Path, name: str = NAME) -> Iterator[dict[str, Any]]:
    """Yield the readable lines of a folder; none if there is no such file. :raises OSError: it cannot be read"""
    try:
        file = (directory / name).open("rb")
    except FileNotFoundError:
        return
    with file:
        for text in file:
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line


class Point(NamedTuple):
    """The state of the frontier at a time."""

    at: float
    queued: int
    hosts: int
    active: int


class ResourceUse(NamedTuple):
    """The resources that a process had used when it last reported."""

    at: float
    pages: int
    bytes: int
    cpu_seconds: float


@dataclass(slots=True)
class Course:
    """The course of a crawl, over all its runs and workers."""

    runs: dict[tuple[str, float], ResourceUse] = field(default_factory=dict)
    _points: dict[int, Point] = field(default_factory=dict)
    _step: int = 1

    def add(self, line: Mapping[str, Any]) -> None:
        """Add a line; an incomplete one is skipped."""
        numbers = [number_in(line.get(name), 0) for name in ("at", "run", "pages", "bytes", "cpu_seconds")]
        stand = [number_in(line.get(name), 0) for name in ("queued", "hosts", "active")]
        if None in numbers or None in stand:
            return
        at, run, pages, size, cpu = (number or 0.0 for number in numbers)
        key, figures = (str(line.get("worker")), run), ResourceUse(at, int(pages), int(size), cpu)
        self.runs[key] = max(self.runs.get(key, figures), figures)
        self._place(Point(at, *(int(number or 0) for number in stand)))

    def points(self) -> list[Point]:
        """Return the points in the order of time: the last one of each period."""
        return [self._points[number] for number in sorted(self._points)]

    @property
    def cpu_seconds(self) -> float:
        return sum(run.cpu_seconds for run in self.runs.values())

    @property
    def pages(self) -> int:
        """The number of pages of the processes whose CPU time is known."""
        return sum(run.pages for run in self.runs.values())

    def _place(self, point: Point) -> None:
        self._hold(point)
        while len(self._points) > POINTS:
            self._step *= 2
            points, self._points = self._points, {}
            for old_point in points.values():
                self._hold(old_point)

    def _hold(self, point: Point) -> None:
        number = int(point.at) // self._step
        self._points[number] = max(self._points.get(number, point), point)


def read_course(lines: Iterable[Mapping[str, Any]]) -> Course:
    """Return the course of a crawl, from the files of all its workers."""
    course = Course()
    for line in lines:
        course.add(line)
    return course
