"""Signs of life: they are given while the crawl runs, and the operator's commands are told once."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from webcrawl.frontier.heartbeat import WorkerHeartbeat
from webcrawl.frontier.storage_retry import StorageRetry
from webcrawl.storage.contract import HeartbeatAnswer, OperatorCommand, SharedBackend

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest


class Operator:
    """A backend that says what the operator wants, one command a pulse; from then on the last one."""

    heartbeat_seconds = 0.0

    def __init__(self, *commands: OperatorCommand) -> None:
        self._commands = list(commands)
        self._told = 0
        self.all_heard = asyncio.Event()

    async def heartbeat(self, figures: Mapping[str, float]) -> HeartbeatAnswer:
        if self._told == len(self._commands):
            self.all_heard.set()
            return HeartbeatAnswer(self._commands[-1])
        self._told += 1
        return HeartbeatAnswer(self._commands[self._told - 1])


async def live_through(*commands: OperatorCommand) -> list[OperatorCommand]:
    """What was heard, in its order."""
    heard: list[OperatorCommand] = []
    backend = Operator(*commands)
    membership = WorkerHeartbeat(
        cast("SharedBackend", backend),
        StorageRetry(),
        dict,
        lambda heartbeat: heard.append(heartbeat.command),
        _fail,
    )
    membership.begin()
    await backend.all_heard.wait()
    await membership.end()
    return heard


def _fail(error: BaseException) -> Any:
    raise error


def test_each_command_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    run, pause, stop = OperatorCommand.RUN, OperatorCommand.PAUSE, OperatorCommand.STOP
    with caplog.at_level(logging.WARNING):
        heard = asyncio.run(live_through(run, run, pause, pause, pause, run, run, stop, stop))
    assert heard[:9] == [run, run, pause, pause, pause, run, run, stop, stop]
    told = [record.getMessage() for record in caplog.records]
    assert [message.split(" by its operator")[0] for message in told] == [
        "The crawl was paused",
        "The crawl was resumed",
        "The crawl was stopped",
    ]


def test_who_joins_a_paused_crawl_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        asyncio.run(live_through(OperatorCommand.PAUSE))
    assert "scrapy resume" in caplog.text


def test_a_crawl_that_simply_runs_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        asyncio.run(live_through(OperatorCommand.RUN))
    assert caplog.records == []
