"""Evidence that the processes of a crawl share: the next holder of a host goes on where the last one ended.

A host is held by one process at a time, but hosts move between processes, for fair shares or when one dies. What a
process has learned of a host is stored with each page that teaches something, before the page is settled, and read
when the host is held anew, by its fence. So the pages of a trap count in a row wherever they were fetched, and a copy
that another process has fetched is known as one.

It is stored in bounded space and only where it may be of use: observations of pages, in chunks, of hosts that offer
pages under several URLs; and the whole record of each pattern whose pages have points.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xxhash import xxh3_128_digest

from webcrawl.errors import CrawlError, StorageLost
from webcrawl.features.traps.copies import PageContents
from webcrawl.features.traps.detector import Observation, TrapEvidence
from webcrawl.features.traps.sessions import Comparison, SessionVisit
from webcrawl.features.traps.store import SPEC
from webcrawl.storage.tables import HEADER, Change, Row, RowId

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Mapping, Sequence

    from webcrawl.features.traps.detector import TrapDetector
    from webcrawl.storage.tables import Tables

logger = logging.getLogger(__name__)

CHUNK = 32
"""Observations in a row of the table."""
CHUNKS_MAX = 64
"""Such rows of a host; the oldest go."""
PATTERNS_MAX = 64
"""Patterns of a host whose records are stored."""
HOSTS_MAX = 5_000
"""Hosts of which it is known what was read and written; others are read anew."""
_OBSERVATIONS, _RECORDS, _CONTENTS = b"o/", b"p/", b"q/"
"""The beginnings of the ids: of chunks of observations, and of what is known of a pattern."""
ATTEMPTS = 2
_AT_ONCE = 100
"""Rows that are read at once."""


@dataclass(slots=True)
class _HostEvidence:
    """The state of a host in this process: what it has read from the storage and written there."""

    fence: int = -1
    """The fence under which it was read; -1: it has to be read."""
    header: bytes | None = None
    """The stored header, as far as is known: the number of writes."""
    chunk: int = 0
    """Number of the last chunk."""
    lines: list[bytes] = field(default_factory=list)
    """The observations of the host."""
    sure: tuple[int, int] = (0, 0)
    """Number of the last chunk that was read or certainly written, and of its observations."""
    patterns: set[bytes] = field(default_factory=set)
    """Ids of the stored patterns."""
    observations: list[Observation] = field(default_factory=list)
    """The observations that are not written yet."""
    changed: dict[str, bool] = field(default_factory=dict)
    """The patterns whose record is not written yet, and whether their content has changed too."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """The task that reads or writes the host holds it."""


class SharedEvidence:
    """Reads and writes what is known of hosts. Without it, each process would count alone: errors of the storage do
    no harm."""

    def __init__(self, tables: Tables, detector: TrapDetector) -> None:
        self._table = tables.table(SPEC)
        self._detector = detector
        self._hosts: OrderedDict[str, _HostEvidence] = OrderedDict()
        self._failed = False

    async def hold(self, place: str, fence: int) -> None:
        """Let the detector know all that is known of a host, before it evaluates a page of it.

        ``place``: host and port; ``fence``: under which its key is held.
        """
        host = self._hosts.setdefault(place, _HostEvidence())
        self._hosts.move_to_end(place)
        if len(self._hosts) > HOSTS_MAX:
            self._hosts.popitem(last=False)
        if host.fence != fence:
            async with host.lock:
                if host.fence != fence and await self._tries(self._read(place, host), host):
                    host.fence = fence

    async def keep(self, learned: TrapEvidence) -> None:
        """Store what a page has taught. Further pages may be evaluated meanwhile: theirs is stored with the next
        write."""
        host = self._hosts.get(learned.place)
        if host is None:
            return
        if learned.may_have_copies or host.chunk:
            host.observations.append(learned.observation)
        if learned.pattern is not None:
            was_examined = host.changed.get(learned.pattern, False) or learned.was_examined
            host.changed[learned.pattern] = was_examined
        if host.observations or host.changed:
            async with host.lock:
                await self._tries(self._keep(learned.place, host), host)

    async def _keep(self, place: str, host: _HostEvidence) -> None:
        observations, host.observations = host.observations, []
        changed, host.changed = host.changed, {}
        for _ in range(ATTEMPTS):
            rows = [*self._observed(host, observations), *self._patterns(host, changed)]
            # Without rows, an earlier write has taken them along.
            if not rows or await self._write(place, host, rows):
                return
            # A process that does not hold the host any more has come late with a page.
            await self._read(place, host)

    def _observed(self, host: _HostEvidence, observations: Sequence[Observation]) -> list[Row]:
        """Return the chunks with new observations."""
        rows: dict[int, Row] = {}
        for observation in observations:
            if len(host.lines) >= CHUNK or not host.chunk:
                host.chunk, host.lines = host.chunk + 1, []
            host.lines.append(_line(observation))
            rows[host.chunk] = Row(_chunk_id(host.chunk), b"\n".join(host.lines))
        return list(rows.values())

    def _patterns(self, host: _HostEvidence, changed: Mapping[str, bool]) -> Iterator[Row]:
        """Yield the rows of patterns whose record, and perhaps content, has changed."""
        patterns = self._detector.patterns
        for pattern, was_examined in changed.items():
            name = pattern.encode("utf-8", "surrogatepass")
            id_ = xxh3_128_digest(name)
            if id_ in host.patterns or len(host.patterns) < PATTERNS_MAX:
                host.patterns.add(id_)
                yield Row(_RECORDS + id_, name + b"\0" + patterns.packed_record(pattern))
                if was_examined:
                    yield Row(_CONTENTS + id_, name + b"\0" + patterns.packed_content(pattern))

    async def _read(self, place: str, host: _HostEvidence) -> None:
        partition = _partition(place)
        [header] = await self._table.get([RowId(partition, HEADER)])
        if header is None:
            host.header, host.chunk, host.lines, host.sure = None, 0, [], (0, 0)
            return
        if header.value == host.header:
            return
        after = _chunk_id(host.sure[0] - 1) if host.sure[0] else _OBSERVATIONS
        while rows := await self._table.scan(partition, _AT_ONCE, after):
            after = rows[-1].id
            for row in rows:
                if row.id.startswith(_OBSERVATIONS):
                    self._take(host, row)
                else:
                    self._restore(host, row)
            # A host with many observations must not hold the event loop.
            await asyncio.sleep(0)
        host.header, host.sure = header.value, (host.chunk, len(host.lines))

    def _take(self, host: _HostEvidence, row: Row) -> None:
        number = int(row.id.removeprefix(_OBSERVATIONS), 16)
        lines = row.value.split(b"\n")
        known = host.sure[1] if number == host.sure[0] else 0
        for line in lines[known:]:
            self._detector.take(_observation(line))
        host.chunk, host.lines = number, lines

    def _restore(self, host: _HostEvidence, row: Row) -> None:
        pattern, _, packed = row.value.partition(b"\0")
        text = pattern.decode("utf-8", "surrogatepass")
        if row.id.startswith(_RECORDS):
            host.patterns.add(row.id.removeprefix(_RECORDS))
            self._detector.patterns.restore_record(text, packed)
        else:
            self._detector.patterns.restore_content(text, packed)

    async def _write(self, place: str, host: _HostEvidence, rows: list[Row]) -> bool:
        """Return whether rows were written: only if nobody else has written since the host was read."""
        writes = 0 if host.header is None else _writes(host.header)
        header = b"%d" % (writes + 1)
        gone = range(max(host.sure[0] - CHUNKS_MAX, 1), max(host.chunk - CHUNKS_MAX + 1, 1))
        change = Change(
            _partition(place),
            [*rows, Row(HEADER, header)],
            [_chunk_id(number) for number in gone],
            expected={HEADER: host.header},
        )
        [is_made] = await self._table.update([change])
        if is_made:
            host.header, host.sure = header, (host.chunk, len(host.lines))
        return is_made

    async def _tries(self, work: Awaitable[None], host: _HostEvidence) -> bool:
        """Return whether something was done; otherwise the host is read before its next page."""
        try:
            await work
        except CrawlError as error:
            host.fence = -1
            if not self._failed:
                logger.warning("What is known of traps cannot be shared at the moment: %s", error)
            self._failed = True
            return False
        self._failed = False
        return True


def _partition(place: str) -> str:
    return f"host {place}"


def _chunk_id(number: int) -> bytes:
    return _OBSERVATIONS + b"%012x" % number


def _writes(header: bytes) -> int:
    try:
        return int(header)
    except ValueError as error:
        raise StorageLost(f"what is stored of a host's traps cannot be read: {error}") from error


def _line(observation: Observation) -> bytes:
    """Return an observation as a line of JSON; most are of pages without parameters, and short."""
    url, base, contents, session = observation
    if url is None and contents is not None:
        return json.dumps([base, contents.whole, *contents.handed_on], separators=(",", ":")).encode()
    return json.dumps([url, base, contents, session], separators=(",", ":")).encode()


def _observation(line: bytes) -> Observation:
    try:
        first, *others = json.loads(line)
        if isinstance(first, int):
            whole, *handed_on = map(int, others)
            return Observation(None, first, PageContents(whole, tuple(handed_on), {}))
        base, contents, session = others
        if contents is not None:
            whole, handed_on, without = contents
            contents = PageContents(int(whole), tuple(map(int, handed_on)), dict(without))
        if session is not None:
            at, results = session
            results = {str(name): Comparison(result) for name, result in results.items()}
            session = SessionVisit(int(at), results)
        return Observation(first, int(base), contents, session)
    except (ValueError, TypeError, AttributeError) as error:
        raise StorageLost(f"what is stored of a host's traps cannot be read: {error}") from error
