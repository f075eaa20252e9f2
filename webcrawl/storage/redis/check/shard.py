"""One check of one shard, which compares everything in it; and the search of all names in Redis for strays that no
crawl uses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from webcrawl.frontier.records import State
from webcrawl.storage.inspection import FindingKind
from webcrawl.storage.redis.check.reader import ShardReader
from webcrawl.storage.redis.check.records import IndexCheck, QueueCheck, Sums
from webcrawl.storage.redis.check.repairs import Flaws, Repair, RepairStage
from webcrawl.storage.redis.server import RedisServer

URLS_AT_ONCE = 1_000_000
"""Queued URLs of a host that are in memory together, in about 80 MB. If there are more, its queue is read again."""

_CHANGING = ("run", "quiet_until", "epoch", "fence", "queue_changes")
"""Other fields of the hash of totals."""


@dataclass(slots=True)
class ShardResult:
    """The result of one check of a shard."""

    flaws: Flaws
    sums: Sums = field(default_factory=Sums)
    moved: bool = False
    """Its totals changed meanwhile, and were not compared."""
    number: int = 0
    in_filters: int = 0
    """URLs that the Bloom filters have, as they count them."""

    @property
    def where(self) -> str:
        return f"shard {self.number}"

    @property
    def urls(self) -> int:
        return sum(self.sums.marks.states) or self.in_filters


async def check_shard(reader: ShardReader, shards: int) -> ShardResult:
    """Check a shard of a crawl with this number of shards."""
    result = ShardResult(Flaws(f"shard {reader.number}"), number=reader.number)
    before = await reader.totals()
    members = set(await reader.send("ZRANGE", reader.names.members, 0, -1))
    await QueueCheck(reader, result.flaws, shards, members, URLS_AT_ONCE).run(result.sums)
    await IndexCheck(reader, result.flaws).run(result.sums)
    if reader.filters is not None:
        result.in_filters = whole(await reader.send("HGET", reader.names.seen, "added")) or 0
    _compare_totals(result, before, await reader.totals(), has_states=reader.filters is None)
    return result


def _compare_totals(
    result: ShardResult, before: dict[str, bytes], after: dict[str, bytes], *, has_states: bool
) -> None:
    result.moved = _lasting(before) != _lasting(after)
    if result.moved:
        return
    for name, counted in _counted(result.sums).items():
        if not has_states and name in _OF_STATES:
            continue
        stored = whole(before.get(name))
        if stored != counted:
            says = "nothing that is a number" if stored is None else stored
            by = counted - (stored or 0)
            adjust = Repair(RepairStage.TOTALS, "adjust_totals", name.encode(), (by,))
            result.flaws.add(FindingKind.TOTAL, name, f"says {says}, is {counted}", adjust)
    fence = whole(before.get("fence")) or 0
    if fence < result.sums.highest_fence:
        adjust = Repair(RepairStage.TOTALS, "adjust_totals", b"fence", (result.sums.highest_fence - fence,))
        result.flaws.add(FindingKind.FENCE, "fence", f"says {fence}, is {result.sums.highest_fence}", adjust)


_OF_STATES = ("done", "failed", "refused", "seen")
"""Totals that Bloom filters cannot say anew."""


def _counted(sums: Sums) -> dict[str, int]:
    return {
        "queued": sums.queued,
        "done": sums.marks.states[State.DONE],
        "failed": sums.marks.states[State.FAILED],
        "refused": sums.marks.states[State.REFUSED],
        "hosts": sums.hosts,
        "given_up_hosts": sums.given_up_hosts,
        "given_up_urls": sums.given_up_urls,
        "held_urls": sums.held_urls,
        "seen": sum(sums.marks.states),
    }


def _lasting(totals: dict[str, bytes]) -> dict[str, bytes]:
    return {name: value for name, value in totals.items() if name not in _CHANGING}


def whole(value: bytes | None) -> int | None:
    """Return a stored number; 0 if it is missing, None if it is no number."""
    try:
        return int(value or 0)
    except ValueError:
        return None


async def strays(server: RedisServer, spider: str, readers: Sequence[ShardReader]) -> Flaws:
    """Find shards that the crawl does not have, and names that it does not use."""
    flaws = Flaws("")
    used = [{*reader.names.fixed, *reader.names.others} for reader in readers]
    begins = [(reader.names.clocks, reader.names.tables) for reader in readers]
    beyond: set[int] = set()
    tag = f"{{{spider}:".encode()
    pattern = re.sub(rb"([*?\[\]\\])", rb"\\\1", tag) + b"*}:*"
    async for names in server.scan(pattern):
        for name in names:
            digits = name[len(tag) :].partition(b"}:")[0]
            if not digits.isdigit():
                continue
            number = int(digits)
            if number >= len(readers):
                beyond.add(number)
            elif name not in used[number] and not name.startswith(begins[number]):
                flaws.add(FindingKind.STRAY, name.decode("utf-8", "replace"), "unused")
    for number in sorted(beyond):
        flaws.add(FindingKind.STRAY, f"shard {number}", f"the crawl has {len(readers)}")
    return flaws
