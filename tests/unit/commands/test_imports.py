"""What the start of a process imports: each start pays for it, in time and memory."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from webcrawl import settings

if TYPE_CHECKING:
    from tests.contract.driven import DrivenSqlite

pytestmark = pytest.mark.slow

OF_A_CRAWL = {
    "aiohttp",
    "aiodns",
    "protego",
    "pyarrow",
    "redis",
    "requests",
    "selectolax",
    "tldextract",
    "webcrawl.archive.check",
    "webcrawl.audit.audit",
    "webcrawl.control.inquiry",
    "webcrawl.crawl.context",
    "webcrawl.crawl.essentials",
    "webcrawl.crawl.refused_start",
    "webcrawl.engine",
    "webcrawl.explain.account",
    "webcrawl.features.focus.learner",
    "webcrawl.frontier.frontier",
    "webcrawl.links.check",
    "webcrawl.parsing.html",
    "webcrawl.parsing.sitemap",
    "webcrawl.processing.main_text",
    "webcrawl.reports.page",
    "webcrawl.robots.rules",
    "webcrawl.scheduler",
    "webcrawl.search.finding",
}
"""What a command that steers a crawl, or lists commands, does not need: each takes time at its start."""


def imported(code: str) -> set[str]:
    told = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stdout.split())


def test_the_list_of_commands_imports_no_parts_of_a_crawl() -> None:
    """Scrapy imports all commands at each start, also for a list of them."""
    found = imported(
        "import pkgutil, importlib, webcrawl.commands as commands\n"
        "for each in pkgutil.iter_modules(commands.__path__):\n"
        "    importlib.import_module(f'webcrawl.commands.{each.name}')"
    )
    assert "webcrawl.commands.crawl" in found
    assert found & (OF_A_CRAWL | {"webcrawl.control.local"}) == set()
    features = {
        name.removeprefix("webcrawl.features.") for name in found if name.startswith("webcrawl.features.")
    }
    assert features == set()


def test_commands_that_steer_or_read_a_crawl_import_no_parts_of_it(stopped_crawl: DrivenSqlite) -> None:
    job = str(stopped_crawl.directory)
    commands = [
        ["pause", job, "--no-wait"],
        ["status", job],
        ["errors", job],
        ["set", "DEPTH_LIMIT=3", job],
    ]
    found = imported(
        "from scrapy.cmdline import execute\n"
        f"for words in {commands}:\n"
        "    try:\n"
        "        execute(['scrapy', *words])\n"
        "    except SystemExit as end:\n"
        "        assert end.code == 0, words"
    )
    assert {"webcrawl.commands.pause", "webcrawl.control.local", "webcrawl.spiders.broad"} <= found
    assert found & OF_A_CRAWL == set()


@each_row("child", ["archive.keeper", "parsing.reader", "processing.worker", "search.indexer"])
def test_a_child_process_imports_no_scrapy(child: str) -> None:
    assert imported(f"import webcrawl.{child}").isdisjoint({"scrapy", "twisted", "aiohttp", "redis"})


def test_a_crawl_on_sqlite_does_not_import_the_client_of_redis() -> None:
    components = [path for name, value in vars(settings).items() if name.endswith("_BASE") for path in value]
    modules = {path.rpartition(".")[0] for path in components if path.startswith("webcrawl.")}
    assert len(modules) > 15
    found = imported(f"import webcrawl.scheduler, webcrawl.spiders.broad, {', '.join(modules)}")
    assert "redis" not in found
