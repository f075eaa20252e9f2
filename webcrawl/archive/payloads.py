"""The payloads of a group on their way to the process that keeps the archive: a file in memory.

They are nearly all of what an archive is given. A pipe holds less than a group, so that both ends would work on it at
once, each waiting for the other's lock; this file is written before the pipe says that it is.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

KEPT_BYTES = 16 << 20
"""What a group of larger payloads took beyond this is given back by the next one."""
_AT_ONCE = 1000
"""Payloads that a system call is given; it takes 1,024 (IOV_MAX)."""


class Payloads:
    """One group at a time: it is put here by one process, and taken by another before the next is put."""

    def __init__(self, handle: int) -> None:
        """``handle``: of a file that nobody else uses; its position is for ``put`` alone."""
        self.handle = handle

    @classmethod
    def new(cls) -> Payloads:
        """:raises OSError: there is no room"""
        if hasattr(os, "memfd_create"):
            return cls(os.memfd_create("webcrawl-payloads"))
        with tempfile.TemporaryFile() as file:
            return cls(os.dup(file.fileno()))

    def put(self, payloads: Sequence[bytes]) -> None:
        """:raises OSError: there is no room; what was there is lost"""
        if os.fstat(self.handle).st_size > KEPT_BYTES:
            os.ftruncate(self.handle, 0)
        os.lseek(self.handle, 0, os.SEEK_SET)
        for start in range(0, len(payloads), _AT_ONCE):
            some = payloads[start : start + _AT_ONCE]
            written = os.writev(self.handle, some)
            if written < sum(map(len, some)):  # a signal came
                rest = memoryview(b"".join(some))[written:]
                while rest:
                    rest = rest[os.write(self.handle, rest) :]

    def take(self, lengths: Iterable[int]) -> list[bytes]:
        """What was put, of which these are the lengths. :raises EOFError: it is not there"""
        at, found = 0, []
        for length in lengths:
            payload = os.pread(self.handle, length, at)
            if len(payload) < length:
                raise EOFError
            found.append(payload)
            at += length
        return found

    def close(self) -> None:
        os.close(self.handle)
