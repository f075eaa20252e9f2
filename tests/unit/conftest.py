"""``make quick`` runs the tests here that start no process and are fast. The others have the mark ``slow``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

STARTS = ("subprocess.Popen", "os.fork", "os.posix_spawn")
"""The events of the interpreter that begin a process."""


class Watch:
    """Fails a test that starts a process although it has no mark, in a run of those without."""

    def __init__(self) -> None:
        self.is_on = False
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.is_on and event in STARTS:
            self.is_on = False
            pytest.fail(f"it starts a process ({arguments[0]}): give it the mark `slow`")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.is_on = "tests/unit" in item.path.as_posix()
        try:
            return (yield)
        finally:
            self.is_on = False


def pytest_configure(config: pytest.Config) -> None:
    if "not slow" in config.option.markexpr:
        config.pluginmanager.register(Watch())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and _needs_redis(item):
            item.add_marker("slow")


def _needs_redis(item: pytest.Function) -> bool:
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return "needs_redis" in item.fixturenames or not {"redis", "redis-cluster"}.isdisjoint(
        value for value in values if isinstance(value, str)
    )
