"""The dashboard of one crawl, listening; and the process that does so beside a crawl.

The crawl and this process exchange frames (``webcrawl/child_process.py``) on a socket::

    crawl                               dashboard
    what names the crawl          ->
                                  <-    ("listening", address, token, file with it) or ("refused", sentence)
                                  <-    ("log", level, message), any number

When the crawl closes its end, or is killed, the process ends at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
import socket
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.child_process import frame, leave_signals_to_the_crawl, receive_from, socket_to_parent
from webcrawl.errors import CrawlError
from webcrawl.web.access import TOKEN_BYTES, Access, TokenFile, is_wildcard
from webcrawl.web.connections import Listener
from webcrawl.web.dashboard.operators import OperatorsFile
from webcrawl.web.dashboard.server import make_app
from webcrawl.web.dashboard.source import CrawlSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scrapy.settings import BaseSettings

    from webcrawl.config import Configuration

NICENESS = 10
TOKEN = "dashboard.token"
OPERATORS = "dashboard.operators"
LOG_LINES = 100
"""Messages a minute that are passed to the crawl's log."""

logger = logging.getLogger(__name__)


# -- listening -------------------------------------------------------------------------------------------------


class Listening:
    """A dashboard that listens."""

    def __init__(self, listener: Listener, address: str, token: str | None, token_file: Path | None) -> None:
        self._listener = listener
        self.port = listener.port
        self.address = address
        self.token = token
        self.token_file = token_file

    async def stop(self) -> None:
        """Stop listening, and end all connections."""
        await self._listener.stop()


async def listen(source: CrawlSource, port: int) -> Listening:
    """Serve the dashboard of a crawl; port 0 takes any free one.

    :raises OSError: the address cannot be used :raises CrawlError: the crawl cannot be read
    """
    configuration = source.configuration
    # A crawl that is not there is told now, and not to the first viewer.
    await asyncio.to_thread(source.crawl.status)
    token, file = (None, None) if configuration.dashboard_public else load_token(source)
    access = build_access(configuration, token, operators_path(source))
    listener = Listener(make_app(source, access))
    host = configuration.dashboard_host
    await listener.start(host, port)
    return Listening(listener, browser_address(host, listener.port), token, file)


def build_access(configuration: Configuration, token: str | None, operators: Path | None) -> Access:
    """Return who may do what. ``token``: the owner's. ``operators``: the file of those by name."""
    return Access(
        configuration.dashboard_host,
        token,
        allowed_hosts=configuration.dashboard_allowed_hosts,
        public=configuration.dashboard_public,
        is_open=configuration.dashboard_reading == "open",
        operators=tuple if operators is None else OperatorsFile(operators).operators,
    )


def load_token(source: CrawlSource) -> tuple[str, Path | None]:
    """Return the token of a crawl's dashboard and its file; None if none can be written."""
    path = token_path(source)
    try:
        return TokenFile(path).token(), path
    except OSError as error:
        logger.warning("%s cannot be used, the token of the dashboard is a new one: %s", path, error.strerror)
        return secrets.token_urlsafe(TOKEN_BYTES), None


def token_path(source: CrawlSource) -> Path:
    """Return the path of the file with the token."""
    configuration = source.configuration
    if configuration.dashboard_token_file is not None:
        return configuration.dashboard_token_file
    if source.is_whole and source.folder is not None:
        return source.folder / TOKEN
    return _state_folder(source, ".token")


def operators_path(source: CrawlSource) -> Path:
    """Return the path of the file with the operators by name."""
    configuration = source.configuration
    if configuration.dashboard_operators_file is not None:
        return configuration.dashboard_operators_file
    if source.is_whole and source.folder is not None:
        return source.folder / OPERATORS
    return _state_folder(source, ".operators")


def _state_folder(source: CrawlSource, suffix: str) -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    # Crawls of one name on several servers have several tokens.
    place = hashlib.sha256(source.crawl.place.encode("utf-8", "replace")).hexdigest()[:12]
    return Path(state) / "webcrawl" / f"{source.spider}-{place}{suffix}"


def browser_address(host: str, port: int) -> str:
    """Return the address at which a browser of this machine finds the dashboard."""
    name = "127.0.0.1" if is_wildcard(host) else host
    netloc = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
    return f"http://{netloc}/"


def with_token(address: str, token: str | None) -> str:
    """Return an address that logs a browser in: the token is in its fragment, which browsers do not send. It is for
    terminals, and for nothing that is kept."""
    return address if token is None else f"{address}#token={token}"


def refusal(configuration: Configuration, port: int, error: Exception) -> str:
    """Return the reason why the dashboard does not listen."""
    if isinstance(error, OSError):
        return f"cannot listen on {configuration.dashboard_host}:{port}: {os.strerror(error.errno or 0)}"
    return " ".join(str(error).split())


# -- what names a crawl ----------------------------------------------------------------------------------------


def describe_source(settings: BaseSettings, spider: object, name: str, folder: Path | None) -> dict[str, Any]:
    """Return what names a crawl, as plain values: the settings that differ from those of ``webcrawl/settings.py``.
    ``folder``: its JOBDIR, which may not be in the settings."""
    from webcrawl import settings as ours

    rows = [
        (key, value, settings.getpriority(key) or 0)
        for key, value in _plain_items(settings)
        if (settings.getpriority(key) or 0) > 0 and settings[key] is not getattr(ours, key, None)
    ]
    if folder is not None:
        rows.append(("JOBDIR", str(folder), 50))
    domains = getattr(spider, "allowed_domains", None)
    return {
        "settings": rows,
        "spider": name,
        "arguments": {key: value for key, value in vars(spider).items() if isinstance(value, str)},
        "domains": list(map(str, domains)) if isinstance(domains, list | tuple | set) else None,
    }


def open_source(description: Mapping[str, Any]) -> CrawlSource:
    """Return the crawl that the result of ``describe_source`` names. :raises CrawlError: it cannot be read"""
    from scrapy.settings import Settings

    settings = Settings()
    settings.setmodule("webcrawl.settings", "project")
    for name, value, priority in description["settings"]:
        settings.set(name, value, priority)
    return CrawlSource(settings, description["spider"], description["arguments"], description["domains"])


def _plain_items(settings: BaseSettings) -> Iterator[tuple[str, Any]]:
    for name in settings:
        value = _plain(settings[name])
        if isinstance(name, str) and value is not NotImplemented:
            yield name, value


def _plain(value: Any) -> Any:
    """Return a value without objects of classes; NotImplemented if it is one. Values with such parts are no settings
    of ours."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple | set):
        items = [_plain(item) for item in value]
        return NotImplemented if any(item is NotImplemented for item in items) else items
    if hasattr(value, "items"):
        pairs = {key: _plain(item) for key, item in value.items()}
        wrong = any(not isinstance(key, str) or item is NotImplemented for key, item in pairs.items())
        return NotImplemented if wrong else pairs
    return NotImplemented


# -- the process -----------------------------------------------------------------------------------------------


class _ToCrawl(logging.Handler):
    """Passes messages to the crawl's log: few, since anybody may cause them."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        super().__init__(logging.WARNING)
        self._send = send
        self._times: deque[float] = deque(maxlen=LOG_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if len(self._times) == LOG_LINES and now - self._times[0] < 60:
            return
        self._times.append(now)
        self._send(frame(("log", record.levelno, self.format(record))))


async def serve_beside(connection: socket.socket) -> None:
    """Serve the dashboard of the crawl at the other end, until that ends."""
    reader, writer = await asyncio.open_connection(sock=connection)
    description = await receive_from(reader)
    logging.getLogger().addHandler(_ToCrawl(writer.write))
    try:
        source = open_source(description)
        source.ends_with_crawl = True
        port = source.configuration.dashboard_port
        try:
            listening = await listen(source, port)
        except (OSError, CrawlError) as error:
            writer.write(frame(("refused", refusal(source.configuration, port, error))))
            await writer.drain()
            return
    except CrawlError as error:
        writer.write(frame(("refused", " ".join(str(error).split()))))
        await writer.drain()
        return
    file = listening.token_file
    writer.write(
        frame(("listening", listening.address, listening.token or "", "" if file is None else str(file)))
    )
    # Nothing comes any more but the end.
    while await reader.read(4096):
        pass


def main() -> None:
    leave_signals_to_the_crawl()
    os.nice(NICENESS)
    with suppress(EOFError, ConnectionError):
        asyncio.run(serve_beside(socket_to_parent()))
    # Threads may still read: nothing here has to be finished.
    os._exit(0)


if __name__ == "__main__":
    main()
