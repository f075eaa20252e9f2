"""The URLs that a list (a sitemap, a feed, a robots.txt) names, held for the stores that want links.

A sitemap may name 50,000 URLs, and many are read at once. So each list holds one part of its URLs in memory; if there
are more, all parts are written to a compressed file until they are archived.
"""

from __future__ import annotations

import os
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.archive.spool_files import delete

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LinkRow = tuple[str, str, str, str]
"""A link of a page, with the fields of ``parsing.links.Link``: url, type, text, rel."""

LISTED = "sitemap"
"""The type of a link that is an item of a list."""
PART_LINKS, PART_CHARACTERS = 1000, 250_000
"""The largest number of links and characters of a part, unless a single URL is longer. A list holds one part in
memory, and a line of the link log holds one part.
"""

_HTTP = ("http://", "https://")
_LENGTH = struct.Struct("<I")
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class SpooledLinks:
    """URLs that are stored in a file. Iterate over it for the parts."""

    path: str

    def __iter__(self) -> Iterator[list[str]]:
        with Path(self.path).open("rb") as file:
            while head := file.read(_LENGTH.size):
                data = zlib.decompress(file.read(*_LENGTH.unpack(head)))
                yield data.decode("utf-8", "surrogatepass").split("\n")

    def remove(self) -> None:
        """Delete the file."""
        delete(self.path)


class ListedLinks:
    """Collects the URLs of one list as they are found.

    The caller calls ``spill`` when it is full, and at the end ``finish`` if it has spilled. The limits of the parts
    depend on the URLs alone.
    """

    def __init__(self, folder: str) -> None:
        """``folder``: the folder for the file, which is created when it is needed."""
        self._folder = folder
        self._urls: list[str] = []
        self._characters = 0
        self._path: str | None = None
        self.number = 0
        """The number of HTTP URLs so far."""
        self.others = 0
        """The number of URLs of other schemes so far."""

    def add(self, urls: Iterable[str]) -> None:
        """Add resolved URLs."""
        for url in urls:
            self._urls.append(url)
            self._characters += len(url)
            if url.startswith(_HTTP):
                self.number += 1
            else:
                self.others += 1

    @property
    def is_full(self) -> bool:
        return len(self._urls) > PART_LINKS or self._characters > PART_CHARACTERS

    def spill(self) -> None:
        """Write all whole parts to the file; blocks on the disk. Raises OSError."""
        *whole, rest = in_batches(self._urls)
        self._write(whole)
        self._urls, self._characters = list(rest), sum(map(len, rest))

    def finish(self) -> None:
        """Write the rest to the file; blocks on the disk. Raises OSError."""
        self._write(in_batches(self._urls))
        self._urls, self._characters = [], 0

    def _write(self, parts: Iterable[Sequence[str]]) -> None:
        frames = []
        for part in parts:
            data = zlib.compress("\n".join(part).encode("utf-8", "surrogatepass"), _LEVEL)
            frames.append(_LENGTH.pack(len(data)) + data)
        if self._path is None:
            Path(self._folder).mkdir(parents=True, exist_ok=True)
            handle, self._path = tempfile.mkstemp(prefix="links-", dir=self._folder)
            os.close(handle)
        with Path(self._path).open("ab") as file:
            file.write(b"".join(frames))

    @property
    def has_spilled(self) -> bool:
        return self._path is not None

    def held(self) -> list[str]:
        """The URLs in memory."""
        return self._urls

    def spooled(self) -> SpooledLinks | None:
        """The file, if there is one; it does not contain the URLs that are ``held``."""
        return None if self._path is None else SpooledLinks(self._path)


def in_batches(urls: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the URLs in their order, a part at a time."""
    start = characters = 0
    for place, url in enumerate(urls):
        characters += len(url)
        if place > start and (place - start == PART_LINKS or characters > PART_CHARACTERS):
            yield urls[start:place]
            start, characters = place, len(url)
    if start < len(urls):
        yield urls[start:]


def link_rows(urls: Iterable[str]) -> tuple[list[LinkRow], list[LinkRow]]:
    """Return the links to HTTP URLs, and those to URLs of other schemes."""
    links: list[LinkRow] = []
    others: list[LinkRow] = []
    for url in urls:
        (links if url.startswith(_HTTP) else others).append((url, LISTED, "", ""))
    return links, others
