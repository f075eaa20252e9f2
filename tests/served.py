"""Handlers and folders, served on loopback by a thread: for sites of which no log is wanted."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakeweb.tls import self_signed

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from http.server import BaseHTTPRequestHandler
    from typing import Any


class Files(SimpleHTTPRequestHandler):
    """Of a folder; what was asked for is not told."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


class FilesWithHeaders(Files):
    """Of a folder, with the headers of its file ``_headers``: a path, and lines below it that begin with spaces."""

    def end_headers(self) -> None:
        path = ""
        for line in Path(self.directory, "_headers").read_text(encoding="ascii").splitlines():
            if not line.startswith(" "):
                path = line
            elif path == self.path:
                name, _, value = line.strip().partition(": ")
                super().send_header(name, value)
        super().end_headers()

    def send_header(self, keyword: str, value: str) -> None:
        # The type is in the file.
        if keyword.lower() != "content-type":
            super().send_header(keyword, value)


@contextmanager
def serving(
    handler: type[BaseHTTPRequestHandler] | partial[Any], tls: ssl.SSLContext | None = None
) -> Iterator[ThreadingHTTPServer]:
    """The server, on a port of its own, until the end of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def trusted_site(folder: Path, certificate_file: Path) -> Iterator[str]:
    """The origin with TLS at which the files of ``folder`` are, with the headers of its file ``_headers``. Processes
    that begin within the block trust its certificate, which is written to a file."""
    context, certificate = self_signed(["localhost"])
    certificate_file.write_text(certificate)
    before = os.environ.get("SSL_CERT_FILE")
    os.environ["SSL_CERT_FILE"] = str(certificate_file)
    try:
        with serving(partial(FilesWithHeaders, directory=str(folder)), context) as server:
            yield f"https://localhost:{server.server_port}"
    finally:
        if before is None:
            del os.environ["SSL_CERT_FILE"]
        else:
            os.environ["SSL_CERT_FILE"] = before


@contextmanager
def serving_folder(folder: Path) -> Iterator[str]:
    """The origin at which the files of ``folder`` are."""
    with serving(partial(Files, directory=str(folder))) as server:
        yield f"http://127.0.0.1:{server.server_port}"
