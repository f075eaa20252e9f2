"""One look at one shard, which compares everything in it; and the search of all names in Redis for strays that no
crawl uses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from webcrawl.frontier.records import State
from webcrawl.storage.inspection import Kind
from webcrawl.storage.redis.check.reading import Reader
from webcrawl.storage.redis.check.records import IndexLook, QueueLook, Sums
from webcrawl.storage.redis.check.repairs import Flaws, Repair, Stage
from webcrawl.storage.redis.server import Server

URLS_AT_ONCE = 1_000_000
"""Queued URLs of a host that are in memory together, in about 80 MB. If there are more, its queue is read again."""

_PASSING = ("run", "quiet_until", "epoch", "fence", "stirs")
"""Other fields of the hash of totals."""


@dataclass(slots=True)
class Look:
    """The result of one look at a shard."""

    flaws: Flaws
    sums: Sums = field(default_factory=Sums)
    moved: bool = False
    """Its totals changed meanwhile, and were not compared."""
    number: int = 0

    @property
    def where(self) -> str:
        return f"shard {self.number}"

    @property
    def urls(self) -> int:
        return sum(self.sums.marks.states)


async def look_at(reader: Reader, shards: int) -> Look:
    """Look at a shard of a crawl with this number of shards."""
    look = Look(Flaws(f"shard {reader.number}"), number=reader.number)
    before = await reader.totals()
    members = set(await reader.ask("ZRANGE", reader.names.fixed[7], 0, -1))
    await QueueLook(reader, look.flaws, shards, members, URLS_AT_ONCE).look(look.sums)
    await IndexLook(reader, look.flaws).look(look.sums)
    _compare_totals(look, before, await reader.totals())
    return look


def _compare_totals(look: Look, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    look.moved = _lasting(before) != _lasting(after)
    if look.moved:
        return
    for name, counted in _counted(look.sums).items():
        told = whole(before.get(name))
        if told != counted:
            says = "nothing that is a number" if told is None else told
            by = counted - (told or 0)
            adjust = Repair(Stage.TOTALS, "adjust", name.encode(), (by,))
            look.flaws.add(Kind.TOTAL, name, f"says {says}, is {counted}", adjust)
    fence = whole(before.get("fence")) or 0
    if fence < look.sums.highest_fence:
        adjust = Repair(Stage.TOTALS, "adjust", b"fence", (look.sums.highest_fence - fence,))
        look.flaws.add(Kind.FENCE, "fence", f"says {fence}, is {look.sums.highest_fence}", adjust)


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
    return {name: value for name, value in totals.items() if name not in _PASSING}


def whole(value: bytes | None) -> int | None:
    """Return a stored number; 0 if it is missing, None if it is no number."""
    try:
        return int(value or 0)
    except ValueError:
        return None


async def strays(server: Server, spider: str, readers: Sequence[Reader]) -> Flaws:
    """Find shards that the crawl does not have, and names that it does not use."""
    flaws = Flaws("")
    used = [{*reader.names.fixed, *reader.names.others} for reader in readers]
    begins = [(reader.names.clocks, reader.names.visits) for reader in readers]
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
                flaws.add(Kind.STRAY, name.decode("utf-8", "replace"), "nobody uses it")
    for number in sorted(beyond):
        flaws.add(Kind.STRAY, f"shard {number}", f"the crawl has {len(readers)}")
    return flaws
