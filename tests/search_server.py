"""A server on loopback that understands of OpenSearch what a crawl says to it: bulk requests, and searches.

Words are read plainly: lower case, without stems, each character for itself in some scripts. It answers with errors
when a test tells it to.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_UNSPACED = r"\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")


class SearchServer:
    """Holds the documents of one index; ``with`` it runs."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        self.versions: dict[str, int] = {}
        self.mapping: dict[str, Any] | None = None
        self.asked: Counter[str] = Counter()
        self.authorizations: set[str | None] = set()
        self.failures: list[int] = []
        """Statuses with which the next requests are answered."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/pages"

    def __enter__(self) -> SearchServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        self.asked[f"{method} {path.partition('?')[0]}"] += 1
        if self.failures:
            return self.failures.pop(0), {"error": "told to"}
        if method == "PUT":
            return self._create(json.loads(body))
        if self.mapping is None:
            return 404, {"error": {"type": "index_not_found_exception"}}
        if method == "GET":
            assert not body
            return 200, {path.split("/")[1]: {"mappings": self.mapping["mappings"]}}
        if "_bulk" in path:
            return 200, {"items": list(self._bulk(body))}
        return 200, self._search(json.loads(body))

    def _create(self, mapping: dict[str, Any]) -> tuple[int, Any]:
        if self.mapping is not None:
            return 400, {"error": {"type": "resource_already_exists_exception"}}
        self.mapping = mapping
        return 200, {"acknowledged": True}

    def _bulk(self, body: bytes) -> Any:
        assert body.endswith(b"\n")
        lines = iter([json.loads(line) for line in body.splitlines()])
        for line in lines:
            [(action, about)] = line.items()
            source = next(lines) if action == "index" else None
            name = about["_id"]
            if about["version"] < self.versions.get(name, 0):
                yield {action: {"_id": name, "status": 409, "error": "version_conflict_engine_exception"}}
                continue
            self.versions[name] = about["version"]
            was = self.documents.pop(name, None)
            if source is not None:
                self.documents[name] = source
            yield {action: {"_id": name, "status": 200 if source or was else 404}}

    def _search(self, asked: dict[str, Any]) -> dict[str, Any]:
        found = []
        for source in self.documents.values():
            clauses = asked["query"]["bool"]
            scores = [self._score(clause, source) for clause in clauses["must"]]
            kept = all(
                value in (source[field] if isinstance(source[field], list) else [source[field]])
                for clause in clauses["filter"]
                for field, value in clause["term"].items()
            )
            unwanted = any(self._score(clause, source) for clause in clauses["must_not"])
            if all(scores) and kept and not unwanted:
                found.append((sum(scores), source))
        found.sort(key=lambda pair: -pair[0])
        hits = [
            {
                "_score": score,
                "_source": {name: source[name] for name in asked["_source"]},
                "highlight": {"text": [self._highlighted(source["text"], asked)]},
            }
            for score, source in found[: asked["size"]]
        ]
        return {"hits": {"total": {"value": len(found)}, "hits": hits}}

    def _score(self, clause: dict[str, Any], source: dict[str, Any]) -> float:
        if "bool" in clause:
            return max(self._score(each, source) for each in clause["bool"]["should"])
        asked = clause["multi_match"]
        assert asked["type"] == "phrase"
        words = WORD.findall(asked["query"].lower())
        score = 0.0
        for field in asked["fields"]:
            name, _, boost = field.partition("^")
            there = WORD.findall((source[name] or "").lower())
            times = sum(there[start : start + len(words)] == words for start in range(len(there)))
            score += times * float(boost or 1) / (len(there) + 10)
        return score

    def _highlighted(self, text: str, asked: dict[str, Any]) -> str:
        [before], [behind] = asked["highlight"]["pre_tags"], asked["highlight"]["post_tags"]
        wanted = set(WORD.findall(json.dumps(asked["query"]["bool"]["must"]).lower()))
        return WORD.sub(
            lambda word: before + word[0] + behind if word[0].lower() in wanted else word[0], text
        )

    def _handler(server: Any) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the other self is the handler
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_POST(self) -> None:
                server.authorizations.add(self.headers.get("Authorization"))
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                status, answer = server.answer(self.command, self.path, body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_PUT = do_GET = do_POST  # noqa: N815 - as the library calls it

            def log_message(self, *_: object) -> None:
                pass

        return Handler
