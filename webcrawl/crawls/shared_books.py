"""The books of a crawl on Redis, for commands that read them like any other file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from webcrawl.frontier.backends.redis.books import RedisBooks

if TYPE_CHECKING:
    from webcrawl.frontier.backends.books import Known
    from webcrawl.frontier.backends.redis.control import Control
    from webcrawl.frontier.records import UrlEntry


@contextmanager
def shared_books(control: Control) -> Iterator[SharedBooks]:
    """Open ``control`` and read by it. May raise a CrawlError whenever Redis is asked."""
    with asyncio.Runner() as runner:
        runner.run(control.open())
        try:
            yield SharedBooks(runner, RedisBooks(control))
        finally:
            runner.run(control.close())


class SharedBooks:
    """``Books`` that wait for each answer."""

    states_kept = True

    def __init__(self, runner: asyncio.Runner, books: RedisBooks) -> None:
        self._runner = runner
        self._books = books

    def queued(self) -> Iterator[UrlEntry]:
        entries = self._books.queued()
        while (entry := self._runner.run(anext(entries, None))) is not None:
            yield entry

    def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, Known]:
        return self._runner.run(self._books.known(key, fingerprints))

    def refused(self) -> Iterator[Sequence[int]]:
        some = self._books.refused()
        while (marks := self._runner.run(anext(some, None))) is not None:
            yield marks
