"""The crawls on which promises are judged: one that runs, one that has ended, and others that a judge starts itself.

A stage is made when its first promise is judged, and ends after its last one. ``technology`` is sqlite, with one
process, or redis, with two workers and a server of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests import forked
from tests.commands import Done
from tests.crawl import crawling
from tests.forked import Files
from tests.gauntlet.promises.table import Broken, need
from tests.gauntlet.promises.web import SECONDS, STEADY, PromiseSite, Serving, until
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator

    from tests.crawl.crawling import Crawl
    from tests.fakeweb.connection import Site

DELAY = 0.3
"""Seconds between two requests to a host of a crawl that runs."""


class Stage:
    """A folder, a web and, for Redis, a server; its crawls and other processes end with it."""

    def __init__(self, technology: str, folder: Path, site: Site | None = None) -> None:
        self.technology = technology
        self.folder = folder
        self.site = site or PromiseSite()
        self.redis: RedisServer | None = None
        self.crawls: list[Crawl] = []
        self.kept: dict[str, Any] = {}
        """What a judge leaves for later ones."""
        self._stack = ExitStack()
        self._seeds: list[str] = []
        self._settings: dict[str, object] = {}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True)
        with ExitStack() as stack:
            self.web = stack.enter_context(Serving(self.site))
            if self.technology == "redis":
                self.redis = stack.enter_context(RedisServer(self.folder / "redis"))
            stack.callback(self.kill)
            self.begin()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self) -> None:
        """Start what the promises are judged on."""

    # -- crawls ------------------------------------------------------------------------------------------------

    def start(self, seeds: list[str], name: str = "job", **settings: object) -> list[Crawl]:
        """Start a crawl with a process, or with two workers on Redis; the same name again resumes it."""
        common = {"DNS_NAMESERVERS": self.web.nameserver, "POLITENESS_KEY": "host", **settings}
        if self.redis is None:
            return [self._start(name, seeds, common)]
        common["REDIS_URL"] = self.redis.url
        return [
            self._start(f"{name}-{worker}", seeds, {**common, "WORKER_NAME": worker})
            for worker in ("w1", "w2")
        ]

    def _start(self, name: str, seeds: list[str], settings: dict[str, Any]) -> Crawl:
        crawl = crawling.start(self.folder / name, seeds, **settings)
        self.crawls.append(crawl)
        return crawl

    def kill(self) -> None:
        """End what runs."""
        for crawl in self.crawls:
            if crawl.process.poll() is None:
                crawl.kill()

    def lead(self, seeds: list[str], **settings: object) -> None:
        """Start the crawl of this stage; ``again`` starts it again with the same command."""
        self._seeds, self._settings = seeds, settings
        self.again()

    def again(self, **more: object) -> list[Crawl]:
        """Start the crawl of this stage once more, by the command that began it."""
        self.workers = self.start(self._seeds, **{**self._settings, **more})
        return self.workers

    def is_running(self) -> bool:
        """Whether a process of the crawl is there."""
        return any(worker.process.poll() is None for worker in self.workers)

    def statuses(self, seconds: float = 2 * SECONDS) -> list[int]:
        """Wait for the end of all processes, and return their exit statuses; -9 for one that did not end."""
        return [_status(worker, seconds) for worker in self.workers]

    @property
    def jobdirs(self) -> list[Path]:
        """The folders of the crawl."""
        return [worker.path for worker in self.workers]

    @property
    def target(self) -> str:
        """What names the crawl to a command."""
        return self.redis.url if self.redis else str(self.jobdirs[0])

    @property
    def select(self) -> dict[str, object]:
        """The setting that names the crawl to a command."""
        return {"REDIS_URL": self.redis.url} if self.redis else {"JOBDIR": self.jobdirs[0]}

    @property
    def names(self) -> dict[str, str]:
        """What words of the table may stand for."""
        nothing = "redis://127.0.0.1:1/0" if self.redis else str(self.folder / "nothing")
        found = {
            "folder": str(self.folder),
            "port": str(self.web.port),
            "nothing": nothing,
            "nowhere": str(self.folder / "nowhere"),
        }
        if hasattr(self, "workers"):
            setting = "REDIS_URL" if self.redis else "JOBDIR"
            found |= {"target": self.target, "select": f"{setting}={self.target}"}
            found |= {"job": str(self.jobdirs[0]), "jobs": " ".join(map(str, self.jobdirs))}
        return found

    # -- commands ----------------------------------------------------------------------------------------------

    def run(self, *words: object, seconds: float = 2 * SECONDS, **settings: object) -> Done:
        """Run ``scrapy`` with these words and settings, to its end."""
        with tempfile.TemporaryDirectory() as home:
            files = Files(Path(os.devnull), Path(home) / "out", Path(home) / "err")
            process = forked.scrapy(self._words(words, settings), self.folder, self.environment, files)
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(SECONDS)
                raise Broken(f"scrapy {' '.join(map(str, words))} did not end in {seconds:g} s") from None
            return Done(status, files.stdout.read_text(errors="replace"), files.stderr.read_text())

    def ask(self, *words: object, **settings: object) -> Any:
        """Run a command with ``--json``, which must succeed, and return what it printed."""
        done = self.run(*words, "--json", **settings)
        need(done.status == 0, f"scrapy {words[0]} --json ended with {done.status}: {last_line(done.err)}")
        return json.loads(done.out)

    def do(self, *words: object, **settings: object) -> Done:
        """Run a command that must succeed."""
        done = self.run(*words, **settings)
        need(
            done.status == 0,
            f"scrapy {' '.join(map(str, words))} ended with {done.status}: {last_line(done.err or done.out)}",
        )
        return done

    def background(self, *words: object, **settings: object) -> Background:
        """Start a command that goes on."""
        number = len(list(self.folder.glob("background-*.out"))) + 1
        out, err = self.folder / f"background-{number}.out", self.folder / f"background-{number}.err"
        out.touch()
        err.touch()
        files = Files(Path(os.devnull), out, err)
        process = forked.scrapy(self._words(words, settings), self.folder, self.environment, files)
        started = Background(process, out, err)
        self._stack.callback(started.kill)
        return started

    @property
    def environment(self) -> dict[str, str]:
        """The environment of commands: tokens of crawls on Redis are in the home folder."""
        return {
            **os.environ,
            "SCRAPY_SETTINGS_MODULE": "webcrawl.settings",
            "PYTHONPATH": os.pathsep.join([str(self.folder), str(crawling.ROOT)]),
            "HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "COLUMNS": "160",
            "TERM": "dumb",
        }

    @staticmethod
    def _words(words: tuple[object, ...], settings: dict[str, object]) -> list[str]:
        given = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        return [*map(str, words), *given]


class Background:
    """A command that goes on until it is told to end."""

    def __init__(self, process: forked.Forked | subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process = process
        self._out, self._err = out, err

    @property
    def out(self) -> str:
        return self._out.read_text(errors="replace")

    @property
    def err(self) -> str:
        return self._err.read_text(errors="replace")

    def until_said(self, text: str) -> str:
        """Wait until it has printed a text, and return all that it printed."""
        said = until(lambda: text in self.out + self.err or self.process.poll() is not None)
        need(said and text in self.out + self.err, f"it did not print {text!r}: {last_line(self.err)}")
        return self.out + self.err

    def end(self, number: signal.Signals) -> int:
        """Send a signal, and return the exit status."""
        self.process.send_signal(number)
        return int(self.process.wait(2 * SECONDS))

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(SECONDS)


class Client:
    """A client of the JSON API of a dashboard or a service, by its address and token."""

    def __init__(self, address: str, token: str) -> None:
        self.base = address.partition("#")[0].rstrip("/")
        self.token = token

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send a request, and return status and answer: a value of JSON, or bytes."""
        given = {"Authorization": f"Bearer {self.token}", **headers}
        data = None
        if method != "GET":
            data = json.dumps({} if body is None else body).encode()
            given["Content-Type"] = "application/json"
        try:
            with urlopen(
                Request(f"{self.base}{path}", data, given, method=method), timeout=SECONDS
            ) as answer:
                return answer.status, _value(answer.read(), answer.headers["Content-Type"])
        except HTTPError as error:
            with error:
                return error.code, _value(error.read(), error.headers["Content-Type"])

    def get(self, path: str) -> Any:
        """Return the answer of an endpoint that reads."""
        status, value = self.ask("GET", path)
        need(status == 200, f"GET {path} answered {status}: {str(value)[:200]}")
        return value

    def change(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer of an endpoint that changes something."""
        status, value = self.ask(method, path, body)
        need(status == 200, f"{method} {path} answered {status}: {str(value)[:200]}")
        return value

    def stream(self, path: str, events: int) -> Iterator[dict[str, Any]]:
        """Yield the data of the first events of a stream."""
        request = Request(f"{self.base}{path}", headers={"Authorization": f"Bearer {self.token}"})
        with urlopen(request, timeout=SECONDS) as answer:
            while events:
                line = answer.readline()
                if not line:
                    return
                if line.startswith(b"data:"):
                    events -= 1
                    yield json.loads(line[5:])


class Live(Stage):
    """A crawl that runs: ten steady hosts, a request every half second to each."""

    def begin(self) -> None:
        seeds = [self.site.url(host) for host in STEADY]
        # Addresses and ports of a site are those of its seeds; a second port of this web is none of them.
        self.lead(
            seeds,
            POLITENESS_MIN_DELAY=DELAY,
            TRAPS_PAGES=3,
            STATISTICS_INTERVAL_SECONDS=1,
            LOG_LEVEL="INFO",
        )
        begun = until(lambda: len(self.web.pages()) > 3 * len(STEADY))
        need(begun, f"the crawl did not begin: {self.workers[0].stderr[-500:]}")

    def is_fetching(self, seconds: float = SECONDS) -> bool:
        """Whether requests come."""
        now = time.time()
        return until(lambda: len(self.web.pages(since=now)) >= 5, seconds)

    def dashboard(self) -> Client:
        """Return a client of the dashboard of this crawl, which is started if there is none."""
        if "dashboard" not in self.kept:
            started = self.background("dashboard", self.target, "--port", 0, FETCH_PRIVATE_ADDRESSES=1)
            said = started.until_said("#token=")
            address = next(word for word in said.split() if "#token=" in word)
            started.until_said("Ctrl-C")
            self.kept["dashboard"] = Client(address, address.partition("#token=")[2]), started
        client: Client = self.kept["dashboard"][0]
        return client


def last_line(text: str) -> str:
    """Return the last line with text, for evidence."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing was printed"


def _status(crawl: Crawl, seconds: float) -> int:
    with suppress(AssertionError):
        crawl.wait(seconds)
    return -9 if crawl.status is None else crawl.status


def _value(content: bytes, kind: str | None) -> Any:
    return json.loads(content) if (kind or "").startswith("application/json") else content


STAGES = {"live": Live}
