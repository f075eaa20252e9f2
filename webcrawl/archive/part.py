"""What the archive is made of: parts that change together, a group of entries at a time.

::

    group of entries -> roll_if_full of all -> write to all -> sync of all -> keep by all -> the frontier commits
                                 any of them raises -> rollback by all -> the same entries come again later

The WARC files come first, then the fetch log, then the stores of the setting ``STORES`` in its order.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawl.archive.capture import Entry

OPERATIONS = ("open", "roll_if_full", "write", "sync", "keep", "rollback", "close")
"""What every part can do."""


class Part(Protocol):
    """One of the things that are kept of a fetch. A store derives from it and has the five methods without a body.

    A store is built as ``Store(directory, worker=..., settings=...)`` in the process that keeps the archive, where
    there is no event loop and no scrapy: ``directory`` is the JOBDIR, ``worker`` the name of this worker, and
    ``settings`` a dict of those named by the class. All calls come from one thread, each may wait.

    After ``rollback`` the same entries come again, perhaps in another group, and after a crash too: what a store
    cannot take back it must be able to take twice. An exception of a store is a group that was not kept: with a
    StorageFull the crawl waits for room, with any other it ends, and in neither case is a URL done.
    """

    wants_links: ClassVar[bool] = False
    """Whether ``Entry.links``, ``other_links`` and ``listed`` are needed. They are empty where nobody wants them."""
    wants_fields: ClassVar[bool] = False
    """Whether ``Entry.fields`` is needed. It is empty where nobody wants it."""
    fields_needed: ClassVar[tuple[str, ...]] = ()
    """Fields without which the store is of no use: a crawl that finds no such fields does not begin."""
    settings: ClassVar[tuple[str, ...]] = ()
    """Names of the settings whose values the store is given; they must be plain values."""

    @property
    def size(self) -> int:
        """Bytes in what is written at present, the open group included; 0 where that means nothing."""
        return 0

    def open(self) -> Iterable[str]:
        """Get ready, and repair what a crash left: a sentence for each thing that was done."""
        return ()

    def roll_if_full(self) -> None:
        """Begin a new file where one has reached its size; called between groups only."""
        return

    @abstractmethod
    def write(self, entries: Sequence[Entry]) -> None:
        """Add entries to the open group, in the order in which their requests ended."""

    @abstractmethod
    def sync(self) -> None:
        """Bring the open group to the disk, so that it outlives a power cut."""

    @abstractmethod
    def keep(self) -> None:
        """The open group stays: every part has synced it. Must not fail."""

    @abstractmethod
    def rollback(self) -> None:
        """Forget the open group, as far as it can be taken back. Must not fail."""

    @abstractmethod
    def close(self) -> None:
        """Nothing more will come. What was kept is durable anyway."""
