"""What lies beside what a crawl knows of: found by a walk over all names in Redis."""

from __future__ import annotations

import re
from collections.abc import Sequence

from webcrawl.frontier.backends.findings import Kind
from webcrawl.frontier.backends.redis.audit.flaws import Flaws
from webcrawl.frontier.backends.redis.audit.reading import Reader
from webcrawl.frontier.backends.redis.server import Server


async def strays(server: Server, spider: str, readers: Sequence[Reader]) -> Flaws:
    """Shards that the crawl does not have, and names that nobody uses."""
    flaws = Flaws("")
    used = [{*reader.names.fixed, *reader.names.others} for reader in readers]
    begins = [(reader.names.clocks, reader.names.visits) for reader in readers]
    beyond: set[int] = set()
    tag = f"{{{spider}:".encode()
    pattern = re.sub(rb"([*?\[\]\\])", rb"\\\1", tag) + b"*}:*"
    async for names in server.scan(pattern):
        for name in names:
            digits = name[len(tag) :].partition(b"}:")[0]
            if not digits.isdigit():
                continue
            number = int(digits)
            if number >= len(readers):
                beyond.add(number)
            elif name not in used[number] and not name.startswith(begins[number]):
                flaws.add(Kind.STRAY, name.decode("utf-8", "replace"), "nobody uses it")
    for number in sorted(beyond):
        flaws.add(Kind.STRAY, f"shard {number}", f"the crawl has {len(readers)}")
    return flaws
