"""Processes that parse pages, and the messages between them and the crawl on one socket each.

The crawl sends many pages at a time, each with a number. A result is sent when it is ready, with the number of its
page.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import fields
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from webcrawl.child_process import KEEPS_FREED, Frames, frame, start_on_socket
from webcrawl.parsing.charset import encoding_of
from webcrawl.parsing.html import Document, PageInput
from webcrawl.parsing.links import LinkColumns
from webcrawl.parsing.offload import Extractor

if TYPE_CHECKING:
    import subprocess

    from webcrawl.parsing.links import Column


_values_of = attrgetter(*(field.name for field in fields(Document) if field.name != "links"))


def page_frame(number: int, page: PageInput) -> bytes:
    """Return the frame that sends a page to a process."""
    return frame((number, *page))


def document_frame(number: int, document: Document) -> bytes:
    """Return the frame that sends the findings of the page of that number to the crawl."""
    links = document.links
    return frame((number, _values_of(document), len(links), LinkColumns.of(links).columns))


def document_of(values: tuple[Any, ...], length: int, columns: tuple[Column, ...]) -> Document:
    """Return the document of a ``document_frame``."""
    document = Document(*values)
    document.links = LinkColumns(length, columns)
    return document


IN_PLACE_FIRST = 200
"""The number of pages that are parsed in place before a process is started: a small crawl without large pages needs
none.
"""

START_SECONDS = 60.0
"""How long in seconds a process may take to import its modules."""

LARGE_BYTES = 1 << 16
"""A page of more bytes is never parsed in place, unless no process can be started: steps of it may take long."""
LARGE_AT_ONCE = 4
"""The number of large pages that a process has at a time. The others wait in the crawl, where they do not delay small
pages on the socket and are in memory once.
"""

SILENCE_SECONDS = 60.0
"""A process that has pages and sends no document for so many seconds is killed: no page takes a tenth of it."""

_PROBE = PageInput(b"", "http://a.invalid/", None, links_max=0)
"""Sent first: if the process ends before it has read any page, no page is the cause."""

logger = logging.getLogger(__name__)

_READER = "webcrawl.parsing.reader"


class Readers:
    """Extracts pages for the coroutines of one event loop, as ``Extractor`` does, in other processes.

    If a page ends its process only that page is lost: the pages of the process are parsed again one at a time by a
    separate process, and the one that ends this too is given up. Without a process pages are parsed in place.
    """

    def __init__(self, processes: int, in_place_first: int = IN_PLACE_FIRST, module: str = _READER) -> None:
        """``processes``: the most processes, 0 for none. ``module``: the module that they run."""
        self._in_place = Extractor()
        self._processes = processes
        self._left_in_place = in_place_first
        self._module = module
        self._readers: list[_Reader] = []
        self._apart: _Reader | None = None
        self._start: asyncio.Event | None = None
        """Set when the process that is being started is ready; None if none is being started."""
        self._one_at_a_time = asyncio.Lock()
        self.ended = 0
        """The number of processes that ended because of pages."""

    async def extract(self, page: PageInput) -> Document:
        """Return the result of ``html.extract``, or ``error`` and less when the page took too long or ended its
        process.
        """
        large = len(page.body) > LARGE_BYTES
        if self._processes and self._left_in_place > 0 and not large:
            self._left_in_place -= 1
        elif self._processes and (reader := await self._reader(wait=large)) is not None:
            try:
                return await reader.parse(page)
            except _ProcessEndedError:
                return await self._parse_apart(page)
        return await self._in_place.extract(page)

    def busy(self) -> int:
        """Return the number of pages that wait for a process, or are in one."""
        return sum(reader.busy() for reader in (*self._readers, self._apart) if reader is not None)

    def close(self) -> None:
        """End all processes."""
        self._processes = 0
        for reader in (*self._readers, self._apart):
            if reader is not None:
                reader.end()
        self._readers.clear()

    async def _reader(self, *, wait: bool) -> _Reader | None:
        """Return the process with the fewest pages; if all have pages and another process is allowed, start it and
        return it. While the first one starts wait for it, or return None.
        """
        best = self._least_busy()
        if (best is None or best.busy()) and len(self._readers) < self._processes and self._start is None:
            self._start = start = asyncio.Event()
            try:
                if (started := await self._started()) is not None:
                    self._readers.append(started)
                    return started
            finally:
                self._start = None
                start.set()
        elif best is None and wait and self._start is not None:
            await self._start.wait()
            best = self._least_busy()
        return best

    def _least_busy(self) -> _Reader | None:
        self._readers = [each for each in self._readers if not each.is_gone]
        return min(self._readers, key=_Reader.busy, default=None)

    async def _started(self) -> _Reader | None:
        try:
            return await _Reader.start(self._module)
        except OSError as error:
            logger.warning("Pages are read in place, since no process can be started for them: %s", error)
            self._processes = 0
            return None

    async def _parse_apart(self, page: PageInput) -> Document:
        """Parse a page whose process has ended, alone in a separate process."""
        self.ended += 1
        async with self._one_at_a_time:
            if self._apart is None or self._apart.is_gone:
                self._apart = await self._started()
            if self._apart is not None:
                with suppress(_ProcessEndedError):
                    return await self._apart.parse(page)
        encoding = encoding_of(page.body, page.content_type)
        return Document(title="", base=page.url, encoding=encoding, error="ended the process that read it")


class _ProcessEndedError(Exception):
    """The process ended before it sent the document."""


class _Reader(asyncio.Protocol):
    """A process and the socket to it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()
        self._waiting: dict[int, asyncio.Future[Document]] = {}
        self._numbers = count()
        self._received = 0
        """The number of documents that it has sent."""
        self._watch: asyncio.TimerHandle | None = None
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._pages = 0
        self.is_gone = False

    @classmethod
    async def start(cls, module: str) -> _Reader:
        """:raises OSError: it cannot be started"""
        process, ours = await asyncio.to_thread(start_on_socket, module, KEEPS_FREED)
        _, reader = await asyncio.get_running_loop().create_connection(lambda: cls(process), sock=ours)
        try:
            async with asyncio.timeout(START_SECONDS):
                await reader.parse(_PROBE)
        except (_ProcessEndedError, TimeoutError) as error:
            reader.end()
            raise OSError("it does not answer") from error
        reader._check_progress(-1)
        return reader

    def busy(self) -> int:
        """Return the number of its pages."""
        return self._pages

    async def parse(self, page: PageInput) -> Document:
        """:raises _ProcessEndedError: it ended before it sent the document"""
        self._pages += 1
        try:
            if len(page.body) <= LARGE_BYTES:
                return await self._send(page)
            async with self._large:
                return await self._send(page)
        finally:
            self._pages -= 1

    async def _send(self, page: PageInput) -> Document:
        if self._transport is None or self.is_gone:
            raise _ProcessEndedError
        number = next(self._numbers)
        document: asyncio.Future[Document] = asyncio.get_running_loop().create_future()
        self._waiting[number] = document
        self._transport.write(page_frame(number, page))
        try:
            return await document
        finally:
            self._waiting.pop(number, None)

    def end(self) -> None:
        """End the process immediately."""
        if self._transport is not None:
            self._transport.abort()
        self._reap()

    # -- callbacks of the loop -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The transport of uvloop does not derive from that class.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        for number, *parts in self._frames.feed(data):
            self._received += 1
            document = self._waiting.pop(number, None)
            if document is not None and not document.done():
                document.set_result(document_of(*parts))

    def connection_lost(self, exc: Exception | None) -> None:
        self._reap()

    def _reap(self) -> None:
        self.is_gone = True
        if self._watch is not None:
            self._watch.cancel()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        waiting, self._waiting = self._waiting, {}
        for document in waiting.values():
            if not document.done():
                document.set_exception(_ProcessEndedError())

    def _check_progress(self, received_before: int) -> None:
        """Kill a process that has pages and has sent nothing since the last check."""
        if self._waiting and self._received == received_before:
            self.end()
        else:
            loop = asyncio.get_running_loop()
            self._watch = loop.call_later(SILENCE_SECONDS, self._check_progress, self._received)
