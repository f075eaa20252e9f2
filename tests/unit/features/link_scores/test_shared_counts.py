from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from webcrawl.errors import CrawlError, JobdirUnusable, StorageAway
from webcrawl.features.link_scores.scorer import NAME, SAVE_SECONDS, SHARE_SECONDS, Importance, LinkScoreStore
from webcrawl.features.link_scores.worth_table import WorthTable
from webcrawl.storage.shared_parts import LogEntry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Log:
    """A log of changes in memory."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.is_away = False

    async def append(self, fields: Mapping[str, bytes]) -> None:
        if self.is_away:
            raise StorageAway("away")
        self.entries.append(LogEntry(f"{len(self.entries) + 1}-0", fields))

    async def after(self, position: str, most: int) -> list[LogEntry]:
        begin = int(position.split("-")[0])
        return self.entries[begin : begin + most]


def made(order: str = "in_links") -> Importance:
    return Importance(WorthTable(64), cash=order == "opic")


def keeping(
    importance: Importance, folder: Path | None, log: Log | None = None, order: str = "in_links"
) -> LinkScoreStore:
    return LinkScoreStore(importance, order, folder, log)


def test_what_was_counted_outlives_the_process(tmp_path: Path) -> None:
    first, second = made(), made()

    async def lives() -> None:
        kept = keeping(first, tmp_path)
        assert not await kept.begin(0.0)
        first.linked(1, [2, 3])
        first.linked(4, [2])
        await kept.step(SAVE_SECONDS - 1)
        assert not (tmp_path / NAME).exists()
        await kept.step(SAVE_SECONDS)
        first.linked(5, [2])
        await kept.step(SAVE_SECONDS + 1)
        assert await keeping(second, tmp_path).begin(0.0)

    asyncio.run(lives())
    assert (second.table.worth(2), second.table.worth(3), second.pages) == (2.0, 1.0, 2)


def test_the_end_of_a_crawl_keeps_all(tmp_path: Path) -> None:
    first, second = made(), made()
    first.linked(1, [2])
    asyncio.run(keeping(first, tmp_path).step(0.0, last=True))
    asyncio.run(keeping(second, tmp_path).begin(0.0))
    assert second.table.worth(2) == 1.0


@pytest.mark.parametrize(
    "kept",
    [
        b"",
        b"no JSON\n",
        b'{"order": "in_links"}\n',
        b'{"order": "in_links", "pages": 1, "heard_to": "0-0"}\nshort',
        b"[]\n",
    ],
)
def test_a_file_that_cannot_be_read_as_such_is_as_none(tmp_path: Path, kept: bytes) -> None:
    (tmp_path / NAME).write_bytes(kept)
    assert not asyncio.run(keeping(made(), tmp_path).begin(0.0))


def test_what_was_counted_for_another_order_is_not_taken_up(tmp_path: Path) -> None:
    first = made()
    first.linked(1, [2])
    asyncio.run(keeping(first, tmp_path).step(0.0, last=True))
    assert not asyncio.run(keeping(made("opic"), tmp_path, order="opic").begin(0.0))


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    first = made()
    first.linked(1, [2])
    with pytest.raises(JobdirUnusable):
        asyncio.run(keeping(first, tmp_path / "missing").step(0.0, last=True))


@pytest.mark.parametrize("order", ["in_links", "opic"])
def test_workers_hear_of_what_others_count(order: str) -> None:
    log, workers = Log(), [made(order), made(order)]

    async def work() -> None:
        kept = [keeping(worker, None, log, order=order) for worker in workers]
        for number, one in enumerate(workers):
            one.linked(10 + number, [2, 3 + number])
        for _ in range(2):
            for one in kept:
                await one.step(SHARE_SECONDS)
                await one.step(SHARE_SECONDS + 1)
        log.is_away = True
        workers[0].linked(20, [7])
        with pytest.raises(CrawlError):
            await kept[0].step(3 * SHARE_SECONDS)
        log.is_away = False
        for at in (4, 5):
            for one in kept:
                await one.step(at * SHARE_SECONDS)

    asyncio.run(work())
    for mark in (2, 3, 4, 7):
        assert workers[0].table.worth(mark) == workers[1].table.worth(mark) > 0
    assert [worker.pages for worker in workers] == [3, 3]


def test_a_worker_that_comes_again_hears_of_what_it_missed_once(tmp_path: Path) -> None:
    log, first, other, again = Log(), made(), made(), made()

    async def work() -> None:
        kept, others = keeping(first, tmp_path, log), keeping(other, None, log)
        first.linked(1, [2])
        other.linked(3, [2])
        await others.step(SHARE_SECONDS)
        await kept.step(SHARE_SECONDS, last=True)
        other.linked(4, [2])
        await others.step(3 * SHARE_SECONDS)
        taken_up = keeping(again, tmp_path, log)
        await taken_up.begin(0.0)
        await taken_up.step(SHARE_SECONDS)

    asyncio.run(work())
    assert (again.table.worth(2), again.pages) == (3.0, 3)
