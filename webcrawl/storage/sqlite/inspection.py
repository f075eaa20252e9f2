"""Read-only inspection of a crawl's database: its URLs, the impact of an exclusion, one URL, and the status of the
crawl."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from webcrawl.errors import JobdirDamaged
from webcrawl.frontier.records import QUEUED, State, UrlEntry, UrlRecord
from webcrawl.frontier.seen import Seen
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import Counts
from webcrawl.storage.inspection import (
    HOSTS_AT_ONCE,
    HOSTS_COUNTED,
    Activity,
    CheckResult,
    CrawlStatus,
    ExclusionImpact,
    HostSummary,
    KeySnapshot,
    UrlSelection,
    UrlSnapshot,
)
from webcrawl.storage.sqlite import check
from webcrawl.storage.sqlite.entries import entry_columns, row_to_entry
from webcrawl.storage.sqlite.keys import parse
from webcrawl.storage.sqlite.opening import open_stored, read_counted
from webcrawl.storage.sqlite.seen import read_records
from webcrawl.storage.sqlite.tables import SqliteTables
from webcrawl.storage.sqlite.whole import SqliteWhole, open_whole


def read_status(path: Path, now: float) -> CrawlStatus:
    """Read the status of the crawl in ``path``, also while it runs; ``now`` in epoch seconds.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with open_stored(path) as connection:
        return _status(connection, now)


def _status(connection: sqlite3.Connection, now: float) -> CrawlStatus:
    row = connection.execute("SELECT queued, done, failed, refused, hosts FROM totals").fetchone()
    counts = Counts(*row)
    [active] = connection.execute("SELECT count(*) FROM hosts WHERE active = 1 AND queued > 0").fetchone()
    parked = connection.execute("SELECT count(*) FROM hosts WHERE parked = 1 AND idle = 1").fetchone()
    given_up = connection.execute("SELECT count(*), total(queued) FROM hosts WHERE given_up = 1").fetchone()
    counts.parked_hosts, counts.given_up_hosts, counts.given_up_urls = (
        parked[0],
        given_up[0],
        int(given_up[1]),
    )
    return CrawlStatus(now, counts, active, [], counted=tuple(read_counted(connection)))


_QUEUED = (
    "SELECT {entry} FROM hosts JOIN queue ON host_id = id "
    "WHERE hosts.queued > 0 AND kind NOT IN ('robots', 'websub') ORDER BY host_id, rank, position"
)
_AT_ONCE = 10_000


@contextmanager
def open_url_states(path: Path) -> Iterator[SqliteUrlStateReader]:
    """Open ``path``, also while its crawl runs. All results are of one moment.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with open_stored(path) as connection:
        yield SqliteUrlStateReader(connection)


class SqliteUrlStateReader:
    """The ``UrlStateReader`` of a database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._execute = connection.execute
        row = self._execute("SELECT value FROM meta WHERE name = 'FRONTIER_SEEN'").fetchone()
        self.states_kept = row != ("bloom",)

    def queued(self) -> Iterator[UrlEntry]:
        yield from map(row_to_entry, self._execute(_QUEUED.format(entry=entry_columns(self._connection))))

    def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, UrlRecord]:
        host = self._execute("SELECT id FROM hosts WHERE key = ?", (key,)).fetchone()
        return {} if host is None else read_records(self._execute, host[0], fingerprints)

    def refused(self) -> Iterator[Sequence[int]]:
        rows = self._execute("SELECT fingerprint FROM seen WHERE state = ?", (State.REFUSED,))
        while some := rows.fetchmany(_AT_ONCE):
            yield [fingerprint for (fingerprint,) in some]


_HOSTS = (
    "SELECT id, key, active, given_up, parked, queued, delay_seconds, next_fetch_at, record FROM hosts "
    "WHERE id > ? ORDER BY id LIMIT ?"
)
_HEAD = "SELECT {entry} FROM hosts JOIN queue ON host_id = id WHERE key = ? ORDER BY rank, position LIMIT ?"


def read_hosts(path: Path) -> Iterator[list[HostSummary]]:
    """Yield all politeness keys in ``path``, also while its crawl runs. Each step is a transaction of its own: a long
    one would keep the crawl from cutting its write-ahead log.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    last = 0
    while True:
        with open_stored(path) as connection:
            rows = connection.execute(_HOSTS, (last, HOSTS_AT_ONCE)).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        yield [_summary(*row[1:]) for row in rows]


def _summary(
    key: str,
    active: int,
    given_up: int,
    parked: int,
    queued: int,
    delay_seconds: float,
    next_fetch_at: float,
    record: str | None,
) -> HostSummary:
    known = json.loads(record) if record else {}
    return HostSummary(
        key,
        _activity(active, given_up, queued),
        bool(parked),
        queued,
        delay_seconds,
        next_fetch_at,
        known.get("fetches", 0),
        known.get("pages", 0),
        known.get("failures", 0),
        known.get("last_error"),
        known.get("blocked_until", 0) > 0,
    )


def _activity(active: int, given_up: int, queued: int) -> Activity:
    if active:
        return Activity.ACTIVE
    if given_up:
        return Activity.GIVEN_UP
    return Activity.IDLE if queued else Activity.EMPTY


def read_queue(path: Path, key: str, most: int) -> list[UrlEntry]:
    """Return the first entries of the queue of a key in ``path``, also while its crawl runs.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with open_stored(path) as connection:
        statement = _HEAD.format(entry=entry_columns(connection))
        return [row_to_entry(row) for row in connection.execute(statement, (key, most))]


def read_impact(path: Path, selection: UrlSelection) -> ExclusionImpact:
    """Read the impact of an exclusion from ``path``, also while its crawl runs. Memory does not grow with its queues.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with open_stored(path) as connection:
        return _impact(connection, selection)


def _impact(connection: sqlite3.Connection, selection: UrlSelection) -> ExclusionImpact:
    impact = ExclusionImpact()
    rows = connection.execute("SELECT id, key, active FROM hosts WHERE queued > 0")
    for host_id, key, active in rows:
        if selection.may_have(key):
            urls = connection.execute("SELECT url FROM queue WHERE host_id = ?", (host_id,))
            impact.add(sum(selection.is_hit(url) for (url,) in urls), is_leased=bool(active))
    return impact


_HOST = (
    "SELECT id, next_fetch_at, delay_seconds, queued, active, parked, given_up, record, level FROM hosts "
    "WHERE key = ?"
)
_HOSTS_BEFORE = (
    "SELECT count(*) FROM (SELECT 1 FROM hosts WHERE idle = 1 AND level = ? AND next_fetch_at < ? LIMIT ?)"
)
_ENTRY = (
    "SELECT {entry} FROM queue WHERE host_id = ? AND fingerprint = ? AND kind != 'robots' "
    "ORDER BY repeat, rank, position LIMIT 1"
)
_BEFORE = "SELECT count(*) FROM queue WHERE host_id = ? AND (rank, position) < (?, ?)"
_ROBOTS = (
    "SELECT origin, state, fetched_at, expires_at, text, crawl_delay_seconds, attempts FROM robots "
    "WHERE origin = ?"
)


def read_snapshot(
    path: Path, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str, now: float
) -> UrlSnapshot:
    """Read the snapshot of one URL from ``path``, also while its crawl runs. All results are of one moment.

    ``key_of`` gets the settings with which the crawl was begun, and returns the politeness key of the URL. The entry
    of a queued URL is found by a scan of its key's queue, within SQLite.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with open_stored(path) as connection:
        return _Look(connection, path, key_of, fingerprint).snapshot(origin, now)


class _Look:
    """One reading, in one transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        key_of: Callable[[Mapping[str, str]], str],
        fingerprint: int,
    ) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._path = path
        self._fingerprint = fingerprint
        self._meta: dict[str, str] = dict(self._execute("SELECT name, value FROM meta").fetchall())
        self._key = key_of(self._meta)

    def snapshot(self, origin: str, now: float) -> UrlSnapshot:
        host = self._execute(_HOST, (self._key,)).fetchone()
        entry = None if host is None else self._entry(host[0])
        known, record = self._seen(None if host is None else host[0], entry)
        robots = self._execute(_ROBOTS, (origin,)).fetchone()
        return UrlSnapshot(
            now=now,
            known=known,
            record=record,
            entry=entry,
            before=0 if entry is None else self._before(host[0], entry),
            key=None if host is None else self._of_key(host),
            robots=None if robots is None else RobotsRecord(*robots),
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
        activity = _activity(active, given_up, queued)
        before = None
        if activity is Activity.IDLE:
            [before] = self._execute(_HOSTS_BEFORE, (level, next_fetch_at, HOSTS_COUNTED)).fetchone()
        return KeySnapshot(record, queued, activity, hosts_before=before)

    def _entry(self, host_id: int) -> UrlEntry | None:
        statement = _ENTRY.format(entry=entry_columns(self._connection, "?"))
        row = self._execute(statement, (self._key, host_id, self._fingerprint)).fetchone()
        return None if row is None else row_to_entry(row)

    def _before(self, host_id: int, entry: UrlEntry) -> int:
        [before] = self._execute(_BEFORE, (host_id, -entry.level, entry.position)).fetchone()
        return int(before)

    def _seen(self, host_id: int | None, entry: UrlEntry | None) -> tuple[bool, UrlRecord | None]:
        """Return True if the URL is known, and its record."""
        if self._meta.get("FRONTIER_SEEN") == "bloom":
            queued = entry is not None and not entry.repeat
            return queued or self._in_filter(), QUEUED if queued else None
        known = {} if host_id is None else read_records(self._execute, host_id, [self._fingerprint])
        return bool(known), known.get(self._fingerprint)

    def _in_filter(self) -> bool:
        """Return True if the Bloom filter or its journal has it. The filter is read into memory for that."""
        found = self._execute(
            "SELECT 1 FROM seen_journal WHERE fingerprint = ?", (self._fingerprint,)
        ).fetchone()
        generation = int(self._meta.get("bloom_generation", "0"))
        if found is not None or not generation:
            return found is not None
        path = self._path.with_name(f"seen-{generation}.bloom")
        try:
            # The URL is added only to this copy of the filter.
            return not Seen.load(path).add(self._fingerprint)
        except (OSError, ValueError) as error:
            raise JobdirDamaged(f"the seen filter: {error}") from error


class SqliteInspection:
    """The ``FolderInspection`` of ``frontier.db`` and the other databases of a folder."""

    def __init__(self, path: Path) -> None:
        """``path``: of ``frontier.db``."""
        self._path = path

    def status(self, now: float) -> CrawlStatus:
        return read_status(self._path, now)

    def snapshot(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str, now: float
    ) -> UrlSnapshot:
        return read_snapshot(self._path, key_of, fingerprint, origin, now)

    def hosts(self) -> Iterator[list[HostSummary]]:
        return read_hosts(self._path)

    def queue(self, key: str, most: int) -> list[UrlEntry]:
        return read_queue(self._path, key, most)

    def url_states(self) -> AbstractContextManager[SqliteUrlStateReader]:
        return open_url_states(self._path)

    def whole(self) -> AbstractContextManager[SqliteWhole]:
        return open_whole(self._path)

    def impact(self, selection: UrlSelection) -> ExclusionImpact:
        return read_impact(self._path, selection)

    def check(self, progress: Callable[[int, int], None] | None = None) -> CheckResult:
        return check.check(self._path)

    def repair(self, progress: Callable[[int, int], None] | None = None) -> CheckResult:
        return check.repair(self._path)

    def tables(self, *, changing: bool) -> SqliteTables:
        return SqliteTables(self._path.parent, reading=not changing)
