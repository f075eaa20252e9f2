"""The store of what operators ask of a crawl: other processes write it, each worker of the crawl reads it.

All changes have a number. The header of the partition ``steering`` has the number of the last change of each kind, so
that a worker that finds nothing new has read one row. Each change is noted in a journal of bounded length.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from xxhash import xxh3_128_digest

from webcrawl.errors import CrawlError, StorageLost
from webcrawl.storage.tables import HEADER, Change, Durability, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from webcrawl.storage.tables import Tables

SPEC = TableSpec(
    "steering",
    "steering",
    without="the crawl goes on with the settings of its start, and forgets what operators changed",
    durability=Durability.POWER,
    is_ordered=True,
)

_MAIN, _URLS, _WORKERS, _SUGGESTIONS = "steering", "urls", "workers", "suggestions"
"""The partitions."""
_OVERRIDE, _EXCLUSION, _DELAY, _COMMAND, _JOURNAL = (b"o/", b"x/", b"d/", b"c/", b"j/")
"""The beginnings of the ids in the main partition."""

JOURNAL_MOST = 1000
"""Entries of the journal that are kept."""
COMMANDS_MOST = 50
ENTRIES_MOST = 10_000
"""Excluded entries, and delays of hosts."""
URLS_MOST = 100_000
"""URLs that wait to be taken by a worker."""
URLS_AT_ONCE = 10_000
"""URLs that one change may add."""
SUGGESTIONS_MOST = 1000
WORKERS_MOST = 1000
TEXT_MOST = 10_000
"""Characters of a value, an entry or a URL."""
SHOWN_MOST = 500
"""Characters of a value in the journal."""
_AT_ONCE = 500
"""Rows that are read at once."""

_T = TypeVar("_T")


class SteeringRefused(CrawlError):  # noqa: N818 - states what happened
    """The store does not take what was asked: it is too long, or there is no room. Nothing was changed."""


class Operation(StrEnum):
    """The operations that operators ask of the crawl as a whole."""

    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    SAVE = "save"
    UNPARK = "unpark"
    """Contacts politeness keys again, those of ``keys``."""
    RETRY = "retry"
    """Fetches failed URLs again, those of ``host`` and ``error``, see ``failures.Selection``."""


PLAIN = (Operation.PAUSE, Operation.RESUME, Operation.STOP, Operation.SAVE)
"""Commands without arguments."""
LASTING = frozenset({Operation.UNPARK, Operation.RETRY})
"""Commands that wait for the next run of a crawl that does not run."""
KEYS_MOST = 1000
"""Keys of a command."""


@dataclass(frozen=True, slots=True)
class Override:
    """The value of a setting that an operator gave while the crawl ran."""

    value: str
    """The value as on the command line."""
    by: str
    at: float
    """Epoch seconds."""
    old: str | None = None
    """The value before; None if it is not known."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """An entry of the exclusion list that was made while the crawl ran."""

    entry: str
    """A domain or a URL prefix, as in an exclusion file."""
    by: str
    at: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HostDelay:
    """A minimum delay of a politeness key, in seconds."""

    key: str
    seconds: float
    by: str
    at: float


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a URL that is queued."""

    key: str
    fingerprint: int
    level: int
    position: int


@dataclass(frozen=True, slots=True)
class Injected:
    """A URL that waits to be queued by a worker."""

    id: bytes
    url: str
    by: str
    at: float
    is_first: bool = False
    """True if it comes before all others of its host."""
    place: Mapping[str, Any] | None = None
    """The ``Place`` where it was queued when an operator asked for it to come first; None if it was not known."""


@dataclass(frozen=True, slots=True)
class OperatorRequest:
    """A command of an operator."""

    number: int
    command: str
    """An ``Operation``, or one of a newer version."""
    by: str
    at: float
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A change: who made it, when, and what."""

    number: int
    at: float
    by: str
    what: str
    """``set``, ``reset``, ``exclude``, ``readmit``, ``delay``, ``add``, or a command."""
    name: str = ""
    """The setting, the entry or the key."""
    old: str | None = None
    new: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerState:
    """The changes and commands that a worker has applied."""

    worker: str
    at: float
    host: str = ""
    """The name of its machine."""
    process: int = 0
    """The number of its process there."""
    overlay: int = 0
    """The number of the last change of the overlay that it has applied."""
    excluded: int = 0
    delays: int = 0
    command: int = 0
    """The number of the last command that it has read."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """The commands that it has carried out, by their numbers: no text, or why it could not. One that has been
    read and has no answer is being carried out."""
    results: Mapping[str, str] = field(default_factory=dict)
    """The results of commands that were carried out, such as the path of a checkpoint, by their numbers."""
    start: Mapping[str, str] = field(default_factory=dict)
    """The values of all settings that can be changed, as it was started with them."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Other settings that it was given, by which commands judge: see ``kept_settings``."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The reasons why it does not apply overrides, by the names of the settings."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A URL that a visitor suggested, held until an operator decides."""

    id: str
    url: str
    note: str
    by: str
    at: float
    accepted: bool | None = None
    """The decision; None if there is none yet."""
    decided_by: str = ""
    decided_at: float = 0.0


@dataclass(frozen=True, slots=True)
class ChangeNumbers:
    """The number of the last change, and of the last one of each kind; 0 for none."""

    last: int = 0
    overlay: int = 0
    excluded: int = 0
    delays: int = 0
    urls: int = 0
    commands: int = 0
    is_paused: bool = False
    """True if the last of pause, resume and stop was pause."""
    is_stopped: bool = False
    """True from a stop until a worker goes on with the crawl."""
    stopped_at: float = 0.0
    """The time of the last stop, epoch seconds."""


class _News(NamedTuple):
    """A change of the main partition: rows, and the new numbers."""

    kind: str
    """The field of ``ChangeNumbers``."""
    put: Sequence[Row] = ()
    delete: Sequence[bytes] = ()
    journal: Sequence[JournalEntry] = ()
    """Entries without their numbers, which the store gives them."""
    demands: Mapping[str, Any] = {}
    """New values of further fields of ``ChangeNumbers``."""


class SteeringStore:
    """Every method may raise the CrawlError of its storage. Then nothing was changed, or the call can safely be
    repeated. ``by``: who asks; ``now``: epoch seconds by the crawl's clock."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.table(SPEC)

    async def numbers(self) -> ChangeNumbers:
        """Return what was changed last. This reads one row."""
        [header] = await self._table.get([RowId(_MAIN, HEADER)])
        return _numbers(header)

    # -- overlay of settings -----------------------------------------------------------------------------------

    async def overlay(self) -> dict[str, Override]:
        """Return the overrides by the names of their settings, in the order of the names."""
        rows = await self._scan(_MAIN, _OVERRIDE)
        return {row.id.removeprefix(_OVERRIDE).decode(): _read(Override, row) for row in rows}

    async def set(self, name: str, value: str | None, by: str, now: float) -> None:
        """Override a setting; None takes its override back."""
        await self.set_all({name: value}, by, now)

    async def set_all(self, values: Mapping[str, str | None], by: str, now: float) -> None:
        """Override several settings in one step; None takes an override back.

        :raises SteeringRefused: a value is too long
        """
        for name, value in values.items():
            _bound(name, value or "")
        start = await self._start()
        ids = [_OVERRIDE + name.encode() for name in values]

        def change(_: ChangeNumbers, rows: Sequence[Row | None]) -> _News | None:
            put, delete, journal = [], [], []
            for (name, value), row_id, row in zip(values.items(), ids, rows, strict=True):
                before = start.get(name) if row is None else _read(Override, row).value
                if value is None:
                    if row is not None:
                        delete.append(row_id)
                        journal.append(JournalEntry(0, now, by, "reset", name, before, start.get(name)))
                else:
                    put.append(_row(row_id, Override(value, by, now, before)))
                    journal.append(JournalEntry(0, now, by, "set", name, before, value))
            return _News("overlay", put, delete, journal) if put or delete else None

        await self._edit(ids, change)

    async def _start(self) -> Mapping[str, str]:
        """Return the values with which the last worker was started."""
        workers = await self.workers()
        return max(workers, key=lambda worker: worker.at).start if workers else {}

    # -- exclusions and delays ---------------------------------------------------------------------------------

    async def excluded(self) -> list[Excluded]:
        """Return the excluded entries, oldest first."""
        exclusions = [_read(Excluded, row) for row in await self._scan(_MAIN, _EXCLUSION)]
        return sorted(exclusions, key=lambda exclusion: (exclusion.at, exclusion.entry))

    async def exclude(self, entry: str, by: str, now: float, reason: str = "") -> bool:
        """Add an entry to the exclusion list; return False if it was there.

        :raises SteeringRefused: it is too long, or there are too many
        """
        _bound("the entry", entry)
        await self._make_room(_EXCLUSION, "excluded entries")
        row_id = _EXCLUSION + _digest(entry)

        def change(_: ChangeNumbers, rows: Sequence[Row | None]) -> _News | None:
            if rows[0] is not None:
                return None
            row = _row(row_id, Excluded(entry, by, now, reason[:SHOWN_MOST]))
            return _News(
                "excluded", [row], journal=[JournalEntry(0, now, by, "exclude", entry, None, reason)]
            )

        return await self._edit([row_id], change)

    async def readmit(self, entry: str, by: str, now: float) -> bool:
        """Take an entry out of the exclusion list; return False if it was not there."""
        row_id = _EXCLUSION + _digest(entry)

        def change(_: ChangeNumbers, rows: Sequence[Row | None]) -> _News | None:
            if rows[0] is None:
                return None
            journal = JournalEntry(0, now, by, "readmit", entry)
            return _News("excluded", delete=[row_id], journal=[journal])

        return await self._edit([row_id], change)

    async def delays(self) -> dict[str, HostDelay]:
        """Return the delays of hosts by politeness key."""
        delays = [_read(HostDelay, row) for row in await self._scan(_MAIN, _DELAY)]
        return {delay.key: delay for delay in sorted(delays, key=lambda delay: delay.key)}

    async def set_delay(self, key: str, seconds: float | None, by: str, now: float) -> bool:
        """Set the minimum delay of a politeness key; None takes it back. Return False if nothing changed.

        :raises SteeringRefused: the key is too long, or there are too many
        """
        _bound("the host", key)
        row_id = _DELAY + _digest(key)
        if seconds is not None:
            await self._make_room(_DELAY, "delays of hosts")

        def change(_: ChangeNumbers, rows: Sequence[Row | None]) -> _News | None:
            before = None if rows[0] is None else _read(HostDelay, rows[0]).seconds
            if before == seconds:
                return None
            old, new = (None if value is None else f"{value:g}" for value in (before, seconds))
            journal = [JournalEntry(0, now, by, "delay", key, old, new)]
            if seconds is None:
                return _News("delays", delete=[row_id], journal=journal)
            return _News("delays", [_row(row_id, HostDelay(key, seconds, by, now))], journal=journal)

        return await self._edit([row_id], change)

    async def _make_room(self, kind: bytes, what: str) -> None:
        if len(await self._scan(_MAIN, kind)) >= ENTRIES_MOST:
            raise SteeringRefused(f"there are {ENTRIES_MOST:,} {what} already; take some back first")

    # -- injected URLs -----------------------------------------------------------------------------------------

    async def inject(
        self,
        urls: Sequence[str],
        by: str,
        now: float,
        *,
        are_first: bool = False,
        places: Mapping[str, Place] | None = None,
    ) -> None:
        """Hand over URLs, which a worker queues. ``are_first``: they come before all others of their hosts, also
        those that are queued already, at ``places``.

        :raises SteeringRefused: one is too long, there are too many, or too many wait already
        """
        for url in urls:
            _bound("the URL", url)
        if len(urls) > URLS_AT_ONCE:
            raise SteeringRefused(f"at most {URLS_AT_ONCE:,} URLs at a time, not {len(urls):,}")
        if not urls:
            return
        for first in range(0, len(urls), _AT_ONCE):
            some = urls[first : first + _AT_ONCE]
            known = [None if (place := (places or {}).get(url)) is None else asdict(place) for url in some]
            await self._hand_over(
                [Injected(b"", url, by, now, are_first, at) for url, at in zip(some, known, strict=True)]
            )
        shown = urls[0] if len(urls) == 1 else f"{len(urls):,} URLs"
        entry = JournalEntry(0, now, by, "add", shown, None, "comes first" if are_first else None)
        await self._edit([], lambda *_: _News("urls", journal=[entry]))

    async def _hand_over(self, urls: Sequence[Injected]) -> None:
        while True:
            [header] = await self._table.get([RowId(_URLS, HEADER)])
            waiting, number = _counts(header)
            if waiting + len(urls) > URLS_MOST:
                raise SteeringRefused(f"{waiting:,} URLs wait already, and at most {URLS_MOST:,} may")
            rows = [_row(_ordered(number + at), url) for at, url in enumerate(urls, 1)]
            counts = _header_row(waiting + len(urls), number + len(urls))
            if await self._update(_URLS, header, [*rows, counts]):
                return

    async def injected(self, most: int) -> list[Injected]:
        """Return the first URLs that wait."""
        rows = await self._table.scan(_URLS, most)
        return [replace(_read(Injected, row), id=row.id) for row in rows]

    async def waiting(self) -> int:
        """Return the number of URLs that wait."""
        [header] = await self._table.get([RowId(_URLS, HEADER)])
        return _counts(header)[0]

    async def queued(self, taken: Sequence[Injected]) -> None:
        """Delete URLs that are durably queued, or refused for good."""
        ids = [url.id for url in taken]
        while ids:
            header, *rows = await self._table.get([RowId(_URLS, row_id) for row_id in (HEADER, *ids)])
            there = [row.id for row in rows if row is not None]
            waiting, number = _counts(header)
            counts = _header_row(max(waiting - len(there), 0), number)
            if not there or await self._update(_URLS, header, [counts], there):
                return

    async def claim_urls(self, worker: str, seconds: float) -> bool:
        """Return whether ``worker`` has the exclusive right to queue injected URLs, for ``seconds`` from now; it can
        be renewed."""
        return await self._tables.lock("steering", worker, seconds)

    # -- commands ----------------------------------------------------------------------------------------------

    async def request(
        self, command: str, by: str, now: float, arguments: Mapping[str, Any] | None = None
    ) -> int:
        """Ask all workers for something; return the number by which their answers name it."""
        number = 0

        def change(numbers: ChangeNumbers, _: Sequence[Row | None]) -> _News:
            nonlocal number
            number = numbers.last + 1
            row = _row(
                _COMMAND + _ordered(number), OperatorRequest(number, str(command), by, now, arguments or {})
            )
            shown = " ".join(f"{name}={_text(value)}" for name, value in (arguments or {}).items() if value)
            return _News(
                "commands",
                [row],
                journal=[JournalEntry(0, now, by, str(command), shown)],
                demands=_demands(command, now),
            )

        await self._edit([], change)
        if len(rows := await self._scan(_MAIN, _COMMAND)) > COMMANDS_MOST:
            await self._table.update([Change(_MAIN, delete=[row.id for row in rows[:-COMMANDS_MOST]])])
        return number

    async def go_on(self) -> None:
        """Take a stop back: all workers have ended, and one goes on with the crawl."""

        def change(numbers: ChangeNumbers, _: Sequence[Row | None]) -> _News | None:
            return _News("last", demands={"is_stopped": False}) if numbers.is_stopped else None

        await self._edit([], change)

    async def requests(self, after: int = 0) -> list[OperatorRequest]:
        """Return the commands with numbers above ``after``, oldest first."""
        requests = [_read(OperatorRequest, row) for row in await self._scan(_MAIN, _COMMAND)]
        return [request for request in requests if request.number > after]

    # -- workers -----------------------------------------------------------------------------------------------

    async def acknowledge(self, state: WorkerState) -> None:
        """Publish what a worker has obeyed. The states of workers that ended stay, up to a number."""
        await self._table.update([Change(_WORKERS, [_row(_worker_id(state), state)])])

    async def workers(self) -> list[WorkerState]:
        """Return what each worker has obeyed, in the order of their names; also workers that ended."""
        workers = [_read(WorkerState, row) for row in await self._scan(_WORKERS, b"")]
        return sorted(workers, key=lambda state: state.worker)

    async def forget_workers(self, most: int = WORKERS_MOST) -> None:
        """Delete the states of all workers but the ``most`` that wrote last."""
        latest = sorted(await self.workers(), key=lambda worker: worker.at, reverse=True)
        if gone := [_worker_id(worker) for worker in latest[most:]]:
            await self._table.update([Change(_WORKERS, delete=gone)])

    # -- journal and suggestions -------------------------------------------------------------------------------

    async def journal(self, most: int = JOURNAL_MOST) -> list[JournalEntry]:
        """Return the last changes, the latest first."""
        entries = [_read(JournalEntry, row) for row in await self._scan(_MAIN, _JOURNAL)]
        return entries[::-1][:most]

    async def note(self, what: str, names: Sequence[str], by: str, now: float) -> None:
        """Note a change in the journal that is stored elsewhere."""
        entry = JournalEntry(0, now, by, what, ", ".join(names))
        await self._edit([], lambda *_: _News("last", journal=[entry]))

    async def suggest(self, url: str, note: str, by: str, now: float) -> str:
        """Hold a URL until an operator decides; return its id. A URL that is held already keeps its first note.

        :raises SteeringRefused: the URL is too long, or too many are held
        """
        _bound("the URL", url)
        held = await self.suggestions()
        name = _digest(url).hex()
        if any(suggestion.id == name for suggestion in held):
            return name
        decided = sorted(
            (suggestion for suggestion in held if suggestion.accepted is not None),
            key=lambda suggestion: suggestion.decided_at,
        )
        gone = [
            bytes.fromhex(suggestion.id) for suggestion in decided[: max(len(held) + 1 - SUGGESTIONS_MOST, 0)]
        ]
        if len(held) - len(gone) >= SUGGESTIONS_MOST:
            raise SteeringRefused(f"{SUGGESTIONS_MOST:,} suggestions wait for a decision; no more are taken")
        row = _row(bytes.fromhex(name), Suggestion(name, url, note[:SHOWN_MOST], by, now))
        await self._table.update([Change(_SUGGESTIONS, [row], gone)])
        return name

    async def suggestions(self) -> list[Suggestion]:
        """Return all suggestions that are kept, oldest first."""
        suggestions = [_read(Suggestion, row) for row in await self._scan(_SUGGESTIONS, b"")]
        return sorted(suggestions, key=lambda suggestion: (suggestion.at, suggestion.id))

    async def decide(self, name: str, by: str, now: float, *, accept: bool) -> Suggestion | None:
        """Decide on a suggestion, once, and return it; None if there is none, or it was decided before. The caller
        injects the URL of an accepted one."""
        if len(name) != 32 or not set(name) <= set("0123456789abcdef"):
            return None
        row_id = bytes.fromhex(name)
        [row] = await self._table.get([RowId(_SUGGESTIONS, row_id)])
        if row is None or (suggestion := _read(Suggestion, row)).accepted is not None:
            return None
        decided = replace(suggestion, accepted=accept, decided_by=by, decided_at=now)
        change = Change(_SUGGESTIONS, [_row(row_id, decided)], expected={row_id: row.value})
        [is_written] = await self._table.update([change])
        return decided if is_written else None

    # -- rows --------------------------------------------------------------------------------------------------

    async def _edit(
        self, ids: Sequence[bytes], change: Callable[[ChangeNumbers, Sequence[Row | None]], _News | None]
    ) -> bool:
        """Change the main partition as ``change`` says of its rows with ``ids``; return whether it did. Repeated if
        another process changes it meanwhile."""
        while True:
            header, *rows = await self._table.get([RowId(_MAIN, row_id) for row_id in (HEADER, *ids)])
            numbers = _numbers(header)
            news = change(numbers, rows)
            if news is None:
                return False
            first, last = numbers.last + 1, numbers.last + max(len(news.journal), 1)
            known = {**asdict(numbers), "last": last, news.kind: last, **news.demands}
            journal = [
                _row(_JOURNAL + _ordered(number), replace(_shortened(entry), number=number))
                for number, entry in enumerate(news.journal, first)
            ]
            old = [
                _JOURNAL + _ordered(number - JOURNAL_MOST)
                for number in range(first, last + 1)
                if number > JOURNAL_MOST
            ]
            put = [*news.put, *journal, _row(HEADER, ChangeNumbers(**known))]
            if await self._update(_MAIN, header, put, [*news.delete, *old]):
                return True

    async def _update(
        self, partition: str, header: Row | None, put: Sequence[Row], delete: Sequence[bytes] = ()
    ) -> bool:
        """Change a partition whose header is still the same; return whether it was."""
        expected = {HEADER: None if header is None else header.value}
        [is_written] = await self._table.update([Change(partition, put, delete, expected)])
        return is_written

    async def _scan(self, partition: str, prefix: bytes) -> list[Row]:
        before = prefix[:-1] + bytes((prefix[-1] + 1,)) if prefix else None
        rows: list[Row] = []
        while some := await self._table.scan(partition, _AT_ONCE, rows[-1].id if rows else prefix, before):
            rows += some
        return rows


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _demands(command: str, now: float) -> dict[str, Any]:
    """Return what a command demands of workers that are started later, too."""
    match command:
        case Operation.PAUSE | Operation.RESUME:
            return {"is_paused": command == Operation.PAUSE, "is_stopped": False}
        case Operation.STOP:
            return {"is_paused": False, "is_stopped": True, "stopped_at": now}
    return {}


def _worker_id(state: WorkerState) -> bytes:
    # Two processes may have one name.
    return _digest(f"{state.worker}\n{state.host}\n{state.process}")


def _bound(name: str, text: str) -> None:
    if len(text) > TEXT_MOST:
        raise SteeringRefused(f"{name} has {len(text):,} characters; at most {TEXT_MOST:,} are allowed")


def _shortened(entry: JournalEntry) -> JournalEntry:
    name, old, new = (
        text if text is None or len(text) <= SHOWN_MOST else f"{text[: SHOWN_MOST - 3]}..."
        for text in (entry.name, entry.old, entry.new)
    )
    return replace(entry, name=name or "", old=old, new=new)


def _digest(text: str) -> bytes:
    return xxh3_128_digest(text.encode("utf-8", "surrogatepass"))


def _ordered(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _row(row_id: bytes, what: Any) -> Row:
    kept = {name: value for name, value in asdict(what).items() if name != "id" or isinstance(value, str)}
    return Row(row_id, json.dumps(kept).encode())


def _read(kind: Callable[..., _T], row: Row) -> _T:
    """Return the object of a row. Fields that this version does not know are passed over."""
    with _reading():
        stored = json.loads(row.value)
        known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
        values = {name: value for name, value in stored.items() if name in known}
        return kind(**({"id": row.id} if kind is Injected else {}), **values)


def _numbers(header: Row | None) -> ChangeNumbers:
    return ChangeNumbers() if header is None else _read(ChangeNumbers, header)


def _header_row(count: int, number: int) -> Row:
    return Row(HEADER, f"{count} {number}".encode())


def _counts(header: Row | None) -> tuple[int, int]:
    """Return the number of URLs that wait, and the number of the last one that was added."""
    if header is None:
        return 0, 0
    with _reading():
        count, number = map(int, header.value.split())
        return count, number


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise StorageLost(f"what operators asked of the crawl cannot be read: {error}") from error
