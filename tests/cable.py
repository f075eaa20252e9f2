"""A cable between a client and a server on loopback that can be cut: nothing gets through, and nobody is told."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Self


class Cable:
    """Forwards one port to another, in a thread of its own; a context manager."""

    def __init__(self, port: int) -> None:
        """``port``: where the server listens."""
        self._server_port = port
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._whole = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def cut(self) -> None:
        """From now on nothing gets through. Connections stay, and new ones can be made."""
        self._loop.call_soon_threadsafe(self._whole.clear)

    def mend(self) -> None:
        """What was sent meanwhile arrives."""
        self._loop.call_soon_threadsafe(self._whole.set)

    async def _open(self) -> None:
        self._whole.set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._whole.wait()
            there, back = await asyncio.open_connection("127.0.0.1", self._server_port)
            await asyncio.gather(self._carry(reader, back), self._carry(there, writer))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._whole.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
