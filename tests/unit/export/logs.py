"""A fetch log of every kind of line, also of lines that nobody should have written; the same for each seed."""

from __future__ import annotations

import random
from typing import Any

T0 = 1_790_000_000.0
HOSTS = [
    "www.a.test",
    "a.test",
    "b.co.uk",
    "news.b.co.uk",
    "[2001:db8::1]",
    "192.0.2.7",
    "c.example",
    "localhost",
]
HOSTILE = [
    {"url": "http://www.a.test/\x1b[31m<script>alert(1)</script>\u202e/x", "mime": "<b>\x07", "status": 200},
    {"url": "http://\ud800.test/", "key": "\ud800.test", "error": "dns\n", "kind": "page"},
    {"url": "not a url", "key": "", "kind": "page", "status": 200, "depth": "deep", "bytes": True},
    {"url": ["http://a.test/"], "key": None, "status": "200", "start": "soon", "end": None, "clocks": [1]},
    {"url": "http://no-slash.test", "kind": 7, "status": 10**30, "start": -1e300, "end": 1e300, "bytes": -5},
    {"language": {"no": "text"}, "digest": 5, "robots": ["rules"], "delay": "5", "more": "mine"},
    {},
]
"""Lines with what may break a page, a terminal or a type."""


def line(source: random.Random, at: float, worker: str = "w1") -> dict[str, Any]:
    host = source.choice(HOSTS)
    path = source.choice(["", "a/", "a/b", "a/b/c.html", "a/b/c/d?x=1/2", "index.html", "b/c/"])
    start = T0 + at
    found: dict[str, Any] = {
        "start": round(start, 6),
        "end": round(start + source.choice([0.0, 0.01, 0.3, 4.0]), 6),
        "url": f"http://{host}/{path}",
        "key": host.removeprefix("www.").removeprefix("news."),
        "ip": "192.0.2.1",
        "kind": "page",
        "mime": source.choice(["text/html", "text/plain", "image/png", None]),
        "bytes": int(source.lognormvariate(8, 3)),
        "location": None,
        "via": None,
        "depth": source.randrange(6),
        "worker": worker,
        "delay": source.choice([0.0, 1.0, 5.0, 60.0]),
        "number": 1,
    }
    if source.random() < 0.15:
        found |= {"error": source.choice(["dns", "timeout", "reset"]), "bytes": 0, "mime": None}
    else:
        found["status"] = source.choice([200] * 8 + [301, 404, 500])
    if found.get("status") == 301:
        found["location"] = "/a/b"
    if source.random() < 0.2:
        state = source.choice(["rules", "allowed_all", "unreachable"])
        found |= {"kind": "robots", "url": f"http://{host}/robots.txt", "origin": f"http://{host}"}
        found |= {"robots": state, "until": start + 60}
    elif found.get("status") == 200:
        found |= {"digest": f"sha1:{source.randrange(40)}", "language": source.choice(["en", "de", "fr"])}
    if source.random() < 0.05:
        found |= {"truncated": "length", "attempt": 2}
    if source.random() < 0.03:
        found["lost_at"] = found["end"]
        del found["delay"], found["number"]
    return found


def log(seed: int, count: int = 600, worker: str = "w1") -> list[dict[str, Any]]:
    """A log of one worker, in the order in which requests were settled."""
    source = random.Random(seed)
    at, lines = 0.0, []
    for _ in range(count):
        at += source.expovariate(0.5)
        lines.append(line(source, at, worker))
    return sorted(lines, key=lambda one: one["end"])
