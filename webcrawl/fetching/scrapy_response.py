"""Scrapy's Response for a finished exchange. It is built for every page, so repeated values are cached."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING

from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from webcrawl.fetching.response_head import MAX_TYPE_BYTES

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from twisted.internet.ssl import Certificate

    from webcrawl.fetching.response_head import ResponseHead

MAX_NAME_BYTES = 64
"""The longest header name in bytes that is cached: a server could fill memory with long names."""

CODINGS = frozenset((b"gzip", b"x-gzip", b"deflate", b"br", b"zstd"))
"""Content codings; a body in one of them does not reveal its response class before it is decoded."""


@lru_cache(maxsize=1024)
def _short_name(name: bytes) -> bytes:
    return name.title()


def _header_name(name: bytes) -> bytes:
    """Return a name as Scrapy's Headers writes it."""
    return _short_name(name) if len(name) <= MAX_NAME_BYTES else name.title()


def scrapy_headers(head: ResponseHead) -> Headers:
    """Return the headers for Scrapy: case folded, repetitions kept in order."""
    headers = Headers()
    for name, value in head.headers:
        dict.setdefault(headers, _header_name(name), []).append(value)
    return headers


@lru_cache(maxsize=1024)
def _class_of_type(content_type: bytes) -> type[Response]:
    return responsetypes.from_content_type(content_type)


def response_class(headers: Headers, url: str, body: bytes) -> type[Response]:
    """Return the class Scrapy would choose, but a plain Response for a body that is still coded.

    The middleware that decodes the body chooses the class from the decoded bytes.
    """
    codings = headers.get(b"Content-Encoding")
    if codings and not CODINGS.isdisjoint(part.strip().lower() for part in codings.split(b",")):
        return Response
    content_type = headers.get(b"Content-Type")
    if content_type:
        found = _class_of_type(content_type[:MAX_TYPE_BYTES])
        if found is not Response:
            return found
    return responsetypes.from_args(headers=headers, url=url, body=body)


@lru_cache(maxsize=1024)
def _address(ip: str) -> IPv4Address | IPv6Address:
    """Return the address without the scope of an IPv6 address."""
    return ip_address(ip.partition("%")[0])


def scrapy_response(
    head: ResponseHead,
    url: str,
    headers: Headers,
    body: bytes,
    flags: list[str],
    ip: str | None,
    certificate: Certificate | None = None,
) -> Response:
    """Build the Response."""
    made = response_class(headers, url, body)(
        url,
        status=head.status,
        body=body,
        flags=flags,
        certificate=certificate,
        ip_address=_address(ip) if ip else None,
        # Scrapy's name for HTTP/2.
        protocol="h2" if head.version == (2, 0) else f"HTTP/{head.version[0]}.{head.version[1]}",
    )
    made.headers = headers
    return made
