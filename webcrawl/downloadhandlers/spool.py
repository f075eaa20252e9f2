"""Long payloads on their way to a file: no more of them is in memory than what is being written."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from xxhash import xxh3_128

from webcrawl.archive.capture import Spooled

if TYPE_CHECKING:
    from collections.abc import Callable

BUFFER_BYTES = 1 << 18
"""What is written at a time; a payload that is not longer stays in memory."""


class Spool:
    """Takes one payload. Files are written on a thread, and while a second buffer is full nothing is read."""

    def __init__(self, folder: str, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """``folder`` is made when there is something to put there. ``pause`` and ``resume``: for who feeds it."""
        self.folder = folder
        self._pause = pause
        self._resume = resume
        self._paused = False
        self._buffer = bytearray()
        self._length = 0
        self._written_now = 0
        self._hash = xxh3_128()
        self._handle: int | None = None
        self._path: str | None = None
        self._writing: asyncio.Future[None] | None = None
        self._error: OSError | None = None

    @property
    def held(self) -> bytes:
        """What is in memory and in no file."""
        return bytes(self._buffer)

    @property
    def size(self) -> int:
        """Bytes that are in memory, those that are being written too."""
        return len(self._buffer) + self._written_now

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._length += len(data)
        if self._error is not None:
            return
        self._buffer += data
        if len(self._buffer) <= BUFFER_BYTES:
            return
        if self._writing is None:
            self._begin()
        elif not self._paused:
            self._paused = True
            self._pause()

    def go_on(self) -> None:
        """Have whoever feeds it go on. At the latest when the payload has ended: a connection is kept for others."""
        if self._paused:
            self._paused = False
            self._resume()

    async def finish(self) -> Spooled | None:
        """The payload has ended; None if it is short, and all of it ``held``. Raises OSError: it cannot be kept."""
        try:
            while self._writing is not None:
                await asyncio.wait([self._writing])
                # What is to be done then is done by a callback.
                await asyncio.sleep(0)
            if self._path is None and self._error is None:
                return None
            if self._buffer and self._error is None:
                self._begin()
                return await self.finish()
            if self._error is not None:
                raise self._error
        except BaseException:
            self.discard()
            raise
        self._close()
        assert self._path is not None
        return Spooled(self._path, self._length, self._hash.digest())

    def discard(self) -> None:
        """Remove what was written."""
        self._buffer.clear()
        if self._writing is not None:
            self._writing.add_done_callback(lambda _: self.discard())
            return
        self._close()
        if self._path is not None:
            Path(self._path).unlink(missing_ok=True)
            self._path = None

    def _begin(self) -> None:
        data, self._buffer = self._buffer, bytearray()
        self._written_now = len(data)
        self._writing = asyncio.get_running_loop().run_in_executor(None, self._write, data)
        self._writing.add_done_callback(self._written)

    def _write(self, data: bytearray) -> None:
        if self._handle is None:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
            self._handle, self._path = tempfile.mkstemp(prefix="payload-", dir=self.folder)
        self._hash.update(data)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._handle, rest) :]

    def _written(self, done: asyncio.Future[None]) -> None:
        self._writing = None
        self._written_now = 0
        error = done.exception()
        if isinstance(error, OSError):
            self._error = error
            self._buffer.clear()
        elif len(self._buffer) > BUFFER_BYTES:
            self._begin()
        self.go_on()

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
