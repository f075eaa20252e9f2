"""A plug-in of pytest that writes what became of each test at once, so that a process that dies leaves it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

_FILE = Path(os.environ["SUITE_REPORT"])
_STRETCH = float(os.environ["SUITE_STRETCH"])
"""The times that tests give their own processes are multiplied by it."""
_RANK = {"passed": 0, "skipped": 1, "failed": 2}
_worst: dict[str, str] = {}


def _stretched(wait: Callable[..., Any]) -> Callable[..., Any]:
    def stretched(process: Popen[Any], *words: Any, timeout: float | None = None, **more: Any) -> Any:
        return wait(process, *words, timeout=None if timeout is None else timeout * _STRETCH, **more)

    return stretched


def pytest_configure() -> None:
    if _STRETCH != 1.0:
        # A type checker sees methods.
        setattr(Popen, "communicate", _stretched(Popen.communicate))  # noqa: B010


def _write(test: str, outcome: str, text: str = "") -> None:
    with _FILE.open("a") as lines:
        lines.write(json.dumps({"test": test, "outcome": outcome, "text": text}) + "\n")


def pytest_collection_finish(session: pytest.Session) -> None:
    for item in session.items:
        _write(item.nodeid, "collected")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _write(report.nodeid, "failed", str(report.longrepr)[-2000:])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # A test that is run again.
    outcome = "skipped" if str(report.outcome) == "rerun" else report.outcome
    if report.when == "setup" or _RANK[outcome] > _RANK[_worst.get(report.nodeid, "passed")]:
        _worst[report.nodeid] = outcome
    if report.when == "teardown":
        _write(report.nodeid, _worst[report.nodeid])
    elif outcome == "failed":
        _write(report.nodeid, "collected", str(report.longrepr)[-4000:])
