"""A warning that is due many times is logged once in a minute, with the number of times."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from webcrawl.crawl.repeated_warning import RepeatedWarning
from webcrawl.crawl.seeded_hosts import NAME, KeptSeeds, read_kept

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_it_is_logged_once_in_a_minute_for_each_cause(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    warning = RepeatedWarning(logging.getLogger("test"), lambda: now[0])
    warning.over("Nothing was wrong")
    for number in range(168):
        now[0] = number / 168
        warning.due("No more files")
    warning.due("No room")
    warning.due("No room")
    now[0] = 90.0
    warning.due("No room")
    warning.due("No room")
    warning.over("There is room again")
    warning.over("There is room again")
    assert caplog.messages == [
        "No more files",
        "No room",
        "No room (once more meanwhile)",
        "There is room again (once more meanwhile)",
    ]


def test_a_file_of_seeds_that_cannot_be_written_is_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / NAME
    names = [f"{number}.test" for number in range(30)]

    async def run() -> None:
        kept = KeptSeeds(tmp_path)
        file.mkdir()
        for name in names[:-1]:
            await kept.tell([name])
        file.rmdir()
        await kept.tell(names[-1:])

    asyncio.run(run())
    assert [text.partition(" cannot")[0].partition(" is ")[0] for text in caplog.messages] == [str(file)] * 2
    assert caplog.messages[1].endswith("is written again (28 more times meanwhile)")
    assert list(read_kept(file)) == names
