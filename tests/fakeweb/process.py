"""The fake web as a process of its own, so that the crawler under test shares neither loop nor CPU time.

``serve_in_process`` is the parent's side, ``serve`` the child's: the child prints one line of JSON when it is
ready, and ends on SIGTERM, SIGINT, or when its standard input closes because the parent is gone.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from tests.fakeweb.bench import BenchWeb
from tests.fakeweb.connection import Line
from tests.fakeweb.copies import Copies
from tests.fakeweb.dead import dead_names
from tests.fakeweb.dns import NameServer, Zone
from tests.fakeweb.gallery import Gallery
from tests.fakeweb.labyrinth import Labyrinth
from tests.fakeweb.log import AccessLog, Hit, read_log
from tests.fakeweb.mirrors import Mirrored
from tests.fakeweb.names import loopback_address
from tests.fakeweb.ordinary import OLD_ADDRESS, PAGES_MAX, OrdinaryWeb, OrdinaryZone
from tests.fakeweb.ports import Ports, closed_port, silent_port
from tests.fakeweb.server import FakeWeb
from tests.fakeweb.variants import Variants
from tests.fakeweb.web import Web

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Sequence

    from tests.fakeweb.config import Config

Site = Web | BenchWeb | Labyrinth | Gallery | Copies | Mirrored | OrdinaryWeb | Variants
_LOG_READER = "reader-of-the-log"
_ROOT = Path(__file__).resolve().parents[2]


def build(config: Config) -> Site:
    """Build the site a configuration describes."""
    if config.kind == "gallery":
        return Gallery(config.suffix)
    if config.kind == "copies":
        return Copies(config.pages or 200, suffix=config.suffix, names=config.sections)
    if config.kind == "ordinary":
        most = config.pages or PAGES_MAX
        return OrdinaryWeb(config.seed, config.hosts, most, least=config.least_pages, suffix=config.suffix)
    if config.kind == "variants":
        return Variants(config.pages or 10, suffix=config.suffix)
    if config.kind == "mirrors":
        return Mirrored(config.pages or 200, suffix=config.suffix, names=config.sections)
    if config.kind == "labyrinth":
        return Labyrinth(config.hosts, suffix=config.suffix, sections=config.sections)
    if config.kind == "bench":
        return BenchWeb(config.seed, config.hosts, config.pages or 100, config.fresh, suffix=config.suffix)
    return Web.from_config(config)


@dataclass(frozen=True, slots=True)
class Ready:
    """What a server tells when it can be reached."""

    ports: Ports
    seeds: list[str]
    certificate: str | None
    """Of the TLS listener, PEM."""

    def to_json(self) -> str:
        """Return it as one JSON object."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Ready:
        """Read what ``to_json`` wrote."""
        values: dict[str, Any] = json.loads(text)
        return cls(Ports(**values["ports"]), values["seeds"], values["certificate"])


@dataclass(slots=True)
class Served:
    """A fake web that runs in another process."""

    config: Config
    site: Site
    """The same web, built here: to ask for its URLs and its truth."""
    pid: int
    ports: Ports
    certificate: str | None
    log_path: Path | None

    @property
    def port(self) -> int:
        """The port that speaks http."""
        return self.ports.http

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

    @property
    def nameserver(self) -> str:
        """Return the name server as DNS_NAMESERVERS takes it: ADDRESS:PORT."""
        if self.ports.dns is None:
            raise ValueError("this fake web was started without a name server")
        return f"127.0.0.1:{self.ports.dns}"

    def hits(self) -> list[Hit]:
        """Read the access log so far: every request whose answer had ended before this call is in it."""
        if self.log_path is None:
            raise ValueError("this fake web was started without a log")
        self._wait_for_log()
        return [hit for hit in read_log(self.log_path) if hit.host != _LOG_READER]

    def _wait_for_log(self) -> None:
        """Ask for anything: what the server did before it answered this is in the log by then."""
        with suppress(ConnectionError):
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            with closing(client):
                client.request("GET", "/", headers={"Host": _LOG_READER})
                client.getresponse().read()

    def cpu_seconds(self) -> float:
        """Return the processor time, user and system, that the server has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Child(Protocol):
    """A process that serves, with as much of ``subprocess.Popen`` as is needed here."""

    @property
    def pid(self) -> int: ...
    def terminate(self) -> None: ...
    def wait(self, timeout: float | None = None) -> int: ...


def afresh(words: Sequence[str]) -> tuple[Child, IO[str], IO[str]]:
    """Start an interpreter that serves. Returns the process, its standard input and its standard output."""
    command = [sys.executable, "-m", "tests.fakeweb", *words]
    child = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    return child, child.stdin, child.stdout


@contextmanager
def serve_in_process(
    config: Config,
    log: Path | None = None,
    start: Callable[[Sequence[str]], tuple[Child, IO[str], IO[str]]] = afresh,
) -> Iterator[Served]:
    """Start the fake web as a separate process and stop it at the end of the block."""
    words = ["--config", config.to_json(), "--until-stdin-closes"]
    if log is not None:
        words += ["--log", str(log)]
    child, stdin, stdout = start(words)
    try:
        line = stdout.readline()
        if not line:
            raise RuntimeError(f"the fake web did not start (exit status {child.wait(10)})")
        ready = Ready.from_json(line)
        site = build(config)
        site.bind(ready.ports)
        yield Served(config, site, child.pid, ready.ports, ready.certificate, log)
    finally:
        stdin.close()
        child.terminate()
        child.wait(10)
        stdout.close()


def run(
    config: Config, log: Path | None, *, until_stdin_closes: bool, ready: Callable[[Ready], None]
) -> None:
    """Serve until told to stop, on uvloop where it is installed."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(config, log, until_stdin_closes=until_stdin_closes, ready=ready))


async def serve(
    config: Config, log: Path | None, *, until_stdin_closes: bool, ready: Callable[[Ready], None]
) -> None:
    """Serve until SIGTERM or SIGINT; ``ready`` is told the ports, the seeds and the certificate."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    site = build(config)
    async with AsyncExitStack() as stack:
        access = stack.enter_context(AccessLog(log, keep=False)) if log is not None else None
        server, certificate = await _open(config, site, access, stack)
        if until_stdin_closes:
            await loop.connect_read_pipe(lambda: _EndOfInput(stop), sys.stdin)
        ready(Ready(server.ports, site.seeds, certificate))
        await stop.wait()


async def _open(
    config: Config,
    site: Site,
    log: AccessLog | None,
    stack: AsyncExitStack,
) -> tuple[FakeWeb, str | None]:
    """Open every listener the configuration asks for."""
    own = (
        {name: (loopback_address(index),) for index, name in enumerate(site.hosts)}
        if config.own_addresses
        else {}
    )
    zone = Zone(
        [config.suffix],
        dead=dead_names(config),
        failing=config.dns_failing,
        addresses=own,
        ttl_seconds=config.dns_ttl_seconds,
        silent=config.dns_silent,
    )
    if isinstance(site, OrdinaryWeb):
        zone = OrdinaryZone([config.suffix], ttl_seconds=config.dns_ttl_seconds, web=site)
    others = Ports(
        closed=stack.enter_context(closed_port()) if "dead-port" in config.dead else None,
        silent=stack.enter_context(silent_port()) if "dead-silent" in config.dead else None,
        dns=(await stack.enter_async_context(NameServer(zone))).port if config.dns else None,
    )
    context = certificate = None
    tls_at: dict[str, ssl.SSLContext] = {}
    addresses = ["127.0.0.1", *(address for (address,) in own.values())]
    if config.tls:
        # Imported here: cryptography is a quarter of what a web imports, and few webs have certificates.
        from tests.fakeweb.tls import ordinary, self_signed

        if isinstance(site, OrdinaryWeb):
            context, tls_at[OLD_ADDRESS] = ordinary(site)
            addresses.append(OLD_ADDRESS)
        else:
            context, certificate = self_signed(site.hosts)
    served: Any = site
    if config.http2 and context is not None:
        # Imported here, for few webs speak it.
        from tests.fakeweb.http2 import Http2Hosts

        context.set_alpn_protocols(["h2", "http/1.1"])
        served = Http2Hosts(site, site.hosts, config.http2)
    line = Line(config.keep_alive_seconds, config.keep_alive_announced, config.round_trip_seconds)
    server = FakeWeb(
        served,
        log,
        port=config.port,
        tls=context,
        tls_at=tls_at,
        addresses=addresses,
        others=others,
        line=line,
        http2=bool(config.http2),
    )
    return await stack.enter_async_context(server), certificate


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
