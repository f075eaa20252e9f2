"""How the crawl in a database stands, without changing anything in it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from webcrawl.errors import JobdirUnusable
from webcrawl.frontier.backend import Counts
from webcrawl.frontier.backends.sqlite.opening import is_new, read_only, translate_opening
from webcrawl.frontier.backends.standing import Standing


def standing_of(path: Path, now: float) -> Standing:
    """Read ``path``, also while its crawl runs; ``now`` in epoch seconds.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    try:
        with closing(open_to_look(path)) as connection:
            return _read(connection, now)
    except sqlite3.DatabaseError as error:
        raise translate_opening(error, path) from error


def open_to_look(path: Path) -> sqlite3.Connection:
    """A connection to the database of a crawl that cannot change it, in a transaction: it shows one moment."""
    if not path.is_file():
        raise JobdirUnusable(f"{path.parent} is no crawl with a frontier on disk: it has no {path.name}")
    connection = read_only(path)
    try:
        connection.execute("BEGIN")
        if is_new(connection, path, {}):
            raise JobdirUnusable(f"there is no crawl in {path} yet")
    except BaseException:
        connection.close()
        raise
    return connection


def _read(connection: sqlite3.Connection, now: float) -> Standing:
    row = connection.execute("SELECT queued, done, failed, refused, hosts FROM totals").fetchone()
    counts = Counts(*row)
    [active] = connection.execute("SELECT count(*) FROM hosts WHERE active = 1").fetchone()
    parked = connection.execute("SELECT count(*) FROM hosts WHERE parked = 1 AND idle = 1").fetchone()
    given_up = connection.execute("SELECT count(*), total(queued) FROM hosts WHERE given_up = 1").fetchone()
    counts.parked_hosts, counts.given_up_hosts, counts.given_up_urls = (
        parked[0],
        given_up[0],
        int(given_up[1]),
    )
    return Standing(now, counts, active, [])
