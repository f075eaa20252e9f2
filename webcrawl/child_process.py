"""Python child processes: their start, and the frames in which parent and child exchange values.

A frame is its length (8 bytes, little-endian) and a value in marshal's form. Both ends run the same Python and the
same code, and no other process writes to the pipe or socket between them. Strings may hold lone surrogates, as pages
do.
"""

from __future__ import annotations

import marshal
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from asyncio import StreamReader
    from collections.abc import Collection, Iterator, Mapping
    from io import BufferedRWPair
    from typing import BinaryIO

    Stream = BinaryIO | BufferedRWPair[Any, Any]

KEEPS_FREED = {"MALLOC_TRIM_THRESHOLD_": str(32 << 20), "MALLOC_MMAP_THRESHOLD_": str(16 << 20)}
"""Environment variables for children that parse pages: without them glibc returns the memory of a page's tree to the
system as soon as it is free, and requests it again for the next page (53 page faults per page, a third of Lexbor's
time).
"""

OUT_OF_MEMORY = 86
"""The exit status of a child that was refused memory."""

_LENGTH = struct.Struct("<Q")
_PLAIN = 2
"""The version of marshal's format for values about one page: later ones search for repeated values, which costs more
there than it saves. For the rows of many pages it is worth it (a fifth of the time).
"""


def start_python(
    module: str,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    stdin: int = subprocess.PIPE,
    stdout: int | None = subprocess.PIPE,
    stderr: int | None = None,
    pass_fds: Collection[int] = (),
    own_group: bool = True,
) -> subprocess.Popen[bytes]:
    """Run ``module`` with this Python and return the child. Raises OSError.

    The child imports the code from the same paths as this process. ``variables``: added to its environment.
    ``own_group``: Ctrl-C does not interrupt the child, which still has work to finish.
    """
    # An empty path is the folder of this process.
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env={**os.environ, "PYTHONPATH": path, **(variables or {})},
        pass_fds=pass_fds,
        process_group=0 if own_group else None,
    )


def start_on_socket(
    module: str,
    variables: Mapping[str, str],
    *arguments: str,
    stdout: int | None = None,
    stderr: int | None = None,
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Run ``module`` with one end of a socket as its standard input; return the child and the other end, which does
    not block. Raises OSError.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = start_python(
                module, *arguments, variables=variables, stdin=theirs.fileno(), stdout=stdout, stderr=stderr
            )
        except OSError:
            ours.close()
            raise
    ours.setblocking(False)
    return process, ours


def socket_to_parent() -> socket.socket:
    """Return the socket that ``start_on_socket`` gave this process."""
    return socket.socket(fileno=os.dup(0))


def limit_memory(beyond: int) -> None:
    """Let the system refuse this process more than so many bytes above what it uses now; 0 for no limit.

    An allocation beyond it raises MemoryError: call ``end_without_memory`` then.
    """
    if not beyond:
        return
    # Other systems than Linux do not report the memory in use, and some cannot limit it.
    with suppress(OSError, ValueError):
        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + beyond, taken + beyond))


def end_without_memory() -> NoReturn:
    """End a process that was refused memory at once: its libraries may be in an undefined state."""
    os._exit(OUT_OF_MEMORY)


def leave_signals_to_the_crawl() -> None:
    """Ignore the signals that end a crawl: the crawl ends its children after its own end."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)


def frame(value: Any) -> bytes:
    """Return the frame of a value about one page or less."""
    data = marshal.dumps(value, _PLAIN)
    return _LENGTH.pack(len(data)) + data


def frame_head(values: tuple[Any, ...], data: bytes) -> bytes:
    """Return the frame of a tuple whose last item is ``data``, but for the data itself, which is to follow as it is:
    to copy a long page twice takes longer than all else that is needed to send it.
    """
    # The last that is written of empty bytes is their length.
    head = marshal.dumps((*values, b""), _PLAIN)[:-4] + len(data).to_bytes(4, "little")
    return _LENGTH.pack(len(head) + len(data)) + head


def send(stream: Stream, value: Any) -> None:
    """Write one frame to a stream, and flush it."""
    data = marshal.dumps(value)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: Stream) -> Any:
    """Read the value of the next frame. Raises EOFError: the other end is closed, possibly within a frame."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    [length] = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return marshal.loads(data)


async def receive_from(reader: StreamReader) -> Any:
    """Read the value of the next frame. Raises EOFError: the other end is closed, possibly within a frame."""
    [length] = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return marshal.loads(await reader.readexactly(length))


class Frames:
    """Splits the received bytes into values."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Any]:
        """Add bytes, and yield the value of each complete frame."""
        buffer = self._buffer
        buffer += data
        start = 0
        while len(buffer) - start >= _LENGTH.size:
            [length] = _LENGTH.unpack_from(buffer, start)
            end = start + _LENGTH.size + length
            if len(buffer) < end:
                break
            with memoryview(buffer) as view:
                value = marshal.loads(view[start + _LENGTH.size : end])
            start = end
            yield value
        if start:
            del buffer[:start]
