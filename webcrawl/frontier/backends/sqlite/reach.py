"""What an exclusion would hit of the crawl in a database, without changing anything in it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from webcrawl.frontier.backends.reach import Asked, Reach
from webcrawl.frontier.backends.sqlite.standing import looking_at


def reach_of(path: Path, asked: Asked) -> Reach:
    """Read ``path``, also while its crawl runs. Memory does not grow with its queues.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with looking_at(path) as connection:
        return _read(connection, asked)


def _read(connection: sqlite3.Connection, asked: Asked) -> Reach:
    reach = Reach()
    rows = connection.execute("SELECT id, key, active FROM hosts WHERE queued > 0")
    for host_id, key, active in rows:
        if asked.may_have(key):
            urls = connection.execute("SELECT url FROM queue WHERE host_id = ?", (host_id,))
            reach.add(sum(asked.is_hit(url) for (url,) in urls), is_leased=bool(active))
    return reach
