"""The other way round: what lies in the indexes of a shard and belongs to no record."""

from __future__ import annotations

from webcrawl.frontier.backends.findings import Kind
from webcrawl.frontier.backends.redis.audit.flaws import Flaws, Repair, Stage
from webcrawl.frontier.backends.redis.audit.queues import PLACE_BYTES, Sums
from webcrawl.frontier.backends.redis.audit.reading import AT_ONCE, Reader

NUMBER_BYTES = 51
"""What follows the place in a mark for the holder of a key."""

_KEY_AT = 15
"""Where the key begins in a member of ``idle``."""


class IndexLook:
    """Goes through the indexes, for what no record leads to. One that holds as much as was met on the way from the
    records has nothing of the kind.
    """

    def __init__(self, reader: Reader, flaws: Flaws) -> None:
        self._reader = reader
        self._flaws = flaws

    async def look(self, sums: Sums) -> None:
        names, ask = self._reader.names, self._reader.ask
        if await ask("ZCARD", names.idle) != sums.idle:
            await self._idle()
        if await ask("HLEN", names.held) != sums.held:
            await self._fields(names.held, "the lease of")
        await self._fields(names.given_up, "the mark as given up of", "SSCAN")
        await self._stirred()
        await self._robots()

    async def _idle(self) -> None:
        name = self._reader.names.idle
        async for members in self._reader.lexical(name, AT_ONCE):
            keys = list(dict.fromkeys(member[_KEY_AT:] for member in members))
            views = {view.key: view for view in await self._reader.views(keys)}
            for member in members:
                view = views[member[_KEY_AT:]]
                if member != view.idle_member:
                    self._strike(name, member, f"an idle entry of {view.name}")

    async def _stirred(self) -> None:
        name = self._reader.names.fixed[3]
        await self._fields(name, "the mark for the holder of")
        async for found in self._reader.scan("HSCAN", name):
            for key, mark in found:
                if len(mark) != PLACE_BYTES + NUMBER_BYTES:
                    strike = Repair(Stage.STRUCTURE, "strike", name, (key,))
                    detail = f"{len(mark)} bytes instead of a place and a number"
                    self._flaws.add(
                        Kind.UNREADABLE, f"the mark for the holder of {_text(key)}", detail, strike
                    )

    async def _fields(self, name: bytes, what: str, scan: str = "HSCAN") -> None:
        async for found in self._reader.scan(scan, name):
            for key in await self._reader.without_record([key for key, _ in found]):
                self._strike(name, key, f"{what} {_text(key)}")

    async def _robots(self) -> None:
        """Each answer of robots.txt has its time of expiry in a ZSET, and the other way round."""
        names, ask = self._reader.names, self._reader.ask
        answers = set(await ask("HKEYS", names.robots))
        ends = set(await ask("ZRANGE", names.robots_ends, 0, -1))
        for name, only in ((names.robots, answers - ends), (names.robots_ends, ends - answers)):
            for origin in sorted(only):
                strike = Repair(Stage.STRUCTURE, "strike", name, (origin,))
                detail = "no time of expiry" if name == names.robots else "no answer"
                self._flaws.add(Kind.ROBOTS, _text(origin), detail, strike)

    def _strike(self, name: bytes, member: bytes, subject: str) -> None:
        self._flaws.add(Kind.STRAY, subject, "", Repair(Stage.STRUCTURE, "strike", name, (member,)))


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")
