"""Whether a crawl of the web that looks like the real one has all that it was served: pages, WARCs and links."""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import brotli
from warcio import ArchiveIterator

from webcrawl.links.reading import LinkLogs

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.fakeweb.ordinary import OrdinaryWeb
    from tests.fakeweb.process import Served

_HREF = re.compile(rb'<a [^>]*href="([^"]+)"')
_DECODERS: dict[str | None, Callable[[bytes], bytes]] = {
    "gzip": lambda data: zlib.decompressobj(31).decompress(data),
    "br": lambda data: brotli.Decompressor().process(data),
    "zstd": lambda data: zstd.ZstdDecompressor().decompress(data),
    None: bytes,
}
"""They decode what there is of a body that is cut."""


class Found(NamedTuple):
    """What was compared."""

    pages: int
    records: int
    links: int


def compare(job: Path, served: Served, site: OrdinaryWeb) -> Found:
    """Compare a crawl that is over with what was served. :raises SystemExit: they differ"""
    lines = [json.loads(line) for line in (job / "fetch.jsonl").read_bytes().splitlines()]
    answered = [line for line in lines if line.get("status")]
    logged = Counter((*_place(line["url"]), line["status"]) for line in answered)
    sent = Counter(
        (hit.scheme, hit.host, hit.path, hit.status)
        for hit in served.hits()
        if hit.complete and hit.status is not None
    )
    _same("answers in the fetch log", logged, sent)
    pages = {line["url"]: line for line in answered if line["kind"] == "page" and line["status"] == 200}
    records = sum(_record(url, page, content, site, pages) for url, page, content in _responses(job))
    if records != len(pages):
        raise SystemExit(f"{len(pages)} pages have {records} records with their content")
    links = 0
    for linking in LinkLogs([job]).pages():
        if linking.page not in pages:
            continue
        pages.pop(linking.page)
        listed = {link.to for link in linking.links if link.type == "a"}
        hrefs = set(_HREF.findall(site.body(*_page(site, linking.page))))
        _same(
            f"links of {linking.page}",
            Counter(listed),
            Counter({urljoin(linking.page, href.decode()) for href in hrefs}),
        )
        links += len(listed)
    if pages:
        raise SystemExit(f"{len(pages)} pages have no links, such as {next(iter(pages))}")
    return Found(records, records, links)


def _place(url: str) -> tuple[str, str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.path


def _page(site: OrdinaryWeb, url: str) -> tuple[int, int]:
    _, host, path = _place(url)
    number = site.number(host)
    assert number is not None
    return number, int(path[3:-5]) if path != "/" else 0


def _responses(job: Path) -> Iterator[tuple[str, str | None, Any]]:
    for path in sorted((job / "warc").glob("*.warc.gz*")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                if record.rec_type == "response" and record.http_headers.get_statuscode() == "200":
                    headers = record.http_headers
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    truncated = record.rec_headers.get_header("WARC-Truncated")
                    coding = headers.get_header("Content-Encoding")
                    yield url, truncated, (coding, record.raw_stream.read())


def _record(url: str, truncated: str | None, content: Any, site: OrdinaryWeb, pages: dict[str, Any]) -> bool:
    """Return True for the record of a page, whose content is the one that was served."""
    if url not in pages:
        return False
    coding, payload = content
    body, decoded = site.body(*_page(site, url)), _DECODERS[coding](payload)
    if not (decoded and body.startswith(decoded) and (truncated or len(decoded) == len(body))):
        raise SystemExit(f"{url}: the archived content is not the one that was served")
    return True


def _same(what: str, found: Counter[Any], expected: Counter[Any]) -> None:
    if found != expected:
        more, less = found - expected, expected - found
        raise SystemExit(
            f"{what}: {more.total()} that were not served, such as {list(more)[:2]}; "
            f"{less.total()} are missing, such as {list(less)[:2]}"
        )
