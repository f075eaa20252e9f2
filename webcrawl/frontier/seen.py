"""The URL-seen test with bounded memory: pybloom-live filters in layers.

The exact test is part of the backends, beside the queues. This one is the choice for crawls that are too large for
it: about 2.4 bytes a URL at an error rate of one in ten thousand. The price is that this share of new URLs is taken
for known and never fetched, and that the state of a URL is not stored.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

from pybloom_live import BloomFilter

from webcrawl.atomic_file import replacing

_HEADER_BYTES = struct.calcsize(BloomFilter.FILE_FMT)
_SUM_BYTES = 4
_BLOCK_BYTES = 1 << 20


class Seen:
    """Fixed Bloom filters, each twice as large as the one before, with half its error.

    The errors of the layers add up to at most ``error_rate`` (1/2 + 1/4 + ...), which pybloom-live's own
    scalable filter misses by a factor of three to four.
    """

    def __init__(self, capacity: int, error_rate: float) -> None:
        """``capacity``: URLs of the first layer; more than that add layers. ``error_rate``: of all together."""
        self._capacity = capacity
        self._error_rate = error_rate
        self._layers: list[BloomFilter] = []
        self._grow()

    def __len__(self) -> int:
        return sum(len(layer) for layer in self._layers)

    def add(self, fingerprint: int) -> bool:
        """Add a URL. Returns True if it was new."""
        name = str(fingerprint)
        if any(name in layer for layer in self._layers[:-1]):
            return False
        if self._layers[-1].count >= self._layers[-1].capacity:
            if name in self._layers[-1]:
                return False
            self._grow()
        return not self._layers[-1].add(name)

    def save(self, path: Path) -> None:
        """Write all layers to ``path``: whole or not at all. :raises OSError: the disk refuses, or is full."""
        with replacing(path, sync=True) as stream:
            self._write(stream)

    def _write(self, stream: BinaryIO) -> None:
        sizes = [_HEADER_BYTES + (layer.num_bits + 7) // 8 for layer in self._layers]
        head = {"capacity": self._capacity, "error_rate": self._error_rate, "layer_bytes": sizes}
        summing = _Summing(stream)
        summing.write(json.dumps(head).encode() + b"\n")
        for layer in self._layers:
            layer.tofile(summing)
        stream.write(summing.sum.to_bytes(_SUM_BYTES, "big"))

    @classmethod
    def load(cls, path: Path) -> Seen:
        """Read the file that ``save`` wrote. :raises ValueError: the file is damaged."""
        seen = cls.__new__(cls)
        with path.open("rb") as stream:
            _check_sum(stream, path)
            try:
                head = json.loads(stream.readline())
                seen._capacity, seen._error_rate = head["capacity"], head["error_rate"]
                seen._layers = [BloomFilter.fromfile(stream, size) for size in head["layer_bytes"]]
            except Exception as error:
                raise ValueError(f"{path} is no filter of this crawler or is damaged: {error}") from error
        return seen

    def _grow(self) -> None:
        depth = len(self._layers)
        self._layers.append(
            BloomFilter(capacity=self._capacity << depth, error_rate=self._error_rate / 2 ** (depth + 1))
        )


class _Summing:
    """A file that is written, and the CRC-32 of its content: a wrong bit in a filter is a URL lost unnoticed."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.sum = 0

    def write(self, data: bytes) -> int:
        self.sum = zlib.crc32(data, self.sum)
        return self._stream.write(data)


def _check_sum(stream: BinaryIO, path: Path) -> None:
    """Compare the sum at the end of the file, and go back to its start."""
    left = os.fstat(stream.fileno()).st_size - _SUM_BYTES
    checksum = 0
    while left > 0 and (block := stream.read(min(left, _BLOCK_BYTES))):
        checksum = zlib.crc32(block, checksum)
        left -= len(block)
    if left or checksum.to_bytes(_SUM_BYTES, "big") != stream.read():
        raise ValueError(f"{path} is damaged or is no filter of this crawler: its checksum is wrong")
    stream.seek(0)
