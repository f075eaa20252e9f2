"""What the start of a process imports: each start pays for it, in time and memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

from webcrawl import settings


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
    assert found.isdisjoint(
        {
            "aiohttp",
            "redis",
            "pyarrow",
            "webcrawl.control.local",
            "webcrawl.crawl.context",
            "webcrawl.reports.page",
        }
    )
    features = {
        name.removeprefix("webcrawl.features.") for name in found if name.startswith("webcrawl.features.")
    }
    assert features <= {"feature", "registry"}


@pytest.mark.parametrize("child", ["archive.keeper", "parsing.reader", "processing.worker", "search.indexer"])
def test_a_child_process_imports_no_scrapy(child: str) -> None:
    assert imported(f"import webcrawl.{child}").isdisjoint({"scrapy", "twisted", "aiohttp", "redis"})


def test_a_crawl_on_sqlite_does_not_import_the_client_of_redis() -> None:
    components = [path for name, value in vars(settings).items() if name.endswith("_BASE") for path in value]
    modules = {path.rpartition(".")[0] for path in components if path.startswith("webcrawl.")}
    assert len(modules) > 15
    found = imported(f"import webcrawl.scheduler, webcrawl.spiders.broad, {', '.join(modules)}")
    assert "redis" not in found
