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

from webcrawl.child_process import KEEPS_FREED, OUT_OF_MEMORY, Frames, frame, frame_head, start_on_socket
from webcrawl.parsing.charset import detect_encoding
from webcrawl.parsing.html import PageInput, ParsedPage
from webcrawl.parsing.links import LinkColumns
from webcrawl.parsing.offload import Extractor
from webcrawl.parsing.stream import TOO_DEEP
from webcrawl.processes import resident_bytes

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from webcrawl.parsing.links import Column


_values_of = attrgetter(*(field.name for field in fields(ParsedPage) if field.name != "links"))


def page_parts(number: int, page: PageInput) -> tuple[bytes, bytes]:
    """Return the parts of the frame that sends a page to a process. Its body is not copied."""
    body, *others = page
    return frame_head((number, *others), body), body


def unpack_page(values: list[Any]) -> PageInput:
    """Return the page of ``page_parts``, without its number."""
    *others, body = values
    return PageInput(body, *others)


def document_frame(number: int, document: ParsedPage) -> bytes:
    """Return the frame that sends the findings of the page of that number to the crawl."""
    links = document.links
    return frame((number, _values_of(document), len(links), LinkColumns.of(links).columns))


def unpack_document(values: tuple[Any, ...], length: int, columns: tuple[Column, ...]) -> ParsedPage:
    """Return the document of a ``document_frame``."""
    document = ParsedPage(*values)
    document.links = LinkColumns(length, columns)
    return document


IN_PLACE_FIRST = 200
"""The number of pages that are parsed in place before a process is started: a small crawl without large pages needs
none.
"""

START_SECONDS = 60.0
"""Seconds that a process may take to import its modules."""

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

MEASURED_BYTES = 1 << 20
"""The memory of a process is measured after so many bytes of pages."""

_READER = "webcrawl.parsing.reader"


class ReaderProcesses:
    """Extracts pages for the coroutines of one event loop, as ``Extractor`` does, in other processes.

    If a page ends its process only that page is lost: the pages of the process are parsed again one at a time by a
    separate process, and the one that ends this too is given up. Without a process pages are parsed in place.

    A process whose resident memory exceeds ``memory_bytes`` after a page gets no more pages and ends when it has
    parsed those that it has; another one takes its place. What its pages may use beyond what it uses when it starts
    is limited to twice as much by the system, and a page that is refused memory ends its process.

    Pages leave memory in use wherever they are parsed (lxml never frees the names of elements). If this process has
    grown by more than ``memory_bytes`` since its first page in place, another process parses the further ones, also
    if ``processes`` is 0. A separate process also parses each page whose open elements are too many for the event
    loop.
    """

    def __init__(
        self,
        processes: int,
        in_place_first: int = IN_PLACE_FIRST,
        module: str = _READER,
        memory_bytes: int = 0,
    ) -> None:
        """``processes``: the most processes, 0 for none. ``module``: the module that they run. ``memory_bytes``: 0
        for no limit.
        """
        self._memory_bytes = memory_bytes
        self._in_place = InPlace(memory_bytes)
        self._processes = processes
        self._may_start = True
        """False if no process can be started, or none is needed any more."""
        self._left_in_place = in_place_first
        self._module = module
        self._readers: list[_ReaderProcess] = []
        self._apart: _ReaderProcess | None = None
        self._start: asyncio.Event | None = None
        """Set when the process that is being started is ready; None if none is being started."""
        self._one_at_a_time = asyncio.Lock()
        self.ended = 0
        """The number of processes that ended because of pages."""
        self.replaced = 0
        """The number of processes that were replaced because of their size."""

    async def extract(self, page: PageInput) -> ParsedPage:
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
        document = await self._in_place.extract(page)
        if document.error == TOO_DEEP and self._may_start:
            document = await self._parse_alone(page) or document
        if self._in_place.has_grown and not self._processes and self._may_start:
            self._move_out()
        return document

    def _move_out(self) -> None:
        """Have another process parse pages from now on: this one cannot be replaced."""
        self._processes, self._left_in_place = 1, 0
        logger.warning(
            "This process has grown by more than %d MiB since it began to read pages: another one reads the further "
            "ones, although EXTRACTION_PROCESSES is 0",
            self._memory_bytes >> 20,
        )

    def busy(self) -> int:
        """Return the number of pages that wait for a process, or are in one."""
        return sum(reader.busy() for reader in (*self._readers, self._apart) if reader is not None)

    def close(self) -> None:
        """End all processes."""
        self._processes, self._may_start = 0, False
        for reader in (*self._readers, self._apart):
            if reader is not None:
                reader.end()
        self._readers.clear()

    async def _reader(self, *, wait: bool) -> _ReaderProcess | None:
        """Return the process with the fewest pages; if all have pages and another process is allowed, start it and
        return it. While the first one starts wait for it, or return None.
        """
        best = self._least_busy()
        more = sum(not each.is_full for each in self._readers) < self._processes
        if (best is None or best.busy()) and more and self._start is None:
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

    def _least_busy(self) -> _ReaderProcess | None:
        self._readers = [each for each in self._readers if not each.is_gone]
        return min(
            (each for each in self._readers if not each.is_full), key=_ReaderProcess.busy, default=None
        )

    def _full(self, resident: int) -> None:
        self.replaced += 1
        logger.info(
            "A process that reads pages has grown to %d MiB; another one takes its place", resident >> 20
        )

    async def _started(self) -> _ReaderProcess | None:
        try:
            return await _ReaderProcess.start(self._module, self._memory_bytes, self._full)
        except OSError as error:
            logger.warning("Pages are read in place, since no process can be started for them: %s", error)
            self._processes, self._may_start = 0, False
            return None

    async def _parse_apart(self, page: PageInput) -> ParsedPage:
        """Parse a page whose process has ended, alone in a separate process."""
        self.ended += 1
        return await self._parse_alone(page) or _unread(page, ENDED)

    async def _parse_alone(self, page: PageInput) -> ParsedPage | None:
        """Parse a page in a separate process that has no other page; None if no process can be started."""
        async with self._one_at_a_time:
            if self._apart is None or self._apart.is_gone or self._apart.is_full:
                self._apart = await self._started()
            if self._apart is None:
                return None
            try:
                return await self._apart.parse(page)
            except _ProcessEndedError as ended:
                return _unread(page, str(ended))


def _unread(page: PageInput, error: str) -> ParsedPage:
    encoding = detect_encoding(page.body, page.content_type)
    return ParsedPage(title="", base=page.url, encoding=encoding, error=error)


class InPlace:
    """Extracts pages in this process, and measures how much it has grown since the first one."""

    def __init__(self, memory_bytes: int) -> None:
        """``memory_bytes``: 0 if it is not measured."""
        self._extractor = Extractor()
        self._memory_bytes = memory_bytes
        self._at_first: int | None = None
        self._unmeasured = 0
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self.has_grown = False
        """True if it has grown by more than ``memory_bytes``."""

    async def extract(self, page: PageInput) -> ParsedPage:
        """Return the result of ``Extractor.extract``. Large pages wait before memory is needed for them."""
        if self._at_first is None:
            self._measure(0)
        try:
            if len(page.body) <= LARGE_BYTES:
                return await self._extractor.extract(page)
            async with self._large:
                return await self._extractor.extract(page)
        finally:
            self._measure(len(page.body))

    def _measure(self, length: int) -> None:
        """Look at the memory before the first page, and after each MiB of pages."""
        self._unmeasured += length
        if not self._memory_bytes or (self._at_first is not None and self._unmeasured < MEASURED_BYTES):
            return
        self._unmeasured = 0
        # The file cannot be opened now: the next page is in time too.
        with suppress(OSError):
            resident = resident_bytes() or 0
            if self._at_first is None:
                self._at_first = resident
            self.has_grown = resident - self._at_first > self._memory_bytes


ENDED = "ended the process that read it"
TOO_MUCH_MEMORY = "needs more memory than a process that reads pages may use"


class _ProcessEndedError(Exception):
    """The process ended before it sent the document. The text says how."""


class _ReaderProcess(asyncio.Protocol):
    """A process and the socket to it."""

    def __init__(
        self, process: subprocess.Popen[bytes], memory_bytes: int, full: Callable[[int], None]
    ) -> None:
        """``full`` is called once, with its resident memory, if that exceeds ``memory_bytes``."""
        self._process = process
        self._memory_bytes = memory_bytes
        self._report_full = full
        self._unmeasured = 0
        """Bytes of the pages that it has parsed since its memory was measured."""
        self._transport: asyncio.Transport | None = None
        self._frames = Frames()
        self._waiting: dict[int, asyncio.Future[ParsedPage]] = {}
        self._numbers = count()
        self._received = 0
        """The number of documents that it has sent."""
        self._watch: asyncio.TimerHandle | None = None
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._pages = 0
        self.is_full = False
        """True if it uses too much memory to get another page."""
        self.is_gone = False

    @classmethod
    async def start(cls, module: str, memory_bytes: int, full: Callable[[int], None]) -> _ReaderProcess:
        """:raises OSError: it cannot be started"""
        process, ours = await asyncio.to_thread(start_on_socket, module, KEEPS_FREED, str(2 * memory_bytes))
        _, reader = await asyncio.get_running_loop().create_connection(
            lambda: cls(process, memory_bytes, full), sock=ours
        )
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

    async def parse(self, page: PageInput) -> ParsedPage:
        """:raises _ProcessEndedError: it ended before it sent the document"""
        self._pages += 1
        try:
            if len(page.body) <= LARGE_BYTES:
                return await self._send(page)
            async with self._large:
                return await self._send(page)
        finally:
            self._pages -= 1
            self._measure(len(page.body))

    def _measure(self, length: int) -> None:
        """Look at its memory now and then, and end it if it is full and has no pages left."""
        self._unmeasured += length
        if self._memory_bytes and self._unmeasured >= MEASURED_BYTES and not (self.is_full or self.is_gone):
            self._unmeasured = 0
            # The file cannot be opened now: the next page is in time too.
            with suppress(OSError):
                resident = resident_bytes(self._process.pid) or 0
                self.is_full = resident > self._memory_bytes
                if self.is_full:
                    self._report_full(resident)
        if self.is_full and not self._pages and not self.is_gone:
            self.end()

    async def _send(self, page: PageInput) -> ParsedPage:
        if self._transport is None or self.is_gone:
            raise _ProcessEndedError(ENDED)
        number = next(self._numbers)
        document: asyncio.Future[ParsedPage] = asyncio.get_running_loop().create_future()
        self._waiting[number] = document
        self._transport.writelines(page_parts(number, page))
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
                document.set_result(unpack_document(*parts))

    def connection_lost(self, exc: Exception | None) -> None:
        self._reap()

    def _reap(self) -> None:
        self.is_gone = True
        if self._watch is not None:
            self._watch.cancel()
        if self._process.poll() is None:
            self._process.kill()
        status = self._process.wait()
        waiting, self._waiting = self._waiting, {}
        for document in waiting.values():
            if not document.done():
                how = TOO_MUCH_MEMORY if status == OUT_OF_MEMORY else ENDED
                document.set_exception(_ProcessEndedError(how))

    def _check_progress(self, received_before: int) -> None:
        """Kill a process that has pages and has sent nothing since the last check."""
        if self._waiting and self._received == received_before:
            self.end()
        else:
            loop = asyncio.get_running_loop()
            self._watch = loop.call_later(SILENCE_SECONDS, self._check_progress, self._received)
