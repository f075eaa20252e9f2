"""The fetch logs of a command: of the JOBDIRs on its command line, or of the setting."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.archive import fetchlog
from webcrawl.archive import fetchlog as rotation
from webcrawl.config import Configuration
from webcrawl.crawl.jobdir import folders_with_files
from webcrawl.errors import Problem
from webcrawl.reports.fetch_logs import MergedRequests

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.command import ProjectCommand


_NAMED = 20
"""The number of unreadable lines that are reported one by one."""


class FetchLogs:
    """The readable fetch logs below some folders."""

    def __init__(self, folders: Sequence[Path], configuration: Configuration) -> None:
        self.folders = folders
        self.configuration = configuration
        self.damaged = 0
        """The number of lines that are not JSON."""

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield all lines, one log after the other."""
        for log in self.each():
            yield from log

    def each(self) -> list[Iterator[dict[str, Any]]]:
        """Return the logs, each to be read once."""
        return [fetchlog.read(folder, self._on_damage) for folder in self.folders]

    def requests(self) -> MergedRequests:
        """Return all requests, in the order of their starts."""
        return MergedRequests(self.each(), self.window_seconds)

    @property
    def window_seconds(self) -> float:
        """Return how far out of order the lines of a log may be, in seconds."""
        # Scrapy imports all commands at each start.
        from webcrawl.crawl.report_facts import window_seconds

        return window_seconds(self.configuration)

    def _on_damage(self, sentence: str) -> None:
        self.damaged += 1
        if self.damaged <= _NAMED:
            sys.stderr.write(f"{sentence}\n")


def open_logs(command: ProjectCommand, folders: Sequence[str]) -> tuple[FetchLogs, list[Problem]]:
    """Return the logs of a command, and the problems of the folders."""
    configuration = Configuration() if command.wrong_settings() else command.configuration
    paths, wrong = check_folders(folders, configuration)
    return FetchLogs(paths, configuration), wrong


def check_folders(arguments: Sequence[str], configuration: Configuration) -> tuple[list[Path], list[Problem]]:
    """Return the folders, each once, and their problems."""
    paths = [Path(argument) for argument in arguments]
    if not paths and configuration.jobdir is not None:
        paths = [configuration.jobdir]
    if not paths:
        return [], [Problem("", "which crawl? give the JOBDIRs of all its workers, or -s JOBDIR=DIR")]
    folders = folders_with_files(paths)
    return folders, list(_problems(folders))


def plain(value: Any) -> Any:
    """Return a number as it is shown in JSON and text: rounded to the microsecond."""
    return round(value, 6) if isinstance(value, float) else value


def _problems(folders: Sequence[Path]) -> Iterator[Problem]:
    for folder in folders:
        if not folder.is_dir():
            yield Problem(str(folder), "is no folder")
            continue
        try:
            there = (folder / fetchlog.NAME).exists() or rotation.stamps(folder)
        except OSError as error:
            yield Problem(str(folder), error.strerror or str(error))
            continue
        if not there:
            yield Problem(str(folder), f"holds no fetch log ({fetchlog.NAME} or its rotated parts)")
