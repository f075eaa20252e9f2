"""The failures of a fetch: the exceptions that the handler raises, and the word that the crawl records for each.

The words are those of ``politeness.health.FAILURES``: dns, connection-refused, unreachable, timeout, tls, reset,
empty, protocol, login, data-connection, private, unsupported, cancelled, other. The exceptions are Scrapy's, so that
errbacks and third-party middlewares recognise them; causes without an exception in Scrapy are subclasses of its
``DownloadFailedError``::

    CannotResolveHostError          dns
    DownloadConnectionRefusedError  connection-refused
    DownloadTimeoutError            timeout
    UnsupportedURLSchemeError       unsupported
    ResponseDataLossError           reset
    DownloadFailedError             by its cause: unreachable, tls, reset, other
      LoginRefusedError             login
      DataConnectionError           data-connection
      PrivateAddressError           private
      MalformedResponseError        protocol
        OtherProtocolError, Http11RequiredError
      EmptyResponseError            empty
    DownloadCancelledError          cancelled
      LocalShortageError            cancelled; the URL goes back to its queue as it was
"""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from asyncio import CancelledError
from typing import TYPE_CHECKING

import aiodns
import aiohttp
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    NotSupported,
    ResponseDataLossError,
    StopDownload,
    UnsupportedURLSchemeError,
)

from webcrawl.frontier.active_key import ROBOTS_UNREACHABLE
from webcrawl.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator


class PrivateAddressError(DownloadFailedError):
    """The host's address is private and not allowed by ``FETCH_PRIVATE_ADDRESSES``; no request was sent."""


class MalformedResponseError(DownloadFailedError):
    """The received bytes are not of the protocol that was spoken."""


class OtherProtocolError(MalformedResponseError):
    """The server spoke HTTP/2 although HTTP/1.1 was agreed on."""


class Http11RequiredError(MalformedResponseError):
    """The server wants HTTP/1.1 in place of HTTP/2 (RFC 9113, section 7)."""


class LoginRefusedError(DownloadFailedError):
    """The server refused the user name or the password."""


class DataConnectionError(DownloadFailedError):
    """The second connection of an FTP transfer could not be opened."""


class LocalShortageError(DownloadCancelledError):
    """This machine had no file, port or buffer left for a connection: no request was sent, and the host is not
    charged.
    """


class EmptyResponseError(DownloadFailedError):
    """The server closed the connection without sending a byte."""


_OURS = (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)

_WORDS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((PrivateAddressError,), "private"),
    ((LoginRefusedError,), "login"),
    ((DataConnectionError,), "data-connection"),
    ((MalformedResponseError,), "protocol"),
    ((EmptyResponseError, aiohttp.ServerDisconnectedError), "empty"),
    (
        (CannotResolveHostError, aiohttp.ClientConnectorDNSError, aiodns.error.DNSError, socket.gaierror),
        "dns",
    ),
    ((DownloadCancelledError, StopDownload, CancelledError), "cancelled"),
    ((UnsupportedURLSchemeError, NotSupported, aiohttp.InvalidURL), "unsupported"),
    ((ssl.SSLError, aiohttp.ClientSSLError), "tls"),
    ((DownloadTimeoutError, TimeoutError), "timeout"),
    ((DownloadConnectionRefusedError, ConnectionRefusedError), "connection-refused"),
    ((ResponseDataLossError, ConnectionError), "reset"),
)
"""The word for each exception; the first row that fits counts."""

_ERRNO_WORDS = {
    errno.ECONNREFUSED: "connection-refused",
    errno.ECONNRESET: "reset",
    errno.EPIPE: "reset",
    errno.ETIMEDOUT: "timeout",
    errno.ENETUNREACH: "unreachable",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETDOWN: "unreachable",
    errno.EHOSTDOWN: "unreachable",
    errno.EADDRNOTAVAIL: "unreachable",
    errno.EINVAL: "unreachable",  # a link-local IPv6 address without its interface
}

_SEVERAL = "Multiple exceptions: "
_ERRNO = re.compile(r"\[Errno (\d+)\]")
_NO_CONNECTION = re.compile(r"\[Errno (\d+)\] Connect call failed \('([^']+)', (\d+)")


def failure_word(error: BaseException) -> str:
    """Return the word for an exception of this or any other download handler; ``other`` for an unknown one.

    The exception itself is checked first, then its causes: a name that could not be resolved in time is ``dns``.
    """
    for link in _chain(error):
        word = _word(link)
        if word is not None:
            return word
    return "other"


def translate(error: Exception, url: str) -> Exception:
    """Return the exception to raise for one that occurred while ``url`` was fetched.

    Scrapy's own exceptions and those unrelated to networks (errors in the program) are returned unchanged.
    """
    if isinstance(error, _OURS) or not isinstance(error, (aiohttp.ClientError, OSError)):
        return error
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    text = str(cause) or type(cause).__name__
    if isinstance(cause, OSError) and cause.errno is None and cause.strerror:
        text = cause.strerror
    return _exception(failure_word(error), f"{url}: {_of_addresses(text)}")


def _of_addresses(text: str) -> str:
    """Return asyncio's message on addresses to which no connection was made as ``Connection refused: 192.0.2.1:80``,
    with all of them; any other message as it is.
    """
    found: dict[str, list[str]] = {}
    for number, address, port in _NO_CONNECTION.findall(text):
        place = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        found.setdefault(os.strerror(int(number)), []).append(place)
    return "; ".join(f"{why}: {', '.join(places)}" for why, places in found.items()) or text


def refusal(rule: str, url: str, last_error: str | None) -> Exception:
    """Return the exception for the errback of a URL that is refused by a rule, or whose host cannot be reached.

    ``last_error``: the word for the last failure of the host. For a robots.txt that could not be fetched because of
    it, the exception is that of a page of the host: Scrapy would have requested the page.
    """
    if rule == ROBOTS_UNREACHABLE and last_error is not None:
        return _exception(last_error, f"{url}: its host cannot be reached ({last_error})")
    return Refused(rule, f"{url} is not fetched")


def _exception(word: str, text: str) -> Exception:
    match word:
        case "dns":
            return CannotResolveHostError(text)
        case "connection-refused":
            return DownloadConnectionRefusedError(text)
        case "timeout":
            return DownloadTimeoutError(text)
        case "unsupported":
            return UnsupportedURLSchemeError(text)
        case _:
            return DownloadFailedError(text)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _word(error: BaseException) -> str | None:
    for types, word in _WORDS:
        if isinstance(error, types):
            return word
    if not isinstance(error, OSError):
        return None
    if error.errno is not None:
        return _ERRNO_WORDS.get(error.errno)
    return _word_of_several(str(error))


def _word_of_several(text: str) -> str | None:
    """Choose the word for a host whose addresses failed differently: an answer of any address takes precedence over
    silence.
    """
    if not text.startswith(_SEVERAL):
        return None
    words = {_ERRNO_WORDS.get(int(number)) for number in _ERRNO.findall(text)}
    return next(
        (word for word in ("connection-refused", "reset", "timeout", "unreachable") if word in words), None
    )
