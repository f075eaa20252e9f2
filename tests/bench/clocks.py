"""Clocks around calls of a crawl: CPU time of the event loop by stage, each without the stages that it calls.

The loop runs coroutines piece by piece: a clock runs while its own piece does. The clock takes some microseconds of
each call, which are part of what is measured.
"""

from __future__ import annotations

import gc
import inspect
import json
import threading
import time
from collections import Counter
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

STAGES: dict[str, tuple[str, ...]] = {
    "names resolved": ("webcrawl.fetching.resolver:Resolver.resolve",),
    "first addresses of seeds": ("webcrawl.fetching.private_addresses:SeedAddresses.resolved",),
    "connections": ("webcrawl.fetching.network:Network.connect",),
    "TLS handshakes": ("webcrawl.fetching.tls_sessions:ResumableTls.do_handshake",),
    "TLS sessions kept": ("webcrawl.fetching.tls_sessions:ResumableTls.answered",),
    "TLS records": ("ssl:SSLObject.read", "ssl:SSLObject.write"),
    "robots.txt parsed": (
        "webcrawl.frontier.robots_requests:read",
        "webcrawl.frontier.robots_requests:answer",
        "webcrawl.robots.rules:RulesCache.rules",
    ),
    "activation": (
        "webcrawl.frontier.active_keys:ActiveKeys._adopt",
        "webcrawl.frontier.active_keys:ActiveKeys.place",
        "webcrawl.frontier.active_keys:ActiveKeys.activate_keys",
        "webcrawl.frontier.frontier:Frontier.next_lease",
    ),
    "host records": ("webcrawl.frontier.frontier:Frontier.ended",),
    "links: scope, seen, entries": ("webcrawl.frontier.intake:Intake._filter_links",),
    "bodies decoded": ("webcrawl.downloadermiddlewares.decoding:decode",),
    "pages to and from their reader": ("webcrawl.crawl.page_reading:PageReading.read_page",),
    "evidence of traps": ("webcrawl.features.traps.feature:TrapsFeature.page",),
}
"""Functions and methods, ``module:name``, by stage."""
COLLECTION = "garbage collection"


class Clocks:
    """Writes CLOCKS_FILE when the crawl is closed: the number of pages, and by stage CPU seconds of the event
    loop and the number of calls."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.pages = 0
        self._collecting_since = 0.0
        self._running: list[float] = []
        """For each stage that runs, the seconds of the stages that it called."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        clocks = cls(Path(crawler.settings["CLOCKS_FILE"]))
        crawler.signals.connect(clocks._response, signal=signals.response_received)
        for stage, names in STAGES.items():
            for name in names:
                clocks._around(stage, name)
        gc.callbacks.append(clocks._collector)
        crawler.signals.connect(clocks._closed, signal=signals.spider_closed)
        return clocks

    def _response(self) -> None:
        self.pages += 1

    def _closed(self) -> None:
        gc.callbacks.remove(self._collector)
        stages = {stage: [self.seconds[stage], self.calls[stage]] for stage in (*STAGES, COLLECTION)}
        self._path.write_text(json.dumps({"pages": self.pages, **stages}))

    def _collector(self, phase: str, _: object) -> None:
        """Called by Python's garbage collector, on whichever thread it runs."""
        if threading.current_thread() is not threading.main_thread():
            return
        if phase == "start":
            self._collecting_since = time.thread_time()
            return
        used = time.thread_time() - self._collecting_since
        self.seconds[COLLECTION] += used
        self.calls[COLLECTION] += 1
        if self._running:
            self._running[-1] += used

    def _around(self, stage: str, name: str) -> None:
        module, _, names = name.partition(":")
        *classes, attribute = names.split(".")
        owner: Any = import_module(module)
        for each in classes:
            owner = getattr(owner, each)
        setattr(owner, attribute, self._timed(stage, getattr(owner, attribute)))

    def _timed(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call with a clock around it."""
        if inspect.iscoroutinefunction(call):

            @wraps(call)
            async def pieces(*arguments: Any, **named: Any) -> Any:
                self.calls[stage] += 1
                return await _Pieces(self, stage, call(*arguments, **named))

            return pieces

        @wraps(call)
        def whole(*arguments: Any, **named: Any) -> Any:
            self.calls[stage] += 1
            return self.run(stage, call, *arguments, **named)

        return whole

    def run(self, stage: str, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call, and count its time without that of the stages that it calls."""
        self._running.append(0.0)
        begun = time.thread_time()
        try:
            return call(*arguments, **named)
        finally:
            used = time.thread_time() - begun
            self.seconds[stage] += used - self._running.pop()
            if self._running:
                self._running[-1] += used


class _Pieces:
    """A coroutine, each piece of which is run by a clock."""

    def __init__(self, clocks: Clocks, stage: str, coroutine: Any) -> None:
        self._clocks = clocks
        self._stage = stage
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        step, value = self._coroutine.send, None
        while True:
            try:
                awaited = self._clocks.run(self._stage, step, value)
            except StopIteration as end:
                return end.value
            try:
                step, value = self._coroutine.send, (yield awaited)
            except BaseException as error:
                step, value = self._coroutine.throw, error
