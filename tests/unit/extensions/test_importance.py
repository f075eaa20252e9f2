"""What was counted of links before is taken up, if not at once then when it can be read."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from webcrawl.features.link_scores import extension
from webcrawl.features.link_scores.extension import LinkScores
from webcrawl.features.link_scores.scorer import Importance as Counted
from webcrawl.features.link_scores.scorer import LinkScoreStore
from webcrawl.features.link_scores.table import Table

if TYPE_CHECKING:
    import pytest


def counted() -> Counted:
    return Counted(Table(64), cash=False)


def test_a_file_that_cannot_be_read_now_is_read_later_and_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before, after = counted(), counted()
    before.linked(1, [2])
    asyncio.run(LinkScoreStore(before, "in_links", tmp_path).step(0.0, last=True))

    read, failures = Path.read_bytes, [OSError(errno.EMFILE, "Too many open files")] * 2

    def reading(path: Path) -> bytes:
        if failures:
            raise failures.pop()
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", reading)
    context: Any = SimpleNamespace(clock=lambda: 1000.0)
    monkeypatch.setattr(extension, "context_of", lambda crawler: context)
    crawler: Any = SimpleNamespace()
    made = LinkScores(crawler, LinkScoreStore(after, "in_links", tmp_path))

    async def run() -> None:
        for _ in range(4):
            await made._step()
        after.linked(3, [2])
        await made._step(last=True)

    asyncio.run(run())
    assert (after.pages, after.table.worth(2)) == (2, 2.0)
    assert [record.getMessage() for record in caplog.records] == [
        f"What is counted of links cannot be kept at the moment: {tmp_path}/importance.table: Too many open files"
    ]
