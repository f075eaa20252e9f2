"""The process that runs modules: ``python -m webcrawl.processing.worker``, started by ``pool.Pool``.

It is given one page at a time and answers for each module that is asked for. Whatever a page does to it ends with it:
a page that takes too long is ended by an alarm clock that needs no cooperation of the interpreter, one that wants too
much memory does not get it. It ends when its socket does.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.child_process import leave_signals_to_the_crawl, receive, send, socket_to_parent
from webcrawl.processing.chain import run, why
from webcrawl.processing.contract import Content, load

if TYPE_CHECKING:
    from io import BufferedRWPair

    _Stream = BufferedRWPair[Any, Any]


def serve(stream: _Stream) -> None:
    """Answer until the other end is gone.

    ::

        crawl                                 worker
        {modules, seconds, links_max, ...} ->
                                           <- ("ready",) or ("broken", why)
        (numbers of modules, row)          ->
                                           <- an Answer for each, one after the other as they are done
    """
    options = receive(stream)
    try:
        loaded = [load(path) for path in options["modules"]]
        modules = {number: each.type() for number, each in enumerate(loaded) if not each.in_place}
    except Exception as error:
        send(stream, ("broken", why(error)))
        return
    _limit_memory(options["memory_bytes"])
    send(stream, ("ready",))
    while True:
        numbers, row = receive(stream)
        content = Content(*row)
        for number in numbers:
            signal.setitimer(signal.ITIMER_REAL, options["seconds"])
            answer = run(modules[number], loaded[number].fields, content, options["links_max"])
            signal.setitimer(signal.ITIMER_REAL, 0)
            send(stream, tuple(answer))


def _limit_memory(beyond: int) -> None:
    """Let this process take so many bytes beyond what it has taken to be ready."""
    if not beyond:
        return
    # Other systems than Linux do not tell what is taken, and some do not limit it.
    with suppress(OSError, ValueError):
        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + beyond, taken + beyond))


def main() -> None:
    """Serve whoever is at the other end of standard input, which is a socket."""
    leave_signals_to_the_crawl()
    # Nobody catches it: the alarm ends the process, whatever it is in.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        with socket_to_parent() as connected, connected.makefile("rwb") as stream:
            serve(stream)
    except (BrokenPipeError, ConnectionResetError, EOFError):
        sys.exit(0)
    except MemoryError:
        # What a library left half done, nobody knows: another process takes this one's place.
        os._exit(MEMORY)


MEMORY = 86
"""The exit status of a worker that was out of memory."""

if __name__ == "__main__":
    main()
