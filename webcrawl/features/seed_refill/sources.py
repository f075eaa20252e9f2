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

ANSWER_SECONDS = 300.0
"""Time limit for an answer."""
ANSWER_BYTES = 64 << 20
ANSWER_LINES = 1_000_000
_TOLD = 200
"""Maximum number of characters of a command's error output in a message."""


class NoAnswer(Exception):  # noqa: N818 - named after the event
    """There is no readable answer; the message gives the reason."""


class Source(Protocol):
    """Returns seeds on request."""

    async def ask(self, keys: int) -> bytes:
        """Return lines as in a file of seeds. ``keys``: the counted number of keys with URLs. :raises NoAnswer: there
        are none that can be read"""
        ...

    def end(self) -> None:
        """Stop: the answer is no longer needed."""
        ...


class Command:
    """Runs a command in its own process group, without a shell. It is killed only by ``end``, at the time limit, or
    if its output is too long."""

    def __init__(self, text: str, *, seconds: float = ANSWER_SECONDS, most_bytes: int = ANSWER_BYTES) -> None:
        """``text`` is split into words as a shell does."""
        self._words = shlex.split(text)
        self._seconds = seconds
        self._most = most_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = self._late = False

    async def ask(self, keys: int) -> bytes:
        return await asyncio.to_thread(self._run, keys)

    def end(self) -> None:
        self._ended = True
        self._kill()

    def _run(self, keys: int) -> bytes:
        with tempfile.TemporaryFile() as complaints:
            try:
                process = self._process = subprocess.Popen(
                    self._words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    env={**os.environ, "KEYS_WITH_URLS": str(keys)},
                    start_new_session=True,
                )
            except OSError as error:
                raise NoAnswer(f"it cannot be run: {error.strerror or error}") from error
            if self._ended:
                self._kill()
            self._late = False
            late = threading.Timer(self._seconds, self._too_late)
            late.start()
            try:
                assert process.stdout is not None
                with process.stdout as output:
                    answer = output.read(self._most + 1)
                if len(answer) > self._most:
                    self._kill()
                status = process.wait()
            finally:
                late.cancel()
            self._process = None
            complaints.seek(0)
            return self._judged(answer, status, complaints.read(_TOLD * 4))

    def _judged(self, answer: bytes, status: int, complaints: bytes) -> bytes:
        if len(answer) > self._most:
            raise NoAnswer(f"it wrote more than {self._most} bytes")
        if status:
            told = " ".join(complaints.decode("utf-8", "backslashreplace").split())[:_TOLD]
            why = f"it ended with status {status}" + (f": {told}" if told else "")
            raise NoAnswer(f"it had not ended after {self._seconds:g} s" if self._late else why)
        return answer

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
        self, function: Callable[[int], Awaitable[Iterable[str]]], *, seconds: float = ANSWER_SECONDS
    ) -> None:
        self._function = function
        self._seconds = seconds

    async def ask(self, keys: int) -> bytes:
        try:
            found = await asyncio.wait_for(self._function(keys), self._seconds)
            return "\n".join(_lines(found)).encode("utf-8", "replace")
        except TimeoutError as error:
            raise NoAnswer(f"it had not returned after {self._seconds:g} s") from error
        except Exception as error:  # on any error of the function, the crawl continues without its seeds
            raise NoAnswer(f"{type(error).__name__}: {error}") from error

    def end(self) -> None:
        """Nothing to do: cancelling the caller's task cancels the function."""


def _lines(found: Iterable[str]) -> list[str]:
    lines = list(islice(found, ANSWER_LINES + 1))
    if len(lines) > ANSWER_LINES:
        raise ValueError(f"more than {ANSWER_LINES} lines")
    if isinstance(found, str) or not all(isinstance(line, str) for line in lines):
        raise TypeError("it must return texts, a URL each")
    return lines
