"""The answer to a stop says what came of it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from webcrawl.web.service import service as module
from webcrawl.web.service.records import OrderState
from webcrawl.web.service.service import Service

if TYPE_CHECKING:
    from collections.abc import Callable


class Slow(Service):
    """A service whose only crawl ends after some looks."""

    def __init__(self, looks: float) -> None:
        self.left = looks
        self._soon = asyncio.Event()
        stop: Any = SimpleNamespace(stop=lambda name, now: None)
        self._supervisor = stop

    async def _run(self, function: Callable[[], Any]) -> Any:
        return function()

    async def record(self, name: str) -> Any:
        self.left -= 1
        return SimpleNamespace(state=OrderState.STOPPING if self.left > 0 else OrderState.STOPPED)

    async def row(self, name: str) -> dict[str, Any]:
        return {"state": str(OrderState.STOPPING if self.left > 0 else OrderState.STOPPED)}


@pytest.mark.parametrize(("looks", "state"), [(3, "stopped"), (float("inf"), "stopping")])
def test_a_stop_waits_for_the_end_for_some_seconds(
    monkeypatch: pytest.MonkeyPatch, looks: float, state: str
) -> None:
    monkeypatch.setattr(module, "ORDER_POLL_SECONDS", 0.0)
    monkeypatch.setattr(module, "OBEY_SECONDS", 0.01 if state == "stopping" else 60.0)
    assert asyncio.run(Slow(looks).stop("a")) == {"state": state}
