"""Large queues: memory with a million URLs in them, and how long a crawl of ten million takes to start."""

from __future__ import annotations

from pathlib import Path


def a_million_queued(folder: Path, seconds: float) -> None:
    raise NotImplementedError


def ten_million_queued(folder: Path, seconds: float) -> None:
    raise NotImplementedError
