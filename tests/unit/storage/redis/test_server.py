"""A server is met: what it cannot do is told, and what it is still doing is waited for."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest
from redis.exceptions import BusyLoadingError

from webcrawl.errors import StartRefused
from webcrawl.storage.redis import server

if TYPE_CHECKING:
    from collections.abc import Sequence

READING = {"loading": 1, "loading_loaded_perc": 12.5, "loading_eta_seconds": 90}
READY = {"loading": 0}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LOADING_POLL_SECONDS", 0)


def wait_for(*answers: Sequence[dict[str, Any]] | Exception) -> int:
    """How many of the answers were asked for until all servers were ready."""
    asked = list(answers)

    async def ask() -> Sequence[dict[str, Any]]:
        answer = asked.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    asyncio.run(server.until_loaded("here:1/0", ask))
    return len(answers) - len(asked)


def test_a_server_that_is_ready_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    assert wait_for([READY], [READING]) == 1
    assert caplog.records == []


def test_one_that_reads_its_data_is_waited_for_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert wait_for([READING], [READING], [READING], [READY]) == 4
    assert [record.message for record in caplog.records] == [
        "Redis at here:1/0 is reading its data (12 % so far, some 90 s to go): waiting for it"
    ]


def test_every_node_of_a_cluster_is_waited_for() -> None:
    assert wait_for([READY, READING], [READING, READY], [READY, READY]) == 3


def test_a_server_that_will_not_even_say_so_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    assert wait_for(BusyLoadingError("LOADING"), [READY]) == 2
    assert [record.message for record in caplog.records] == [
        "Redis at here:1/0 is reading its data: waiting for it"
    ]


def test_one_that_is_gone_meanwhile_is_not() -> None:
    with pytest.raises(OSError, match="refused"):
        wait_for([READING], OSError("refused"))


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({"redis_version": "6.0.16"}, "is version 6.0.16; it must be 6.2 or newer"),
        (
            {"redis_version": "7.2.4", "maxmemory": 1, "maxmemory_policy": "allkeys-lru"},
            "it must have maxmemory-policy noeviction",
        ),
    ],
)
def test_a_server_that_would_lose_the_crawl_is_refused(info: dict[str, Any], said: str) -> None:
    with pytest.raises(StartRefused, match=said):
        server.refuse_unfit(info, "here:1/0")


@pytest.mark.parametrize("policy", ["noeviction", "volatile-lru"])
def test_one_that_drops_nothing_of_a_crawl_is_taken(policy: str) -> None:
    server.refuse_unfit({"redis_version": "6.2.0", "maxmemory": 1, "maxmemory_policy": policy}, "here:1/0")
