"""The file of a long payload: only the bytes that are being written are in memory."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from xxhash import xxh3_128

from webcrawl.archive.capture import Spooled
from webcrawl.archive.spool_files import delete

if TYPE_CHECKING:
    from collections.abc import Callable

BUFFER_BYTES = 1 << 18
"""Bytes that are written at a time; a payload that is not longer stays in memory."""


class Spool:
    """Takes one payload. Files are written on a thread; while a second buffer is full the connection is not read."""

    def __init__(self, folder: str, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """``folder`` is created when it is needed. ``pause`` and ``resume`` stop and continue the reading of the
        connection.
        """
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
        """The bytes in memory that are in no file."""
        return bytes(self._buffer)

    @property
    def size(self) -> int:
        """Bytes in memory, including those that are being written."""
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
        """Resume the connection. Called at the end of the payload at the latest, since the connection is kept for
        other requests.
        """
        if self._paused:
            self._paused = False
            self._resume()

    async def finish(self) -> Spooled | None:
        """End the payload; return None if it is short and all of it ``held``. Raises OSError if it cannot be
        stored.
        """
        try:
            while self._writing is not None:
                await asyncio.wait([self._writing])
                # The steps that follow are run by a callback.
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
        """Delete the file."""
        self._buffer.clear()
        if self._writing is not None:
            self._writing.add_done_callback(lambda _: self.discard())
            return
        self._close()
        if self._path is not None:
            delete(self._path)
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
