"""The contract of a storage technology: its abilities, by which the other parts of the project choose, and the
construction of its backends."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from webcrawl.storage.contract import Backend
    from webcrawl.storage.inspection import FolderInspection, SharedInspection

CrawlClock = Callable[[], float]
"""Returns epoch seconds that never run backwards, by the clock that all processes of a crawl use."""

SCOPE = "scope:"
"""Prefix of the names of settings that may change between two runs, while no process works on the crawl."""


class StorageOptions(Protocol):
    """The settings that technologies read; ``Configuration`` has them all."""

    @property
    def frontier_seen(self) -> str: ...
    @property
    def frontier_seen_capacity(self) -> int: ...
    @property
    def frontier_seen_error_rate(self) -> float: ...
    @property
    def frontier_cache_bytes(self) -> int: ...
    @property
    def frontier_queue_max(self) -> int: ...
    @property
    def robots_cache_size(self) -> int: ...
    @property
    def redis_budget_bytes(self) -> int: ...
    @property
    def lease_seconds(self) -> float: ...
    @property
    def first_delay(self) -> float: ...
    @property
    def download_timeout(self) -> float: ...
    @property
    def worker_name(self) -> str: ...


class SteadyClock:
    """The wall clock at the start plus the time passed since.

    A wall clock that is set while the crawl runs must neither stop it for an hour nor let it be impolite.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        return self._offset + time.monotonic()


@dataclass(frozen=True, slots=True)
class CrawlFacts:
    """The facts of a crawl that its backend is built from."""

    configuration: StorageOptions
    settings: Any
    """Scrapy's settings, in which a technology finds the parameters of its connections."""
    folder: Path | None
    """The JOBDIR."""
    spider: str | None
    """The spider that owns the crawl; None if it does not matter."""
    identity: Mapping[str, str]
    """Settings that the stored state depends on: they must never change."""
    agreed: Callable[[], Mapping[str, str]]
    """Returns the settings on which all processes of the crawl must agree; see ``SCOPE``."""
    key_of: Callable[[str], str]
    """Returns the politeness key of a URL."""
    learnt: Callable[[str], None]
    """Called with each host that the operator named to another process, before a URL of it is given out."""
    arriving: str = ""
    """The packed mark of the move that brings the crawl to this storage; empty for a process of the crawl."""


class Technology(ABC):
    """A storage technology. A subclass states the abilities that it has beyond those of this class."""

    name: ClassVar[str]
    """The value of ``FRONTIER_BACKEND``."""
    is_shared: ClassVar[bool] = False
    """True if several processes can work on one crawl: its backend is a ``SharedBackend``."""
    frontier_file: ClassVar[str | None] = None
    """The file of the JOBDIR that exists as soon as a crawl has begun; None if the state is not in the JOBDIR."""
    seen_tests: ClassVar[tuple[str, ...]] = ("exact",)
    """The values of ``FRONTIER_SEEN`` that it supports."""
    takes_checkpoints: ClassVar[bool] = False
    """True if a running crawl can be copied into another JOBDIR."""
    copied_otherwise: ClassVar[str] = ""
    """The way to copy the state where there are no checkpoints, for messages."""
    implied_by: ClassVar[str | None] = None
    """The setting that, if it has a value, chooses this technology for a crawl that names none."""
    keeper: ClassVar[str | None] = None
    """The module that runs a server of one crawl alone, with the state in its JOBDIR, for workers on one machine;
    None if it has none. ``python -m MODULE JOBDIR`` serves until its standard input is closed, and says ``ready``."""

    @property
    def is_lasting(self) -> bool:
        """True if the state outlives the process, so that a crawl can be resumed, and inspected from outside."""
        return self.is_shared or self.frontier_file is not None

    def is_begun_in(self, folder: Path) -> bool:
        """Return True if the state of a crawl is kept in this JOBDIR."""
        return self.frontier_file is not None and (folder / self.frontier_file).is_file()

    def refuse_without_server(self) -> None:
        """:raises StartRefused: the program of the server that ``keeper`` runs is not installed"""
        raise NotImplementedError(f"{self.name} runs no server")

    def server_settings(self, folder: Path, *, start: bool, until_idle: bool = False) -> Mapping[str, str]:
        """Return the settings by which a process reaches the server in a JOBDIR.

        ``start``: for a command, which starts it for its own time if it does not run; with ``until_idle`` it ends a
        few seconds after the last connection to it has. :raises StartRefused: there is none
        """
        raise NotImplementedError(f"{self.name} runs no server")

    def inspect_folder(self, folder: Path) -> FolderInspection:
        """Return the inspection of the crawl in a JOBDIR; only if there is a ``frontier_file``."""
        raise NotImplementedError(f"{self.name} keeps no state in the JOBDIR")

    def inspect_shared(self, configuration: StorageOptions, settings: Any, spider: str) -> SharedInspection:
        """Return the inspection of the crawl of a spider, not opened yet; only if ``is_shared``. ``settings``: see
        ``CrawlFacts``."""
        raise NotImplementedError(f"{self.name} is not shared by processes")

    def copy_state(
        self, source: Path, target: Path, progress: Callable[[int, int], None] | None = None
    ) -> Iterable[Path]:
        """Copy the state of the crawl in a JOBDIR to the folder ``target`` as of one moment, also while the crawl
        runs; only if it ``takes_checkpoints``. Return the new files, which are durable.

        ``progress`` is called with the numbers of copied and of all parts of the frontier.
        :raises JobdirDamaged: the crawl cannot be copied :raises StorageLost: :raises OSError:
        """
        raise NotImplementedError(f"{self.name} takes no checkpoints")

    @abstractmethod
    def build(self, facts: CrawlFacts) -> tuple[Backend, CrawlClock]:
        """Return a backend that is not opened yet, and the clock of the crawl."""
