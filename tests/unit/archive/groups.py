"""An archive for the tests, groups of entries to put into it, and what is found in it afterwards."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tests.unit.archive import strictwarc
from tests.unit.archive.faultydisk import FaultyDisk
from tests.unit.archive.samples import INFO, entry, noise, ticking
from webcrawl.archive import fetchlog
from webcrawl.archive.fetchlog import read
from webcrawl.archive.store import Archive

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.archive.capture import ArchiveEntry
    from webcrawl.archive.disk import Disk

GROUPS = 4
GROUP = 3


class OnThisThread(fetchlog.Compressor):
    """Compresses at once, so that the changes of the disk come in one order."""

    def start(self) -> None:
        self.run()


def archive(directory: Path, disk: Disk | None = None, **changes: Any) -> Archive:
    disk = disk or FaultyDisk()
    settings: dict[str, Any] = {
        "worker": "w0",
        "info": INFO,
        "clock": ticking().__next__,
        "disk": disk,
        "compressor": OnThisThread(directory, disk),
    }
    return Archive(directory, **(settings | changes))


def group(number: int) -> list[ArchiveEntry]:
    return [entry(number * GROUP + i, noise(900, seed=number * GROUP + i)) for i in range(GROUP)]


def urls_of(groups: range) -> list[str]:
    return [each.record.url for number in groups for each in group(number)]


def logged(directory: Path) -> list[str]:
    return [line["url"] for line in read(directory)]


def archived(directory: Path) -> list[str]:
    """The URLs of all responses, every file verified."""
    paths = sorted((directory / "warc").glob("*.warc.gz"))
    records = itertools.chain.from_iterable(map(strictwarc.strict_records, paths))
    return [found.url for found in records if found.type == "response"]
