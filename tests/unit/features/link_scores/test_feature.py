"""What was counted of links before is taken up, if not at once then when it can be read."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.features.link_scores.feature import LinkScoresFeature
from webcrawl.features.link_scores.scorer import Importance as Counted
from webcrawl.features.link_scores.scorer import LinkScoreStore
from webcrawl.features.link_scores.worth_table import WorthTable

if TYPE_CHECKING:
    import pytest


def counted() -> Counted:
    return Counted(WorthTable(64), cash=False)


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
    made = LinkScoresFeature(after, LinkScoreStore(after, "in_links", tmp_path), lambda: 1000.0)

    async def run() -> None:
        for _ in range(4):
            await made.step()
        after.linked(3, [2])
        await made.step(last=True)

    asyncio.run(run())
    assert (after.pages, after.table.worth(2)) == (2, 2.0)
    assert [record.getMessage() for record in caplog.records] == [
        f"Link counts cannot be saved at the moment: {tmp_path}/importance.table: Too many open files"
    ]
