"""The process that feeds an index: ``python -m webcrawl.search.indexer``, started by the sink.

It reads the journal up to the kept position, many changes at a time, and passes them to the engine. On standard input
it receives its options, then the kept positions of the journal, and at last the end of the crawl; if standard input
is closed without that, it stops where it is, and the next run continues from the journal.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.child_process import Frames, leave_signals_to_the_crawl, receive
from webcrawl.errors import CrawlError
from webcrawl.search.engine import Engine, EngineAway, Options, load
from webcrawl.search.journal import JournalPosition, JournalReader, segment_path, segments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.search.document import IndexChange

BATCH_BYTES = 16_000_000
"""Bytes of lines of the journal that are passed to an engine at a time."""
WAIT_FIRST, WAIT_MOST = 0.1, 30.0
"""Seconds between two attempts with an unavailable engine, at first and at most."""
END_PATIENCE = 10.0
"""Seconds for which an unavailable engine is tried again after the crawl has ended."""
NICENESS = 10
"""Fetching has priority over indexing."""

_LOCK = "lock"


class IndexFeed:
    """Feeds one journal into one index."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self._folder = folder
        self._engine = engine
        self._reader = JournalReader(folder)
        self._wait = 0.0
        self._open: list[IndexChange] = []  # read, and not applied yet

    def upto(self, position: JournalPosition, give_up_at: float | None = None) -> bool:
        """Index all changes before ``position``. Return False when the engine was still unavailable at ``give_up_at``
        (of ``time.monotonic``), never by default. Raises EngineError.
        """
        while changes := self._open or self._reader.read(position, BATCH_BYTES):
            self._open = changes
            try:
                self._engine.put(changes)
            except EngineAway as error:
                if not self._pause(error, give_up_at):
                    return False
            else:
                self._open, self._wait = [], 0.0
                self._reader.discard()
        return True

    def end(self) -> None:
        """Release the journal, all of which was read, and the index."""
        self._engine.finish()
        self._reader.discard(whole=True)

    def _pause(self, error: EngineAway, give_up_at: float | None) -> bool:
        if not self._wait:
            sys.stderr.write(f"Pages wait to be indexed, nothing is lost: {error}\n")
        self._wait = min(max(WAIT_FIRST, 2 * self._wait), WAIT_MOST)
        if give_up_at is not None and time.monotonic() + self._wait > give_up_at:
            return False
        time.sleep(self._wait)
        return True


@dataclass(slots=True)
class CrawlMessages:
    """The messages of the store on standard input so far."""

    handle: int
    position: JournalPosition | None = None
    ended: bool = False
    gone: bool = False
    """True if the pipe is closed: no more messages will come."""
    _frames: Frames = field(default_factory=Frames)

    def wait(self, seconds: float | None) -> None:
        """Read the available messages; wait for them for at most ``seconds``."""
        if self.gone or not select.select([self.handle], [], [], seconds)[0]:
            return
        data = os.read(self.handle, 65_536)
        self.gone = not data
        for value in self._frames.feed(data):
            if value is None:
                self.ended = True
            else:
                self.position = JournalPosition(*value)


@contextmanager
def locked(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Lock the index in ``folder`` for writing; yield True if the lock was obtained. The lock ends with the
    process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


def follow(messages: CrawlMessages, feed: IndexFeed, interval: float) -> bool:
    """Index new changes once in ``interval`` seconds until the crawl has ended. Return True if none is left."""
    done: JournalPosition | None = None
    due = time.monotonic()
    while not (messages.ended or messages.gone):
        waiting = messages.position != done
        messages.wait(max(0.0, due - time.monotonic()) if waiting else None)
        if messages.position != done and time.monotonic() >= due and not messages.ended:
            assert messages.position is not None
            # While the engine is unavailable the end of the crawl must still be noticed.
            position = messages.position
            if feed.upto(position, time.monotonic() + interval):
                done = position
            due = time.monotonic() + interval
    if not messages.ended:
        return False
    left = messages.position is not None and not feed.upto(messages.position, time.monotonic() + END_PATIENCE)
    if not left:
        feed.end()
    return not left


def finish_left(folder: Path, engine: Engine) -> bool:
    """Index the rest of the journal of a crawl that is not running.

    Return False if there is none, or if another process holds the lock.
    """
    left = segments(folder)
    if not left:
        return False
    with locked(folder, wait=False) as ours:
        if not ours:
            return False
        engine.begin()
        feed = IndexFeed(folder, engine)
        if feed.upto(
            JournalPosition(left[-1], segment_path(folder, left[-1]).stat().st_size), time.monotonic()
        ):
            feed.end()
    return True


def main() -> None:
    """Serve one store. An error is one line on standard output, and the exit status 1."""
    leave_signals_to_the_crawl()
    os.nice(NICENESS)
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as stream:
        options = receive(stream)
    folder = Path(options["folder"])
    try:
        with locked(folder, wait=True):
            engine = load(options["engine"])(folder, Options(options["url"], options["stemmer"]))
            messages = CrawlMessages(sys.stdin.fileno())
            if not follow(messages, IndexFeed(folder, engine), options["interval"]) and messages.ended:
                sys.stderr.write("Pages are left to be indexed; the next start of the crawl does it.\n")
    except CrawlError as error:
        sys.exit(_report(str(error)))
    except Exception as error:  # the starting process must be informed
        sys.exit(_report(f"{type(error).__name__}: {error}"))


def _report(why: str) -> int:
    print(" ".join(why.split()), flush=True)
    return 1


if __name__ == "__main__":
    main()
