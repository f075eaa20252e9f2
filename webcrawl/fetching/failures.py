"""How a fetch fails: what the handler raises, and the one word the crawl remembers of it.

The words are those of ``hosts.health.FAILURES``: dns, refused, unreachable, timeout, tls, reset, empty,
protocol, private, unsupported, cancelled, other. What is raised are Scrapy's exceptions, so that errbacks and
third-party middlewares find what they know; three causes that Scrapy has no name for are subclasses of its
``DownloadFailedError``::

    CannotResolveHostError          dns
    DownloadConnectionRefusedError  refused
    DownloadTimeoutError            timeout
    UnsupportedURLSchemeError       unsupported
    ResponseDataLossError           reset
    DownloadFailedError             by its cause: unreachable, tls, reset, other
      PrivateAddressError           private
      MalformedResponseError        protocol
      EmptyResponseError            empty
    DownloadCancelledError          cancelled
      LocalShortageError            cancelled; the URL goes back to its queue as it was
"""

from __future__ import annotations

import errno
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

if TYPE_CHECKING:
    from collections.abc import Iterator


class PrivateAddressError(DownloadFailedError):
    """The host's address is private and nobody allowed it (``FETCH_PRIVATE_ADDRESSES``); nothing was sent."""


class MalformedResponseError(DownloadFailedError):
    """What came back is not HTTP."""


class LocalShortageError(DownloadCancelledError):
    """This machine had no file, port or buffer left for a connection: nothing was sent, and no host is to blame."""


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
    ((DownloadConnectionRefusedError, ConnectionRefusedError), "refused"),
    ((ResponseDataLossError, ConnectionError), "reset"),
)
"""Which exception means which word; the first row that fits counts."""

_ERRNO_WORDS = {
    errno.ECONNREFUSED: "refused",
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


def failure_word(error: BaseException) -> str:
    """The word for an exception of this or any other download handler; ``other`` when nothing is known of it.

    The exception itself is asked first, then what caused it: a name that could not be resolved in time is
    ``dns``.
    """
    for link in _chain(error):
        word = _word(link)
        if word is not None:
            return word
    return "other"


def translate(error: Exception, url: str) -> Exception:
    """What to raise for an exception that came up while ``url`` was fetched.

    Scrapy's own and those that have nothing to do with networks (mistakes in the program) are returned
    unchanged.
    """
    if isinstance(error, _OURS) or not isinstance(error, (aiohttp.ClientError, OSError)):
        return error
    told = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    text = str(told) or type(told).__name__
    if isinstance(told, OSError) and told.errno is None and told.strerror:
        text = told.strerror
    match failure_word(error):
        case "dns":
            return CannotResolveHostError(f"{url}: {text}")
        case "refused":
            return DownloadConnectionRefusedError(f"{url}: {text}")
        case "timeout":
            return DownloadTimeoutError(f"{url}: {text}")
        case "unsupported":
            return UnsupportedURLSchemeError(f"{url}: {text}")
        case _:
            return DownloadFailedError(f"{url}: {text}")


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
    """A host with several addresses failed differently on each: an answer of any counts before silence."""
    if not text.startswith(_SEVERAL):
        return None
    words = {_ERRNO_WORDS.get(int(number)) for number in _ERRNO.findall(text)}
    return next((word for word in ("refused", "reset", "timeout", "unreachable") if word in words), None)
