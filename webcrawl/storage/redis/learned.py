"""The learned weights of the workers of a shared crawl, in Redis: each worker publishes its changes to the weights,
and adds the changes of others.

All names have one hash tag, ``{<spider>:focus}``, and a number that stands for the focus. ``deltas`` is a STREAM of
changes: fields ``by`` (a name for the process), ``learned`` (examples) and ``deltas`` (12 bytes each: place, step,
square, little-endian). ``saved`` is a HASH: all weights (``weights``, by ``Learned.pack``) with everything up to
the entry ``at`` of the stream, which has nothing from before ``since`` any more. ``lock`` is held by the process
that saves (``RedisServer.lock``).
"""

from __future__ import annotations

import asyncio
import re
import struct
from collections.abc import Callable, Iterator
from uuid import uuid4
from zlib import crc32

from webcrawl.errors import CrawlError
from webcrawl.storage.redis.packing import encoded, pairs
from webcrawl.storage.redis.server import RedisServer
from webcrawl.storage.shared_parts import Learned, LearnedT

SEND_SECONDS = 2.0
"""Between two exchanges of a worker."""
SAVED_EVERY = 30.0
"""Time for which the stream grows before the weights are saved and it is cut; a worker that was away for two of these
reads all weights anew."""
_AT_ONCE = 100
_DELTA = struct.Struct("<Iff")
_FIRST = b"0-0"


class SharedLearning:
    """The ``LearnerStore`` of one worker. The weights of all workers become the same sums, in whatever order they are
    added."""

    def __init__(self, server: RedisServer, spider: str, focus: str) -> None:
        self._server = server
        number = crc32(encoded(focus))
        self._name(f"{_tag(spider)}{number:08x}:")
        self._focus = focus
        self._me = uuid4().hex
        self._read = _FIRST
        self._sent_at: float | None = None
        self._saved_at: float | None = None

    async def saved(self) -> bytes:
        """Return the state that was saved last, as it was packed; empty if there is none."""
        [packed] = await self._server.commands([("HGET", self._saved, "weights")])
        return bytes(packed or b"")

    def _name(self, prefix: str) -> None:
        self._deltas, self._saved, self._lock = f"{prefix}deltas", f"{prefix}saved", f"{prefix}lock"

    @classmethod
    async def open_all(cls, server: RedisServer, spider: str) -> list[SharedLearning]:
        """Return a store for each focus that a crawl had, to be read."""
        pattern = re.sub(r"([*?\[\]\\])", r"\\\1", _tag(spider)) + "*"
        names = {
            bytes(name).rpartition(b":")[0] + b":"
            async for some in server.scan(pattern.encode())
            for name in some
            if name.endswith((b":deltas", b":saved"))
        }
        stores = []
        for name in sorted(names):
            stores.append(cls(server, spider, ""))
            stores[-1]._name(name.decode())
        return stores

    async def begin(self, learner: Learned) -> bool:
        known = await self._load(learner)
        known |= await self._receive_changes(learner, own=True)
        learner.learned()
        return known

    async def step(self, learner: Learned, now: float, *, last: bool = False) -> bool:
        if self._sent_at is not None and now - self._sent_at < SEND_SECONDS and not last:
            return False
        await self._send_changes(learner)
        self._sent_at = now
        [since] = await self._server.commands([("HGET", self._saved, "since")])
        behind = since is not None and _number(since) > _number(self._read)
        if behind:
            await self._load(learner)
        received = await self._receive_changes(learner, own=behind)
        if self._saved_at is None:
            self._saved_at = now
        if now - self._saved_at >= SAVED_EVERY or last:
            self._saved_at = now
            await self._save(learner, last=last)
        return received

    async def _send_changes(self, learner: Learned) -> None:
        news, learned = learner.take_news()
        if not learned:
            return
        packed = b"".join(_DELTA.pack(place, *delta) for place, delta in news.items())
        entry = ("by", self._me, "learned", learned, "deltas", packed)
        try:
            await self._server.commands([("XADD", self._deltas, "*", *entry)])
        except CrawlError:
            learner.give_back(news, learned)
            raise

    async def _receive_changes(self, learner: Learned, *, own: bool) -> bool:
        received = False
        while True:
            command = ("XRANGE", self._deltas, b"(" + self._read, "+", "COUNT", _AT_ONCE)
            [answer] = await self._server.commands([command])
            for at, fields in answer or ():
                message = dict(pairs(fields))
                if own or message[b"by"] != self._me.encode():
                    learner.add(dict(_deltas(message[b"deltas"])), int(message[b"learned"]))
                    received = True
                self._read = bytes(at)
            if len(answer or ()) < _AT_ONCE:
                return received

    async def _load(self, learner: Learned) -> bool:
        """Load all weights, as they were saved."""
        at, packed = (await self._server.commands([("HMGET", self._saved, "at", "weights")]))[0]
        if at is None or packed is None:
            return False
        try:
            learner.restore(bytes(packed))
        except ValueError:
            return False
        self._read = bytes(at)
        return True

    async def _save(self, learner: Learned, *, last: bool) -> None:
        taken = await self._server.lock(self._lock, self._me, SAVED_EVERY)
        [before] = await self._server.commands([("HGET", self._saved, "at")])
        if not (taken or last) or before == self._read:
            return
        packed = await asyncio.to_thread(learner.pack, self._focus)
        since = before or _FIRST
        await self._server.commands(
            [
                ("HSET", self._saved, "at", self._read, "since", since, "weights", packed),
                ("XTRIM", self._deltas, "MINID", since),
            ]
        )


async def best_learner(server: RedisServer, spider: str, make: Callable[[], LearnedT]) -> LearnedT | None:
    """Return the learner with the most examples; None if nothing was learned. ``make`` makes one without any."""
    learners = [learner for learner, _ in await all_learners(server, spider, make)]
    return max(learners, key=lambda learner: learner.examples, default=None)


async def all_learners(
    server: RedisServer, spider: str, make: Callable[[], LearnedT]
) -> list[tuple[LearnedT, bytes]]:
    """Return a learner for each focus, with its state as it was saved last."""
    learners = []
    for store in await SharedLearning.open_all(server, spider):
        learner = make()
        if await store.begin(learner):
            learners.append((learner, await store.saved()))
    return learners


def _tag(spider: str) -> str:
    return f"{{{spider}:focus}}:"


def _deltas(packed: bytes) -> Iterator[tuple[int, tuple[float, float]]]:
    for place, step, square in _DELTA.iter_unpack(packed):
        yield place, (step, square)


def _number(entry: bytes) -> tuple[int, int]:
    milliseconds, _, number = bytes(entry).partition(b"-")
    return int(milliseconds), int(number or 0)
