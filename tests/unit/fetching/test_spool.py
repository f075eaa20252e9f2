"""Long sitemaps lie in files while they come, are archived and are read."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xxhash import xxh3_128_digest

from tests.unit.fetching.lab import Client, Peer, answering, run, serving
from webcrawl.errors import StorageFull
from webcrawl.fetching import spool
from webcrawl.fetching.body_memory import get_body_memory
from webcrawl.fetching.spool import BUFFER_BYTES, Spool

if TYPE_CHECKING:
    from webcrawl.archive.capture import Capture

LONG = os.urandom(5 * BUFFER_BYTES + 17)


def answer(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def fetched(folder: Path, body: bytes, **settings: int) -> tuple[Capture, bytes, int]:
    """What a fetch of a sitemap leaves: its capture, the response's body, and the most that was in memory."""

    async def test() -> tuple[Capture, bytes, int]:
        async with serving(answering(answer(body))) as site, Client(**settings) as client:
            facts = {"lease_id": 1, "kind": "sitemap", "maxsize": 10**8, "spool": str(folder)}
            got = await client.fetch(site.url(), facts)
            assert got.response is not None
            assert got.meta.capture is not None
            return got.meta.capture, got.response.body, get_body_memory(client.crawler).peak

    result: tuple[Capture, bytes, int] = run(test())
    return result


def test_a_long_payload_is_in_a_file_and_not_in_memory(tmp_path: Path) -> None:
    body = LONG * 8
    capture, seen, peak = fetched(tmp_path / "spool", body)
    assert (capture.payload, seen) == (b"", b"")
    assert capture.spooled is not None
    assert b"".join(capture.spooled) == body
    assert capture.spooled.digest == xxh3_128_digest(body)
    assert capture.length == len(body)
    # Two buffers, and what reads bring beyond them.
    assert peak <= 6 * BUFFER_BYTES < len(body) / 4
    capture.spooled.remove()
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_short_payload_touches_no_disk(tmp_path: Path) -> None:
    capture, seen, _ = fetched(tmp_path / "spool", b"short")
    assert (capture.payload, seen, capture.spooled) == (b"short", b"short", None)
    assert not (tmp_path / "spool").exists()


def test_a_disk_without_room_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def full(handle: int, data: memoryview) -> int:
        written.append(len(data))
        if len(written) > 1:
            raise OSError(errno.ENOSPC, "no room")
        return len(data)

    monkeypatch.setattr(spool.os, "write", full)

    async def test() -> None:
        async with serving(answering(answer(LONG))) as site, Client() as client:
            got = await client.fetch(
                site.url(), {"lease_id": 1, "kind": "sitemap", "maxsize": 10**8, "spool": str(tmp_path)}
            )
            assert isinstance(got.error, StorageFull)
            assert get_body_memory(client.crawler).used == 0

    run(test())
    assert list(tmp_path.iterdir()) == []


def test_who_feeds_it_is_held_while_the_disk_is_slower(tmp_path: Path) -> None:
    async def test() -> None:
        calls: list[str] = []
        taking = Spool(str(tmp_path), lambda: calls.append("pause"), lambda: calls.append("resume"))
        for start in range(0, len(LONG), BUFFER_BYTES // 2):
            taking.feed(LONG[start : start + BUFFER_BYTES // 2])
            if calls[-1:] == ["pause"]:
                assert taking.size <= 3 * BUFFER_BYTES
                while calls[-1] == "pause":  # noqa: ASYNC110 - there is nobody to tell of it
                    await asyncio.sleep(0.001)
        kept = await taking.finish()
        assert kept is not None
        assert b"".join(kept) == LONG
        assert calls[:2] == ["pause", "resume"]
        kept.remove()

    run(test())


def test_a_connection_that_was_held_to_the_end_serves_the_next_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last bytes come while a buffer is being written, and the payload ends with them."""
    may_write = threading.Event()

    def slow(handle: int, data: memoryview) -> int:
        may_write.wait(10)
        return len(data)

    monkeypatch.setattr(spool.os, "write", slow)
    monkeypatch.setattr(spool, "BUFFER_BYTES", 1000)

    async def test() -> None:
        async def pieces(peer: Peer) -> None:
            await peer.request()
            head, body = answer(LONG[:3000])[:-3000], LONG[:3000]
            await peer.send(head + body[:1500], body[1500:], pause=0.05)
            await peer.request()
            await peer.send(answer(b"next"))

        async with serving(pieces) as site, Client() as client:
            facts = {"lease_id": 1, "kind": "sitemap", "maxsize": 10**8, "spool": str(tmp_path)}
            long = asyncio.create_task(client.fetch(site.url(), facts))
            while client.idle_connections == 0:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.005)
            following = await client.fetch(site.url())
            assert following.response is not None
            assert following.response.body == b"next"
            assert site.connections == 1
            may_write.set()
            await long

    run(test())
