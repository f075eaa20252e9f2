"""The statements on politeness keys: their records, which are active, which may become active."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter

from webcrawl.frontier.order import LEVELS_CONSIDERED, LevelSampler
from webcrawl.politeness.host_record import HostRecord
from webcrawl.storage.contract import FIRST_VISIT_AHEAD_SECONDS, Counts, Idle, Move, Unavailable
from webcrawl.storage.sqlite.queues import Rows

_IDS_REMEMBERED = 200_000
_LEVEL = "coalesce((SELECT -rank FROM queue WHERE host_id = hosts.id ORDER BY rank LIMIT 1), 0)"
_FIELDS = [field.name for field in fields(HostRecord)]
_WAKE = (
    "UPDATE hosts SET next_fetch_at = coalesce(json_extract(record, '$.next_fetch_at'), 0.0) "
    "WHERE parked = 1 AND active = 0 AND json_extract(record, '$.blocked_until') > 0"
)
_GAIN = (
    "WITH gain (host, urls) AS (VALUES {rows}) UPDATE hosts SET queued = queued + gain.urls FROM gain "
    "WHERE id = gain.host"
)
_ENTER = (
    "WITH new (host, level, at) AS (VALUES {rows}) UPDATE hosts "
    "SET level = CASE idle WHEN 1 THEN max(hosts.level, new.level) ELSE new.level END, "
    "next_fetch_at = CASE WHEN idle = 1 THEN next_fetch_at "
    f"WHEN record IS NULL THEN max(next_fetch_at, new.at - {FIRST_VISIT_AHEAD_SECONDS}) "
    "ELSE max(next_fetch_at, new.at) END, idle = 1 FROM new "
    "WHERE id = new.host AND active = 0 AND given_up = 0 AND queued > 0 AND (idle = 0 OR hosts.level < new.level)"
)
_STORE = (
    "WITH new (host, at, delay, parked, given_up, record) AS (VALUES {rows}) UPDATE hosts "
    "SET next_fetch_at = new.at, delay_seconds = new.delay, parked = new.parked, given_up = new.given_up, "
    "record = new.record FROM new WHERE id = new.host"
)
# Its own time again, in case it was blocked until then: a crash would keep the value of the column.
_ACTIVE = "UPDATE hosts SET active = 1, idle = 0, parked = 0, given_up = 0, next_fetch_at = ? WHERE id = ?"
_values = attrgetter(*_FIELDS)
_DEFAULTS = list(zip(_FIELDS, _values(HostRecord("")), strict=True))
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def dump(record: HostRecord) -> str:
    """JSON of the fields that differ from their defaults: few do, and a commit writes almost one record a page."""
    values = zip(_DEFAULTS, _values(record), strict=True)
    return _encode({name: value for (name, default), value in values if value != default})


def parse(text: str) -> HostRecord:
    known = json.loads(text)
    return HostRecord(**{"key": ""} | {name: known[name] for name in _FIELDS if name in known})


class Keys:
    """The table ``hosts``. All methods run on the store's thread inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, delay_seconds: float) -> None:
        self._cursor = cursor = connection.cursor()
        self._gain = Rows(cursor, _GAIN, "(?, ?)")
        self._enter = Rows(cursor, _ENTER, "(?, ?, ?)")
        self._store = Rows(cursor, _STORE, "(?, ?, ?, ?, ?, ?)")
        self._left = Rows(
            cursor,
            f"UPDATE hosts SET idle = (queued > 0), level = {_LEVEL} WHERE id IN (VALUES {{rows}}) AND idle = 1",
            "(?)",
        )
        self._release = Rows(
            cursor,
            f"UPDATE hosts SET active = 0, idle = (queued > 0 AND NOT given_up), level = {_LEVEL} "
            "WHERE id IN (VALUES {rows})",
            "(?)",
        )
        self._delay_seconds = delay_seconds
        self._ids: dict[str, int] = {}
        self.added = 0

    def get_id(self, key: str) -> int:
        """Return the key's number; a new key gets a row."""
        host_id = self._ids.get(key)
        if host_id is not None:
            return host_id
        row = self._cursor.execute("SELECT id FROM hosts WHERE key = ?", (key,)).fetchone()
        if row is None:
            self._cursor.execute(
                "INSERT INTO hosts (key, delay_seconds) VALUES (?, ?)", (key, self._delay_seconds)
            )
            row = (self._cursor.lastrowid,)
            self.added += 1
        if len(self._ids) >= _IDS_REMEMBERED:
            self._ids.clear()
        self._ids[key] = row[0]
        return int(row[0])

    def get_ids(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the number of each key; new keys get their rows."""
        return {key: self.get_id(key) for key in dict.fromkeys(keys)}

    def known_id(self, key: str) -> int | None:
        row = self._cursor.execute("SELECT id FROM hosts WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def forget_ids(self) -> None:
        """Forget all numbers: the transaction that may have given some of them was rolled back."""
        self._ids.clear()
        self.added = 0

    def queued(self, gains: Mapping[int, int], levels: Mapping[int, int], at: float) -> None:
        """Count queued URLs. ``gains``: host id -> number of URLs added to its queue; ``levels``: host id -> highest
        level of the added ones; ``at``: the time."""
        self._gain.run([value for gain in gains.items() for value in gain])
        self._enter.run([value for host_id, level in levels.items() for value in (host_id, level, at)])

    def left(self, host_ids: Iterable[int]) -> None:
        """Update the columns of idle keys among these, whose queues lost URLs."""
        self._left.run(list(host_ids))

    def allowed(self, moves: Sequence[Move]) -> dict[str, int]:
        """Return the numbers of the keys that are active or not as ``moves`` say."""
        active = {move.entry.key: move.fence is not None for move in moves}
        listed = ", ".join("?" * len(active))
        rows = self._cursor.execute(
            f"SELECT key, id, active FROM hosts WHERE key IN ({listed})", list(active)
        ).fetchall()
        return {key: host_id for key, host_id, is_active in rows if active[key] == is_active}

    def store(self, records: Sequence[HostRecord]) -> None:
        ids = self.get_ids([record.key for record in records])
        latest = {ids[record.key]: record for record in records}
        self._store.run(
            [value for host_id, record in latest.items() for value in (host_id, *self._columns(record))]
        )

    def release(self, records: Sequence[HostRecord]) -> None:
        self.store(records)
        self._release.run(list({self.get_id(record.key) for record in records}))

    def wake(self, keys: Sequence[str]) -> None:
        """End the wait of idle keys for a robots.txt: their time is that of their own clock again."""
        self._cursor.executemany(f"{_WAKE} AND key = ?", [(key,) for key in keys])

    def wake_all(self) -> None:
        """Do the same for all keys after a start: an answer may have been stored before a crash kept the key from
        being woken."""
        self._cursor.execute(_WAKE)

    def rest_after_crash(self, now: float) -> int:
        """Let keys that a crash left active rest a full delay again: they may have been contacted a moment ago."""
        self._cursor.execute(
            "UPDATE hosts SET active = 0, idle = (queued > 0 AND NOT given_up), "
            f"next_fetch_at = max(next_fetch_at, ? + delay_seconds), level = {_LEVEL} WHERE active = 1",
            (now,),
        )
        return self._cursor.rowcount

    def revive(self) -> None:
        """Give given-up keys another chance in a crawl that is started again."""
        self._cursor.execute(
            f"UPDATE hosts SET given_up = 0, idle = (queued > 0), level = {_LEVEL} WHERE given_up = 1"
        )

    def activate(self, count: int, now: float, sampler: LevelSampler) -> list[tuple[int, HostRecord]]:
        chosen: list[tuple[int, HostRecord]] = []
        for level, wanted in sampler.spread(self._ready_levels(now), count).items():
            rows = self._cursor.execute(
                "SELECT id, key, next_fetch_at, delay_seconds, record FROM hosts "
                "WHERE idle = 1 AND level = ? AND next_fetch_at <= ? ORDER BY next_fetch_at LIMIT ?",
                (level, now, wanted),
            ).fetchall()
            chosen += [(row[0], self._record(*row[1:])) for row in rows]
        self._cursor.executemany(
            _ACTIVE,
            [(record.next_fetch_at, host_id) for host_id, record in chosen],
        )
        return chosen

    def acquire(self, host_id: int, *, even_given_up: bool) -> HostRecord | Unavailable:
        """Make a key active that is not, whatever its time."""
        active, given_up, *row = self._cursor.execute(
            "SELECT active, given_up, key, next_fetch_at, delay_seconds, record FROM hosts WHERE id = ?",
            (host_id,),
        ).fetchone()
        if active:
            return Unavailable.HELD
        if given_up and not even_given_up:
            return Unavailable.GIVEN_UP
        record = self._record(*row)
        self._cursor.execute(_ACTIVE, (record.next_fetch_at, host_id))
        return record

    def idle(self) -> Idle:
        at, parked_at = (
            self._cursor.execute(
                "SELECT next_fetch_at FROM hosts WHERE idle = 1 AND parked = ? "
                "ORDER BY next_fetch_at LIMIT 1",
                (parked,),
            ).fetchone()
            for parked in (0, 1)
        )
        return Idle(at=at and at[0], parked_at=parked_at and parked_at[0])

    def at_hand(self, at_most: int) -> int:
        """Return the number of keys that have URLs and may be contacted now or after a rest, up to ``at_most``."""
        counted = 0
        for where in ("idle = 1 AND parked = 0", "active = 1 AND queued > 0"):
            counted += self._cursor.execute(
                f"SELECT count(*) FROM (SELECT 1 FROM hosts WHERE {where} LIMIT ?)", (at_most - counted,)
            ).fetchone()[0]
        return counted

    def count_given_up(self, counts: Counts) -> None:
        row = self._cursor.execute("SELECT count(*), total(queued) FROM hosts WHERE given_up = 1").fetchone()
        counts.given_up_hosts, counts.given_up_urls = row[0], int(row[1])
        row = self._cursor.execute("SELECT count(*) FROM hosts WHERE idle = 1 AND parked = 1").fetchone()
        counts.parked_hosts = row[0]

    def _ready_levels(self, now: float) -> list[int]:
        levels: list[int] = []
        below = 1 << 62
        while len(levels) < LEVELS_CONSIDERED:
            row = self._cursor.execute(
                "SELECT level FROM hosts WHERE idle = 1 AND level < ? ORDER BY level DESC LIMIT 1", (below,)
            ).fetchone()
            if row is None:
                break
            below = row[0]
            ready = self._cursor.execute(
                "SELECT 1 FROM hosts WHERE idle = 1 AND level = ? AND next_fetch_at <= ? LIMIT 1",
                (below, now),
            ).fetchone()
            if ready:
                levels.append(below)
        return levels

    @staticmethod
    def _record(key: str, next_fetch_at: float, delay_seconds: float, text: str | None) -> HostRecord:
        record = parse(text) if text else HostRecord(key)
        # The columns count: a restart may have changed them. For a blocked key, the column does not hold its own
        # time.
        record.delay_seconds = delay_seconds
        if next_fetch_at != record.blocked_until:
            record.next_fetch_at = next_fetch_at
        record.given_up = record.parked = False
        record.blocked_until = 0.0
        return record

    @staticmethod
    def _columns(record: HostRecord) -> tuple[float, float, int, int, str]:
        return (
            max(record.next_fetch_at, record.blocked_until),
            record.delay_seconds,
            int(record.parked),
            int(record.given_up),
            dump(record),
        )
