"""The task that reads the list of pushed URLs runs as those of other features: an exception in it ends the crawl."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy import Spider

from webcrawl.config import Configuration
from webcrawl.features.pushed_urls.feature import PushedUrlsFeature

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine


class BrokenList:
    """A list whose entries raise an exception that is no outcome of a storage."""

    key = "one:start_urls"

    async def take(self, at_most: int) -> None:
        raise RuntimeError("an entry of another kind")


class Crawl:
    """A scheduler that keeps the tasks that it runs."""

    def __init__(self) -> None:
        self.spider = Spider("one")
        self.tasks: list[asyncio.Task[None]] = []

    def run_beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self.tasks.append(asyncio.get_running_loop().create_task(work))
        return self.tasks[-1]

    async def with_retry(self, step: Callable[[], Awaitable[object]]) -> object:
        return await step()

    def is_closing(self) -> bool:
        return False


def test_an_unexpected_exception_ends_the_task_that_the_scheduler_watches() -> None:
    async def play() -> BaseException | None:
        backend: Any = SimpleNamespace(start_list=lambda key: BrokenList())
        crawl: Any = Crawl()
        context: Any = SimpleNamespace(configuration=Configuration(), frontier=crawl)
        feature = PushedUrlsFeature(backend)
        feature.begin(context, crawl)
        [task] = crawl.tasks
        await asyncio.wait([task])
        assert not feature.keeps_open()
        await feature.before_close()
        error: BaseException | None = task.exception()
        return error

    assert str(asyncio.run(play())) == "an entry of another kind"
