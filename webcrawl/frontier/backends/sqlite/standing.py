"""How the crawl in a database stands, without changing anything in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from webcrawl.errors import JobdirUnusable
from webcrawl.frontier.backend import Counts
from webcrawl.frontier.backends.sqlite.opening import is_new, read_only, translate_opening
from webcrawl.frontier.backends.standing import Standing


def standing_of(path: Path, now: float) -> Standing:
    """Read ``path``, also while its crawl runs; ``now`` in epoch seconds.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with looking_at(path) as connection:
        return _read(connection, now)


@contextmanager
def looking_at(path: Path) -> Iterator[sqlite3.Connection]:
    """The database of a crawl, also while it runs, in a transaction that cannot change it: it shows one moment.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    if not path.is_file():
        raise JobdirUnusable(f"{path.parent} is no crawl with a frontier on disk: it has no {path.name}")
    try:
        with closing(read_only(path)) as connection:
            connection.execute("BEGIN")
            if is_new(connection, path, {}):
                raise JobdirUnusable(f"there is no crawl in {path} yet")
            yield connection
    except sqlite3.DatabaseError as error:
        raise translate_opening(error, path) from error


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
