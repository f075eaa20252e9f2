"""What time may cure is waited for, and a person is told what it is."""

from __future__ import annotations

import asyncio

import pytest
from redis.exceptions import OutOfMemoryError

from webcrawl.errors import StorageAway, StorageFull
from webcrawl.frontier import storage_retry
from webcrawl.frontier.storage_retry import StorageRetry
from webcrawl.storage.redis.server import translate


def shown_while(*errors: BaseException) -> list[str | None]:
    """What a display says at each try of a step that fails so often, and when it has succeeded."""
    patient, left, shown = StorageRetry(), list(errors), []

    async def step() -> None:
        shown.append(patient.stalled)
        if left:
            raise left.pop(0)

    asyncio.run(patient.with_retry(step))
    return [*shown, patient.stalled]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_retry, "RETRY_SECONDS", 0)
    monkeypatch.setattr(storage_retry, "AWAY_SECONDS", (0, 0))


def test_a_display_says_what_is_full() -> None:
    assert shown_while(StorageFull("no space left")) == [None, "disk full", None]
    assert shown_while(translate(OutOfMemoryError("OOM"))) == [None, "Redis full", None]


def test_a_storage_that_is_away_is_no_full_one() -> None:
    errors = (StorageAway("gone"), StorageFull("no space left"), StorageAway("gone"))
    assert shown_while(*errors) == [None, "storage away", "disk full", "storage away", None]
