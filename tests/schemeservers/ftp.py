"""An FTP server by pyftpdlib that logs what its clients do, and one that follows a script, to misbehave."""

from __future__ import annotations

import logging
import socket
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

with warnings.catch_warnings():
    # It is based on asyncore, which Python 3.11 calls deprecated; later on it brings a copy.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler, TLS_FTPHandler
    from pyftpdlib.ioloop import IOLoop
    from pyftpdlib.servers import FTPServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

logging.getLogger("pyftpdlib").setLevel(logging.CRITICAL)


@dataclass
class Ftp:
    """A running server, and what its clients did."""

    port: int = 0
    sessions: list[tuple[str, float]] = field(default_factory=list)
    """``open`` and ``close`` of control connections, with the time."""
    commands: list[tuple[str, str]] = field(default_factory=list)
    """Each command with its argument."""

    @property
    def url(self) -> str:
        return f"ftp://localhost:{self.port}/"

    def named(self, *names: str) -> list[str]:
        """The arguments of these commands."""
        return [argument for name, argument in self.commands if name in names]

    def most_open(self) -> int:
        """The largest number of sessions at a time."""
        opened = most = 0
        for what, _ in self.sessions:
            opened += 1 if what == "open" else -1
            most = max(most, opened)
        return most

    def gaps(self) -> list[float]:
        """The seconds between the beginnings of sessions."""
        opens = [at for what, at in self.sessions if what == "open"]
        return [later - earlier for earlier, later in pairwise(opens)]


def _handler_of(ftp: Ftp, base: type, without: tuple[str, ...], implicit: bool) -> type:
    class Handler(base):  # type: ignore[misc,valid-type]
        proto_cmds = {name: facts for name, facts in base.proto_cmds.items() if name not in without}  # noqa: RUF012

        def on_connect(self) -> None:
            ftp.sessions.append(("open", time.monotonic()))

        def on_disconnect(self) -> None:
            ftp.sessions.append(("close", time.monotonic()))

        def handle(self) -> None:
            if implicit:
                self.secure_connection(self.ssl_context)
            super().handle()

        def pre_process_command(self, line: str, name: str, argument: str) -> None:
            ftp.commands.append((name, argument))
            super().pre_process_command(line, name, argument)

    Handler.use_sendfile = False
    return Handler


@contextmanager
def serve_ftp(
    root: Path,
    *,
    users: Mapping[str, str] | None = None,
    certificate: Path | None = None,
    implicit: bool = False,
    without: tuple[str, ...] = (),
    **attributes: Any,
) -> Iterator[Ftp]:
    """Serve a folder to anonymous, or to ``users`` alone. ``without``: commands that the server does not have."""
    ftp = Ftp()
    handler: Any = _handler_of(ftp, TLS_FTPHandler if certificate else FTPHandler, without, implicit)
    handler.authorizer = DummyAuthorizer()
    if users is None:
        handler.authorizer.add_anonymous(str(root))
    for name, password in (users or {}).items():
        handler.authorizer.add_user(name, password, str(root))
    if certificate is not None:
        handler.certfile = str(certificate)
        handler.ssl_context = handler.get_ssl_context()
    for name, value in attributes.items():
        setattr(handler, name, value)
    loop = IOLoop()
    server = FTPServer(("127.0.0.1", 0), handler, ioloop=loop)
    ftp.port = server.address[1]
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            loop.loop(timeout=0.05, blocking=False)
        server.close_all()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield ftp
    finally:
        over.set()
        thread.join(10)


@contextmanager
def serve_script(session: Callable[[socket.socket], None]) -> Iterator[int]:
    """Call ``session`` with each connection, on a thread of its own. Yield the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def one(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(30)
            session(connection)

    def work() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


Answers = dict[str, "str | Callable[[str], str]"]


def replies(answers: Answers, greeting: str = "220 ready") -> Callable[[socket.socket], None]:
    """A control connection that gives each command its reply; 502 to a command without one. ``QUIT`` ends it."""

    def session(connection: socket.socket) -> None:
        connection.sendall(f"{greeting}\r\n".encode("latin-1"))
        with connection.makefile("rb") as lines:
            for line in lines:
                name, _, argument = line.decode("latin-1").rstrip("\r\n").partition(" ")
                answer = answers.get(name.upper(), "502 no such command")
                text = answer if isinstance(answer, str) else answer(argument)
                connection.sendall(f"{text}\r\n".encode("latin-1"))
                if name.upper() == "QUIT":
                    return

    return session
