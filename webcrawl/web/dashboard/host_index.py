"""An index of all hosts of a crawl, for tables that are sorted, searched and paged.

The crawl's own storage is indexed for the crawl: it finds the next host, not the one with the most failures. The
index is a private SQLite database in a temporary folder. One thread reads the hosts of the crawl, some at a time, and
takes a bounded share of a processor for it; the answers come from the state of its last pass.
"""

from __future__ import annotations

import logging
import sqlite3
import tempfile
import threading
import time
from array import array
from bisect import bisect_right
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, get_args

from webcrawl.errors import CrawlError, StorageAway
from webcrawl.politeness.refusals import KINDS
from webcrawl.storage.inspection import Activity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webcrawl.storage.inspection import HostSummary

logger = logging.getLogger(__name__)

CPU_SHARE = 0.05
"""The part of a processor that reading may take, after the first pass."""
PASS_SECONDS_MIN = 2.0
"""Seconds between two passes at least."""
FIRST_PASS_SECONDS = 5.0
"""The longest time for which an answer waits for the end of the first pass."""
UNWATCHED_SECONDS = 60.0
"""Seconds without a request after which no pass begins until the next request."""
LIMIT_MAX = 500
OFFSET_MAX = 5_000_000
SEARCH_MAX = 253
"""Characters of a search: a name has no more (RFC 1035)."""
SORTS = {
    "host": "key",
    "state": "state",
    "queued": "queued",
    "requests": "requests",
    "pages": "pages",
    "delay": "delay",
    "next_at": "next_at",
    "failures": "failures",
    "health": "health",
}
"""The columns by which hosts can be sorted."""
HostState = Literal["active", "ready", "waiting", "parked", "given_up", "empty"]
STATES: tuple[HostState, ...] = get_args(HostState)
"""``ready`` hosts have URLs and may be contacted now, ``waiting`` ones when their delay is over."""
REFUSING = "refusing"
CHOICES = (*STATES, REFUSING)
"""The choices of hosts: their states, and whether they are parked since they refuse the crawler."""

_ACTIVE, _IDLE, _PARKED, _GIVEN_UP, _EMPTY = range(5)
_NAMES: dict[int, HostState] = {_ACTIVE: "active", _PARKED: "parked", _GIVEN_UP: "given_up", _EMPTY: "empty"}
_COLUMNS = ("key", "state", "queued", "requests", "pages", "delay", "next_at", "failures", "health")
_REFUSALS = ", ".join(f"'{kind}'" for kind, about in KINDS.items() if about.is_of_host)
_WHERE = {
    "active": f"state = {_ACTIVE}",
    "ready": f"state = {_IDLE} AND next_at <= :now",
    "waiting": f"state = {_IDLE} AND next_at > :now",
    "parked": f"state = {_PARKED}",
    "given_up": f"state = {_GIVEN_UP}",
    "empty": f"state = {_EMPTY}",
    REFUSING: f"state = {_PARKED} AND health IN ({_REFUSALS})",
}
_SCHEMA = (
    "CREATE TABLE hosts (key TEXT NOT NULL UNIQUE, state INTEGER NOT NULL, "
    "queued INTEGER NOT NULL, requests INTEGER NOT NULL, pages INTEGER NOT NULL, delay REAL NOT NULL, "
    "next_at REAL NOT NULL, failures INTEGER NOT NULL, health TEXT)"
)
_VALUES = ", ".join(f"excluded.{name}" for name in _COLUMNS[1:])
_STORE = (
    f"INSERT INTO hosts ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    f"ON CONFLICT (key) DO UPDATE SET ({', '.join(_COLUMNS[1:])}) = ({_VALUES}) "
    f"WHERE ({', '.join(_COLUMNS[1:])}) IS NOT ({_VALUES})"
)
FEW = 20_000
"""Hosts that a search finds and that are sorted for each answer."""
_AT_ONCE = 1000
_COUNTS_KEPT = 64


class HostIndex:
    """The index of one crawl. ``page`` may be called from any thread."""

    def __init__(
        self,
        hosts: Callable[[], Iterator[Sequence[HostSummary]]],
        *,
        clock: Callable[[], float] = time.time,
        cpu_share: float = CPU_SHARE,
    ) -> None:
        """``hosts``: yields all hosts of the crawl, some at a time, and may raise CrawlError."""
        self._hosts = hosts
        self._clock = clock
        self._cpu_share = cpu_share
        self._folder = tempfile.TemporaryDirectory(prefix="webcrawl-hosts-", ignore_cleanup_errors=True)
        self._path = Path(self._folder.name) / "hosts.db"
        self._lock = threading.Lock()
        self._names = _Names()
        self._counts: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._ended = threading.Event()
        self._passed = threading.Event()
        self._requested = threading.Event()
        self._asked_at = time.monotonic()
        self._thread: threading.Thread | None = None
        self.as_of: float | None = None
        """Time at which the last complete pass began (epoch seconds); None before the first has ended."""
        self.unreadable: str | None = None
        """The reason why the last pass failed."""
        self._writer = self._connect()
        self._writer.execute("PRAGMA journal_mode = WAL")
        self._writer.execute(_SCHEMA)
        self._reader = self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA temp_store = MEMORY")
        return connection

    # -- reading of the crawl --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="host index", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and delete the database."""
        self._ended.set()
        self._requested.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._reader.close()
            self._writer.close()
        self._folder.cleanup()

    def _run(self) -> None:
        while not self._ended.is_set():
            spent = time.thread_time()
            try:
                self.refresh()
                self.unreadable = None
            except (CrawlError, OSError, sqlite3.Error) as error:
                self.unreadable = " ".join(str(error).split())
            except Exception as error:
                self.unreadable = f"{type(error).__name__}: {error}"
                logger.exception("The hosts of the crawl cannot be read")
            self._passed.set()
            spent = time.thread_time() - spent
            self._ended.wait(max(PASS_SECONDS_MIN, spent if self.as_of is None else 0.0))
            if time.monotonic() - self._asked_at > UNWATCHED_SECONDS:
                self._requested.clear()
                self._requested.wait()

    def refresh(self) -> None:
        """Read all hosts once. Raises what the crawl's reader raises."""
        begun_at, is_first = self._clock(), self.as_of is None
        for some in self._hosts():
            spent = time.thread_time()
            rows = [_row(host) for host in some]
            with self._writer:
                self._writer.execute("BEGIN")
                self._writer.executemany(_STORE, rows)
            if self._ended.is_set():
                return
            if not is_first:
                spent = time.thread_time() - spent
                self._ended.wait(spent / self._cpu_share)
        if is_first:
            self._index()
        names = self._names.with_all(self._writer)
        with self._lock:
            self._names = names
            self._counts.clear()
        self.as_of = begun_at

    def _index(self) -> None:
        """Build the indexes, which is faster after the rows than with them. Each covers what a search and a filter
        need."""
        for name in SORTS.values():
            columns = dict.fromkeys((name, "key", "state", "next_at"))
            self._writer.execute(f"CREATE INDEX by_{name} ON hosts ({', '.join(columns)})")
        self._writer.execute("ANALYZE")

    # -- answers ---------------------------------------------------------------------------------------------

    def page(
        self,
        *,
        search: str = "",
        state: str = "",
        sort: str = "queued",
        order: str = "desc",
        limit: int = 50,
        offset: int = 0,
    ) -> HostsAnswer:
        """Return some hosts: ``total`` that match, ``as_of`` and ``rows`` (see ``_object``). ``search``: a part of
        the name. ``state``: one of ``CHOICES``; empty for all. ``sort``: one of ``SORTS``.

        :raises ValueError: an argument is wrong, in a sentence :raises StorageAway: no host could be read yet
        """
        _check(search, state, sort, order, limit, offset)
        asked_at, self._asked_at = self._asked_at, time.monotonic()
        if self._asked_at - asked_at > UNWATCHED_SECONDS:
            # Nobody has looked for a while: what was read before is old.
            self._passed.clear()
        self._requested.set()
        if self._thread is not None:
            self._passed.wait(FIRST_PASS_SECONDS)
        if self.as_of is None and self.unreadable is not None:
            raise StorageAway(self.unreadable)
        now = self._clock()
        values = {"search": search.lower(), "now": now, "limit": limit, "offset": offset}
        where = _where(search, state)
        with self._lock:
            matches = self._few(search.lower(), state, SORTS[sort], values) if search else None
            if matches is not None:
                total = len(matches)
                matches.sort(reverse=order == "desc")
                keys = [key for *_, key in matches[offset : offset + limit]]
            else:
                total = self._count(search.lower(), state, values)
                keys = self._keys(where, SORTS[sort], order, values) if total > offset else []
            rows = self._of_keys(keys)
        return {"total": total, "as_of": self.as_of, "rows": [_answer(row, now) for row in rows]}

    def _few(
        self, search: str, state: str, column: str, values: dict[str, Any]
    ) -> list[tuple[bool, Any, str]] | None:
        """Return the hosts that a search finds, with what they are sorted by; None if they are many: then it is
        faster to walk along the index of their order, which finds enough of them soon."""
        numbers = self._names.find(search, FEW)
        if numbers is None:
            return None
        condition = f"AND {_WHERE[state]}" if state else ""
        matches: list[tuple[bool, Any, str]] = []
        for first in range(0, len(numbers), _AT_ONCE):
            some = ", ".join(map(str, numbers[first : first + _AT_ONCE]))
            rows = self._reader.execute(
                f"SELECT {column}, key FROM hosts WHERE rowid IN ({some}) {condition}", values
            )
            matches += [(value is not None, value, key) for value, key in rows]
        return matches

    def _count(self, search: str, state: str, values: dict[str, Any]) -> int:
        # What is ready changes with time: that is counted each time.
        kept = (search, state) if state not in ("ready", "waiting") else None
        if kept is not None and kept in self._counts:
            return self._counts[kept]
        where = _where(search, state)
        [number] = self._reader.execute(f"SELECT count(*) FROM hosts{where}", values).fetchone()
        if kept is not None and self.as_of is not None:
            self._counts[kept] = number
            while len(self._counts) > _COUNTS_KEPT:
                self._counts.popitem(last=False)
        return int(number)

    def _keys(self, where: str, column: str, order: str, values: dict[str, Any]) -> list[str]:
        rows = self._reader.execute(
            f"SELECT key FROM hosts{where} ORDER BY {column} {order}, key {order} LIMIT :limit OFFSET :offset",
            values,
        )
        return [key for (key,) in rows]

    def _of_keys(self, keys: Sequence[str]) -> list[tuple[Any, ...]]:
        places = {key: place for place, key in enumerate(keys)}
        rows = self._reader.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM hosts WHERE key IN ({', '.join('?' * len(places))})",
            list(places),
        )
        return sorted(rows, key=lambda row: places[row[0]])


class _Names:
    """The names of all hosts in one text, in which a part of a name is found in milliseconds. The numbers of rows are
    consecutive, since no row is deleted."""

    def __init__(self, text: str = "\n", starts: array[int] | None = None) -> None:
        self._text = text
        self._starts = starts or array("Q")
        """The position of the line break before each name."""

    def with_all(self, connection: sqlite3.Connection) -> _Names:
        """Return these names and those that were added."""
        added = connection.execute(
            "SELECT key FROM hosts WHERE rowid > ? ORDER BY rowid", (len(self._starts),)
        ).fetchall()
        if not added:
            return self
        starts, at = array("Q", self._starts), len(self._text) - 1
        for (key,) in added:
            starts.append(at)
            at += len(key) + 1
        return _Names("".join((self._text, *(f"{key}\n" for (key,) in added))), starts)

    def find(self, search: str, most: int) -> list[int] | None:
        """Return the numbers of the rows whose names have ``search``; None if they are more than ``most``."""
        numbers: list[int] = []
        text, starts = self._text, self._starts
        at = text.find(search)
        while at >= 0:
            number = bisect_right(starts, at)
            numbers.append(number)
            if len(numbers) > most:
                return None
            at = text.find(search, starts[number]) if number < len(starts) else -1
        return numbers


def _where(search: str, state: str) -> str:
    conditions = [_WHERE[state]] if state else []
    if search:
        conditions.append("instr(key, :search)")
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _check(search: str, state: str, sort: str, order: str, limit: int, offset: int) -> None:
    """:raises ValueError: an argument is wrong"""
    for name, value, allowed in (
        ("state", state, ("", *CHOICES)),
        ("sort", sort, tuple(SORTS)),
        ("order", order, ("asc", "desc")),
    ):
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}; allowed are {', '.join(filter(None, allowed))}")
    if "\n" in search:
        raise ValueError("search has a line break; a name has none")
    if len(search) > SEARCH_MAX:
        raise ValueError(f"search has {len(search)} characters; a name has at most {SEARCH_MAX}")
    if not 0 < limit <= LIMIT_MAX:
        raise ValueError(f"limit is {limit}; allowed are 1 to {LIMIT_MAX}")
    if not 0 <= offset <= OFFSET_MAX:
        raise ValueError(f"offset is {offset}; allowed are 0 to {OFFSET_MAX}")


def _row(host: HostSummary) -> tuple[Any, ...]:
    if host.activity is Activity.ACTIVE:
        # A key stays with its process for a while without URLs.
        state = _ACTIVE if host.queued else _EMPTY
    elif host.activity is Activity.GIVEN_UP:
        state = _GIVEN_UP
    elif host.activity is Activity.EMPTY:
        state = _EMPTY
    else:
        state = _PARKED if host.is_parked else _IDLE
    values = (host.queued, host.requests, host.pages, host.delay_seconds, host.next_fetch_at, host.failures)
    return (_text(host.key), state, *values, _text(_reason(host, is_parked=state == _PARKED)))


def _reason(host: HostSummary, *, is_parked: bool) -> str | None:
    """Return the last error of a host, or what a parked one waits for."""
    if is_parked and host.waits_for_robots:
        return f"robots.txt: {host.last_error or 'no usable answer'}"
    return host.last_error or ("a pause that the server asked for" if is_parked else None)


def _text(text: str | None) -> str | None:
    """Return text that SQLite takes: names may hold lone surrogates."""
    return text and text.encode("utf-8", "replace").decode()


class HostRow(TypedDict):
    """A host in the table of hosts."""

    key: str
    state: HostState
    queued: float | None
    requests: float | None
    pages: float | None
    delay: float | None
    next_at: float | None
    failures: float | None
    health: str | None


class HostsAnswer(TypedDict):
    """A page of the table of hosts."""

    total: int
    as_of: Annotated[float | None, "Null while the hosts are read for the first time."]
    rows: list[HostRow]


def _answer(row: tuple[Any, ...], now: float) -> HostRow:
    key, state, queued, requests, pages, delay, next_at, failures, health = row
    name = _NAMES.get(state) or ("ready" if next_at <= now else "waiting")
    return {
        "key": key,
        "state": name,
        "queued": queued,
        "requests": requests,
        "pages": pages,
        "delay": delay,
        "next_at": next_at or None,
        "failures": failures,
        "health": health,
    }
