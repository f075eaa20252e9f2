"""The server of the gauntlet as a process of its own: sites, wires, a name server, and their log.

``serve`` is the child's side: it prints one line of JSON when it is ready and ends when its standard input closes, on
SIGINT or on SIGTERM. ``served`` is the parent's side.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakeweb.dns import NameServer, Zone
from tests.fakeweb.log import AccessLog
from tests.fakeweb.ports import Ports
from tests.fakeweb.server import FakeWeb
from tests.gauntlet.evidence import ACCESS, BOUND, WIRES
from tests.gauntlet.web.site import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.gauntlet.web.site import Site, Wire

ROOT = Path(__file__).resolve().parents[2]
PIPE = "pipe"
"""The name of the wire that is a named pipe: whoever opens a ``file:`` link to it is seen."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What can be reached where."""

    port: int
    dns: int
    seeds: list[str]


UNSHARED = range(20_000, 25_000)
"""Ports that systems do not give to a program which asks for any one: nobody still knows them as those of another
server, which has ended."""


def _bound(wire: Wire) -> socket.socket | None:
    """Bind a listener; None if the system does not allow it."""
    family = socket.AF_INET6 if ":" in wire.address else socket.AF_INET
    for port in [wire.port] if wire.port else random.sample(UNSHARED, 50):
        listener = socket.socket(family)
        if wire.port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((wire.address, port))
        except OSError:
            listener.close()
            continue
        return listener
    return None


class Wires:
    """Listeners that nobody has a reason to contact, and the log of those who did."""

    def __init__(self, wires: Sequence[Wire], path: Path) -> None:
        self._wires = wires
        self._file = path.open("a", buffering=1)
        self._servers: list[asyncio.Server] = []

    async def listen(self) -> None:
        """Bind each; one that the system does not allow has no ``bound``."""
        loop = asyncio.get_running_loop()
        for wire in (wire for wire in self._wires if wire.address):
            listener = _bound(wire)
            if listener is None:
                continue
            wire.bound = int(listener.getsockname()[1])
            made = await loop.create_server(partial(_Tripped, self.note, wire.name), sock=listener)
            self._servers.append(made)

    def note(self, wire: str, first: bytes) -> None:
        """Write down a connection."""
        line = {"wire": wire, "at_mono": time.monotonic(), "first": first[:200].decode("latin-1")}
        self._file.write(json.dumps(line) + "\n")

    def close(self) -> None:
        """End all listeners."""
        for server in self._servers:
            server.close()
        self._file.close()


class _Tripped(asyncio.Protocol):
    """A connection to a wire is noted when its first bytes come, or when it ends without any."""

    def __init__(self, note: Callable[[str, bytes], None], wire: str) -> None:
        self._note, self._wire, self._noted = note, wire, False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._once(data)
        self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._once(b"")

    def _once(self, data: bytes) -> None:
        if not self._noted:
            self._noted = True
            with suppress(ValueError):
                self._note(self._wire, data)


async def _watch_pipe(pipe: Path, note: Callable[[str, bytes], None]) -> None:
    """Note whoever opens a named pipe for reading: only then can it be opened for writing without waiting."""
    while True:
        with suppress(OSError):
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            note(PIPE, b"opened")
            os.write(writer, b"<a href='/read-from-the-pipe'>read</a>\n")
            os.close(writer)
        await asyncio.sleep(0.05)


async def serve(
    sites: Sequence[Site], folder: Path, *, port: int = 0, until_stdin_closes: bool = False
) -> None:
    """Serve sites, and write the log into a folder, until told to end."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    if until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), _look_for_end, ended)
    world = World(sites)
    for site in sites:
        site.folder = folder
        if site.start is not None:
            site.start()
    wires = Wires([wire for site in sites for wire in site.wires], folder / WIRES)
    await wires.listen()
    bound = [wire.name for site in sites for wire in site.wires if wire.bound is not None]
    (folder / BOUND).write_text(json.dumps(bound))
    names = {name: (address,) for site in sites for name, address in site.names.items()}
    async with AsyncExitStack() as stack:
        dns = await stack.enter_async_context(NameServer(Zone((), addresses=names)))
        log = stack.enter_context(AccessLog(folder / ACCESS, keep=False))
        web = FakeWeb(world, log, port=port, addresses=world.addresses, others=Ports(dns=dns.port))
        await stack.enter_async_context(web)
        watch = asyncio.create_task(_watch_pipe(folder / PIPE, wires.note))
        ready = {"port": web.port, "dns": dns.port, "seeds": [url for site in sites for url in site.seeds()]}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await ended.wait()
        watch.cancel()
    wires.close()
    for site in sites:
        if site.stop is not None:
            site.stop()


def _look_for_end(ended: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1000):
        ended.set()


@contextmanager
def served(names: Sequence[str], folder: Path) -> Iterator[Ready]:
    """Serve sites by their names in a process of its own while the block runs."""
    command = [
        sys.executable,
        "-m",
        "tests.gauntlet",
        "serve",
        *names,
        "--folder",
        str(folder),
        "--json-line",
    ]
    # asyncio complains there of peers that leave in the middle of an answer without end.
    with (
        (folder / "server.err").open("ab") as errors,
        subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as child,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        line = child.stdout.readline()
        if not line:
            raise RuntimeError(f"the gauntlet's server did not start (exit status {child.wait(10)})")
        try:
            yield Ready(**json.loads(line))
        finally:
            child.stdin.close()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
