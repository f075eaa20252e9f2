"""The rows of a store of beliefs, which survives a process and is shared by all processes of the crawl."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar
from uuid import uuid4

from xxhash import xxh3_128_digest

from webcrawl.errors import StorageLost
from webcrawl.storage.tables import HEADER, Change, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webcrawl.storage.tables import Tables

    Rows = Sequence[Row | None]

AT_ONCE = 500
"""Rows that are read at once."""

Stored = TypeVar("Stored")
Read = TypeVar("Read")


class Edit(NamedTuple):
    """A change of a partition that depends on its header and on the rows with some ids."""

    partition: str
    ids: Sequence[bytes]
    change: Callable[[Row | None, Rows], Change | None]
    """Returns the change that these rows require, if any."""


class BeliefStore(ABC, Generic[Stored]):
    """One partition has all beliefs; its header is their version. Others have the URLs that are withheld by them.
    Every method may raise the CrawlError of its storage. Then nothing was changed, or the call can safely be
    repeated."""

    spec: ClassVar[TableSpec]
    partition: ClassVar[str]
    """That of the beliefs."""
    what: ClassVar[str]
    """The plural of its beliefs in messages, such as "DUST rules"."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.table(self.spec)

    async def version(self) -> str:
        """Return a text that differs after each change of a belief; withheld URLs do not change it."""
        [header] = await self._table.get([RowId(self.partition, HEADER)])
        return "" if header is None else header.value.hex()

    async def beliefs(self) -> list[Stored]:
        """Return all beliefs, oldest first, with the number of URLs withheld."""
        rows: list[Row] = []
        while some := await self._table.scan(self.partition, AT_ONCE, rows[-1].id if rows else HEADER):
            rows += some
        with reading(self.what):
            beliefs = [self._unpack(row) for row in rows]
            return await self._count(beliefs)

    async def put(self, beliefs: Sequence[Stored]) -> None:
        """Store beliefs. A state does not replace a later one: what was undone stays so."""
        new = {self._pack(belief).id: belief for belief in reversed(beliefs)}

        def change(_: Row | None, stored: Rows) -> Change | None:
            kept = {row.id: self._unpack(row) for row in stored if row is not None}
            joined = [
                belief if row_id not in kept else self._join(kept[row_id], belief)
                for row_id, belief in new.items()
            ]
            return self._new_version([belief for belief in joined if belief is not None])

        if new:
            await self._edit(Edit(self.partition, list(new), change))

    async def undo(self, ids: Sequence[str], now: float) -> None:
        """Undo beliefs at ``now``, in epoch seconds: nothing is withheld by them from then on."""

        def change(_: Row | None, stored: Rows) -> Change | None:
            undone = [self._undone(self._unpack(row), now) for row in stored if row is not None]
            return self._new_version([belief for belief in undone if belief is not None])

        if ids:
            await self._edit(Edit(self.partition, list(map(self._row_id, ids)), change))

    async def claim(self, worker: str, seconds: float) -> bool:
        """Return whether ``worker`` has the exclusive right to queue withheld URLs and probes, for ``seconds`` from
        now; it can be renewed."""
        return await self._tables.lock(self.spec.name, worker, seconds)

    async def _edit(self, *edits: Edit) -> None:
        """Make changes; repeat those of partitions that another process changed meanwhile."""
        left = list(edits)
        while left:
            ids = [RowId(edit.partition, row_id) for edit in left for row_id in (HEADER, *edit.ids)]
            stored = iter(await self._table.get(ids))
            asked: list[tuple[Edit, Change]] = []
            for edit in left:
                header, rows = next(stored), [next(stored) for _ in edit.ids]
                with reading(self.what):
                    change = edit.change(header, rows)
                if change is not None:
                    expected = {HEADER: None if header is None else header.value}
                    asked.append((edit, replace(change, expected=expected)))
            outcomes = await self._table.update([change for _, change in asked]) if asked else []
            left = [edit for (edit, _), is_made in zip(asked, outcomes, strict=True) if not is_made]

    def _new_version(self, beliefs: Sequence[Stored]) -> Change | None:
        """Return the change that stores beliefs under a new version."""
        if not beliefs:
            return None
        return Change(self.partition, [*map(self._pack, beliefs), Row(HEADER, uuid4().bytes)])

    async def _page(
        self, partition: str, after: bytes, most: int, read: Callable[[Row], Read]
    ) -> tuple[list[Read], bytes | None]:
        """Return some of the rows of a partition, and where to go on; None if there are no more."""
        rows = await self._table.scan(partition, most, after)
        with reading(self.what):
            return list(map(read, rows)), rows[-1].id if len(rows) == most else None

    @staticmethod
    def _row_id(belief_id: str) -> bytes:
        return belief_id.encode()

    @abstractmethod
    def _pack(self, belief: Stored) -> Row:
        """Return the row of a belief."""

    @abstractmethod
    def _unpack(self, row: Row) -> Stored:
        """Return the belief of a row, as an object of its own."""

    @abstractmethod
    def _join(self, kept: Stored, new: Stored) -> Stored | None:
        """Return what is stored after a change by one of the processes; None if that is ``kept``."""

    @abstractmethod
    def _undone(self, belief: Stored, now: float) -> Stored | None:
        """Return an undone belief; None if it was undone before."""

    @abstractmethod
    async def _count(self, beliefs: Sequence[Stored]) -> list[Stored]:
        """Return beliefs in their order, with the number of URLs that are withheld by each."""


def digest_id(text: str) -> bytes:
    """Return the id of the row of a text, which may be longer than an id."""
    return xxh3_128_digest(text.encode("utf-8", "surrogatepass"))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Take values that cannot be read for a broken storage. ``what``: what is stored."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise StorageLost(f"what is stored of {what} cannot be read: {error}") from error
