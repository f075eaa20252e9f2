"""Finds the captures of a URL in the archive of a crawl, and shows a stored page in a browser. All functions block.

A stored page is hostile. It is given to the browser in a sandbox: no script runs, no form is sent, nothing is
fetched, and links to other addresses cannot replace it in the frame of the dashboard. Its own headers are not sent.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from webcrawl.archive import fetchlog
from webcrawl.archive.captures import REVISIT, StoredCapture, find_captures, read_capture
from webcrawl.archive.disk import ArchiveError
from webcrawl.archive.records import uri
from webcrawl.archive.repair import WARC_FOLDER
from webcrawl.errors import CrawlError
from webcrawl.fetching.decoding import decode
from webcrawl.links.reading import LinkLogs
from webcrawl.parsing.charset import detect_encoding
from webcrawl.parsing.mime import document_type, mime_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webcrawl.archive.captures import CaptureContent
    from webcrawl.web.dashboard.source import CrawlSource

RECORD_BYTES_MAX = 64 << 20
"""The longest record that is read."""
BODY_BYTES_MAX = 8 << 20
"""The part of a body, without its content coding, that is shown."""
VERSIONS_SHOWN = 200
LINKS_SHOWN = 500
DUPLICATES_SHOWN = 100
HEADERS_BYTES_MAX = 64 << 10

SANDBOX = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
    "X-DNS-Prefetch-Control": "off",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of a stored page. A sandbox without ``allow-scripts`` also ignores ``meta refresh``."""

_IMAGES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/x-icon"}
)
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(
    r"text/|application/(?:[a-z0-9.+-]*\+)?(?:json|xml|javascript|ecmascript|yaml)\b|image/svg\+xml"
)
_RECORD = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,250}\.warc\.gz)@(\d{1,15})")
_FIELD = re.compile(rb"^([!#$%&'*+.^_`|~0-9A-Za-z-]++)[ \t]*+:[ \t]*+((?:.*[^ \t\r\n])?)", re.MULTILINE)
_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+(\d{3})")
_TITLE = re.compile(r"<title\b[^<>]*+>([^<]*+(?:<(?!/title)[^<]*+)*+)", re.IGNORECASE | re.DOTALL)
_LINK = re.compile(r"<link(?=[\s/>])", re.IGNORECASE)


class NoVersion(Exception):  # noqa: N818 - a state of the archive
    """The archive does not have what was asked for; the message says why."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A body as it is sent to a browser."""

    body: bytes
    content_type: str
    is_download: bool = False


class VersionRow(TypedDict):
    """A stored version of a URL."""

    record: Annotated[str, "Names the version in other requests."]
    at: float | None
    status: float | None
    mime: str | None
    revisit: Annotated[bool, "Its body is that of an earlier capture."]
    digest: str | None


class VersionDetails(TypedDict):
    """The content of a stored version."""

    headers: Annotated[list[list[str]], "Pairs of name and value; the status line has no name."]
    warc: Annotated[dict[str, str], "The fields of its WARC record."]
    fields: dict[str, Any]
    truncated: str | None


class StoredLink(TypedDict):
    """A link of a page."""

    url: str
    type: str
    text: str


class PagesAnswer(VersionDetails):
    """The versions of a URL in the archive."""

    url: str
    versions: list[VersionRow]
    record: Annotated[str, "The version that the other members describe."]
    links: list[StoredLink]
    duplicates: list[str]
    duplicate_of: str | None
    note: str | None


class HitRow(TypedDict):
    """A page that matches a search."""

    url: str
    title: str | None
    language: str | None
    at: float | None
    snippet: str | None


class SearchAnswer(TypedDict):
    """The pages that match best."""

    rows: list[HitRow]
    total: int


def describe(source: CrawlSource, url: str, record: str | None = None) -> PagesAnswer:
    """Return what the archive has of a URL: its versions, the last one first; details of the version ``record``, or
    the last; links of the page's last fetch; URLs of the same content.

    :raises NoVersion: there is none :raises CrawlError: something cannot be read :raises ValueError: it is no URL
    """
    if source.folder is None:
        raise NoVersion("the archive of this crawl is in the JOBDIRs of its workers")
    named = source.explanation(url, reads_logs=False)["url"]
    resolved = str(named["resolved"])
    captures = [capture for capture in _captures(source, resolved) if capture.url == uri(resolved)]
    if not captures:
        raise NoVersion(f"the archive in {source.folder} has no version of this URL")
    captures = captures[::-1]
    chosen = next((capture for capture in captures if _name(capture) == record), captures[0])
    lines = {} if source.has_long_log() else _logged(source, resolved)
    return {
        "url": resolved,
        "versions": [_version(capture) for capture in captures[:VERSIONS_SHOWN]],
        "record": _name(chosen),
        **_details(source, chosen),
        "links": _links(source, str(named.get("canonical") or resolved)),
        "duplicates": lines.get("duplicates", []),
        "duplicate_of": lines.get("duplicate_of"),
        "note": None if source.is_whole else f"of the worker in {source.folder}",
    }


def _captures(source: CrawlSource, url: str) -> list[StoredCapture]:
    try:
        return find_captures(url, source.folders)
    except ArchiveError as error:
        raise CrawlError(str(error)) from error


def _name(capture: StoredCapture) -> str:
    return f"{capture.filename}@{capture.offset}"


def _version(capture: StoredCapture) -> VersionRow:
    status = capture.status or ""
    return {
        "record": _name(capture),
        "at": _seconds(capture.timestamp),
        "status": int(status) if status.isdigit() else None,
        "mime": None if capture.mime == REVISIT else capture.mime,
        "revisit": capture.mime == REVISIT,
        "digest": capture.digest,
    }


def _seconds(timestamp: str) -> float | None:
    with suppress(ValueError):
        return datetime.strptime(timestamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
    return None


def _details(source: CrawlSource, capture: StoredCapture) -> VersionDetails:
    try:
        content = _content(source, capture)
    except NoVersion as error:
        return {"headers": [], "warc": {}, "fields": {"unreadable": str(error)}, "truncated": None}
    kind, body, is_whole = _body(content)
    fields: dict[str, Any] = {"type": kind or None, "bytes": len(content.payload)}
    if kind in _HTML and (title := _TITLE.search(_decoded(body, content))):
        fields["title"] = " ".join(unescape(title[1]).split())[:500]
    if content.original is not None:
        fields["same_body_as"] = f"{content.original.url} of {content.original.timestamp}"
    cut = None if content.original is not None else content.fields.get("warc-truncated")
    return {
        "headers": _headers(content),
        "warc": {name: value[:2000] for name, value in list(content.fields.items())[:40]},
        "fields": fields,
        "truncated": cut or (None if is_whole else f"only {BODY_BYTES_MAX:,} bytes are shown"),
    }


def _headers(content: CaptureContent) -> list[list[str]]:
    head = content.head[:HEADERS_BYTES_MAX]
    status, _, _ = head.partition(b"\n")
    headers = [["", status.decode("latin-1").strip()]] if head else []
    return headers + [[name.decode(), value.decode("latin-1")] for name, value in _FIELD.findall(head)]


def _content(source: CrawlSource, capture: StoredCapture) -> CaptureContent:
    """:raises NoVersion: it cannot be read, with the reason"""
    try:
        return read_capture(capture, source.folders, bytes_max=RECORD_BYTES_MAX)
    except ArchiveError as error:
        raise NoVersion(str(error)) from error


def _body(content: CaptureContent) -> tuple[str, bytes, bool]:
    """Return MIME type, body without content coding, and whether that is all of it."""
    message = {name.lower(): value.decode("latin-1") for name, value in _FIELD.findall(content.head)}
    declared = message.get(b"content-type", "") if content.head else content.fields.get("content-type", "")
    decoded = decode(content.payload, message.get(b"content-encoding", ""), BODY_BYTES_MAX)
    body = decoded.body[:BODY_BYTES_MAX]
    kind = document_type(mime_type(declared), body) or mime_type(declared) or ""
    return kind, body, not decoded.truncated and len(decoded.body) <= BODY_BYTES_MAX


def _decoded(body: bytes, content: CaptureContent) -> str:
    message = {name.lower(): value.decode("latin-1") for name, value in _FIELD.findall(content.head)}
    declared = message.get(b"content-type", "") if content.head else content.fields.get("content-type", "")
    return body.decode(detect_encoding(body, declared), "replace")


def show(source: CrawlSource, record: str) -> Shown:
    """Return the body of a stored version for a browser: HTML and text in UTF-8, images as they are, anything else as
    a download.

    :raises NoVersion: there is none, or it cannot be read
    :raises ValueError: ``record`` is none that ``describe`` gave
    """
    match = _RECORD.fullmatch(record)
    if match is None:
        raise ValueError("record names no stored version")
    if source.folder is None:
        raise NoVersion("the archive of this crawl is in the JOBDIRs of its workers")
    holding = next((one for one in source.folders if (one / WARC_FOLDER / match[1]).exists()), source.folder)
    capture = StoredCapture("", "", "", None, None, holding, match[1], int(match[2]))
    content = _content(source, capture)
    kind, body, _ = _body(content)
    if kind in _HTML:
        # No policy keeps a browser from looking up and connecting to hosts that a link element names.
        text = _LINK.sub("<wbr", _decoded(body, content))
        return Shown(text.encode("utf-8", "replace"), "text/html; charset=utf-8")
    if kind in _IMAGES:
        return Shown(body, kind)
    if _TEXT.match(kind) or (not kind and b"\0" not in body):
        return Shown(_decoded(body, content).encode("utf-8", "replace"), "text/plain; charset=utf-8")
    return Shown(body, "application/octet-stream", is_download=True)


def _links(source: CrawlSource, canonical_url: str) -> list[StoredLink]:
    try:
        linking = LinkLogs(source.folders).of(canonical_url)
    except (ArchiveError, OSError):
        return []
    links = [] if linking is None else linking.links
    return [{"url": link.to, "type": link.type, "text": link.text[:200]} for link in links[:LINKS_SHOWN]]


def _logged(source: CrawlSource, url: str) -> dict[str, Any]:
    """Return what the fetch log says of copies: ``duplicate_of`` of the last fetch, and ``duplicates``."""
    fields: dict[str, Any] = {}
    duplicates: dict[str, None] = {}
    for line in _lines(source, url):
        if line.get("url") == url:
            fields["duplicate_of"] = line.get("duplicate_of")
        elif line.get("duplicate_of") == url and len(duplicates) < DUPLICATES_SHOWN:
            duplicates[str(line.get("url"))] = None
    return {**fields, "duplicates": list(duplicates)}


def _lines(source: CrawlSource, url: str) -> Iterator[Mapping[str, Any]]:
    for folder in source.folders:
        with suppress(ArchiveError, OSError):
            yield from fetchlog.read(folder, lambda damage: None, holding=json.dumps(url).encode())


# -- full text -------------------------------------------------------------------------------------------------


def search(source: CrawlSource, words: str, limit: int) -> SearchAnswer:
    """Return ``rows``, the pages that match best, and ``total``.

    :raises NoVersion: the crawl keeps no index :raises ValueError: the query is wrong :raises CrawlError:
    """
    # An engine may import a large library.
    from webcrawl.search import engine
    from webcrawl.search.finding import IndexSettings, NoIndexError
    from webcrawl.search.finding import search as find

    chosen = source.configuration
    if source.folder is None and chosen.search_url is None:
        raise NoVersion("the search index of this crawl is in the JOBDIRs of its workers")
    try:
        parsed = engine.read(words)
    except engine.QueryError as error:
        raise ValueError(f"the query {error}") from error
    settings = IndexSettings(chosen.search_engine, chosen.search_url, chosen.search_stemmer)
    try:
        results = find(source.folders, settings, parsed, limit)
    except NoIndexError as error:
        raise NoVersion(str(error)) from error
    rows: list[HitRow] = [
        {
            "url": hit.url,
            "title": hit.title,
            "language": hit.language,
            "at": hit.at,
            "snippet": "".join(text for text, _ in hit.snippet),
        }
        for hit in results.hits
    ]
    return {"rows": rows, "total": results.count}
