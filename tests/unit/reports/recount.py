"""The figures of a report once more, the slow and simple way: everything in memory, one question after the other."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Line = dict[str, Any]


class Recount:
    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)
        self.pages = [line for line in self.lines if line["kind"] == "page" and "status" in line]
        self.good = [line for line in self.pages if line["status"] == 200]
        self.failed = [line for line in self.lines if "status" not in line]

    def counts(self, name: str, lines: list[Line] | None = None) -> dict[str, int]:
        found = self.pages if lines is None else lines
        return dict(Counter(str(line[name]) for line in found if name in line))

    def hosts(self) -> dict[str, tuple[int, int]]:
        """Pages and bytes of each host."""
        found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for line in self.lines:
            host = line["url"].split("/")[2]
            found[host][0] += line["kind"] == "page" and "status" in line
            found[host][1] += line["bytes"]
        return {host: (pages, size) for host, (pages, size) in found.items()}

    def top_level(self) -> dict[str, int]:
        def of(host: str) -> str:
            if host.startswith("[") or host.replace(".", "").isdigit():
                return "(address)"
            return host.split(".")[-1] if "." in host else "(none)"

        return dict(Counter(of(line["url"].split("/")[2]) for line in self.pages))

    def failing(self) -> list[tuple[int, str, dict[str, int]]]:
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for line in self.failed:
            found[line["key"]][line["error"]] += 1
        return [(sum(errors.values()), key, dict(errors)) for key, errors in found.items()]

    def robots(self) -> dict[str, int]:
        """Origins by their last answer."""
        last: dict[str, Line] = {}
        for line in sorted(self.lines, key=lambda line: line["end"]):
            if line["kind"] == "robots":
                last[line["origin"]] = line
        return dict(Counter(line["robots"] for line in last.values()))

    def gaps(self) -> list[tuple[float, float]]:
        """What was owed, and how long the gap was, of all of which both are known."""
        by_key: dict[str, list[Line]] = defaultdict(list)
        for line in sorted(self.lines, key=lambda line: line["start"]):
            if not ("lost_at" in line and line.get("error") == "cancelled"):
                by_key[line["key"]].append(line)
        found = []
        for lines in by_key.values():
            last = lines[0]
            for before, line in pairwise(lines):
                if before["end"] >= last["end"]:
                    last = before
                if "delay" in last:
                    found.append((last["delay"], line["start"] - last["end"]))
        return found

    def scored(self, least: float = 0.0) -> list[Line]:
        """Pages of which it is said how relevant they are, from so much on."""
        return [line for line in self.pages if line.get("relevance", -1) >= least]

    def hosts_of(self, lines: list[Line]) -> dict[str, int]:
        return dict(Counter(line["url"].split("/")[2] for line in lines))

    def steps(self, lines: list[Line], name: str, starts_at: float, step: float) -> list[tuple[int, int]]:
        """Lines, and those of them that have ``name``, by when they ended, in equal steps to the last."""
        numbers = [int((line["end"] - starts_at) // step) for line in lines]
        having = Counter(number for number, line in zip(numbers, lines, strict=True) if name in line)
        all_of = Counter(numbers)
        return [(all_of[number], having[number]) for number in range(max(numbers) + 1)]

    def bins(self, values: Iterable[float], edges: Iterable[float]) -> list[int]:
        steps = list(edges)
        found = [0] * len(steps)
        for value in values:
            found[max(sum(value >= edge for edge in steps) - 1, 0)] += 1
        return found
