"""The process that runs modules: ``python -m webcrawl.processing.worker``, started by ``pool.Pool``.

It gets one page at a time and answers for each requested module. A failure affects this process alone: a page that
takes too long is ended by an alarm signal that needs no cooperation of the interpreter, and memory beyond the limit
is refused. The process ends when its socket is closed.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any

from webcrawl.child_process import (
    end_without_memory,
    leave_signals_to_the_crawl,
    limit_memory,
    receive,
    send,
    socket_to_parent,
)
from webcrawl.processing.chain import run, why
from webcrawl.processing.contract import Content, load

if TYPE_CHECKING:
    from io import BufferedRWPair

    _Stream = BufferedRWPair[Any, Any]


def serve(stream: _Stream) -> None:
    """Process pages until the socket is closed.

    ::

        crawl                                 worker
        {modules, seconds, links_max, ...} ->
                                           <- ("ready",) or ("broken", why)
        (numbers of modules, row)          ->
                                           <- a ModuleResult for each, one after the other as they are done

    """
    options = receive(stream)
    try:
        loaded = [load(path) for path in options["modules"]]
        modules = {number: each.type() for number, each in enumerate(loaded) if not each.in_place}
    except Exception as error:
        send(stream, ("broken", why(error)))
        return
    limit_memory(options["memory_bytes"])
    send(stream, ("ready",))
    while True:
        numbers, row = receive(stream)
        content = Content(*row)
        for number in numbers:
            signal.setitimer(signal.ITIMER_REAL, options["seconds"])
            result = run(modules[number], loaded[number].fields, content, options["links_max"])
            signal.setitimer(signal.ITIMER_REAL, 0)
            send(stream, tuple(result))


def main() -> None:
    """Serve the crawl, whose socket is standard input."""
    leave_signals_to_the_crawl()
    # The signal is not caught: the alarm ends the process, whatever it is doing.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        with socket_to_parent() as connected, connected.makefile("rwb") as stream:
            serve(stream)
    except (BrokenPipeError, ConnectionResetError, EOFError):
        sys.exit(0)
    except MemoryError:
        end_without_memory()


if __name__ == "__main__":
    main()
