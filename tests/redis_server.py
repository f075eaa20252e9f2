"""Real Redis servers for tests: alone or as a cluster, on loopback, with the accidents that servers have.

``RedisServer`` is one process with a folder of its own and an append-only file; it can be killed, frozen, cut back
and started again on the same port and data. ``RedisCluster`` is three of them with the slots shared out. Which
program is run, and what to do where there is none: ``tests.redis_program``.
"""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.redis_program import program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

SECONDS = 20.0
"""How long a server may take to start, to end or to find its cluster."""

PORTS = range(15000, 32000)
"""Below those that the system gives to clients, so that a server finds its port free when it comes back."""

BUS = 10000
"""A node of a cluster talks to the others on its port plus this."""

SLOTS = 16384

IMPATIENT: dict[str, Any] = {"socket_timeout": SECONDS, "retry": Retry(NoBackoff(), 0)}
"""A test wants to hear at once that a server is dead."""


class RedisServer:
    """A server process on 127.0.0.1, running from ``start`` to ``stop``; also a context manager.

    Data and log lie in ``folder``, which belongs to this server alone. ``options`` are lines of a redis.conf, for
    instance ``{"maxmemory": "20mb"}``.
    """

    def __init__(self, folder: Path, options: Mapping[str, object] | None = None) -> None:
        self.folder = folder
        self.options = dict(options or {})
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._frozen = False

    @property
    def url(self) -> str:
        """For REDIS_URL."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        """Of the process that runs now, or ran last."""
        assert self._process is not None, "this server was never started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether there is a process; a frozen one is one."""
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *, until_loaded: bool = True) -> Self:
        """Start it, the first time on a free port, from then on on the same; return when it answers.

        Until it has read its append-only file it answers little but INFO, also to those who did not wait for that.
        """
        assert not self.is_running, "this server is running"
        self.folder.mkdir(parents=True, exist_ok=True)
        attempts = 1 if self.port else 20
        for _ in range(attempts):
            port = self.port or _free_port()
            self._process = self._spawn(port)
            if self._answers(port, until_loaded):
                self.port = port
                return self
        raise AssertionError(f"no server on port {port}:\n{self.log[-2000:]}")

    def client(self, **more: Any) -> redis.Redis:
        """A new connection; text is decoded only with ``decode_responses=True``."""
        return redis.Redis(port=self.port, **{**IMPATIENT, **more})

    def call(self, *words: Any) -> Any:
        """Send one command on a connection of its own and return the answer as redis-py gives it."""
        with closing(self.client()) as client:
            send: Callable[..., Any] = client.execute_command
            return send(*words)

    def kill(self) -> Self:
        """kill -9. What was answered before stays: the system has it, if not yet the disk."""
        return self._end(signal.SIGKILL)

    def stop(self) -> Self:
        """Ask it to end, and make it end if it does not. It may have ended before."""
        if self.is_running:
            self.thaw()
            with suppress(subprocess.TimeoutExpired):
                return self._end(signal.SIGTERM)
            self.kill()
        return self

    def restart(self) -> Self:
        """Kill it if it runs, and start it on the same port with all that was answered before."""
        if self.is_running:
            # Under load it writes to its append-only file later.
            assert self.written_bytes >= 0
            self.kill()
        return self.start()

    def freeze(self) -> Self:
        """SIGSTOP: connections stay and can even be made, but nothing is answered."""
        return self._signal(signal.SIGSTOP, frozen=True)

    def thaw(self) -> Self:
        """SIGCONT: everything that was sent meanwhile is carried out."""
        return self._signal(signal.SIGCONT, frozen=False)

    def forget(self, size_bytes: int) -> Self:
        """Cut so many bytes off the end of the append-only file, as a power cut does with the last second.

        The server must be dead; it starts with the last whole command that is left.
        """
        assert not self.is_running, "a running server would go on writing behind the cut"
        with self.append_only_file.open("r+b") as file:
            file.truncate(max(0, file.seek(0, 2) - size_bytes))
        return self

    @property
    def written_bytes(self) -> int:
        """How long the append-only file is, with all that was answered: under load the server writes it later."""
        _until(lambda: not int(self.call("INFO", "persistence")["aof_buffer_length"]), "all is written")
        return self.append_only_file.stat().st_size

    def forget_behind(self, size_bytes: int) -> Self:
        """Cut the append-only file to the length that it had when it was so long; see ``forget``."""
        return self.forget(max(0, self.append_only_file.stat().st_size - size_bytes))

    @property
    def append_only_file(self) -> Path:
        """The file that is being appended to: one until Redis 6, a folder of a base and an increment from 7 on."""
        increments = sorted((self.folder / "appendonlydir").glob("*.incr.aof"))
        return increments[-1] if increments else self.folder / "appendonly.aof"

    @property
    def log(self) -> str:
        """What it said so far."""
        path = self.folder / "redis.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def fresh(self) -> Self:
        """Make it as it was at the start, whatever a test did: running, thawed, empty."""
        self.thaw() if self.is_running else self.start()
        self.call("FLUSHALL")
        self.call("SCRIPT", "FLUSH")
        return self

    def _spawn(self, port: int) -> subprocess.Popen[bytes]:
        lines = {
            "bind": "127.0.0.1",
            "port": port,
            "dir": self.folder,
            "save": '""',
            "appendonly": "yes",
            "appendfsync": "everysec",
            **self.options,
        }
        conf = self.folder / "redis.conf"
        conf.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
        with (self.folder / "redis.log").open("ab") as log:
            return subprocess.Popen(
                [*program(), conf], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _answers(self, port: int, until_loaded: bool) -> bool:
        """Wait until it has read its data; False when it ended instead, as on a port that is taken."""
        with closing(redis.Redis(port=port, **IMPATIENT)) as client:

            def pong() -> bool:
                with suppress(redis.ConnectionError, redis.BusyLoadingError):
                    # Another process that has the port would answer too, and INFO is also answered by one
                    # that is still reading its data.
                    info = client.info()
                    is_loading = bool(info["loading"]) and until_loaded
                    return bool(info["process_id"] == self.pid and not is_loading)
                return not self.is_running

            _until(pong, "the server answers")
        return self.is_running

    def _end(self, number: signal.Signals) -> Self:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(SECONDS)
        self._frozen = False
        return self

    def _signal(self, number: signal.Signals, *, frozen: bool) -> Self:
        if self._frozen != frozen:
            assert self._process is not None
            self._process.send_signal(number)
            self._frozen = frozen
        return self


class RedisCluster:
    """Three masters without replicas, each with a third of the slots; a context manager like ``RedisServer``.

    ``servers[i]`` can be killed, frozen and restarted alone; the others then refuse its slots, and all of them
    where ``cluster-require-full-coverage`` is left on.
    """

    def __init__(self, folder: Path, options: Mapping[str, object] | None = None) -> None:
        cluster = {"cluster-enabled": "yes", "cluster-node-timeout": 2000, **(options or {})}
        self.servers = [RedisServer(folder / f"node-{number}", cluster) for number in range(3)]

    @property
    def url(self) -> str:
        """For REDIS_URL: one node, which names the others."""
        return self.servers[0].url

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Self:
        """Start all nodes, share the slots out and return when every node calls the cluster whole."""
        for server in self.servers:
            server.start()
        bounds = [SLOTS * number // len(self.servers) for number in range(len(self.servers) + 1)]
        for epoch, server in enumerate(self.servers, start=1):
            server.call("CLUSTER", "SET-CONFIG-EPOCH", epoch)
            server.call("CLUSTER", "ADDSLOTS", *range(bounds[epoch - 1], bounds[epoch]))
        for server in self.servers[1:]:
            server.call("CLUSTER", "MEET", "127.0.0.1", self.servers[0].port)
        return self.until_whole()

    def stop(self) -> Self:
        """End all nodes."""
        for server in self.servers:
            server.stop()
        return self

    def client(self, **more: Any) -> redis.RedisCluster:
        """A new client that finds the node of each key."""
        return redis.RedisCluster(
            host="127.0.0.1", port=self.servers[0].port, **{"socket_timeout": SECONDS, **more}
        )

    def until_whole(self) -> Self:
        """Wait until every node knows all nodes and a server for every slot."""
        _until(lambda: all(self._is_whole(server) for server in self.servers), "the cluster is whole")
        return self

    def fresh(self) -> Self:
        """Make it as it was at the start: all nodes running, thawed and empty."""
        for server in self.servers:
            server.thaw() if server.is_running else server.start()
        self.until_whole()
        for server in self.servers:
            server.fresh()
        return self

    def _is_whole(self, server: RedisServer) -> bool:
        info: bytes = server.call("CLUSTER", "INFO")
        found = dict(line.split(b":", 1) for line in info.split())
        return found[b"cluster_state"] == b"ok" and int(found[b"cluster_known_nodes"]) == len(self.servers)


def _free_port() -> int:
    """Return a port that is free with its bus port; it may be taken by the time a server asks for it."""
    while True:
        port = random.choice(PORTS)
        with suppress(OSError), socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", port))
            other.bind(("127.0.0.1", port + BUS))
            return port


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"{SECONDS:g} s were not enough until {what}"
        time.sleep(0.01)
