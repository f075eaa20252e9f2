from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.unit.websub.subscribing import Stage
from webcrawl.websub.stores.memory import MemorySubscriptions
from webcrawl.websub.stores.sqlite import SqliteSubscriptions

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(params=["memory", "sqlite"])
def stage(request, runner, tmp_path) -> Iterator[Stage]:
    store = MemorySubscriptions() if request.param == "memory" else SqliteSubscriptions(tmp_path)
    stage = Stage(runner, store)
    yield stage
    runner.run(stage.subscriber.close())
