"""Handlers and folders, served on loopback by a thread: for sites of which no log is wanted."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path
    from typing import Any


class Files(SimpleHTTPRequestHandler):
    """Of a folder; what was asked for is not told."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler] | partial[Any]) -> Iterator[ThreadingHTTPServer]:
    """The server, on a port of its own, until the end of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving_folder(folder: Path) -> Iterator[str]:
    """The origin at which the files of ``folder`` are."""
    with serving(partial(Files, directory=str(folder))) as server:
        yield f"http://127.0.0.1:{server.server_port}"
