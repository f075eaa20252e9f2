"""The processes of crawls: each is ``scrapy crawl`` in a session of its own, so that it outlives the service.

The lock of the JOBDIR says which process works on a crawl, also to a service that has not started it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.control import folders
from webcrawl.crawl.jobdir import OWNERS, Jobdir
from webcrawl.reports import run_log
from webcrawl.start import RESUMED_BY
from webcrawl.web.service.supervisor import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webcrawl.web.service.records import CrawlOrder

OUTPUT = "output.log"
"""The file in the JOBDIR with standard output and standard error of the crawl, its log among them."""
OUTPUT_MAX = 32 << 20
"""A longer output is moved to a file with the suffix .1, in place of the one before."""
_TAIL = 16_384
_HOLDER = re.compile(r"process (\d+)").fullmatch


class Crawls:
    """The ``Launcher`` of real crawls, below one folder."""

    def __init__(
        self, root: Path, settings: Mapping[str, str], fixed: Mapping[str, str], resumed_by: str
    ) -> None:
        """``settings``: defaults of all crawls. ``fixed``: settings that no order changes. ``resumed_by``: the
        command that resumes a crawl, for its summary."""
        self.root = root
        self._settings = settings
        self._fixed = fixed
        self._resumed_by = resumed_by

    def folder(self, name: str) -> Path:
        """Return the JOBDIR of a crawl."""
        return self.root / name

    def start(self, order: CrawlOrder) -> Child:
        folder = self.folder(order.name)
        folder.mkdir(mode=OWNERS, exist_ok=True)
        output = folder / OUTPUT
        with output.open("ab") as file:
            process = subprocess.Popen(
                self.command(order),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, RESUMED_BY: self._resumed_by, "TERM": "dumb"},
                start_new_session=True,
            )
        return Child(process, folder, len(run_log.read(folder)))

    def command(self, order: CrawlOrder) -> list[str]:
        """Return the command of a crawl."""
        words = [sys.executable, "-m", "scrapy", "crawl", order.spider]
        for name, value in order.arguments.items():
            words += ["-a", f"{name}={value}"]
        fixed = {**self._fixed, "JOBDIR": str(self.folder(order.name)), "PROGRESS_DISPLAY": "off"}
        for name, value in {**self._settings, **order.settings, **fixed}.items():
            words += ["-s", f"{name}={value}"]
        return words

    def adopt(self, order: CrawlOrder) -> Adopted | None:
        pid = find_holder(self.folder(order.name))
        return None if pid is None else Adopted(pid, self.folder(order.name))

    def last_exit(self, order: CrawlOrder, started_at: float) -> Exit | None:
        folder = self.folder(order.name)
        with suppress(OSError):
            runs = run_log.read(folder)
            if runs and runs[-1].begun_at >= started_at and runs[-1].ended_at is not None:
                return Exit(None, runs[-1].reason, last_line(folder))
        return None

    def trim(self, order: CrawlOrder) -> None:
        """Keep the output of a crawl that runs at a bounded length. What is written meanwhile may be missing here;
        ``crawl.log`` has it."""
        output = self.folder(order.name) / OUTPUT
        with suppress(OSError):
            if output.stat().st_size > OUTPUT_MAX:
                # The process appends to this very file, whoever has started it.
                shutil.copyfile(output, output.with_name(f"{OUTPUT}.1"))
                os.truncate(output, 0)

    def is_there(self, order: CrawlOrder) -> bool:
        return self.folder(order.name).exists()

    def remove(self, order: CrawlOrder) -> None:
        folders.remove(self.folder(order.name))


class Child:
    """A crawl that this process has started."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, runs_before: int) -> None:
        self._process = process
        self._folder = folder
        self._runs_before = runs_before
        self.pid = process.pid

    def poll(self) -> Exit | None:
        status = self._process.poll()
        if status is None:
            return None
        return Exit(status, close_reason(self._folder, self._runs_before), last_line(self._folder))

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()


class Adopted:
    """A crawl that an earlier service, or a person, has started."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.pid = pid
        self._folder = folder

    def poll(self) -> Exit | None:
        if find_holder(self._folder) == self.pid:
            return None
        return Exit(None, close_reason(self._folder), last_line(self._folder))

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        # Another process may have got the number meanwhile.
        if find_holder(self._folder) == self.pid:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)


def find_holder(folder: Path) -> int | None:
    """Return the process that works in a JOBDIR; None if there is none."""
    found = _HOLDER(Jobdir(folder).holder() or "")
    if found is None:
        return None
    pid = int(found[1])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        # A process that it has started still holds the lock, and ends soon.
        return None
    except PermissionError:
        return pid
    return pid


def close_reason(folder: Path, runs_before: int = 0) -> str | None:
    """Return the close reason of the last run, if its end is on record, and if it is not one of the first
    ``runs_before``."""
    try:
        runs = run_log.read(folder)
    except OSError:
        return None
    return runs[-1].reason if len(runs) > runs_before else None


def last_line(folder: Path) -> str:
    """Return the last line of a crawl's output: of one that was refused, the reason."""
    lines = tail(folder, 1)
    return lines[-1].removeprefix("scrapy crawl: ") if lines else ""


def tail(folder: Path, most: int, path: str = OUTPUT) -> list[str]:
    """Return the last lines of the output that are not empty. Empty if it cannot be read."""
    try:
        with (folder / path).open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(end - _TAIL * max(1, most // 50), 0))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [_printable(line) for line in lines if line.strip()][-most:]


def _printable(line: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in line)[:2000]
