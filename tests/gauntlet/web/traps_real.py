"""Real software whose sites never end: Datasette with two tables, and hgweb with a small repository.

The server of the gauntlet stands before them: it passes each request on, and writes down what was answered.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
from contextlib import closing
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, http_answer
from tests.gauntlet.software import TABLES, Programs
from tests.gauntlet.web.site import Host, Respond, Site

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request

CONTENTS = "contents.jsonl"
"""The file with host, path, status and digest of each answer."""
PASSED = ("content-type", "location", "link", "etag", "last-modified")
SECONDS = 900.0
"""A crawl ends by itself long before, if the machine has nothing else to do."""
NOFOLLOW = b'content="index, nofollow"'
"""What hgweb's own templates have in each page: it is taken out, as sites with templates of their own do."""


def build(number: int) -> Site:
    """Return the site."""
    site = Site("traps-real", number)
    programs: dict[str, Programs] = {}
    rows = {f"/data/{table}/{row}" for table, count in TABLES.items() for row in range(1, count + 1)}
    site.add(
        Host("datasette", _passed_on(site, "datasette", programs), wanted=frozenset({"/", "/data", *rows}))
    )
    site.add(Host("hgweb", _passed_on(site, "hgweb", programs), wanted=frozenset({"/"})))

    def start() -> None:
        programs["all"] = Programs(site.folder)
        programs["all"].start()

    site.start, site.stop = start, lambda: programs["all"].stop()
    return site


def _passed_on(site: Site, name: str, programs: dict[str, Programs]) -> Respond:
    def respond(request: Request, visit: int) -> Answer | None:
        client = http.client.HTTPConnection("127.0.0.1", programs["all"].ports[name], timeout=20)
        with closing(client):
            client.request(request.method, request.path, headers={"Host": request.header("Host") or ""})
            answer = client.getresponse()
            body = answer.read().replace(NOFOLLOW, b'content="index"')
        line = {"host": name, "path": request.path, "status": answer.status, "digest": digest(body)}
        with (site.folder / CONTENTS).open("a") as file:
            file.write(json.dumps(line) + "\n")
        headers = [(key, value) for key, value in answer.getheaders() if key.lower() in PASSED]
        return http_answer(answer.status, body, headers, mime=None)

    return respond


_TIMINGS = re.compile(rb"[\d.]+\s*ms\b")
_TAGS = re.compile(rb"<(script|style).*?</\1>|<[^>]*>", re.DOTALL)


def digest(body: bytes) -> str:
    """Return what is equal for answers that say the same in whatever order: of the set of their words."""
    words = set(_TAGS.sub(b" ", _TIMINGS.sub(b"", body)).split())
    return hashlib.sha256(b" ".join(sorted(words))).hexdigest()[:16]
