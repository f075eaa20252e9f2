"""Answers that are small on the wire and huge when they are unpacked or parsed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import brotli

from tests.fakeweb.answer import Answer, http_answer
from tests.fakeweb.behaviours.codings import CODINGS
from tests.fakeweb.behaviours.huge import HUGE
from tests.gauntlet.web.site import Host, Respond, Site, page, pages, played, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakeweb.answer import Request

MEGABYTES = 1000
LIMIT_BYTES = 900_000_000
"""The memory that a crawl may use with these: less than any of the bodies has."""
KINDS = {
    "gzip": f"A page of {MEGABYTES} MB in gzip (1000:1) is bounded, and the page behind it is fetched.",
    "br": f"A page of {MEGABYTES} MB in Brotli is bounded, and the page behind it is fetched.",
    "zstd": f"A page of {MEGABYTES} MB in Zstandard is bounded, and the page behind it is fetched.",
    "gzip-twice": "gzip in gzip is bounded, and the page behind it is fetched.",
    "nested": "A page of 200,000 elements in each other is read or left, and the page behind it is fetched.",
    "attributes": "A page with 4 MB of attributes of one element is read or left, and the page behind it is fetched.",
}


def build(number: int) -> Site:
    """Return the site."""
    site = Site("bombs", number)
    for kind in KINDS:
        contents = {"/": page(kind, ["/bomb", "/after"]), "/after": page(f"{kind} after")}
        site.add(
            Host(
                kind,
                pages(contents, _bomb(site, kind)),
                text("User-agent: *\nDisallow:\n"),
                wanted=frozenset({"/", "/bomb", "/after"}),
            )
        )
    return site


def _bomb(site: Site, kind: str) -> Respond:
    if kind == "gzip":
        answer = played(CODINGS["gzip-bomb"], site, kind, options={"megabytes": MEGABYTES})
        return lambda request, visit: answer(request, visit) if request.path == "/bomb" else None
    if kind == "nested":
        nested = played(HUGE["huge-nested"], site, kind, options={"bytes": 3_200_000})
        return lambda request, visit: nested(request, visit) if request.path == "/bomb" else None
    make: dict[str, Callable[[], tuple[str, bytes]]] = {
        "br": lambda: ("br", _brotli()),
        "zstd": lambda: ("zstd", _zstd()),
        "gzip-twice": lambda: ("gzip, gzip", _twice()),
        "attributes": lambda: ("", b"<a " + b"".join(b"a%d=1 " % n for n in range(400_000)) + b">x</a>"),
    }

    def respond(request: Request, visit: int) -> Answer | None:
        if request.path != "/bomb":
            return None
        coding, body = make[kind]()
        return http_answer(200, body, [("Content-Encoding", coding)] if coding else [])

    return respond


@functools.cache
def _brotli() -> bytes:
    packer, block = brotli.Compressor(quality=5, lgwin=22), b" " * 2**20
    return b"".join([*(packer.process(block) for _ in range(MEGABYTES)), packer.finish()])


@functools.cache
def _zstd() -> bytes:
    """Frames of RFC 8878 with blocks that repeat one byte: 4 bytes for 128 KiB."""
    size = 1 << 17
    block = (1 << 1 | size << 3).to_bytes(3, "little") + b" "
    # A window of 2**17 bytes, no checksum, no content size.
    frame = b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([(17 - 10) << 3]) + block * (MEGABYTES * 8 - 1)
    return frame + (1 | 1 << 1 | size << 3).to_bytes(3, "little") + b" "


@functools.cache
def _twice() -> bytes:
    import gzip

    blank = gzip.compress(b" " * 2**20, 9)
    return gzip.compress(blank * MEGABYTES, 9)
