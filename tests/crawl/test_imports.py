"""The modules that a crawl imports until it has ended, in a process of its own, and what its garbage collector leaves
alone."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import signals

from webcrawl.crawl.feature_table import FURTHER, SHAPING

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

FEATURES = ("webcrawl.features.", "webcrawl.web.")
ALL = {entry.name for entry in (*SHAPING, *FURTHER)}
ALWAYS = {"steering"}
"""Folders of features that each crawl with a lasting storage has: it obeys operators."""
ON = ALWAYS | {"traps", "content_seen", "refusals", "timeseries", "usage"}
"""Folders of features that are on unless a setting switches them off."""
NONE = {
    "TRAPS_QUARANTINE": False,
    "CONTENT_SEEN": False,
    "REFUSALS_RECOGNISE": False,
    "TIME_SERIES": False,
} | {"USAGE_RECORD": False}
"""Settings of a crawl without the features that can be off."""


class Recorder:
    """An extension that writes into the JOBDIR which modules are imported when the crawl has ended, which of them
    were between its first request and its last one, and how many objects the collector left alone when the crawl
    was built."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at_start: set[str] = set()
        self._seen: dict[str, Any] = {"frozen": gc.get_freeze_count()}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        recorder = cls(Path(crawler.settings["JOBDIR"]) / "imports.json")
        crawler.signals.connect(recorder.start, signal=signals.engine_started)
        crawler.signals.connect(recorder.look, signal=signals.spider_closed)
        crawler.signals.connect(recorder.write, signal=signals.engine_stopped)
        return recorder

    def start(self) -> None:
        self._at_start = set(sys.modules)

    def look(self) -> None:
        self._seen["late"] = sorted(set(sys.modules) - self._at_start)

    def write(self) -> None:
        self._path.write_text(json.dumps(self._seen | {"all": list(sys.modules)}))


@pytest.mark.parametrize(("more", "on"), [({}, ON), (NONE, ALWAYS)], ids=["defaults", "none"])
def test_a_crawl_imports_no_module_of_a_feature_that_is_off(
    serve: Any, crawl: Any, more: dict[str, object], on: set[str]
) -> None:
    web = serve(hosts=2, pages=10)
    extensions = f'{{"{__name__}.Recorder": 1}}'
    ended = crawl(web.seeds, afresh=True, EXTENSIONS=extensions, **more).assert_ended_well()
    assert len(ended.fetched()) >= 10
    seen = json.loads((ended.path / "imports.json").read_text())
    imported = set(seen["all"])
    assert "webcrawl.crawl.feature_table" in imported
    folders = {name.split(".")[2] for name in imported if name.startswith(FEATURES)}
    assert folders & ALL == on
    # An import blocks the event loop, and so does a collection of all that was imported.
    assert [name for name in seen["late"] if name.startswith("webcrawl.")] == []
    assert seen["frozen"] > 50_000
