"""Read-only inspection of a crawl's database: its URLs, the impact of an exclusion, one URL, and the status of the
crawl."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from webcrawl.errors import JobdirDamaged, JobdirUnusable
from webcrawl.frontier.records import State, UrlEntry
from webcrawl.frontier.seen import Seen
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import Counts
from webcrawl.storage.inspection import (
    HOSTS_COUNTED,
    Activity,
    Asked,
    CrawlStatus,
    ExclusionImpact,
    KeySnapshot,
    Known,
    UrlSnapshot,
)
from webcrawl.storage.sqlite.keys import parse
from webcrawl.storage.sqlite.opening import is_new, read_only, translate_opening


def standing_of(path: Path, now: float) -> CrawlStatus:
    """Read the status of the crawl in ``path``, also while it runs; ``now`` in epoch seconds.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with looking_at(path) as connection:
        return _read_standing(connection, now)


@contextmanager
def looking_at(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database of a crawl, also while it runs, in a transaction that cannot change it: it shows one moment.

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


def _read_standing(connection: sqlite3.Connection, now: float) -> CrawlStatus:
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
    return CrawlStatus(now, counts, active, [])


_QUEUED = (
    "SELECT url, key, fingerprint, -rank, position, depth, via, kind, redirects, attempts, repeat, payload, "
    "listed, traits "
    "FROM hosts JOIN queue ON host_id = id WHERE hosts.queued > 0 AND kind NOT IN ('robots', 'websub') "
    "ORDER BY host_id, rank, position"
)
_AT_ONCE = 10_000


@contextmanager
def books_of(path: Path) -> Iterator[SqliteBooks]:
    """Open ``path``, also while its crawl runs. All results are of one moment.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with looking_at(path) as connection:
        yield SqliteBooks(connection)


class SqliteBooks:
    """The ``UrlStateReader`` of a database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._ask = connection.execute
        row = self._ask("SELECT value FROM meta WHERE name = 'FRONTIER_SEEN'").fetchone()
        self.states_kept = row != ("bloom",)

    def queued(self) -> Iterator[UrlEntry]:
        for row in self._ask(_QUEUED):
            entry = UrlEntry(*row)
            entry.repeat = bool(entry.repeat)
            yield entry

    def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, Known]:
        host = self._ask("SELECT id FROM hosts WHERE key = ?", (key,)).fetchone()
        if host is None:
            return {}
        asked = ",".join("?" * len(fingerprints))
        rows = self._ask(
            f"SELECT fingerprint, state, rule FROM seen WHERE host_id = ? AND fingerprint IN ({asked})",
            (host[0], *fingerprints),
        )
        return {fingerprint: Known(State(state), rule) for fingerprint, state, rule in rows}

    def refused(self) -> Iterator[Sequence[int]]:
        rows = self._ask("SELECT fingerprint FROM seen WHERE state = ?", (State.REFUSED,))
        while some := rows.fetchmany(_AT_ONCE):
            yield [fingerprint for (fingerprint,) in some]


def reach_of(path: Path, asked: Asked) -> ExclusionImpact:
    """Read the impact of an exclusion from ``path``, also while its crawl runs. Memory does not grow with its queues.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with looking_at(path) as connection:
        return _read_reach(connection, asked)


def _read_reach(connection: sqlite3.Connection, asked: Asked) -> ExclusionImpact:
    reach = ExclusionImpact()
    rows = connection.execute("SELECT id, key, active FROM hosts WHERE queued > 0")
    for host_id, key, active in rows:
        if asked.may_have(key):
            urls = connection.execute("SELECT url FROM queue WHERE host_id = ?", (host_id,))
            reach.add(sum(asked.is_hit(url) for (url,) in urls), is_leased=bool(active))
    return reach


_HOST = (
    "SELECT id, next_fetch_at, delay_seconds, queued, active, parked, given_up, record, level FROM hosts "
    "WHERE key = ?"
)
_HOSTS_BEFORE = (
    "SELECT count(*) FROM (SELECT 1 FROM hosts WHERE idle = 1 AND level = ? AND next_fetch_at < ? LIMIT ?)"
)
_ENTRY = (
    "SELECT url, rank, position, depth, via, kind, redirects, attempts, repeat, payload, listed, traits FROM queue "
    "WHERE host_id = ? AND fingerprint = ? AND kind != 'robots' ORDER BY repeat, rank, position LIMIT 1"
)
_BEFORE = "SELECT count(*) FROM queue WHERE host_id = ? AND (rank, position) < (?, ?)"
_ROBOTS = (
    "SELECT origin, state, fetched_at, expires_at, text, crawl_delay_seconds, attempts FROM robots "
    "WHERE origin = ?"
)


def sighting_of(
    path: Path, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str, now: float
) -> UrlSnapshot:
    """Read the snapshot of one URL from ``path``, also while its crawl runs. All results are of one moment.

    ``key_of`` gets the settings with which the crawl was begun, and returns the politeness key of the URL. The entry
    of a queued URL is found by a scan of its key's queue, within SQLite.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with looking_at(path) as connection:
        return _Look(connection, path, key_of, fingerprint).sighting(origin, now)


class _Look:
    """One look, in one transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        key_of: Callable[[Mapping[str, str]], str],
        fingerprint: int,
    ) -> None:
        self._ask = connection.execute
        self._path = path
        self._fingerprint = fingerprint
        self._meta: dict[str, str] = dict(self._ask("SELECT name, value FROM meta").fetchall())
        self._key = key_of(self._meta)

    def sighting(self, origin: str, now: float) -> UrlSnapshot:
        host = self._ask(_HOST, (self._key,)).fetchone()
        entry = None if host is None else self._entry(host[0])
        known, state, rule = self._seen(None if host is None else host[0], entry)
        robots = self._ask(_ROBOTS, (origin,)).fetchone()
        return UrlSnapshot(
            now=now,
            known=known,
            state=state,
            entry=entry,
            before=0 if entry is None else self._before(host[0], entry),
            key=None if host is None else self._of_key(host),
            robots=None if robots is None else RobotsRecord(*robots),
            rule=rule,
            rules_kept=self._meta.get("FRONTIER_SEEN") != "bloom",
            settings=self._meta,
        )

    def _of_key(self, host: tuple[int, float, float, int, int, int, int, str | None, int]) -> KeySnapshot:
        _, next_fetch_at, delay_seconds, queued, active, parked, given_up, text, level = host
        record = parse(text) if text else HostRecord(self._key)
        # The columns count: a restart may have changed them. For a blocked key, the column does not hold its own
        # time.
        if next_fetch_at != record.blocked_until:
            record.next_fetch_at = next_fetch_at
            record.blocked_until = 0.0
        record.delay_seconds, record.parked, record.given_up = delay_seconds, bool(parked), bool(given_up)
        if active:
            activity = Activity.ACTIVE
        elif given_up:
            activity = Activity.GIVEN_UP
        else:
            activity = Activity.IDLE if queued else Activity.EMPTY
        before = None
        if activity is Activity.IDLE:
            [before] = self._ask(_HOSTS_BEFORE, (level, next_fetch_at, HOSTS_COUNTED)).fetchone()
        return KeySnapshot(record, queued, activity, hosts_before=before)

    def _entry(self, host_id: int) -> UrlEntry | None:
        row = self._ask(_ENTRY, (host_id, self._fingerprint)).fetchone()
        if row is None:
            return None
        url, rank, position, depth, via, kind, redirects, attempts, repeat, payload, *rest = row
        place = (self._key, self._fingerprint, -rank, position)
        return UrlEntry(url, *place, depth, via, kind, redirects, attempts, bool(repeat), payload, *rest)

    def _before(self, host_id: int, entry: UrlEntry) -> int:
        [before] = self._ask(_BEFORE, (host_id, -entry.level, entry.position)).fetchone()
        return int(before)

    def _seen(self, host_id: int | None, entry: UrlEntry | None) -> tuple[bool, State | None, str | None]:
        """Return whether the URL is known, its state and the rule."""
        if self._meta.get("FRONTIER_SEEN") == "bloom":
            queued = entry is not None and not entry.repeat
            return queued or self._in_filter(), State.QUEUED if queued else None, None
        row = self._ask(
            "SELECT state, rule FROM seen WHERE host_id = ? AND fingerprint = ?", (host_id, self._fingerprint)
        ).fetchone()
        return (False, None, None) if row is None else (True, State(row[0]), row[1])

    def _in_filter(self) -> bool:
        """Return True if the Bloom filter or its journal has it. The filter is read into memory for that."""
        found = self._ask("SELECT 1 FROM seen_journal WHERE fingerprint = ?", (self._fingerprint,)).fetchone()
        generation = int(self._meta.get("bloom_generation", "0"))
        if found is not None or not generation:
            return found is not None
        path = self._path.with_name(f"seen-{generation}.bloom")
        try:
            # The URL is added only to this copy of the filter.
            return not Seen.load(path).add(self._fingerprint)
        except (OSError, ValueError) as error:
            raise JobdirDamaged(f"the seen filter: {error}") from error
