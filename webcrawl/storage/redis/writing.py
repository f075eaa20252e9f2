"""Carrying out of commits: several small operations, in an order that loses nothing wherever it is cut off."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from webcrawl.errors import StorageAway
from webcrawl.frontier.queue_head import EVERYTHING, QueuePosition, expected_place
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.politeness.host_record import HostRecord
from webcrawl.storage.contract import Batch, Committed, Counts, Settled, uptime
from webcrawl.storage.redis.budget import LONG, Budget
from webcrawl.storage.redis.commits import (
    Portion,
    portions,
    pruned,
    push_call,
    robots_calls,
    settle_call,
    settle_portions,
)
from webcrawl.storage.redis.marks import SeenCache
from webcrawl.storage.redis.names import CrawlNames
from webcrawl.storage.redis.packing import decoded, encoded, position_from, unpack_entries
from webcrawl.storage.redis.server import Call, RedisServer
from webcrawl.storage.redis.shard import Shard

if TYPE_CHECKING:
    from webcrawl.storage.redis.leases import ServerClock
    from webcrawl.storage.redis.names import RedisOptions

_COUNTED = ("queued", "done", "failed", "refused", "hosts", "given_up_hosts", "given_up_urls")
_RELIEVED_AT_ONCE = 16
_TAKEN_IN_AT_ONCE = 1000
_REPEAT, _PRUNED = ord("2"), ord("3")
"""The fates of an entry that was queued beside another, and of a URL that was pruned from a queue that is still full.
"""


class Writer:
    """Writes the changes of commits.

    First all discovered URLs are queued, and only then records of hosts are stored and URLs leave their queues: a
    commit that is cut off is carried out again, and the parts that were done already change nothing.
    """

    def __init__(
        self,
        server: RedisServer,
        options: RedisOptions,
        member: str,
        get_owner: Callable[[str], str],
        shards: list[Shard],
        get_shard: Callable[[str], Shard],
        clock: ServerClock,
        budget: Budget,
        put_in_place: Callable[[], Awaitable[None]],
    ) -> None:
        """``shards`` is filled when the crawl is opened. ``put_in_place``: called before entries are settled by their
        place."""
        self._put_in_place = put_in_place
        self._counted = CrawlNames(options.spider).counted
        self._server = server
        self._options = options
        self._member = member
        self._get_owner = get_owner
        self._shards = shards
        self._get_shard = get_shard
        self._clock = clock
        self._budget = budget
        self._long = min(options.queue_max + 1, LONG) if options.queue_max else LONG
        self._known = SeenCache()
        self._recent: deque[tuple[float, list[UrlEntry]]] = deque()
        """Recently queued entries that may not be on the server's disk, with the time of ``uptime``."""
        self._doubtful: list[UrlEntry] = []
        """Entries queued shortly before a server started."""
        self._starts = 0
        """Number of starts of servers that were noticed."""
        self._uncertain: set[str] = set()
        """Keys for which a commit may have queued URLs without our knowledge."""
        self._may_return: list[int] = []
        """Fingerprints that this commit refused, or found to be refused, for a full queue."""

    def forget(self) -> None:
        """Note that a server has started: it may have forgotten its last answers and our last changes."""
        self._starts += 1
        self._known.clear()
        self._doubtful += [entry for _, entries in self._recent for entry in entries]
        self._recent.clear()

    async def repeat_doubtful(self) -> None:
        """Queue again entries that may have been forgotten; those that are still known are not queued twice."""
        if self._doubtful:
            starts, again = self._starts, list(self._doubtful)
            await self._push(again, {}, 0.0)
            if starts == self._starts:
                # Entries that were still there may not be on the disk yet either: the server may be killed once more.
                self._recent.append((uptime(), again))
                del self._doubtful[: len(again)]

    @property
    def is_doubtful(self) -> bool:
        """True if entries may be forgotten and are not queued again yet."""
        return bool(self._doubtful)

    def forget_durable(self, before: float) -> None:
        """Forget entries queued ``before`` (see ``uptime``): the server has them on its disk."""
        while self._recent and self._recent[0][0] < before:
            self._recent.popleft()

    def take_uncertain(self) -> dict[str, QueuePosition]:
        """Return the active keys of this process whose queues may hold more than it knows, with a place before it
        all."""
        keys, self._uncertain = self._uncertain, set()
        return {key: EVERYTHING for key in keys if key in self._get_shard(key).mine}

    async def commit(self, batch: Batch) -> Committed:
        try:
            return await self._commit(batch)
        except BaseException:
            self._uncertain.update(entry.key for entry in batch.discovered)
            self._uncertain.update(result.again.key for result in batch.settled if result.again is not None)
            raise

    async def _commit(self, batch: Batch) -> Committed:
        lengths: dict[str, int] = {}
        # Before the known URLs are looked up: under an epoch that is over nothing is settled.
        epochs = [shard.epoch for shard in self._shards]
        await self._put_in_place()
        self._may_return = []
        queued, turned_away = await self._take_in(self._unknown(batch.discovered), lengths, batch.at)
        if batch.robots:
            most = max(self._options.robots_max // len(self._shards), 1)
            calls = robots_calls(batch.robots, self._get_owner, self._get_shard, self._member, most)
            await self._server.call("robots", calls)
            for answer in batch.robots:
                owner = self._get_owner(answer.origin)
                self._get_shard(owner).forget_robots(owner)
        if (counted := batch.counted) is not None:
            # Before the URLs leave their queues: what is done is counted.
            await self._server.commands([("HSET", self._counted, counted.name, counted.packed())])
        lost: set[str] = set()
        queued += await self._settle(batch.hosts, batch.settled, lengths, lost, epochs, self._long)
        self._budget.note(lengths)
        pruned = await self._prune(lengths)
        crowded_out = await self._relieve()
        if gone := pruned | crowded_out:
            queued = [entry for entry in queued if (entry.key, expected_place(entry)) not in gone]
        total = sum(shard.queued for shard in self._shards)
        hosts = sum(shard.hosts for shard in self._shards)
        return Committed(
            *(queued, len(pruned), total, hosts, sorted(lost), turned_away, len(crowded_out)),
            may_return=self._may_return,
        )

    async def make_room(self) -> None:
        """Prune URLs over the budget, so that a server that refuses more does so no longer."""
        await self._budget.measure()
        for _ in range(_RELIEVED_AT_ONCE):
            if not await self._relieve():
                return

    async def _take_in(
        self, links: Sequence[UrlEntry], lengths: dict[str, int], at: float
    ) -> tuple[list[UrlEntry], int]:
        """Queue those of ``links`` for which there is room. Returns the queued ones, and the number turned away."""
        queued: list[UrlEntry] = []
        turned_away = 0
        # With a budget a part at a time: the room that a part takes is known only after it.
        step = _TAKEN_IN_AT_ONCE if self._budget.is_given else max(len(links), 1)
        for first in range(0, len(links), step):
            part = links[first : first + step]
            taken = await self._budget.admit(part)
            queued += await self._push(taken, lengths, at)
            turned_away += len(part) - len(taken)
        return queued, turned_away

    # -- one step each -------------------------------------------------------------------------------------

    def _unknown(self, entries: Sequence[UrlEntry]) -> list[UrlEntry]:
        """Return the entries that are not known to be known by the server."""
        news: list[UrlEntry] = []
        known = self._known.among(entry.fingerprint for entry in entries)
        for entry in entries:
            if entry.kind == Kind.ROBOTS:
                # A hop of a robots.txt redirect is no URL of the crawl: it is never seen, wherever it leads.
                entry.repeat = True
            elif entry.fingerprint in known and not entry.repeat:
                continue
            news.append(entry)
        return news

    async def _push(self, news: Sequence[UrlEntry], lengths: dict[str, int], now: float) -> list[UrlEntry]:
        """Queue new entries. Returns those that were really queued, in the order given."""
        known_before: set[int] = set()
        parts = portions(news, lambda entry: entry.key, self._get_shard)
        delay, long, most = self._options.delay_seconds, self._long, self._options.queue_max
        calls = [push_call(portion, self._member, delay, long, most, now) for portion in parts]
        for portion, answer in zip(parts, await self._server.call("push", calls), strict=True):
            portion.shard.queued, portion.shard.hosts, fates, moves, long_queues = answer
            members: list[UrlEntry] = list(portion.in_order())
            for at, place in zip(moves[::2], moves[1::2], strict=True):
                members[at - 1].position = position_from(place)[1]
            # A repeat is known too, but may be the repeat of a URL that was pruned and may return.
            self._known.update(
                entry.fingerprint for entry, fate in zip(members, fates, strict=True) if fate != _REPEAT
            )
            for entry, fate in zip(members, fates.decode(), strict=True):
                if fate in "03":
                    known_before.add(id(entry))
                else:
                    entry.repeat = fate == "2"
            if b"3" in fates:
                self._let_return(
                    entry.fingerprint for entry, fate in zip(members, fates, strict=True) if fate == _PRUNED
                )
            changed = _changed(members, known_before) if b"0" in fates or b"3" in fates else portion.keys
            lengths.update(_lengths(changed, long_queues))
        new = [entry for entry in news if id(entry) not in known_before] if known_before else list(news)
        self._remember(new)
        return new

    def _let_return(self, fingerprints: Iterable[int]) -> None:
        """Let pruned URLs be sent again when they are found again. Bloom filters forget none."""
        if self._server.filters is not None:
            return
        gone = list(fingerprints)
        self._known.discard(gone)
        self._may_return += gone

    def _remember(self, entries: list[UrlEntry]) -> None:
        if entries:
            self._recent.append((uptime(), entries))

    async def _settle(
        self,
        records: Sequence[HostRecord],
        settled: Sequence[Settled],
        lengths: dict[str, int],
        lost: set[str],
        epochs: Sequence[int] | None = None,
        long: int = 1,
    ) -> list[UrlEntry]:
        """Store records and settle URLs that are ours. Returns the entries that went back into their queues.

        ``epochs``: those of the shards when the links of the settled URLs were queued. ``long``: the length from
        which on the lengths of queues are returned.
        """
        again: list[UrlEntry] = []
        parts = settle_portions(records, settled, self._get_shard)
        slack = self._clock.slack_seconds
        calls = []
        for portion in parts:
            epoch = "" if epochs is None else epochs[self._shards.index(portion.shard)]
            calls.append(settle_call(portion, self._member, epoch, slack, long))
        for portion, (total, *answer) in zip(parts, await self._server.call("settle", calls), strict=True):
            if total == -1:
                raise StorageAway("Redis has started anew; the worker queues again what Redis may have lost")
            portion.shard.queued = total
            fates, long_queues, dropped = answer
            again += self._apply_fates(portion, fates, dropped, lost)
            lengths.update(_lengths(portion.keys, long_queues))
        return again

    def _apply_fates(
        self, portion: Portion, fates: bytes, dropped: Sequence[bytes], lost: set[str]
    ) -> list[UrlEntry]:
        """Apply the answer for a portion. Returns the entries that went back, and adds keys that are lost to
        ``lost``."""
        again: list[UrlEntry] = []
        fate = iter(fates.decode())
        for result in portion.in_order():
            if result.record is not None and encoded(result.key) in dropped:
                self._lose(result.key, result.record.fence, lost)
            for its in result.settled:
                became = next(fate)
                if became == "0":
                    self._lose(result.key, its.fence, lost)
                elif its.again is not None and became == "1":
                    again.append(its.again)
        return again

    def _lose(self, key: str, fence: int, lost: set[str]) -> None:
        """Note that a change under ``fence`` was dropped. It may be of an earlier time: the key may be ours again."""
        mine = self._get_shard(key).mine
        if mine.get(key) == fence:
            del mine[key]
            lost.add(key)

    async def _prune(self, lengths: dict[str, int]) -> set[tuple[str, QueuePosition]]:
        """Cut queues that are longer than ``queue_max``. Returns (key, place) of the entries removed."""
        most = self._options.queue_max
        return await self._cut({key: most for key, length in lengths.items() if most and length > most})

    async def _relieve(self) -> set[tuple[str, QueuePosition]]:
        """Cut the longest queues of servers that are full. Returns (key, place) of the entries removed."""
        gone = await self._cut(await self._budget.over())
        self._budget.pruned(key for key, _ in gone)
        return gone

    async def _cut(self, most: dict[str, int]) -> set[tuple[str, QueuePosition]]:
        """Cut queues to the lengths of ``most``, lowest level and last come first."""
        gone: set[tuple[str, QueuePosition]] = set()
        full = list(most)
        while full:
            calls: list[Call] = [
                (self._get_shard(key).names.fixed, [encoded(key), most[key]]) for key in full
            ]
            tails = await self._server.call("queue_excess", calls)
            over = [
                entry for key, tail in zip(full, tails, strict=True) for entry in unpack_entries(tail, key)
            ]
            gone.update((entry.key, expected_place(entry)) for entry in over)
            left: dict[str, int] = {}
            await self._settle((), pruned(over), left, set())
            self._let_return(entry.fingerprint for entry in over if not entry.repeat)
            self._budget.note({key: left.get(key, 0) for key in full})
            full = [key for key in full if left.get(key, 0) > most[key]]
        return gone

    # -- figures -------------------------------------------------------------------------------------------

    async def counts(self) -> Counts:
        """Return the figures of all shards together."""
        commands: list[tuple[Any, ...]] = []
        for shard in self._shards:
            commands.append(("HMGET", shard.names.totals, *_COUNTED))
            commands.append(("ZLEXCOUNT", shard.names.idle, "[p", "(p\xff"))
        answers = await self._server.commands(commands)
        counts = Counts()
        for shard, totals, parked in zip(self._shards, answers[::2], answers[1::2], strict=True):
            numbers = [int(number or 0) for number in totals]
            for name, number in zip(_COUNTED, numbers, strict=True):
                setattr(counts, name, getattr(counts, name) + number)
            counts.parked_hosts += parked
            shard.queued, shard.hosts = numbers[0], numbers[4]
        return counts


def _changed(entries: Iterable[UrlEntry], known_before: Container[int]) -> set[str]:
    """Return the keys of those entries whose id is not in ``known_before``."""
    return {entry.key for entry in entries if id(entry) not in known_before}


def _lengths(keys: Iterable[str], long_queues: Sequence[Any]) -> dict[str, int]:
    """Return the number of queued URLs of each of ``keys``, 0 for those that ``long_queues`` omits."""
    long = {decoded(key): length for key, length in zip(long_queues[::2], long_queues[1::2], strict=True)}
    return {key: long.get(key, 0) for key in keys}
