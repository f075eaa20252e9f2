"""The pages that a continuous crawl revisits, in Redis, for all its workers: about 500 bytes a page.

The names are in the head of ``lua/visits.lua``. A row is JSON: URL, history, digest in hexadecimal, ...
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.page import Page, PageId
from webcrawl.features.revisits.store import DOUBLINGS, DUE_COUNTED, DueKey, Hint, RevisitStatus
from webcrawl.storage.redis.names import ShardNames, shard_of
from webcrawl.storage.redis.packing import decoded, encoded, pairs
from webcrawl.storage.redis.server import Call, Server

KEYS_COUNTED = 1000
"""Keys of a shard with due pages of which the pages are counted; as many again of keys with pages that are out."""


class RedisVisits:
    """A ``VisitStore`` beside the frontier. Every method may raise StorageAway, StorageFull or StorageLost."""

    def __init__(self, server: Server, shards: Callable[[], Sequence[ShardNames]]) -> None:
        """``shards()``: those of the crawl, once it is opened."""
        self._server = server
        self._shards = shards

    async def open(self) -> None:
        """Nothing to do: the frontier was opened before."""

    async def close(self) -> None:
        """Nothing to do: the frontier closes the connection."""

    async def find(self, ids: Sequence[PageId]) -> list[Page | None]:
        commands: list[tuple[Any, ...]] = []
        for key, fingerprint in ids:
            names, mark = self._of(key), _mark(fingerprint)
            commands.append(("HGET", names.visits, mark + encoded(key)))
            commands.append(("ZSCORE", names.visits_of(key), mark))
        answers = await self._server.commands(commands) if commands else []
        rows = zip(ids, answers[::2], answers[1::2], strict=True)
        return [None if row is None or at is None else _page(one, row, float(at)) for one, row, at in rows]

    async def keep(self, pages: Sequence[Page], dropped: Sequence[PageId] = ()) -> None:
        kept: dict[str, list[Any]] = {}
        for page in pages:
            kept.setdefault(page.key, []).extend(
                (_mark(page.fingerprint), repr(page.next_visit_at), _row(page))
            )
        gone: dict[str, list[bytes]] = {}
        for key, fingerprint in dropped:
            gone.setdefault(key, []).append(_mark(fingerprint))
        calls: list[Call] = []
        for key in {**kept, **gone}:
            rows = kept.get(key, [])
            calls.append(self._call(key, len(rows) // 3, *rows, *gone.get(key, [])))
        if calls:
            await self._server.call("visits_keep", calls)

    async def due_keys(self, now: float, most: int, after: DueKey | None = None) -> list[DueKey]:
        found: list[DueKey] = []
        for names in self._shards():
            found += await self._due_in(names, now, most, after)
        return sorted(found)[:most]

    async def _due_in(self, names: ShardNames, now: float, most: int, after: DueKey | None) -> list[DueKey]:
        least, found, passed = "-inf" if after is None else repr(after.at), list[DueKey](), 0
        while len(found) < most:
            asked = ("ZRANGEBYSCORE", names.visits_due, least, repr(now), "WITHSCORES", "LIMIT", passed, most)
            [answer] = await self._server.commands([asked])
            due = [DueKey(at, key) for key, at in _scores(answer)]
            found += [one for one in due if after is None or one > after]
            passed += len(due)
            if len(due) < most:
                break
        return found[:most]

    async def take(self, keys: Sequence[str], now: float, seconds: float, most: int) -> list[Page]:
        calls = [self._call(key, repr(now), repr(seconds), DOUBLINGS, most) for key in keys]
        answers = await self._server.call("visits_take", calls) if calls else []
        return [
            _page((key, int.from_bytes(mark, "big", signed=True)), row, now)
            for key, answer in zip(keys, answers, strict=True)
            for mark, row in zip(answer[::2], answer[1::2], strict=True)
            if row is not None
        ]

    async def hint(self, hints: Sequence[Hint]) -> list[bool]:
        calls = [self._call(key, _mark(fingerprint), repr(at)) for key, fingerprint, at in hints]
        return [bool(known) for known in await self._server.call("visits_hint", calls)]

    async def learnt(self, worker: str, lessons: str) -> None:
        await self._server.commands([("HSET", self._shards()[0].visits_lessons, encoded(worker), lessons)])

    async def lessons(self) -> dict[str, str]:
        [found] = await self._server.commands([("HGETALL", self._shards()[0].visits_lessons)])
        return {decoded(worker): decoded(lessons) for worker, lessons in pairs(found)}

    async def standing(self, now: float) -> RevisitStatus:
        commands: list[tuple[Any, ...]] = []
        for names in self._shards():
            commands += [
                ("HLEN", names.visits),
                ("ZRANGE", names.visits_due, 0, 0, "WITHSCORES"),
                ("ZRANGEBYSCORE", names.visits_due, "-inf", repr(now), "LIMIT", 0, KEYS_COUNTED),
                ("SRANDMEMBER", names.visits_full, KEYS_COUNTED),
            ]
        answers = await self._server.commands(commands)
        firsts = [at for answer in answers[1::4] for _, at in _scores(answer)]
        counts: list[tuple[Any, ...]] = [
            ("ZCOUNT", names.visits_of(decoded(key)), "-inf", repr(now))
            for names, due, full in zip(self._shards(), answers[2::4], answers[3::4], strict=True)
            for key in {*due, *full}
        ]
        due_pages = sum(map(int, await self._server.commands(counts))) if counts else 0
        return RevisitStatus(
            sum(map(int, answers[::4])), min(due_pages, DUE_COUNTED), min(firsts, default=None)
        )

    def _of(self, key: str) -> ShardNames:
        shards = self._shards()
        return shards[shard_of(key, len(shards))]

    def _call(self, key: str, *args: Any) -> Call:
        names = self._of(key)
        keys = [
            names.visits,
            names.visits_due,
            names.visits_untold,
            names.visits_of(key),
            names.visits_out(key),
            names.visits_full,
        ]
        return keys, [encoded(key), *args]


def _mark(fingerprint: int) -> bytes:
    return fingerprint.to_bytes(8, "big", signed=True)


def _scores(answer: Sequence[Any]) -> list[tuple[str, float]]:
    """Members and scores: pairs on some connections, one after the other on others."""
    scored = answer if answer and isinstance(answer[0], list | tuple) else pairs(answer)
    return [(decoded(member), float(score)) for member, score in scored]


def _row(page: Page) -> str:
    """Pack a page, without empty fields at the end."""
    row = [page.url, page.history.text(), page.digest.hex(), page.came_at, page.depth, page.gone, page.failed]
    rest = [page.kind, page.via, page.etag, page.last_modified, page.payload]
    while rest and rest[-1] is None:
        rest.pop()
    return json.dumps([*row, *rest], separators=(",", ":"))


def _page(one: PageId, row: bytes, at: float) -> Page:
    url, history, digest, came_at, depth, gone, failed, kind, *rest = json.loads(row)
    via, etag, last_modified, payload = [*rest, None, None, None, None][:4]
    known = Page(*one, url, History.of(history), at, bytes.fromhex(digest), came_at, etag, last_modified)
    return replace(known, kind=kind, depth=depth, via=via, payload=payload, gone=gone, failed=failed)
