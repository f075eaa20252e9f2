"""A plug-in of pytest that writes what became of each test at once, so that a process that dies leaves it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_FILE = Path(os.environ["SUITE_REPORT"])
_RANK = {"passed": 0, "skipped": 1, "failed": 2}
_worst: dict[str, str] = {}


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
    outcome = "skipped" if report.outcome == "rerun" else report.outcome
    if report.when == "setup" or _RANK[outcome] > _RANK[_worst.get(report.nodeid, "passed")]:
        _worst[report.nodeid] = outcome
    if report.when == "teardown":
        _write(report.nodeid, _worst[report.nodeid])
    elif outcome == "failed":
        _write(report.nodeid, "collected", str(report.longrepr)[-4000:])
