"""Receivers of messages: webhooks and mailboxes. Each attempt is bounded in time, and none raises anything but
``NotDelivered``."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from aiohttp import AsyncResolver, ClientError, ClientSession, ClientTimeout, TCPConnector

from webcrawl.features.notifications.messages import as_json, as_mail, headers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from email.message import EmailMessage

    from webcrawl.features.notifications.messages import Message

TIMEOUT_SECONDS = 10.0
"""Seconds that an attempt may take; for a mail server, each of its answers."""
_BUSY = (408, 425, 429)
"""Statuses below 500 after which a further attempt may succeed."""


class NotDelivered(Exception):  # noqa: N818 - states what happened
    """An attempt has failed. ``is_final``: another one would fail in the same way."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


class Receiver(Protocol):
    """Takes messages."""

    @property
    def name(self) -> str:
        """The name in logs, without secrets."""
        ...

    async def take(self, message: Message) -> None:
        """Deliver a message. :raises NotDelivered:"""
        ...


class Webhook:
    """A URL to which messages are posted. Redirects are not followed: a signed message goes where it was meant to."""

    def __init__(
        self, url: str, secret: str, user_agent: str, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        self._url = url
        self._secret = secret
        self._user_agent = user_agent
        self._timeout = timeout_seconds

    @property
    def name(self) -> str:
        # Path and query of such URLs are passwords.
        parts = urlsplit(self._url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")

    async def take(self, message: Message) -> None:
        body = as_json(message)
        about = {"User-Agent": self._user_agent, **headers(message, body, self._secret)}
        try:
            status, reason = await self._post(body, about)
        except TimeoutError:
            raise NotDelivered(f"no answer within {self._timeout:g} s") from None
        except (ClientError, OSError, ValueError) as error:
            raise NotDelivered(_reason(error)) from error
        if 300 <= status < 400:
            raise NotDelivered(
                f"it redirects (status {status}); give the URL that it leads to", is_final=True
            )
        if not 200 <= status < 300:
            is_final = status < 500 and status not in _BUSY
            raise NotDelivered(f"status {status} {reason}".rstrip(), is_final=is_final)

    async def _post(self, body: bytes, about: dict[str, str]) -> tuple[int, str]:
        # A resolver that can be cancelled: threads of one that cannot would delay the end of the process.
        connector = TCPConnector(resolver=AsyncResolver(), force_close=True)
        timeout = ClientTimeout(total=self._timeout)
        async with (
            ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as session,
            session.post(self._url, data=body, headers=about, allow_redirects=False) as response,
        ):
            # The body of the answer is not read.
            return response.status, "".join(filter(str.isprintable, response.reason or ""))[:80]


@dataclass(frozen=True, slots=True)
class MailServer:
    """The server that takes mail, as Scrapy's settings MAIL_HOST, ... name it."""

    host: str
    port: int
    sender: str
    user: str | None = None
    password: str | None = None
    starttls: bool = False
    tls: bool = False
    """True if the connection begins with TLS."""


class Mailbox:
    """Addresses to which messages are mailed.

    Python's own client is used, on a thread that keeps nobody waiting: if the server hangs, it ends with the process.
    """

    def __init__(
        self,
        recipients: Sequence[str],
        server: MailServer,
        timeout_seconds: float = TIMEOUT_SECONDS,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """``context``: the certificates that are trusted; those of the system by default."""
        self._recipients = recipients
        self._server = server
        self._timeout = timeout_seconds
        self._context = context

    @property
    def name(self) -> str:
        return f"{', '.join(self._recipients)} by {self._server.host}:{self._server.port}"

    async def take(self, message: Message) -> None:
        mail = as_mail(message, self._server.sender, self._recipients)
        loop = asyncio.get_running_loop()
        sent: asyncio.Future[None] = loop.create_future()

        def settle(error: NotDelivered | None) -> None:
            if sent.done():
                return
            if error is None:
                sent.set_result(None)
            else:
                sent.set_exception(error)

        def send() -> None:
            failure = self._send(mail)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, failure)

        threading.Thread(target=send, name="mail", daemon=True).start()
        await sent

    def _send(self, mail: EmailMessage) -> NotDelivered | None:
        try:
            with self._connected() as server:
                refused = server.send_message(mail, self._server.sender, list(self._recipients))
        except smtplib.SMTPRecipientsRefused as error:
            return _refused(error.recipients)
        except smtplib.SMTPResponseException as error:
            return NotDelivered(
                f"{error.smtp_code} {_decoded(error.smtp_error)}", is_final=error.smtp_code >= 500
            )
        except smtplib.SMTPNotSupportedError as error:
            return NotDelivered(str(error), is_final=True)
        except ssl.SSLCertVerificationError as error:
            return NotDelivered(f"its certificate is not trusted: {error.verify_message}", is_final=True)
        except TimeoutError:
            return NotDelivered(f"no answer within {self._timeout:g} s")
        except (smtplib.SMTPException, OSError, ValueError) as error:
            if isinstance(error.__context__, TimeoutError):
                return NotDelivered(f"no answer within {self._timeout:g} s")
            return NotDelivered(_reason(error))
        # The others have it, and must not get it twice.
        return NotDelivered(str(_refused(refused)), is_final=True) if refused else None

    def _connected(self) -> smtplib.SMTP:
        server, timeout = self._server, self._timeout
        context = self._context or ssl.create_default_context()
        client: smtplib.SMTP
        if server.tls:
            client = smtplib.SMTP_SSL(server.host, server.port, timeout=timeout, context=context)
        else:
            client = smtplib.SMTP(server.host, server.port, timeout=timeout)
        try:
            if server.starttls and not server.tls:
                client.starttls(context=context)
            if server.user is not None:
                client.login(server.user, server.password or "")
        except BaseException:
            client.close()
            raise
        return client


def _refused(recipients: dict[str, tuple[int, bytes]]) -> NotDelivered:
    """Describe refused addresses."""
    answers = "; ".join(f"{address}: {code} {_decoded(why)}" for address, (code, why) in recipients.items())
    return NotDelivered(f"refused: {answers}", is_final=all(code >= 500 for code, _ in recipients.values()))


def _decoded(text: bytes | str) -> str:
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return "".join(letter if letter.isprintable() else " " for letter in plain)[:200]


def _reason(error: BaseException) -> str:
    return " ".join(_decoded(str(error) or type(error).__name__).split())
