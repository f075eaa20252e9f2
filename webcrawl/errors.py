"""The errors of a crawl as a whole, as exceptions. The outcome of a single URL is a value instead.

::

    CrawlError
    ├── ConfigurationError      wrong settings or arguments; knows all problems, found at once
    ├── StartRefused            the settings are right, and yet the crawl cannot start; nothing was changed
    │   ├── ContactMissing      the crawl would reach the public web, and its User-Agent names no contact
    │   ├── NoSuchCrawl             a server has no crawl of this name
    │   ├── JobdirLocked        another process works on this JOBDIR
    │   ├── JobdirVersion       the JOBDIR was written by another version of the format
    │   ├── JobdirDamaged       the JOBDIR's files contradict each other or cannot be read
    │   └── JobdirUnusable      the JOBDIR cannot be created, read or written
    ├── StorageFull             no room on the device; nothing was changed, the same write may be tried again
    │   └── StorageAway         the storage cannot be reached; the same step may be tried again
    └── StorageLost             the storage answers with errors that waiting does not cure

``str()`` of each is one line for the operator: what is wrong and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class CrawlError(Exception):
    """An error that keeps a crawl from starting or continuing."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong setting or argument: its name, and a description in one line."""

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.name else self.message


class ConfigurationError(CrawlError):
    """Settings or arguments are wrong. ``problems`` has all of them."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))


class StartRefused(CrawlError):  # noqa: N818 - states what happened
    """The crawl cannot start. Raised before anything was changed on disk or on the network."""


class ContactMissing(StartRefused):
    """The crawl would reach the public web, and its User-Agent names no contact."""


class NoSuchCrawl(StartRefused):
    """A server has no crawl of this name."""


class JobdirLocked(StartRefused):
    """Another process works on this JOBDIR."""


class JobdirVersion(StartRefused):
    """The JOBDIR was written in another version of the format."""


class JobdirDamaged(StartRefused):
    """The JOBDIR's files contradict each other or cannot be read. The message says what to do."""


class JobdirUnusable(StartRefused):
    """The JOBDIR cannot be created, read or written."""


class StorageFull(CrawlError):  # noqa: N818 - states what happened
    """There is no room left. Nothing was changed, and the same write may be tried again."""

    shown = "disk full"
    """The text on a display meanwhile."""


class StorageAway(StorageFull):
    """The storage cannot be reached now. It is unknown whether the step was executed; it may be tried again."""

    shown = "storage away"


class StorageLost(CrawlError):  # noqa: N818 - states what happened
    """The storage answers with errors that do not go away by waiting."""
