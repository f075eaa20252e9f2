"""A project of its own for tests of the command line: a tiny spider on data URLs, our commands, no
network.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import forked
from tests.commands import ROOT, in_process
from tests.contract.conftest import sample  # noqa: F401
from tests.contract.driven import DrivenSqlite, make
from tests.contract.samples import found, pages

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from tests.commands import Command

SETTINGS = """
SPIDER_MODULES = ["tiny.spiders"]
COMMANDS_MODULE = "webcrawl.commands"
SCHEDULER = "tiny.scheduler.Scheduler"
LOG_LEVEL = "INFO"
LOG_FORMATTER = "webcrawl.logs.QuietLogFormatter"
STATS_DUMP = False
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
STATISTICS_INTERVAL_SECONDS = 0.2
EXTENSIONS = {
    "webcrawl.extensions.errors.Errors": 10,
    "webcrawl.extensions.statistics.Statistics": 20,
    "webcrawl.extensions.progress.Progress": 30,
    "webcrawl.extensions.summary.Summary": 40,
    "scrapy.extensions.spiderstate.SpiderState": None,
    "scrapy.extensions.logstats.LogStats": None,
}
"""

SCHEDULER = '''
from scrapy import signals
from scrapy.core import scheduler

from webcrawl import errors
from webcrawl.extensions.metrics_reader import get_folder
from webcrawl.frontier.tally import Snapshot, Tally


class Frontier:
    def __init__(self):
        self.tally = Tally()

    def snapshot(self):
        return Snapshot(5, 4, 3, 2, 1, 0, 0, 0, 0, None, None)

    def count(self, response):
        self.tally.pages += 1
        self.tally.statuses[response.status] += 1


class Scheduler(scheduler.Scheduler):
    """Scrapy's own in memory, with numbers like the frontier's."""

    @classmethod
    def from_crawler(cls, crawler):
        made = super().from_crawler(crawler)
        made.dqdir = None
        made.frontier = Frontier()
        made.directory = get_folder(crawler)
        made.refusal = getattr(crawler.spider, "refusal", None)
        crawler.signals.connect(made.frontier.count, signals.response_received)
        return made

    def open(self, spider):
        if self.refusal:
            raise getattr(errors, self.refusal)("the JOBDIR is refused; do this or that")
        if self.directory:
            self.directory.mkdir(parents=True, exist_ok=True)
        return super().open(spider)
'''

SPIDER = '''
import asyncio

import scrapy

from webcrawl import errors


class Tiny(scrapy.Spider):
    """-a pages=N, -a pause=SECONDS between them; -a bad=1: each callback raises; -a refusal, -a late: see there."""

    name = "tiny"

    async def start(self):
        if getattr(self, "late", None):
            raise errors.ContactMissing("nobody could be asked")
        if getattr(self, "broken", None):
            raise RuntimeError("broken start")
        for number in range(int(getattr(self, "pages", 3))):
            yield scrapy.Request(f"data:,page{number}", dont_filter=True)
            await asyncio.sleep(float(getattr(self, "pause", 0)))

    def parse(self, response):
        if getattr(self, "bad", None):
            raise RuntimeError("bad callback")
        if getattr(self, "stop", None):
            raise scrapy.exceptions.CloseSpider(self.stop)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project's folder."""
    package = tmp_path / "tiny"
    (package / "spiders").mkdir(parents=True)
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = tiny.settings\n")
    for name, text in {
        "__init__.py": "",
        "settings.py": SETTINGS,
        "scheduler.py": SCHEDULER,
        "spiders/__init__.py": "",
        "spiders/tiny.py": SPIDER,
    }.items():
        (package / name).write_text(text)
    return tmp_path


@pytest.fixture
def environment() -> dict[str, str]:
    """So that the project finds this source tree, and no terminal is meant. Which project it is, the folder says: a
    process that has run a command of Scrapy's has a variable for it.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "SCRAPY_SETTINGS_MODULE"}
    return {**inherited, "PYTHONPATH": str(ROOT), "TERM": "dumb"}


@pytest.fixture
def scrapy(project: Path, environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command of the project."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return forked.run(arguments, project, environment | variables)

    return run


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Command]:
    """Makes a command of this project by its name, to be given in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "webcrawl.settings")
    return lambda name, **always: in_process(name, capsys, **always)


@pytest.fixture
def stopped_crawl(runner: asyncio.Runner, tmp_path: Path) -> Iterator[DrivenSqlite]:
    """A crawl of one process with three queued URLs, stopped."""
    with local_crawl(runner, tmp_path) as made:
        made.commit(found(*pages("a.test", 3)))
        made.close()
        yield made


@contextmanager
def local_crawl(runner: asyncio.Runner, folder: Path) -> Iterator[DrivenSqlite]:
    """An open crawl of one process, for the commands that read a JOBDIR."""
    made = make("sqlite", runner, folder / "crawl")
    assert isinstance(made, DrivenSqlite)
    made.open()
    yield made
    made.dispose()
