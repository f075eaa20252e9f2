"""OpenSearch and Elasticsearch: a server with one index for all workers, reached over HTTP.

Changes are sent by the bulk API with the time at which the page was fetched as their version, so that of several
workers the last one counts; the server makes them searchable about once a second. The server divides text into words:
letters and digits, in scripts without spaces each character for itself, lower case, without accents, stems.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote, urlsplit

from webcrawl.search.characters import UNSPACED, UNSPACED_MARKS
from webcrawl.search.document import searchable_sites
from webcrawl.search.engine import (
    BOOSTS,
    NO_STEMMER,
    NOT_EXCLUDED_BY,
    Engine,
    EngineAway,
    EngineError,
    Hit,
    Options,
    SearchResults,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from webcrawl.search.document import IndexChange
    from webcrawl.search.engine import Piece, Query

TIMEOUT_SECONDS = 30.0
BULK_BYTES = 8_000_000
"""The approximate size of one request in bytes; servers accept 100 MB by default."""
SNIPPET_CHARACTERS = 200
LONGEST_TEXT = 1 << 24
"""Characters of a text in which the server may search for a snippet: as many as a text has at most."""

_BEGIN, _END = "\x02", "\x03"
"""Marks around matches, which no indexed text contains."""
_AWAY = frozenset({408, 429, 500, 502, 503, 504})
_CONFLICT, _MISSING = 409, 404
_ANSWER_SHOWN_MAX = 300


class OpenSearch(Engine):
    """The index is the path of the URL. It is created if it is missing; an existing one keeps its mapping."""

    is_server: ClassVar[bool] = True

    def __init__(self, folder: Path, options: Options) -> None:
        parts = urlsplit(options.url)
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname or "", parts.port
        self._index = parts.path.rstrip("/")
        self._stemmer = options.stemmer
        self._headers = {}
        if parts.username is not None:
            secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
        self._connection: http.client.HTTPConnection | None = None
        self._ready = False

    def begin(self) -> None:
        status, answer = self._request("PUT", self._index, _mapping(self._stemmer))
        if "already_exists" in json.dumps(answer):
            self._check_fields()
        elif status not in (200, 201):
            raise self._error(status, answer)
        self._ready = True

    def _check_fields(self) -> None:
        """:raises EngineError: the existing index lacks fields"""
        status, answer = self._request("GET", f"{self._index}/_mapping")
        if status != 200:
            raise self._error(status, answer)
        for mapping in answer.values():
            missing = BOOSTS.keys() - mapping["mappings"].get("properties", {}).keys()
            if missing:
                raise EngineError(
                    f"{self._host}{self._index} has no field {', '.join(sorted(missing))}, as an earlier version "
                    "made it; name another index in SEARCH_URL, or delete this one"
                )

    def put(self, changes: Sequence[IndexChange]) -> None:
        if not self._ready:
            self.begin()
        for body in _bulks({change.url: change for change in changes}.values()):
            status, answer = self._request("POST", f"{self._index}/_bulk?refresh=false", body)
            if status != 200:
                raise self._error(status, answer)
            for item in answer.get("items", ()):
                [result] = item.values()
                if result["status"] not in (200, 201, _CONFLICT, _MISSING):
                    raise self._error(result["status"], result.get("error"))

    def finish(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def search(self, query: Query, limit: int) -> SearchResults:
        status, answer = self._request("POST", f"{self._index}/_search", _search_body(query, limit))
        if status != 200:
            raise self._error(status, answer)
        hits = answer["hits"]
        return SearchResults([_hit(hit) for hit in hits["hits"]], hits["total"]["value"])

    def _request(self, method: str, path: str, body: dict[str, Any] | bytes | None = None) -> tuple[int, Any]:
        """Send a request; return status and answer. Raises EngineAway if there is no answer."""
        several = isinstance(body, bytes)
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/x-ndjson" if several else "application/json"
        try:
            connection = self._connected()
            connection.request(method, path, sent, {**self._headers, "Content-Type": kind})
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.finish()
            raise EngineAway(f"{self._host}: {_reason(error)}") from error
        try:
            return response.status, json.loads(data)
        except ValueError:
            return response.status, data[:_ANSWER_SHOWN_MAX].decode(errors="replace")

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            self._connection = kind(self._host, self._port, timeout=TIMEOUT_SECONDS)
        return self._connection

    def _error(self, status: int, answer: Any) -> EngineError:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        kind = EngineAway if status in _AWAY else EngineError
        return kind(f"{self._host}{self._index} answers with status {status}: {text[:_ANSWER_SHOWN_MAX]}")


def _reason(error: Exception) -> str:
    if isinstance(error, socket.timeout):
        return f"no answer for {TIMEOUT_SECONDS:g} seconds"
    return str(error) or type(error).__name__


def _mapping(stemmer: str) -> dict[str, Any]:
    filters: list[Any] = ["lowercase", "cjk_width"]
    unspaced = "".join(rf"\p{{Is{script}}}" for script in UNSPACED) + UNSPACED_MARKS
    word = rf"[{unspaced}]|[\p{{L}}\p{{M}}\p{{N}}&&[^{unspaced}]]+"
    stem = [] if stemmer == NO_STEMMER else ["stem"]
    # The stemmers of other languages need their accents.
    filters += ["asciifolding", *stem] if stemmer == "english" else [*stem, "asciifolding"]
    analysis: dict[str, Any] = {
        "tokenizer": {"words": {"type": "pattern", "pattern": word, "group": 0}},
        "analyzer": {"words": {"type": "custom", "tokenizer": "words", "filter": filters}},
    }
    if stem:
        analysis["filter"] = {"stem": {"type": "stemmer", "language": stemmer}}
    words = {"type": "text", "analyzer": "words"}
    name = {"type": "keyword"}
    properties = {
        "url": {"type": "keyword", "index": False, "doc_values": False},
        **dict.fromkeys(BOOSTS, words),
        "language": name,
        "site": name,
        "fetched": {"type": "date", "format": "epoch_millis"},
    }
    return {
        "settings": {"analysis": analysis, "index": {"highlight": {"max_analyzed_offset": LONGEST_TEXT}}},
        "mappings": {"dynamic": False, "properties": properties},
    }


def _bulks(changes: Iterator[IndexChange] | Any) -> Iterator[bytes]:
    """Yield the changes as bodies of bulk requests."""
    lines: list[bytes] = []
    size = 0
    for change in changes:
        for row in _rows(change):
            lines.append(json.dumps(row).encode() + b"\n")
            size += len(lines[-1])
        if size >= BULK_BYTES:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


def _rows(change: IndexChange) -> list[dict[str, Any]]:
    page, millis = change.document, int(change.at * 1000)
    about = {
        "_id": hashlib.sha256(change.url.encode("utf-8", "replace")).hexdigest(),
        "version": millis,
        "version_type": "external_gte",
    }
    if page is None:
        return [{"delete": about}]
    source = {
        "url": change.url,
        "title": page.title,
        "headings": page.headings,
        "text": page.text,
        "boilerplate": page.boilerplate,
        "language": page.language,
        "site": searchable_sites(change.url),
        "fetched": millis,
    }
    return [{"index": about}, source]


def _search_body(query: Query, limit: int) -> dict[str, Any]:
    filters = [
        {"term": {field: value}}
        for field, value in (("site", query.site), ("language", query.language))
        if value is not None
    ]
    clauses = {
        "must": [_any(choice) for choice in query.required],
        "must_not": [_any((text,), without=NOT_EXCLUDED_BY) for text in query.excluded],
        "filter": filters,
    }
    highlight = {
        "pre_tags": [_BEGIN],
        "post_tags": [_END],
        "fields": {
            "text": {
                "number_of_fragments": 1,
                "fragment_size": SNIPPET_CHARACTERS,
                "no_match_size": SNIPPET_CHARACTERS,
            }
        },
    }
    return {
        "size": limit,
        "track_total_hits": True,
        "query": {"bool": clauses},
        "highlight": highlight,
        "_source": ["url", "title", "language", "fetched"],
    }


def _any(choice: Sequence[str], without: str = "") -> dict[str, Any]:
    """Return a query for one of several words or phrases, in any field but one."""
    fields = [f"{field}^{boost:g}" for field, boost in BOOSTS.items() if field != without]
    each = [{"multi_match": {"query": text, "type": "phrase", "fields": fields}} for text in choice]
    return each[0] if len(each) == 1 else {"bool": {"should": each, "minimum_should_match": 1}}


def _hit(hit: dict[str, Any]) -> Hit:
    page = hit["_source"]
    [snippet] = hit.get("highlight", {}).get("text") or [""]
    return Hit(
        url=page["url"],
        title=page.get("title") or "",
        language=page.get("language"),
        score=float(hit["_score"] or 0.0),
        at=page["fetched"] / 1000,
        snippet=list(_pieces(snippet)),
    )


def _pieces(snippet: str) -> Iterator[Piece]:
    plain, *marked = snippet.split(_BEGIN)
    if plain:
        yield plain, False
    for piece in marked:
        word, _, rest = piece.partition(_END)
        yield word, True
        if rest:
            yield rest, False
