"""The archive sink that writes the link log."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isal import isal_zlib

from webcrawl.archive.capture import REDIRECTS
from webcrawl.archive.disk import AppendFile, Disk, OneFile, translated
from webcrawl.archive.listed_links import link_rows
from webcrawl.archive.reading import GZIP_MEMBER
from webcrawl.archive.sinks import ArchiveSink
from webcrawl.archive.warc import stamp
from webcrawl.links import segments
from webcrawl.links import segments as index
from webcrawl.links.line import PAGE, Written, written
from webcrawl.urls.canonical import SWITCHES, CanonicalRules
from webcrawl.urls.host_rules import load_host_rules
from webcrawl.urls.resolve import resolve, resolve_other_scheme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from webcrawl.archive.capture import ArchiveEntry
    from webcrawl.archive.listed_links import LinkRow

LEVEL = 2
"""The compression level of isal; level 1 is no faster."""
MEMBER_BYTES = 1 << 20
"""The approximate size in bytes up to which lines are compressed together, so that reading a member stays cheap."""
NOT_MODIFIED = 304
REDIRECT = "redirect"
"""The type of the single link of a redirect."""
SITEMAP, ROBOTS = "sitemap", "robots"
"""The kinds of lists of URLs. A robots.txt has a line only if it names a sitemap."""


class LinkLog(OneFile, ArchiveSink):
    """Writes a line for each page and each list of URLs that was answered, for a long list several, in members of
    whole groups, into segments that are closed at a size limit.

    A group is in the segment whole or not at all. The index is extended when the group is kept.
    """

    wants_links = True
    settings = ("CANONICAL_RULES", "HOST_RULES_FILE", "LINK_LOG_ROLL_BYTES")

    def __init__(
        self,
        directory: Path,
        *,
        worker: str,
        settings: Mapping[str, Any],
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
    ) -> None:
        self._directory = directory
        self._roll_bytes = settings["LINK_LOG_ROLL_BYTES"]
        self._rules = canonical_rules(settings)
        self._clock = clock
        self._disk = disk or Disk()
        self._path = directory
        self._file: AppendFile | None = None
        self._index: int | None = None
        self._blocks: list[bytes] = []

    def open(self) -> list[str]:
        folder = self._directory / segments.FOLDER
        with translated(folder):
            folder.mkdir(parents=True, exist_ok=True)
            return segments.repair(self._directory, self._disk)

    def roll_if_full(self) -> None:
        if self.size >= self._roll_bytes:
            self._close_segment()

    def write(self, entries: Sequence[ArchiveEntry]) -> None:
        lines: list[Written] = []
        length = 0
        for entry in entries:
            for line in self._lines(entry):
                lines.append(line)
                length += len(line.line)
                if length >= MEMBER_BYTES:
                    self._add(lines)
                    lines, length = [], 0
        if lines:
            self._add(lines)

    def keep(self) -> None:
        super().keep()
        blocks, self._blocks = self._blocks, []
        if self._index is None or not blocks:
            return
        try:
            self._disk.write_whole(self._index, b"".join(blocks))
        except OSError:
            # Readers do without it: they ignore the blocks after one that is incomplete.
            self._leave_index()

    def rollback(self) -> None:
        self._blocks = []
        super().rollback()

    def close(self) -> None:
        self._close_segment()

    def _lines(self, entry: ArchiveEntry) -> Iterator[Written]:
        if (rows := entry_links(entry)) is None:
            return
        if entry.listed is None:
            links, others = rows
            yield written(entry.record, links, self._rules, others)
            return
        with translated(Path(entry.listed.path)):
            for part, urls in enumerate(entry.listed, start=1):
                links, others = link_rows(urls)
                yield written(entry.record, links, self._rules, others, part)

    def _add(self, lines: Sequence[Written]) -> None:
        """Add one more member to the open group."""
        file = self._file or self._new_segment()
        start = file.size
        data = isal_zlib.compress(b"".join([each.line for each in lines]), LEVEL, GZIP_MEMBER)
        file.write(data)
        self._blocks.append(index.block(start, start + len(data), lines))

    def _new_segment(self) -> AppendFile:
        at, earlier = stamp(self._clock()), segments.times(self._directory)
        if earlier and int(at) <= int(earlier[-1]):
            at = str(int(earlier[-1]) + 1)
        self._path = segments.segment_path(self._directory, at)
        self._file = AppendFile(segments.open_name(self._path), self._disk, new=True)
        with suppress(OSError):
            self._index = self._disk.open(segments.index_path(self._path), new=True)
        return self._file

    def _close_segment(self) -> None:
        """Give the segment its final name. Raises ArchiveError; nothing is lost, and the next call tries again."""
        file = self._file
        if file is None:
            return
        file.settle()
        with translated(file.path):
            if file.kept:
                self._disk.rename(file.path, self._path)
                self._disk.sync_folder(self._path.parent)
            else:
                self._disk.remove(file.path)
                segments.index_path(self._path).unlink(missing_ok=True)
        self._file = None
        self._leave_index()
        file.release()

    def _leave_index(self) -> None:
        handle, self._index = self._index, None
        if handle is not None:
            with suppress(OSError):
                os.close(handle)


def entry_links(entry: ArchiveEntry) -> tuple[Sequence[LinkRow], Sequence[LinkRow]] | None:
    """Return the links of a line, over HTTP and of other schemes; None if the fetch has none: it is neither page nor
    list, failed, or was not modified since.
    """
    record = entry.record
    if record.kind not in (PAGE, SITEMAP) and (
        record.kind != ROBOTS or not (entry.links or entry.other_links)
    ):
        return None
    if record.status is None or record.status == NOT_MODIFIED:
        return None
    if record.status in REDIRECTS and record.location and not entry.links:
        if (target := resolve(record.location, record.url)) is not None:
            return ((target, REDIRECT, "", ""),), ()
        other = resolve_other_scheme(record.location, record.url)
        return (), (() if other is None else ((other, REDIRECT, "", ""),))
    return entry.links, entry.other_links


def canonical_rules(settings: Mapping[str, Any]) -> CanonicalRules:
    """Return the rules of URL comparison in the settings of a crawl."""
    path, chosen = settings["HOST_RULES_FILE"], settings["CANONICAL_RULES"]
    return CanonicalRules(
        **{name: name in chosen for name in SWITCHES},
        hosts=None if path is None else load_host_rules(Path(path)),
    )
