"""An engine that is woken too early."""

from __future__ import annotations

from types import SimpleNamespace

from webcrawl.engine.engine import DirectEngine
from webcrawl.engine.waking import Starts
from webcrawl.scrapy_private import HookedEngine


def test_an_engine_begins_no_request_before_its_spider_is_open(monkeypatch) -> None:
    begun: list[object] = []
    monkeypatch.setattr(HookedEngine, "begin_requests", lambda engine: begun.append(engine))
    engine = DirectEngine.__new__(DirectEngine)
    engine._slot = None
    engine._starts = Starts()
    engine.scraper = SimpleNamespace(slot=None)
    engine.begin_requests()
    assert begun == []
    engine.scraper.slot = object()
    engine.begin_requests()
    assert begun == [engine]
