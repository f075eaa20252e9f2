"""A crawl as a person starts it: ``scrapy crawl`` in a process of its own, and what it leaves behind.

Everything that is judged here is read from outside: exit status, standard error, the files in the JOBDIR (with
the standard library's sqlite3 and with warcio), and the log of the server that was crawled.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warcio.archiveiterator import ArchiveIterator

from tests import forked, processes
from tests.forked import Files, Forked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).parents[2]
SECONDS = 180.0
"""How long a crawl may take before it counts as one that does not end."""

AT_ONCE: dict[str, object] = {
    "POLITENESS_MIN_DELAY": 0,
    "POLITENESS_FACTOR": 0,
    "FETCH_PRIVATE_ADDRESSES": 1,
    "WORKER_NAME": "w0",
}
"""Settings of a crawl that nobody has to wait for."""


@dataclass(slots=True)
class WarcRecord:
    """A record as warcio reads it."""

    type: str
    url: str | None
    headers: dict[str, str]
    status: int | None
    content: bytes


@dataclass(slots=True)
class Remembered:
    """A page of a continuous crawl."""

    kind: str
    history: str
    gone: int
    next_at: float


@dataclass(slots=True)
class Figures:
    """What ``frontier.db`` holds, counted row by row."""

    totals: dict[str, int]
    states: Counter[int]
    queued: int
    active_hosts: int
    rules: Counter[str]

    @property
    def known(self) -> int:
        return sum(self.states.values())


class Jobdir:
    """The folder of a crawl, read by other means than the crawler's own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def log(self) -> list[dict[str, Any]]:
        """The lines of ``fetch.jsonl``; every one must be whole."""
        path = self.path / "fetch.jsonl"
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def remembered(self) -> dict[str, Remembered]:
        """The pages in ``visits.db``, by URL."""
        with closing(sqlite3.connect(self.path / "visits.db")) as visits:
            rows = visits.execute("SELECT value, at FROM visits WHERE id <> x''").fetchall()
        found = {}
        for value, at in rows:
            url, history, _, _, _, gone, _, kind, *_ = json.loads(value)
            found[url] = Remembered(kind, history, gone, at)
        return found

    def lines(self, kind: str = "page") -> list[dict[str, Any]]:
        """The lines of one kind."""
        return [line for line in self.log() if line["kind"] == kind]

    def line(self, url: str) -> dict[str, Any]:
        """The only line of a URL."""
        (line,) = [line for line in self.log() if line["url"] == url]
        return line

    def statuses(self) -> dict[str, int | str]:
        """URL to status or error of all pages; the last one counts."""
        return {line["url"]: line.get("status") or line["error"] for line in self.lines()}

    def fetched(self) -> Counter[str]:
        """How often each page has a line."""
        return Counter(line["url"] for line in self.lines())

    def warcs(self) -> list[Path]:
        """All WARC files, open ones too."""
        return sorted((self.path / "warc").glob("*.warc.gz*"))

    def records(self) -> list[WarcRecord]:
        """Every record of every WARC file; raises when warcio finds a digest or a length wrong."""
        found = []
        for path in self.warcs():
            with path.open("rb") as stream:
                for record in ArchiveIterator(stream, check_digests="raise"):
                    content = record.raw_stream.read()
                    status = record.http_headers.get_statuscode() if record.rec_type == "response" else None
                    found.append(
                        WarcRecord(
                            record.rec_type,
                            record.rec_headers.get_header("WARC-Target-URI"),
                            dict(record.rec_headers.headers),
                            int(status) if status and status.isdigit() else None,
                            content,
                        )
                    )
        return found

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of ``frontier.db``, opened so that nothing in it can change."""
        with closing(sqlite3.connect(f"{(self.path / 'frontier.db').as_uri()}?mode=ro", uri=True)) as opened:
            return opened.execute(sql).fetchall()

    def figures(self) -> Figures:
        """What the frontier holds now."""
        columns = ("queued", "done", "failed", "refused", "hosts", "robots")
        (row,) = self.query(f"SELECT {', '.join(columns)} FROM totals")
        return Figures(
            totals=dict(zip(columns, row, strict=True)),
            states=Counter(dict(self.query("SELECT state, count(*) FROM seen GROUP BY state"))),
            queued=self.query("SELECT count(*) FROM queue")[0][0],
            active_hosts=self.query("SELECT count(*) FROM hosts WHERE active = 1")[0][0],
            rules=Counter(dict(self.query("SELECT rule, count(*) FROM seen WHERE rule NOT NULL GROUP BY 1"))),
        )

    def assert_sound(self) -> Figures:
        """Nothing is in two states or in none, and every total is what counting gives."""
        figures = self.figures()
        assert self.query("PRAGMA integrity_check") == [("ok",)]
        in_queue = {
            (host, mark)
            for host, mark in self.query(
                "SELECT host_id, fingerprint FROM queue WHERE repeat = 0 AND kind != 'robots'"
            )
        }
        waiting = set(self.query("SELECT host_id, fingerprint FROM seen WHERE state = 0"))
        assert in_queue == waiting
        assert figures.totals["queued"] == figures.queued
        assert figures.totals["done"] == figures.states[1]
        assert figures.totals["failed"] == figures.states[2]
        assert figures.totals["refused"] == figures.states[3]
        assert (
            self.query(
                "SELECT key, queued FROM hosts h WHERE queued != (SELECT count(*) FROM queue WHERE host_id = h.id)"
            )
            == []
        )
        assert figures.totals["hosts"] == self.query("SELECT count(*) FROM hosts")[0][0]
        assert figures.totals["robots"] == self.query("SELECT count(*) FROM robots")[0][0]
        return figures


class Crawl(Jobdir):
    """A crawl that runs, or has ended: ``status`` is None until ``wait`` or ``kill``."""

    def __init__(
        self, process: subprocess.Popen[bytes] | Forked, jobdir: Path, output: Path, stderr: Path
    ) -> None:
        super().__init__(jobdir)
        self.process = process
        self.status: int | None = None
        self.seconds = 0.0
        self._started = time.monotonic()
        self._output = output
        self._stderr = stderr

    @property
    def stderr(self) -> str:
        return self._stderr.read_text(encoding="utf-8", errors="replace")

    @property
    def output(self) -> str:
        return self._output.read_text(encoding="utf-8", errors="replace")

    def wait(self, seconds: float = SECONDS) -> Crawl:
        """Wait for its end. A crawl that goes on longer is killed and fails the test."""
        try:
            self.status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"the crawl did not end within {seconds:g} s:\n{self.stderr[-4000:]}"
            ) from None
        self.seconds = time.monotonic() - self._started
        return self

    def kill(self, alone: bool = False) -> Crawl:
        """kill -9, together with what it started, as when its container is killed; or ``alone``."""
        started = processes.children_of(self.process.pid)
        self.process.kill()
        if not alone:
            for pid in started:
                processes.kill(pid)
        self.status = self.process.wait(SECONDS)
        for pid in started:
            processes.wait_for_end(pid, SECONDS)
        self.seconds = time.monotonic() - self._started
        return self

    def signal(self, number: signal.Signals = signal.SIGINT) -> None:
        """Ask it to end."""
        self.process.send_signal(number)

    def until(self, what: Callable[[], object], seconds: float = SECONDS) -> None:
        """Wait until something that it does has become true; it must not end before."""
        deadline = time.monotonic() + seconds
        begun = time.monotonic()
        while not what():
            assert self.process.poll() is None, f"the crawl ended too early:\n{self.stderr[-4000:]}"
            assert time.monotonic() < deadline, f"{seconds:g} s were not enough:\n{self.stderr[-4000:]}"
            # To look may take longer than to wait: the crawl needs the processor more.
            time.sleep(max(0.01, 3 * (time.monotonic() - begun)))
            begun = time.monotonic()

    def until_logged(self, lines: int, seconds: float = SECONDS) -> None:
        """Wait until ``fetch.jsonl`` has so many lines."""
        path = self.path / "fetch.jsonl"
        self.until(lambda: path.exists() and path.read_bytes().count(b"\n") >= lines, seconds)

    def assert_ended_well(self) -> Crawl:
        """Exit status 0, no traceback anywhere, nothing that nobody anticipated."""
        assert self.status == 0, self.stderr[-4000:]
        assert "Traceback" not in self.stderr, self.stderr[-8000:]
        unanticipated = self.path / "unanticipated.log"
        assert not unanticipated.exists(), unanticipated.read_text()[-4000:]
        return self


def command(spider: str, arguments: Mapping[str, str], settings: Mapping[str, object]) -> list[str]:
    """The words of a ``scrapy crawl`` behind ``scrapy``."""
    words = ["crawl", spider]
    words += [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    words += [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    return words


def start(
    folder: Path,
    seeds: str | Sequence[str] | None = None,
    *,
    spider: str = "broad",
    arguments: Mapping[str, str] | None = None,
    jobdir: Path | None = None,
    stdin: bytes | None = None,
    module: str = "webcrawl.settings",
    options: Sequence[str] = (),
    afresh: bool = False,
    **settings: object,
) -> Crawl:
    """Start a crawl with its files in ``folder``. ``settings`` are added to AT_ONCE; None takes one out.

    ``seeds`` may be a file's name or a list of URLs. ``module`` is the settings module; a spider of a test's
    own lies in ``folder``, which is on the path. ``options`` are further words of the command. ``afresh``: as a
    person's shell starts it, with its imports to be done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    jobdir = jobdir or folder / "job"
    given = dict(arguments or {})
    if seeds is not None:
        given["seeds"] = seeds if isinstance(seeds, str) else ",".join(seeds)
    merged = {**AT_ONCE, "JOBDIR": jobdir, **settings}
    words = command(spider, given, {name: value for name, value in merged.items() if value is not None})
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": module,
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")])
        ),
        "TERM": "dumb",
        "COLUMNS": "200",
    }
    number = len(list(folder.glob("stderr-*.txt"))) + 1
    output, stderr = folder / f"stdout-{number}.txt", folder / f"stderr-{number}.txt"
    stderr.touch()
    given_in = folder / f"stdin-{number}.txt"
    given_in.write_bytes(stdin or b"")
    begin = forked.afresh if afresh else forked.scrapy
    process = begin([*words, *options], folder, environment, Files(given_in, output, stderr))
    return Crawl(process, jobdir, output, stderr)
