"""Sources of seeds: their output is bounded, and a failure is an outcome."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from webcrawl.features.seed_refill import sources
from webcrawl.features.seed_refill.sources import CommandRunner, Hook, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable


@pytest.mark.slow
def test_what_a_command_writes_is_the_answer() -> None:
    assert (
        asyncio.run(CommandRunner("sh -c 'echo http://$KEYS_WITH_URLS.test/; echo x >&2'").fetch(7))
        == b"http://7.test/\n"
    )


@pytest.mark.slow
@each_row(
    ("text", "says"),
    [
        ("/no/such/command", "it cannot be run: No such file or directory"),
        ("sh -c 'echo http://a.test/; echo No  more\x1b >&2; exit 3'", "it ended with status 3: No more"),
        ("sh -c 'kill -9 $$'", "it ended with status -9"),
        ("yes", "it wrote more than 100 bytes"),
    ],
)
def test_a_command_that_fails_gives_no_answer(text: str, says: str) -> None:
    with pytest.raises(SourceError, match=says):
        asyncio.run(CommandRunner(text, most_bytes=100).fetch(0))


@pytest.mark.slow
def test_a_command_that_takes_too_long_ends_with_what_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with pytest.raises(SourceError, match=r"had not ended after 2 s"):
        asyncio.run(CommandRunner(f"sh -c 'sleep 600 & echo $! >{pid_file}; wait'", seconds=2).fetch(0))
    # Killed, it is gone as soon as it gets a processor.
    deadline = time.monotonic() + 60
    while is_running(int(pid_file.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Return False for a process that is gone, or waits until its status is read."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
def test_a_command_ends_with_the_crawl() -> None:
    async def run() -> None:
        command = CommandRunner("sleep 600")
        asking = asyncio.create_task(command.fetch(0))
        await asyncio.sleep(0)
        command.end()
        with pytest.raises(SourceError, match="status -9"):
            await asking

    asyncio.run(run())


def test_what_a_function_returns_is_the_answer() -> None:
    async def more(keys: int) -> Iterable[str]:
        return (f"http://{n}.test/" for n in range(keys))

    assert asyncio.run(Hook(more).fetch(2)) == b"http://0.test/\nhttp://1.test/"


async def _text(keys: int) -> Iterable[str]:
    return "http://a.test/"


async def _numbers(keys: int) -> Iterable[str]:
    return [1]  # type: ignore[list-item]


async def _raises(keys: int) -> Iterable[str]:
    raise OSError("no network")


async def _nothing(keys: int) -> Iterable[str]:
    return None  # type: ignore[return-value]


async def _many(keys: int) -> Iterable[str]:
    return map(str, range(10**9))


async def _late(keys: int) -> Iterable[str]:
    await asyncio.sleep(600)
    return []


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (_text, "must return texts"),
        (_numbers, "must return texts"),
        (_raises, "OSError: no network"),
        (_nothing, "TypeError"),
        (_many, "more than 50 lines"),
        (_late, "had not returned after 0.05 s"),
        (len, "TypeError"),
    ],
)
def test_a_function_that_fails_gives_no_answer(
    function: object, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "LINES_MAX", 50)
    with pytest.raises(SourceError, match=says):
        asyncio.run(Hook(function, seconds=0.05).fetch(0))  # type: ignore[arg-type]
