"""Going through all queues, and giving entries other places in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

from webcrawl.frontier.backend import Move, Spot, Walked
from webcrawl.frontier.backends.redis.commits import portions
from webcrawl.frontier.backends.redis.packing import encoded, place_bytes, unpack_entries
from webcrawl.frontier.backends.redis.server import Call, Server
from webcrawl.frontier.backends.redis.shard import Shard
from webcrawl.frontier.hold import uptime
from webcrawl.frontier.queue_head import Place, place_of
from webcrawl.frontier.records import UrlEntry

if TYPE_CHECKING:
    from webcrawl.frontier.backends.redis.crew import Crew

HOSTS_AT_ONCE = 200
"""Records of keys that are looked at in one step."""


class Walker:
    """Reads queues of keys that are ours, and of those that nobody holds our part, by the crew's last roll call."""

    def __init__(
        self,
        server: Server,
        shards: Sequence[Shard],
        shard_of: Callable[[str], Shard],
        crew: Crew,
        member: str,
    ) -> None:
        self._server = server
        self._shards = shards
        self._shard_of = shard_of
        self._crew = crew
        self._member = member
        self._recent: deque[tuple[float, list[Move]]] = deque()
        """What was moved lately and may not be on the server's disk, with the time as told by ``uptime``."""
        self._doubtful: list[Move] = []
        """What was moved shortly before a server started."""

    async def walk(self, spot: Spot | None, count: int) -> Walked:
        """A spot is the number of a shard, the cursor of a scan of its hosts (None behind it), keys that were found
        and are not read yet, and how far the first of these was."""
        number, cursor, keys, after = spot or (0, b"0", (), None)
        if not keys:
            keys, cursor = await self._some_keys(self._shards[number], cursor)
            after = None
        entries: list[UrlEntry] = []
        while keys and len(entries) < count:
            found, more = await self._stretch(self._shards[number], keys[0], after, count - len(entries))
            entries += found
            after = place_of(found[-1]) if more else None
            keys = keys if more else keys[1:]
        if not keys and cursor is None:
            number, cursor = number + 1, b"0"
        return Walked(entries, (number, cursor, keys, after) if number < len(self._shards) else None)

    async def _some_keys(self, shard: Shard, cursor: Any) -> tuple[tuple[bytes, ...], Any]:
        """Keys with URLs that we are to read, and where to go on."""
        [(cursor, answer)] = await self._server.commands(
            [("HSCAN", shard.names.hosts, cursor, "COUNT", HOSTS_AT_ONCE)]
        )
        pairs = answer.items() if isinstance(answer, dict) else zip(answer[::2], answer[1::2], strict=True)
        keys = sorted(key for key, value in pairs if any(value[:4]) and self._is_ours(shard, key))
        if keys:
            [held] = await self._server.commands([("HMGET", shard.names.held, *keys)])
            keys = [
                key
                for key, holder in zip(keys, held, strict=True)
                if holder is None or key.decode("utf-8", "surrogatepass") in shard.mine
            ]
        return tuple(keys), cursor if int(cursor) else None

    def _is_ours(self, shard: Shard, key: bytes) -> bool:
        """Whether we hold it, or it falls to us if nobody does."""
        return (
            key.decode("utf-8", "surrogatepass") in shard.mine
            or crc32(key) % self._crew.size == self._crew.rank
        )

    async def _stretch(
        self, shard: Shard, key: bytes, after: Place | None, count: int
    ) -> tuple[list[UrlEntry], bool]:
        args = [key, b"" if after is None else place_bytes(after), count]
        [(entries, more)] = await self._server.call("load", [(shard.names.fixed, args)])
        return list(unpack_entries(entries, key.decode("utf-8", "surrogatepass"))), bool(more)

    def forget(self) -> None:
        """A server has started: it may have forgotten what was moved last."""
        self._doubtful += [move for _, moves in self._recent for move in moves]
        self._recent.clear()

    def forget_what_is_safe(self, before: float) -> None:
        """What was moved ``before`` (see ``uptime``) the server has on its disk."""
        while self._recent and self._recent[0][0] < before:
            self._recent.popleft()

    async def repeat_what_is_doubtful(self) -> None:
        """Move again what may stand where it stood; a page is settled by its place, so this comes before that."""
        if again := list(self._doubtful):
            await self._move(again)
            del self._doubtful[: len(again)]

    async def move(self, moves: Sequence[Move]) -> list[Move]:
        """Those that were moved. :raises webcrawl.errors.StorageFull: some of them may have been"""
        await self.repeat_what_is_doubtful()
        return await self._move(moves)

    async def _move(self, moves: Sequence[Move]) -> list[Move]:
        # Before it is known: an answer may be lost.
        self._recent.append((uptime(), list(moves)))
        made = portions(moves, lambda move: move.entry.key, self._shard_of)
        calls: list[Call] = []
        for portion in made:
            args: list[Any] = [self._member]
            for key, members in portion.keys.items():
                fence = members[0].fence
                places = b"".join(
                    place_bytes(place_of(move.entry)) + place_bytes(move.place) for move in members
                )
                args += (encoded(key), b"" if fence is None else fence, places)
            calls.append((portion.shard.names.fixed, args))
        moved: list[Move] = []
        for portion, fates in zip(made, await self._server.call("move", calls), strict=True):
            moved += [move for move, fate in zip(portion.in_order(), fates, strict=True) if fate == 49]
        return moved
