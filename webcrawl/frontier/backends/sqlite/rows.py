"""One statement on many rows: SQLite takes them in one step, and Python's other threads run during all of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

Value = int | float | str | None

SIZES = (512, 128, 32, 8, 2, 1)
"""So many rows a statement is written for: any number is a few of these, and each of these is prepared once."""


class Rows:
    """A statement whose rows are bound as parameters: no format stands between, so each value stays what it is.

    ``executemany`` makes a step of each row, and takes Python's lock after each, which a busy event loop beside it
    wants too. Figures are in docs/decisions/0006-frontier.md.
    """

    def __init__(self, cursor: sqlite3.Cursor, statement: str, row: str) -> None:
        """``statement`` has ``{rows}`` where its rows go; ``row`` is one of them, ``{nth}`` in it its number."""
        self._cursor = cursor
        self._width = row.count("?")
        self._texts = {size: _written(statement, row, size) for size in SIZES}

    @property
    def texts(self) -> list[str]:
        """The statement as it is written for each number of rows."""
        return list(self._texts.values())

    def run(self, values: Sequence[Value]) -> None:
        """Carry it out on the rows whose values stand one behind the other."""
        for _, text, part in self._parts(values):
            self._cursor.execute(text, part)

    def numbers(self, values: Sequence[Value]) -> list[int]:
        """For a statement that selects the numbers of some of its rows, with commas between: all of them."""
        [found] = self.columns(values, 1)
        return found

    def columns(self, values: Sequence[Value], columns: int) -> list[list[int]]:
        """For a statement that selects so many such columns: the numbers in each."""
        found: list[list[int]] = [[] for _ in range(columns)]
        for first, text, part in self._parts(values):
            row = self._cursor.execute(text, part).fetchone()
            for numbers, listed in zip(found, row, strict=True):
                if listed is not None:
                    numbers += [first + int(number) for number in listed.split(",")]
        return found

    def _parts(self, values: Sequence[Value]) -> Iterator[tuple[int, str, Sequence[Value]]]:
        """The number of the first row, the statement and the values of each part."""
        width, first, left = self._width, 0, len(values) // self._width
        for size in SIZES:
            while left >= size:
                yield first, self._texts[size], values[first * width : (first + size) * width]
                first += size
                left -= size


def _written(statement: str, row: str, size: int) -> str:
    rows = ", ".join(row.replace("{nth}", str(nth)) for nth in range(size))
    return statement.replace("{rows}", rows)
