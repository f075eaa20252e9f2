"""The request as it is sent: the target of a URL, byte for byte, and the head."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_PORTS = {"http": 80, "https": 443}
ACCEPT_ENCODING = b"gzip, deflate, br, zstd"
"""The header that is sent if the request has none; exactly the codings that the crawl can decode."""

_URL = re.compile(r"(?i:(https?))://(?:[^/?#]*@)?([^/?#]*)([^#]*)", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(\d*))?")
_UNSENDABLE = re.compile(r"[^\x21-\x7e]")
_LINE_BREAKS = re.compile(rb"[\r\n\0]+")
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_WITH_LENGTH = frozenset(("POST", "PUT", "PATCH"))


Origin = tuple[str, str, int]
"""Scheme, host in lower case, and port."""


class Target(NamedTuple):
    """The destination of a request. Credentials in the URL are left out; they are never sent."""

    scheme: str
    host: str
    """The host as in the URL; an IPv6 address in brackets."""
    port: int
    path: str
    """Path and query exactly as in the URL, ``/`` if the URL has none, without the fragment."""

    @property
    def authority(self) -> str:
        """Host and port as in the Host header."""
        return self.host if self.port == DEFAULT_PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def origin(self) -> Origin:
        """The origin of the request, for which facts about its server are remembered."""
        return self.scheme, self.host.lower(), self.port


def split_url(url: str) -> Target:
    """Split an http or https URL without changing it. Raises ValueError for any other URL.

    Only characters that are not allowed in a request line (spaces, control and non-ASCII characters) are
    percent-encoded.
    """
    found = _URL.match(url)
    if found is None:
        raise ValueError(f"not an http or https URL: {url!r}")
    scheme, netloc, path = found.groups()
    authority = _AUTHORITY.fullmatch(netloc)
    if authority is None:
        raise ValueError(f"no host in {url!r}")
    scheme = scheme.lower()
    host, port_text = authority.groups()
    port = int(port_text) if port_text else DEFAULT_PORTS[scheme]
    if not 0 < port < 65536:
        raise ValueError(f"no such port in {url!r}")
    if not path.startswith("/"):
        path = f"/{path}"
    if _UNSENDABLE.search(path):
        path = _UNSENDABLE.sub(lambda bad: quote(bad.group().encode("utf-8", "surrogatepass"), safe=""), path)
    return Target(scheme, host, port, path)


def request_head(
    method: str,
    request_target: str,
    authority: str,
    headers: Iterable[tuple[bytes, list[bytes]]],
    length: int,
) -> bytes:
    """Return the head of a request, from the request line to the empty line.

    ``headers`` are sent in their order, repetitions included; Host, Accept-Encoding, Connection and Content-Length
    are added if missing. Raises ValueError for a method or a header name that is no token; line breaks in a value
    become spaces.
    """
    if method != "GET" and _TOKEN.fullmatch(method.encode("latin-1", "replace")) is None:
        raise ValueError(f"not a method: {method!r}")
    lines = [f"{method} {request_target} HTTP/1.1\r\n".encode("ascii")]
    names, fields = _fields(tuple([(name, tuple(values)) for name, values in headers]))
    if b"host" not in names:
        lines.append(b"Host: %b\r\n" % authority.encode("ascii"))
    lines.append(fields)
    if b"accept-encoding" not in names:
        lines.append(b"Accept-Encoding: %b\r\n" % ACCEPT_ENCODING)
    if b"connection" not in names:
        lines.append(b"Connection: keep-alive\r\n")
    if (length or method in _WITH_LENGTH) and not names & {b"content-length", b"transfer-encoding"}:
        lines.append(b"Content-Length: %d\r\n" % length)
    lines.append(b"\r\n")
    return b"".join(lines)


# Nearly all requests of a crawl have the same fields.
@lru_cache(maxsize=128)
def _fields(headers: tuple[tuple[bytes, tuple[bytes, ...]], ...]) -> tuple[frozenset[bytes], bytes]:
    """Return the names in lower case, and the lines."""
    names = set()
    lines: list[bytes] = []
    for name, values in headers:
        if _TOKEN.fullmatch(name) is None:
            raise ValueError(f"not a header name: {name!r}")
        names.add(name.lower())
        lines += [b"%b: %b\r\n" % (name, _LINE_BREAKS.sub(b" ", value)) for value in values]
    return frozenset(names), b"".join(lines)
