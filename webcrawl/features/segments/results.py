"""Results of a segment's crawl in its JOBDIR: the states of its URLs, and the URLs that it found."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import groupby, islice
from typing import TYPE_CHECKING

from webcrawl.archive.line_sink import LineFile
from webcrawl.crawl.feature_table import SEGMENT_FILE
from webcrawl.errors import JobdirUnusable
from webcrawl.features.segments import files
from webcrawl.features.segments.files import entry_to_line
from webcrawl.frontier.records import UrlEntry, UrlRecord
from webcrawl.storage import technology_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from webcrawl.archive.capture import ArchiveEntry
    from webcrawl.features.segments.files import Key
    from webcrawl.storage.inspection import UrlStateReader


NAME = "found.jsonl"


class FoundUrls(LineFile):
    """Archive sink ``found.jsonl``: a line, as in a segment, for each URL that a page, a redirect or a sitemap led
    to. Durable before the URL that led to it is done; URLs in flight at a crash may be recorded twice."""

    name = NAME

    def lines(self, entry: ArchiveEntry) -> Iterable[bytes]:
        return (entry_to_line(UrlEntry(*row)).encode("ascii") for row in entry.found)


AT_ONCE = 500
"""Number of URLs whose state is read in one query."""

UrlStates = list[tuple[UrlEntry, UrlRecord | None]]
"""URLs of one key, each with its state in that crawl: None for one that never entered its queue."""


def is_one(folder: Path) -> bool:
    """Return whether a folder is the JOBDIR of a crawl of a segment."""
    return (folder / SEGMENT_FILE).is_file() and technology_in(folder) is not None


class Results:
    """Results in a JOBDIR, also readable while its crawl runs: as of the call of ``opened``."""

    def __init__(self, folder: Path, complete: Callable[[str], Key], identity: Mapping[str, str]) -> None:
        """``complete`` and ``identity`` are as for ``files.read``, and so are the errors."""
        self._folder = folder
        self._complete = complete
        self._identity = identity

    def found(self) -> Iterator[UrlEntry]:
        """Yield the URLs that were found."""
        path = self._folder / NAME
        return files.read(path, self._complete, self._identity) if path.exists() else iter(())

    @contextmanager
    def opened(self) -> Iterator[Iterator[UrlStates]]:
        """Yield its URLs, batches of one key at a time. :raises webcrawl.errors.StartRefused: its frontier cannot be
        read"""
        storage = technology_in(self._folder)
        if storage is None:
            raise JobdirUnusable(f"{self._folder} is no crawl with a frontier on disk")
        with storage.inspect_folder(self._folder).url_states() as reader:
            yield self._states(reader)

    def _states(self, reader: UrlStateReader) -> Iterator[UrlStates]:
        entries = files.read(self._folder / SEGMENT_FILE, self._complete, self._identity)
        for key, group in groupby(entries, key=lambda entry: entry.key):
            while batch := list(islice(group, AT_ONCE)):
                known = reader.known(key, [entry.fingerprint for entry in batch])
                yield [(entry, known.get(entry.fingerprint)) for entry in batch]
