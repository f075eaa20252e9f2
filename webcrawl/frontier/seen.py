"""The URL-seen test with bounded memory: pybloom-live filters in layers.

The exact test lives in the backends, beside the queues. This one is the choice for crawls that are too large
for it: about 2.4 bytes a URL at an error rate of one in ten thousand, at the price that this share of new
URLs is taken for known and never fetched, and that a URL's state can no longer be asked for.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

from pybloom_live import BloomFilter

_HEADER_BYTES = struct.calcsize(BloomFilter.FILE_FMT)


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
        """Add a URL; True when it was new."""
        name = str(fingerprint)
        if any(name in layer for layer in self._layers[:-1]):
            return False
        if self._layers[-1].count >= self._layers[-1].capacity:
            if name in self._layers[-1]:
                return False
            self._grow()
        return not self._layers[-1].add(name)

    def save(self, path: Path) -> None:
        """Write all layers to ``path``: whole or not at all."""
        part = path.with_name(path.name + ".part")
        sizes = [_HEADER_BYTES + (layer.num_bits + 7) // 8 for layer in self._layers]
        head = {"capacity": self._capacity, "error_rate": self._error_rate, "layer_bytes": sizes}
        with part.open("wb") as stream:
            stream.write(json.dumps(head).encode() + b"\n")
            for layer in self._layers:
                layer.tofile(stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.rename(path)

    @classmethod
    def load(cls, path: Path) -> Seen:
        """Read what ``save`` wrote. :raises ValueError: the file is damaged."""
        seen = cls.__new__(cls)
        with path.open("rb") as stream:
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
