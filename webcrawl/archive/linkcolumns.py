"""The links of a page by columns: as they go through a pipe, and most of the way into JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast, overload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.archive.capture import LinkRow

BETWEEN = '","'
"""Stands between the values of a column that is one string: what JSON has between strings."""

Column = str | tuple[str, ...]
"""Values with ``BETWEEN`` between them where none has a quotation mark, else the values as they are."""


class LinkColumns(Sequence["LinkRow"]):
    """The rows that it was made of. One string goes through a pipe at a tenth of what a hundred cost, and most pages
    need nothing more: rows are made only for those who look at them.
    """

    __slots__ = ("_length", "_rows", "columns")

    def __init__(self, length: int, columns: tuple[Column, ...]) -> None:
        """``columns`` are those of ``LinkRow``, in its order; none where there are no links."""
        self.columns = columns
        self._length = length
        self._rows: list[LinkRow] | None = None

    @classmethod
    def of(cls, rows: Sequence[LinkRow]) -> LinkColumns:
        if isinstance(rows, LinkColumns):
            return rows
        return cls(len(rows), tuple(map(_column, zip(*rows, strict=True))))

    def values(self, place: int) -> Sequence[str]:
        """All values of one column."""
        column = self.columns[place] if self.columns else ()
        return column.split(BETWEEN) if isinstance(column, str) else column

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[LinkRow]:
        return iter(self._made())

    @overload
    def __getitem__(self, index: int) -> LinkRow: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[LinkRow]: ...

    def __getitem__(self, index: int | slice) -> LinkRow | Sequence[LinkRow]:
        return self._made()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def _made(self) -> list[LinkRow]:
        if self._rows is None:
            columns = map(self.values, range(len(self.columns)))
            self._rows = cast("list[LinkRow]", list(zip(*columns, strict=True)))
        return self._rows


def _column(values: tuple[str, ...]) -> Column:
    return values if '"' in "".join(values) else BETWEEN.join(values)
