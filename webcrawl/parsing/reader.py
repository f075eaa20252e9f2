"""The process that parses pages: ``python -m webcrawl.parsing.reader``, started by ``process.ReaderProcesses``.

A page that takes longer than a turn is queued behind the waiting pages, so that a hostile one delays no other; it
gets as much time as in the crawl's own process. The process ends when its socket is closed.
"""

from __future__ import annotations

import gc
import select
import socket
import sys
from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING

from webcrawl.child_process import (
    Frames,
    end_without_memory,
    leave_signals_to_the_crawl,
    limit_memory,
    socket_to_parent,
)
from webcrawl.parsing.html import Extraction
from webcrawl.parsing.offload import SECONDS_MAX, TURN_SECONDS
from webcrawl.parsing.process import document_frame, unpack_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.parsing.html import PageInput

RECEIVED_BYTES = 1 << 18
YOUNG_OBJECTS = 100_000
"""The garbage collector runs after so many new objects: a page creates many objects and few cycles."""
COLLECTED_BYTES = 1 << 22
"""The garbage collector runs after so many bytes of pages too: objects that it counts as one may hold megabytes. This
takes 0.1 ms."""


class _Page:
    """A page that is being parsed."""

    def __init__(self, number: int, page: PageInput) -> None:
        self.number = number
        self.length = len(page.body)
        self.extraction = Extraction(page)
        self._steps: Iterator[None] = self.extraction.steps()
        self._turns = 0

    def is_done_after_a_turn(self) -> bool:
        """Work for one turn; return True if the page is done."""
        ends_at = perf_counter() + TURN_SECONDS
        for _ in self._steps:
            if perf_counter() >= ends_at:
                self._turns += 1
                if self._turns * TURN_SECONDS >= SECONDS_MAX:
                    self.extraction.stop_reading(f"not read to its end in {SECONDS_MAX:g} s")
                return False
        return True


def serve(connected: socket.socket) -> None:
    """Parse the pages that arrive, until the socket is closed."""
    frames = Frames()
    long: deque[_Page] = deque()
    uncollected = 0
    while True:
        if not long or select.select([connected], [], [], 0)[0]:
            data = connected.recv(RECEIVED_BYTES)
            if not data:
                return
            pages = [_Page(number, unpack_page(values)) for number, *values in frames.feed(data)]
        else:
            pages = [long.popleft()]
        parsed = []
        for page in pages:
            if page.is_done_after_a_turn():
                uncollected += page.length
                parsed.append(document_frame(page.number, page.extraction.document))
            else:
                long.append(page)
        if parsed:
            connected.sendall(b"".join(parsed))
        if uncollected >= COLLECTED_BYTES:
            del page, pages, parsed
            uncollected = 0
            gc.collect()


def main() -> None:
    """Serve the crawl, whose socket is standard input. The argument is the memory in bytes that pages may use."""
    leave_signals_to_the_crawl()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)
    limit_memory(int(sys.argv[1]))
    try:
        with socket_to_parent() as connected:
            serve(connected)
    except (BrokenPipeError, ConnectionResetError):
        sys.exit(0)
    except MemoryError:
        end_without_memory()


if __name__ == "__main__":
    main()
