"""A child process beside a crawl that serves others, and is started again if it dies. The crawl goes on whatever
happens to it.
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from webcrawl.child_process import start_on_socket
from webcrawl.crawl.feature import stop
from webcrawl.processes import resident_bytes

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Awaitable, Callable

PAUSES = (1.0, 5.0, 30.0, 120.0)
"""Seconds before each new start of a child that died; after the last one there is none."""
LIVED_SECONDS = 600.0
"""A child that lived for this long died for another reason than the one before."""
END_SECONDS = 2.0
MEASURED_SECONDS = 10.0
"""Seconds between two measurements of the child's memory."""

logger = logging.getLogger(__name__)


class Companion:
    """The child that runs a module. It ends when its connection is closed, as it is if the crawl is killed."""

    def __init__(
        self,
        name: str,
        module: str,
        converse: Callable[[StreamReader, StreamWriter], Awaitable[bool]],
        memory_bytes: int = 0,
    ) -> None:
        """``name``: in messages. ``converse`` exchanges frames with each child, until a read raises EOFError or
        ConnectionError: the child has ended. It returns False if the child refused to begin. ``memory_bytes``:
        the resident memory above which the child is ended and started again; 0 for no limit."""
        self._name = name
        self._module = module
        self._converse = converse
        self._memory_bytes = memory_bytes
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._keep())

    async def end(self) -> None:
        await stop(self._task)

    async def _keep(self) -> None:
        """Run the child, again and again if it dies."""
        pauses = list(PAUSES)
        while True:
            started_at = time.monotonic()
            try:
                if not await self._run():
                    return
                why = "ended"
            except OSError as error:
                why = f"cannot be started: {error.strerror or error}"
            if time.monotonic() - started_at >= LIVED_SECONDS:
                pauses = list(PAUSES)
            if not pauses:
                logger.warning(
                    "The process of the %s %s again and again; there is none any more", self._name, why
                )
                return
            pause = pauses.pop(0)
            logger.warning("The process of the %s %s; it is started again in %g s", self._name, why, pause)
            await asyncio.sleep(pause)

    async def _run(self) -> bool:
        """Run the child to its end; return False if it refused to begin. :raises OSError: it cannot be started"""
        process, ours = await asyncio.to_thread(start_on_socket, self._module, {}, stdout=subprocess.DEVNULL)
        writer = None
        watch = asyncio.create_task(self._watch(process))
        try:
            reader, writer = await asyncio.open_connection(sock=ours)
            return await self._converse(reader, writer)
        except (EOFError, ConnectionError):
            return True
        finally:
            watch.cancel()
            if writer is None:
                ours.close()
            else:
                writer.close()
            await asyncio.shield(asyncio.to_thread(_end, process))

    async def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """End a child that has grown too large: ``_keep`` starts another one."""
        while self._memory_bytes:
            await asyncio.sleep(MEASURED_SECONDS)
            # The file cannot be opened now: the next time is in time too.
            with suppress(OSError):
                resident = resident_bytes(process.pid) or 0
                if resident > self._memory_bytes:
                    logger.warning("The process of the %s has grown to %d MiB", self._name, resident >> 20)
                    process.kill()
                    return


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a child whose connection is closed, which is its sign to end."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
        return
    process.kill()
    process.wait()
