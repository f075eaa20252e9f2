"""The end of a crawl takes all its steps, whichever of them fails."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from webcrawl.crawl.feature import Feature, Features
from webcrawl.errors import CrawlError, StorageLost
from webcrawl.scheduler import Scheduler, take_all

if TYPE_CHECKING:
    from webcrawl.scheduler import Step


class Steps:
    """Steps that note their names; some raise."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def step(self, name: str, error: BaseException | None = None) -> Step:
        async def take() -> None:
            self.taken.append(name)
            if error is not None:
                raise error

        return take


def test_a_step_that_fails_does_not_keep_the_others_from_storing(caplog: pytest.LogCaptureFixture) -> None:
    steps, lost = Steps(), list[CrawlError]()
    first, second, away = ValueError("first"), OSError("second"), StorageLost("gone")
    todo = [
        steps.step("drain"),
        steps.step("visits", first),
        steps.step("frontier", away),
        steps.step("archive", second),
        lambda: steps.taken.append("jobdir"),
    ]
    with pytest.raises(ValueError, match="first") as raised:
        asyncio.run(take_all(todo, lost.append))
    assert raised.value is first
    assert steps.taken == ["drain", "visits", "frontier", "archive", "jobdir"]
    assert lost == [away]
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [first, second]


def test_an_end_without_failures_raises_nothing() -> None:
    steps = Steps()
    asyncio.run(take_all([steps.step("drain"), steps.step("frontier")], pytest.fail))
    assert steps.taken == ["drain", "frontier"]


class Noting(Feature):
    """A feature that notes the calls at its end."""

    def __init__(self, steps: Steps, name: str) -> None:
        self._steps = steps
        self._name = name

    async def before_close(self) -> None:
        self._steps.taken.append(f"{self._name} before_close")

    async def drained(self) -> None:
        self._steps.taken.append(f"{self._name} drained")

    async def close(self) -> None:
        self._steps.taken.append(f"{self._name} close")


def test_features_end_in_reverse_order_around_the_frontier() -> None:
    steps, features = Steps(), Features()
    for name in ("traps", "websub"):
        features.add(name, Noting(steps, name))
    closing = SimpleNamespace(close=steps.step("archive"))
    jobdir = SimpleNamespace(leave=lambda: steps.taken.append("jobdir"))
    scheduler: Any = SimpleNamespace(
        _context=SimpleNamespace(features=features, archive=closing, jobdir=jobdir),
        _before_close=[steps.step("seeds")],
        frontier=SimpleNamespace(drain=steps.step("drain"), close=steps.step("frontier")),
    )
    asyncio.run(take_all(Scheduler._endings(scheduler), pytest.fail))
    assert steps.taken == [
        *("websub before_close", "traps before_close", "seeds", "drain"),
        *("websub drained", "traps drained", "frontier", "websub close", "traps close", "archive", "jobdir"),
    ]
