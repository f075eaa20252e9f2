"""The fake web as a process of its own, so that the crawler under test shares neither loop nor CPU time.

``serve_in_process`` is the parent's side, ``serve`` the child's: the child prints one line of JSON when it is
ready, and ends on SIGTERM, SIGINT, or when its standard input closes because the parent is gone.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fakeweb.bench import BenchWeb
from tests.fakeweb.log import AccessLog, Hit, read_log
from tests.fakeweb.server import FakeWeb
from tests.fakeweb.web import Web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fakeweb.config import Config

_ROOT = Path(__file__).resolve().parents[2]


def build(config: Config) -> Web | BenchWeb:
    """Build the site a configuration describes."""
    if config.kind == "bench":
        return BenchWeb(config.seed, config.hosts, config.pages or 100, suffix=config.suffix)
    return Web.from_config(config)


@dataclass(slots=True)
class Served:
    """A fake web that runs in another process."""

    config: Config
    site: Web | BenchWeb
    """The same web, built here: to ask for its URLs and its truth."""
    pid: int
    port: int
    tls_port: int | None
    dns_port: int | None
    log_path: Path | None

    @property
    def seeds(self) -> list[str]:
        """URLs to start a crawl from."""
        return self.site.seeds

    @property
    def web(self) -> Web:
        """The site, where it is an ordinary web."""
        if not isinstance(self.site, Web):
            raise TypeError("the bench web has no map")
        return self.site

    def hits(self) -> list[Hit]:
        """Read the access log so far."""
        if self.log_path is None:
            raise ValueError("this fake web was started without a log")
        return read_log(self.log_path)

    def cpu_seconds(self) -> float:
        """Return the processor time, user and system, that the server has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serve_in_process(config: Config, log: Path | None = None) -> Iterator[Served]:
    """Start the fake web as a separate process and stop it at the end of the block."""
    command = [sys.executable, "-m", "tests.fakeweb", "--config", config.to_json(), "--until-stdin-closes"]
    if log is not None:
        command += ["--log", str(log)]
    child = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        line = child.stdout.readline()
        if not line:
            raise RuntimeError(f"the fake web did not start (exit status {child.wait(10)})")
        ready = json.loads(line)
        site = build(config)
        site.bind(ready["port"], ready["tls_port"])
        yield Served(config, site, child.pid, ready["port"], ready["tls_port"], ready["dns_port"], log)
    finally:
        child.stdin.close()
        child.terminate()
        child.wait(10)
        child.stdout.close()


def run(
    config: Config, log: Path | None, *, until_stdin_closes: bool, ready: Callable[[dict[str, Any]], None]
) -> None:
    """Serve until told to stop, on uvloop where it is installed."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(config, log, until_stdin_closes=until_stdin_closes, ready=ready))


async def serve(
    config: Config, log: Path | None, *, until_stdin_closes: bool, ready: Callable[[dict[str, Any]], None]
) -> None:
    """Serve until SIGTERM or SIGINT; ``ready`` is told the ports and the seeds."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    site = build(config)
    async with AsyncExitStack() as stack:
        access = stack.enter_context(AccessLog(log, keep=False)) if log is not None else None
        web = await stack.enter_async_context(FakeWeb(site, access, port=config.port))
        if until_stdin_closes:
            await loop.connect_read_pipe(lambda: _EndOfInput(stop), sys.stdin)
        ready({"port": web.port, "tls_port": web.tls_port, "dns_port": None, "seeds": site.seeds})
        await stop.wait()


class _EndOfInput(asyncio.Protocol):
    """Sets an event when the pipe it reads is closed."""

    def __init__(self, event: asyncio.Event) -> None:
        self._event = event

    def eof_received(self) -> None:
        self._event.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._event.set()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
