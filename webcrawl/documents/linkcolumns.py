"""The links of a page by columns: as they go from process to process, and most of the way into JSON."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import TYPE_CHECKING, overload

from webcrawl.documents.links import Link

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BETWEEN = '","'
"""Stands between the values of a column that is one string: what JSON has between strings."""

Column = str | tuple[str, ...]
"""Values with ``BETWEEN`` between them where none has a quotation mark, else the values as they are."""


class LinkColumns(MutableSequence[Link]):
    """A list of links. One string goes through a pipe at a tenth of what a hundred cost, and most pages need nothing
    more: links are made one by one only for those who look at them, and columns only of lists that were made so.
    """

    __slots__ = ("_columns", "_length", "_rows")

    def __init__(self, length: int, columns: tuple[Column, ...]) -> None:
        """``columns`` are those of ``Link``, in its order; none where there are no links."""
        self._columns: tuple[Column, ...] | None = columns
        self._length = length
        self._rows: list[Link] | None = None

    @classmethod
    def of(cls, rows: Sequence[tuple[str, str, str, str]]) -> LinkColumns:
        """The same links; they themselves if they are kept so already."""
        if isinstance(rows, LinkColumns):
            return rows
        return cls(len(rows), tuple(map(_column, zip(*rows, strict=True))))

    @property
    def columns(self) -> tuple[Column, ...]:
        if self._columns is None:
            assert self._rows is not None
            self._columns, self._length = tuple(map(_column, zip(*self._rows, strict=True))), len(self._rows)
        return self._columns

    def values(self, place: int) -> Sequence[str]:
        """All values of one column."""
        column = self.columns[place] if self.columns else ()
        return column.split(BETWEEN) if isinstance(column, str) else column

    def __len__(self) -> int:
        return self._length if self._rows is None else len(self._rows)

    def __iter__(self) -> Iterator[Link]:
        return iter(self._made())

    @overload
    def __getitem__(self, index: int) -> Link: ...

    @overload
    def __getitem__(self, index: slice) -> list[Link]: ...

    def __getitem__(self, index: int | slice) -> Link | list[Link]:
        return self._made()[index]

    @overload
    def __setitem__(self, index: int, value: Link) -> None: ...

    @overload
    def __setitem__(self, index: slice, value: Iterable[Link]) -> None: ...

    def __setitem__(self, index: int | slice, value: Link | Iterable[Link]) -> None:
        # As the overloads say: one for a place, several for a slice.
        self._changed()[index] = value  # type: ignore[index,assignment]

    def __delitem__(self, index: int | slice) -> None:
        del self._changed()[index]

    def insert(self, index: int, value: Link) -> None:
        self._changed().insert(index, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._made())

    def _made(self) -> list[Link]:
        if self._rows is None:
            new, columns = tuple.__new__, map(self.values, range(len(self.columns)))
            # Made by the tuple: the constructor of a NamedTuple takes twice as long.
            self._rows = [new(Link, row) for row in zip(*columns, strict=True)]
        return self._rows

    def _changed(self) -> list[Link]:
        rows = self._made()
        self._columns = None
        return rows


def _column(values: tuple[str, ...]) -> Column:
    return values if '"' in "".join(values) else BETWEEN.join(values)
