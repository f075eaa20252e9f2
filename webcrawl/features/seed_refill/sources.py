"""Sources of seeds: a command that writes them to its standard output, or an asynchronous function that
returns them."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

SECONDS_MAX = 300.0
"""Time limit of a request."""
BYTES_MAX = 64 << 20
LINES_MAX = 1_000_000
_SHOWN = 200
"""Maximum number of characters of a command's error output in a message."""


class SourceError(Exception):
    """The source returned no readable seeds; the message gives the reason."""


class Source(Protocol):
    """Returns seeds on request."""

    async def fetch(self, keys: int) -> bytes:
        """Return lines as in a file of seeds. ``keys``: the counted number of keys with URLs. :raises SourceError:
        there are none that can be read"""
        ...

    def end(self) -> None:
        """Stop: the seeds are no longer needed."""
        ...


class CommandRunner:
    """Runs a command in its own process group, without a shell. It is killed only by ``end``, at the time limit, or
    if its output is too long."""

    def __init__(self, text: str, *, seconds: float = SECONDS_MAX, most_bytes: int = BYTES_MAX) -> None:
        """``text`` is split into words as a shell does."""
        self._words = shlex.split(text)
        self._seconds = seconds
        self._most = most_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = self._late = False

    async def fetch(self, keys: int) -> bytes:
        return await asyncio.to_thread(self._run, keys)

    def end(self) -> None:
        self._ended = True
        self._kill()

    def _run(self, keys: int) -> bytes:
        with tempfile.TemporaryFile() as error_output:
            try:
                process = self._process = subprocess.Popen(
                    self._words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=error_output,
                    env={**os.environ, "KEYS_WITH_URLS": str(keys)},
                    start_new_session=True,
                )
            except OSError as error:
                raise SourceError(f"it cannot be run: {error.strerror or error}") from error
            if self._ended:
                self._kill()
            self._late = False
            late = threading.Timer(self._seconds, self._too_late)
            late.start()
            try:
                assert process.stdout is not None
                with process.stdout as output:
                    seeds = output.read(self._most + 1)
                if len(seeds) > self._most:
                    self._kill()
                status = process.wait()
            finally:
                late.cancel()
            self._process = None
            error_output.seek(0)
            return self._checked(seeds, status, error_output.read(_SHOWN * 4))

    def _checked(self, seeds: bytes, status: int, error_output: bytes) -> bytes:
        if len(seeds) > self._most:
            raise SourceError(f"it wrote more than {self._most} bytes")
        if status:
            message = " ".join(error_output.decode("utf-8", "backslashreplace").split())[:_SHOWN]
            why = f"it ended with status {status}" + (f": {message}" if message else "")
            raise SourceError(f"it had not ended after {self._seconds:g} s" if self._late else why)
        return seeds

    def _too_late(self) -> None:
        self._late = True
        self._kill()

    def _kill(self) -> None:
        process = self._process
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


class Hook:
    """Awaits a function of the operator that gets the number of keys with URLs and returns lines."""

    def __init__(
        self, function: Callable[[int], Awaitable[Iterable[str]]], *, seconds: float = SECONDS_MAX
    ) -> None:
        self._function = function
        self._seconds = seconds

    async def fetch(self, keys: int) -> bytes:
        try:
            fetched = await asyncio.wait_for(self._function(keys), self._seconds)
            return "\n".join(_lines(fetched)).encode("utf-8", "replace")
        except TimeoutError as error:
            raise SourceError(f"it had not returned after {self._seconds:g} s") from error
        except Exception as error:  # on any error of the function, the crawl continues without its seeds
            raise SourceError(f"{type(error).__name__}: {error}") from error

    def end(self) -> None:
        """Nothing to do: cancelling the caller's task cancels the function."""


def _lines(fetched: Iterable[str]) -> list[str]:
    lines = list(islice(fetched, LINES_MAX + 1))
    if len(lines) > LINES_MAX:
        raise ValueError(f"more than {LINES_MAX} lines")
    if isinstance(fetched, str) or not all(isinstance(line, str) for line in lines):
        raise TypeError("it must return texts, a URL each")
    return lines
