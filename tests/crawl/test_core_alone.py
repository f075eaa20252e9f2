"""The floors up to Scrapy's are a crawler by themselves: it crawls without a feature, a command or the web."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.commands import ROOT
from tests.test_architecture import FLOORS

if TYPE_CHECKING:
    from pathlib import Path

ABOVE = [*FLOORS][[*FLOORS].index("features") :]
SCRIPT = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name in ABSENT or name.startswith(tuple(f"{one}." for one in ABSENT)):
            raise ImportError(f"{name} is not there")

sys.meta_path.insert(0, Nothing())
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings
from webcrawl.spiders.broad import BroadSpider

settings = get_project_settings()
settings.update(dict(FRONTIER_BACKEND="memory", TRAPS_QUARANTINE=False, CONTENT_SEEN=False, TIME_SERIES=False,
    USAGE_RECORD=False, REFUSALS_RECOGNISE=False,
    POLITENESS_MIN_DELAY=0, POLITENESS_FACTOR=0, FETCH_PRIVATE_ADDRESSES=True), priority="cmdline")
process = AsyncCrawlerProcess(settings)
process.crawl(BroadSpider, seeds=SEEDS)
process.start()
"""


def test_it_crawls_without_what_is_above(serve: Any, tmp_path: Path) -> None:
    web = serve(hosts=2, pages=10)
    absent = {f"webcrawl.{name}" for floor in ABOVE for part in FLOORS[floor] for name in part.split(", ")}
    absent -= {"webcrawl.__init__", "webcrawl.features"}
    script = f"ABSENT = {sorted(absent)}\nSEEDS = {','.join(web.seeds)!r}\n{SCRIPT}"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "webcrawl.settings"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Traceback" not in done.stderr, done.stderr[-4000:]
    assert len(absent) > 30
    assert len({(hit.host, hit.path) for hit in web.hits()}) == 10 + 2, (
        "the pages, and a robots.txt of each host"
    )
