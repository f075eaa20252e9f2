"""The download handlers for ftp and ftps (RFC 959, 2428, 3659, 4217).

Each URL is fetched in a session of its own: login, one file or one directory, QUIT. The data connection is always
opened by the crawler (EPSV or PASV), and always to the address of the control connection, whatever address the server
names: a server cannot make the crawler connect elsewhere.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes

from scrapy.exceptions import UnsupportedURLSchemeError

from webcrawl.fetching.failures import (
    DataConnectionError,
    EmptyResponseError,
    LoginRefusedError,
    MalformedResponseError,
)
from webcrawl.fetching.scheme_handler import SchemeHandler
from webcrawl.parsing.mime import FTP_LISTING, type_of_name

if TYPE_CHECKING:
    import ssl

    from scrapy.crawler import Crawler

    from webcrawl.fetching.scheme_handler import SchemeTransfer, Stream

LINE_MAX = 4_096
LINES_MAX = 1_000
"""The most lines of a reply; a greeting may be a page of text."""
LAST_REPLY_SECONDS = 10.0
"""Seconds that the client waits for the reply after the end of the data."""
QUIT_SECONDS = 2.0
"""Seconds that the client waits for the reply to QUIT."""
FIRST_FREE_PORT = 1024
"""The least port of a data connection: no service of another protocol is contacted."""

_REPLY = re.compile(rb"([1-6]\d\d)(?:([ -])(.*))?", re.DOTALL)
_EPSV = re.compile(rb"\((.)\1\1(\d{1,5})\1\)")
_PASV = re.compile(rb"\d{1,3},\d{1,3},\d{1,3},\d{1,3},(\d{1,3}),(\d{1,3})")
_NOT_IN_COMMANDS = re.compile(rb"[\r\n\0]")
_TYPE = re.compile(r";type=([aid])$", re.IGNORECASE)

_STATUSES = {501: 400, 530: 403, 532: 403, 550: 404, 551: 404, 553: 404}
"""The HTTP status of the same meaning for a reply to a command; see ``_status_of`` for the others."""
_NOT_A_COMMAND = frozenset({500, 501, 502, 504, 522})


class FtpReply(NamedTuple):
    """A reply of the server."""

    code: int
    text: bytes
    """The text of all lines, without the code of the first one."""

    @property
    def is_positive(self) -> bool:
        """True if the command was done."""
        return 200 <= self.code < 300

    @property
    def status(self) -> int:
        """The HTTP status of the same meaning; 503 for a failure that may pass."""
        if self.is_positive:
            return 200
        return 503 if self.code < 500 else _STATUSES.get(self.code, 500)


class _Control:
    """The control connection."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    async def reply(self) -> FtpReply:
        """Return the next reply. Raises MalformedResponseError for bytes that are none."""
        found = _REPLY.fullmatch(await self.stream.line(LINE_MAX))
        if found is None:
            raise MalformedResponseError("no reply of an FTP server")
        lines, ending = [found[3] or b""], found[1]
        if found[2] == b"-":
            while (line := await self.stream.line(LINE_MAX)) != ending and not line.startswith(ending + b" "):
                lines.append(line)
                if len(lines) > LINES_MAX:
                    raise MalformedResponseError(f"a reply of more than {LINES_MAX} lines")
            lines.append(line[len(ending) + 1 :])
        return FtpReply(int(found[1]), b"\n".join(lines))

    async def command(self, *words: bytes) -> FtpReply:
        """Send a command and return the reply to it."""
        self.stream.write(b" ".join(words) + b"\r\n")
        return await self.reply()


class FtpDownloadHandler(SchemeHandler):
    """``ftp``: a URL that ends with a slash is a directory, whose listing is received as ``text/ftp-dir``.

    Settings, beside those of ``SchemeHandler``: FTP_USER and FTP_PASSWORD (Scrapy's; by default anonymous, with the
    crawl's contact as password), FTP_TLS. ``Request.meta`` may have ``ftp_user`` and ``ftp_password``.
    """

    implicit_tls = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self._tls = "require" if self.implicit_tls else str(settings.get("FTP_TLS") or "never")
        user = str(settings.get("FTP_USER") or "anonymous")
        password = str(settings.get("FTP_PASSWORD") or "")
        if user == "anonymous" and password in ("", "guest"):
            password = str(settings.get("CRAWLER_CONTACT") or "") or password
        self._login = user, password

    async def fetch(self, transfer: SchemeTransfer) -> None:
        """Log in and receive one file or one directory."""
        path, is_folder = _raw_path(transfer.path)
        if not is_folder:
            transfer.refuse_unwanted(_mime_type(path))
        stream = await transfer.connect(tls=self.implicit_tls)
        control = _Control(stream)
        greeting = await control.reply()
        if greeting.code >= 500:
            raise LoginRefusedError(f"the server refused the connection ({greeting.code})")
        if greeting.code != 220:
            # 120: not ready yet; 421: too many connections.
            transfer.begin(503, reply=str(greeting.code))
            return
        session = _Session(transfer, control)
        await session.secure(self._tls, implicit=self.implicit_tls)
        meta = transfer.request.meta
        user, password = self._login
        if "ftp_user" in meta:
            user, password = str(meta["ftp_user"]), str(meta.get("ftp_password", ""))
        busy = await session.log_in(user.encode(), password.encode())
        if busy is not None:
            transfer.begin(503, reply=str(busy.code))
            return
        if is_folder:
            await session.folder(path)
        else:
            await session.file(path, transfer.url)
        # The session has ended at the server, too, when the key's clock starts.
        with suppress(OSError, MalformedResponseError, EmptyResponseError):
            async with asyncio.timeout(QUIT_SECONDS):
                await control.command(b"QUIT")


class FtpsDownloadHandler(FtpDownloadHandler):
    """``ftps``: TLS from the first byte, on port 990 unless the URL has another."""

    implicit_tls = True


class _Session:
    """A session for one URL."""

    def __init__(self, transfer: SchemeTransfer, control: _Control) -> None:
        self._transfer = transfer
        self._control = control
        self._context: ssl.SSLContext | None = None
        """The TLS of data connections; None if they are in the clear."""

    async def secure(self, how: str, *, implicit: bool) -> None:
        """Continue in TLS if the setting FTP_TLS asks for it: ``never``, ``try`` or ``require``."""
        command = self._control.command
        if how == "never":
            return
        context = self._transfer.network.tls
        if not implicit:
            if not (await command(b"AUTH", b"TLS")).is_positive:
                if how == "require":
                    raise LoginRefusedError("the server has no TLS (AUTH), and FTP_TLS requires it")
                return
            await self._control.stream.start_tls(context)
        protected = (await command(b"PBSZ", b"0")).is_positive and (await command(b"PROT", b"P")).is_positive
        if protected:
            self._context = context
        elif how == "require":
            raise LoginRefusedError("the server does not protect data connections (PROT P)")

    async def log_in(self, user: bytes, password: bytes) -> FtpReply | None:
        """Log in; return None, or the reply of a server that has no room. Raises LoginRefusedError."""
        if _NOT_IN_COMMANDS.search(user + password):
            raise LoginRefusedError("a user name or a password with a line break")
        reply = await self._control.command(b"USER", user)
        if reply.code == 331:
            reply = await self._control.command(b"PASS", password)
        if 400 <= reply.code < 500:
            return reply
        if not reply.is_positive:
            raise LoginRefusedError(
                f"the login as {user.decode(errors='replace')} was refused ({reply.code})"
            )
        await self._control.command(b"TYPE", b"I")
        return None

    async def file(self, path: bytes, url: str) -> None:
        """Receive a file; of a directory a redirect to its URL."""
        transfer, command = self._transfer, self._control.command
        size = await command(b"SIZE", path)
        announced = int(size.text) if size.code == 213 and size.text.strip().isdigit() else None
        if (
            announced is None
            and size.code not in _NOT_A_COMMAND
            and (await command(b"CWD", path)).is_positive
        ):
            transfer.begin(301, location=f"{url}/", reply=str(size.code))
            return
        if not transfer.begin(200, _mime_type(path), size=announced):
            return
        await self._receive(b"RETR", path, size=announced)

    async def folder(self, path: bytes) -> None:
        """Receive the listing of a directory."""
        transfer, command = self._transfer, self._control.command
        if path:
            reply = await command(b"CWD", path)
            if not reply.is_positive:
                transfer.begin(reply.status, reply=str(reply.code))
                return
        features = await command(b"FEAT")
        has_facts = features.is_positive and b"MLST" in features.text.upper()
        transfer.begin(200, FTP_LISTING)
        await self._receive(b"MLSD" if has_facts else b"LIST")

    async def _receive(self, *words: bytes, size: int | None = None) -> None:
        transfer, control = self._transfer, self._control
        data = await self._data_connection()
        try:
            reply = await control.command(*words)
            if reply.code in (425, 426):
                raise DataConnectionError(f"the server could not open the data connection ({reply.code})")
            if not (100 <= reply.code < 300):
                transfer.begin(reply.status, reply=str(reply.code))
                return
            if self._context is not None:
                # Servers require it as proof that both connections are of one client.
                await data.start_tls(self._context, control.stream)
            await transfer.receive(data)
        finally:
            data.close()
        if transfer.is_cut or transfer.refused:
            return
        if reply.code < 200:
            try:
                async with asyncio.timeout(LAST_REPLY_SECONDS):
                    reply = await control.reply()
            except (OSError, MalformedResponseError):
                reply = FtpReply(426, b"")
        transfer.note_reply(str(reply.code))
        is_whole = reply.is_positive if size is None else transfer.received_bytes >= size
        if not is_whole:
            transfer.cut("disconnect")

    async def _data_connection(self) -> Stream:
        """Open the data connection, to the address of the control connection. Raises DataConnectionError."""
        control = self._control
        reply = await control.command(b"EPSV")
        port = int(found[2]) if reply.code == 229 and (found := _EPSV.search(reply.text)) else 0
        if not port and ":" not in control.stream.ip:
            reply = await control.command(b"PASV")
            if reply.code == 227 and (found := _PASV.search(reply.text)):
                port = int(found[1]) * 256 + int(found[2])
        if not port:
            raise DataConnectionError(f"the server offers no passive data connection ({reply.code})")
        if not FIRST_FREE_PORT <= port < 65_536:
            raise DataConnectionError(f"the server names the port {port}, which is of another service")
        try:
            return await self._transfer.connect(port, at=control.stream.ip)
        except OSError as error:
            raise DataConnectionError(f"port {port}: {error or type(error).__name__}") from error


def _raw_path(path: str) -> tuple[bytes, bool]:
    """Return the path of a URL as it is sent, relative to the folder of the login, and whether it is a directory.

    Raises UnsupportedURLSchemeError for a path that no command can contain.
    """
    kind = _TYPE.search(path)
    if kind is not None:
        path = path[: kind.start()]
    raw = unquote_to_bytes(path[1:])
    if _NOT_IN_COMMANDS.search(raw):
        raise UnsupportedURLSchemeError(f"a path with a line break or a zero byte: {path!r}")
    if b".." in raw.split(b"/"):
        raise UnsupportedURLSchemeError(f"a path that leads to a parent of its folders: {path!r}")
    is_folder = path.endswith("/") or (kind is not None and kind[1].lower() == "d")
    return raw.rstrip(b"/") or raw[:1] if is_folder else raw, is_folder


def _mime_type(path: bytes) -> str | None:
    """Return the type of a file by the extension of its name; None if that tells nothing."""
    return type_of_name(path.rpartition(b"/")[2].decode("latin-1"))
