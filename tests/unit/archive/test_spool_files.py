"""Files of what was too long for memory: no event loop deletes one itself."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from webcrawl.archive.capture import Spooled
from webcrawl.archive.listed_links import SpooledLinks
from webcrawl.fetching.spool import BUFFER_BYTES, Spool

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that deleted a file."""
    found: list[threading.Thread] = []
    unlink = Path.unlink

    def noted(path: Path, missing_ok: bool = False) -> None:
        found.append(threading.current_thread())
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", noted)
    return found


@pytest.mark.parametrize("made", [lambda path: Spooled(path, 1, b""), SpooledLinks])
def test_a_loop_leaves_the_deletion_to_a_thread(
    tmp_path: Path, threads: list[threading.Thread], made: Callable[[str], Spooled | SpooledLinks]
) -> None:
    path = tmp_path / "payload"
    path.write_bytes(b"x")

    async def test() -> None:
        made(str(path)).remove()

    asyncio.run(test())
    assert not path.exists()
    assert threading.main_thread() not in threads
    path.write_bytes(b"x")
    made(str(path)).remove()
    assert not path.exists()


def test_a_payload_that_nobody_wants_is_deleted_by_a_thread(
    tmp_path: Path, threads: list[threading.Thread]
) -> None:
    async def test() -> None:
        spool = Spool(str(tmp_path), lambda: None, lambda: None)
        spool.feed(bytes(BUFFER_BYTES + 1))
        spool.discard()
        while not threads:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.001)

    asyncio.run(test())
    assert list(tmp_path.iterdir()) == []
    assert threading.main_thread() not in threads
