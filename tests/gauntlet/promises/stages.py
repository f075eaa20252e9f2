"""The crawls on which promises are judged: one that runs, one that has ended, and others that a judge starts itself.

A stage is made when its first promise is judged, and ends after its last one. ``technology`` is sqlite, with one
process, or redis, with two workers and a server of their own.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from contextlib import ExitStack, closing, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests import forked, processes, redis_program
from tests.commands import Done
from tests.crawl import crawling
from tests.fakeweb.answer import Answer, Pause
from tests.fakeweb.config import Placement
from tests.fakeweb.copies import Copies
from tests.fakeweb.labyrinth import Labyrinth
from tests.fakeweb.mirrors import Mirrored
from tests.fakeweb.variants import Variants
from tests.fakeweb.web import Web
from tests.forked import Files
from tests.gauntlet.promises.table import Broken, need
from tests.gauntlet.promises.web import SECONDS, STEADY, PromiseSite, Serving, until
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.crawl.crawling import Crawl
    from tests.fakeweb.answer import Request as Asked
    from tests.fakeweb.connection import Site
    from tests.fakeweb.log import Hit

BROWSER = "browser"
"""The program that commands open pages with: a script of a judge in the folder of the stage."""
DELAY = 0.3
"""Seconds between two requests to a host of a crawl that runs."""


@cache
def _server() -> dict[str, str]:
    """Return the variable by which crawls of several workers find a server; nothing if there is none."""
    try:
        return {redis_program.CHOICE: str(redis_program.find())}
    except redis_program.MissingError:
        return {}


class Stage:
    """A folder, a web and, for Redis, a server; its crawls and other processes end with it."""

    def __init__(self, technology: str, folder: Path, site: Site | None = None) -> None:
        self.technology = technology
        self.folder = folder
        self.site: Any = site or PromiseSite()
        self.redis: RedisServer | None = None
        self.crawls: list[Crawl] = []
        self.kept: dict[Any, Any] = {}
        """What a judge leaves for later ones."""
        self._stack = ExitStack()
        self._seeds: list[str] = []
        self._settings: dict[str, Any] = {}

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

    def start(self, seeds: list[str] | None, name: str = "job", **settings: Any) -> list[Crawl]:
        """Start a crawl with a process, or with two workers on Redis; the same name again resumes it."""
        common = {"DNS_NAMESERVERS": self.web.nameserver, "POLITENESS_KEY": "host", **settings}
        if self.redis is None:
            return [self._start(name, seeds, common)]
        common["REDIS_URL"] = self.redis.url
        return [
            self._start(f"{name}-{worker}", seeds, {**common, "WORKER_NAME": worker})
            for worker in ("w1", "w2")
        ]

    def _start(self, name: str, seeds: list[str] | None, settings: dict[str, Any]) -> Crawl:
        crawl = crawling.start(self.folder / name, seeds, **settings)
        self.crawls.append(crawl)
        return crawl

    def kill(self) -> None:
        """End what runs."""
        for crawl in self.crawls:
            if crawl.process.poll() is None:
                crawl.kill()

    def lead(self, seeds: list[str], **settings: Any) -> None:
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
    def select(self) -> dict[str, Any]:
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

    def run(self, *words: object, seconds: float = 2 * SECONDS, **settings: Any) -> Done:
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

    def ask(self, *words: object, **settings: Any) -> Any:
        """Run a command with ``--json``, which must succeed, and return what it printed."""
        done = self.run(*words, "--json", **settings)
        need(done.status == 0, f"scrapy {words[0]} --json ended with {done.status}: {last_line(done.err)}")
        return json.loads(done.out)

    def do(self, *words: object, **settings: Any) -> Done:
        """Run a command that must succeed."""
        done = self.run(*words, **settings)
        need(
            done.status == 0,
            f"scrapy {' '.join(map(str, words))} ended with {done.status}: {last_line(done.err or done.out)}",
        )
        return done

    def background(self, *words: object, **settings: Any) -> Background:
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

    def dashboard(self, **settings: Any) -> Client:
        """Return a client of the dashboard of this crawl with these settings, which is started if there is none."""
        key = ("dashboard", *settings)
        if key not in self.kept:
            started = self.background("dashboard", self.target, "--port", 0, **settings)
            is_public = "DASHBOARD_PUBLIC" in settings
            said = started.until_said("Ctrl-C" if is_public else "The token is in")
            address = next(word for word in said.split() if word.startswith("http://"))
            file = said.partition("The token is in ")[2].partition(".\n")[0]
            token = "" if is_public else Path(file).read_text().strip()
            self.kept[key] = Client(address, token)
        client: Client = self.kept[key]
        return client

    @property
    def environment(self) -> dict[str, str]:
        """The environment of commands: tokens of crawls on Redis are in the home folder."""
        return {
            **os.environ,
            "SCRAPY_SETTINGS_MODULE": "webcrawl.settings",
            "PYTHONPATH": os.pathsep.join([str(self.folder), str(crawling.ROOT)]),
            "HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "BROWSER": f"{self.folder / BROWSER} %s",
            "COLUMNS": "160",
            **_server(),
            "TERM": "dumb",
        }

    @staticmethod
    def _words(words: tuple[object, ...], settings: dict[str, Any]) -> list[str]:
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

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
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
        self.cookie = ""
        """What the last answer has set."""

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send a request, and return status and answer: a value of JSON, or bytes."""
        given = {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **headers}
        data = None
        if method != "GET":
            data = json.dumps({} if body is None else body).encode()
            given["Content-Type"] = "application/json"
        try:
            with urlopen(
                Request(f"{self.base}{path}", data, given, method=method), timeout=SECONDS
            ) as answer:
                self.cookie = (answer.headers["Set-Cookie"] or "").partition(";")[0]
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

    hosts = STEADY

    def begin(self) -> None:
        seeds = [self.site.url(host) for host in self.hosts]
        # Addresses and ports of a site are those of its seeds; a second port of this web is none of them.
        self.lead(
            seeds,
            POLITENESS_MIN_DELAY=DELAY,
            TRAPS_PAGES=3,
            STATISTICS_INTERVAL_SECONDS=1,
            LOG_LEVEL="INFO",
        )
        begun = until(lambda: len(self.web.pages()) > 2 * len(self.hosts), 2 * SECONDS)
        need(begun, f"the crawl did not begin: {self.workers[0].stderr[-500:]}")

    def is_fetching(self, seconds: float = SECONDS) -> bool:
        """Whether requests come."""
        now = time.time()
        return until(lambda: len(self.web.pages(since=now)) >= 5, seconds)


class Quick(Live):
    """The same for the part of ``make test``: fewer hosts, and as many pages as they can send in five minutes."""

    hosts = STEADY[-6:]

    def begin(self) -> None:
        for host in self.hosts:
            self.site.drip(host, 600)
        super().begin()


class Accident(Quick):
    """The same again, for what needs a process that is killed or hangs."""


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


class Trap(Stage):
    """A crawl of a site with endless pages that say nothing new."""

    def __init__(self, technology: str, folder: Path) -> None:
        super().__init__(technology, folder, Labyrinth(1, sections=("articles", "events", "days", "folders")))

    def begin(self) -> None:
        self.lead(self.site.seeds, POLITENESS_MIN_DELAY=0.02)


class Copied(Stage):
    """A crawl of a forum that has each thread under several URLs, and of a site whose pages begin to differ."""

    def __init__(self, technology: str, folder: Path) -> None:
        super().__init__(technology, folder, Copies(120, names=("forum", "turning")))

    def begin(self) -> None:
        self.lead(
            self.site.seeds, POLITENESS_MIN_DELAY=0.03, POLITENESS_FACTOR=0, DUST_LEARN=1, TRAPS_QUARANTINE=0
        )


class Varied(Stage):
    """A crawl of articles that come again, nearly the same, and of others in the same frame."""

    def __init__(self, technology: str, folder: Path) -> None:
        super().__init__(technology, folder, Variants(8))

    def begin(self) -> None:
        self.lead(
            self.site.seeds,
            NEAR_DUPLICATES="record,nofollow,nostore",
            POLITENESS_MIN_DELAY=0.03,
            POLITENESS_FACTOR=0,
            TRAPS_QUARANTINE=0,
        )


class MirroredHosts(Stage):
    """A crawl of a host, of a mirror of it, and of a host that has only its home page and robots.txt."""

    def __init__(self, technology: str, folder: Path) -> None:
        super().__init__(technology, folder, Mirrored(80, names=("original", "mirror", "portal", "imitator")))

    def begin(self) -> None:
        self.lead(
            self.site.seeds,
            POLITENESS_KEY="host",
            POLITENESS_MIN_DELAY=0.15,
            POLITENESS_FACTOR=0,
            MIRRORS_LEARN=1,
            TRAPS_QUARANTINE=0,
        )


class Hostile(Stage):
    """A crawl of a site that has equal pages until a rule is proved, and of one that has other URLs each day."""

    def __init__(self, technology: str, folder: Path) -> None:
        super().__init__(technology, folder, Copies(60, names=("liar", "daily")))

    def begin(self) -> None:
        self.lead(
            self.site.seeds, POLITENESS_MIN_DELAY=0.03, POLITENESS_FACTOR=0, DUST_LEARN=1, TRAPS_QUARANTINE=0
        )


class Counted(Stage):
    """A crawl of a site that has each article under four URLs, with a counter in its text."""

    def __init__(self, technology: str, folder: Path) -> None:
        super().__init__(technology, folder, Copies(80, names=("counted",)))

    def begin(self) -> None:
        self.lead(
            self.site.seeds,
            POLITENESS_MIN_DELAY=0.03,
            POLITENESS_FACTOR=0,
            DUST_LEARN=1,
            DUST_EQUALITY="text",
            TRAPS_QUARANTINE=0,
        )


class Short(Stage):
    """No crawl of its own: each judge starts one, on Redis after it was emptied."""

    def crawl(self, seeds: list[str] | None, name: str, **settings: Any) -> list[Crawl]:
        """Start a new crawl, or go on with the one of this name."""
        self.kill()
        if self.redis is not None:
            self.redis.fresh()
        self.workers = self.start(seeds, name, **settings)
        return self.workers


class SlowWeb(Web):
    """A web whose answers take a second while ``is_slow``: commands reach a crawl of it in its middle."""

    is_slow = True

    def answer(self, request: Asked) -> Answer:
        found = super().answer(request)
        if not self.is_slow or request.path == "/robots.txt":
            return found
        return Answer(found.status, steps=chain([Pause(1.0), found.wire], found.steps), close=found.close)


class Served(Stage):
    """A service without crawls: its judges order them. Each host is a site, which is what its clocks are of."""

    hosts = tuple(f"www.site{number}.test" for number in range(4))

    def begin(self) -> None:
        for host in self.hosts:
            self.site.drip(host, 600)
        self.root = self.folder / "crawls"
        fixed = {"SERVICE_PRIVATE_SEEDS": 1, "FETCH_PRIVATE_ADDRESSES": 1, "STATISTICS_INTERVAL_SECONDS": 1}
        self._service = self.background(
            "serve", self.root, "--port", 0, DNS_NAMESERVERS=self.web.nameserver, **fixed
        )
        said = self._service.until_said("The token is in")
        address = next(word for word in said.split() if word.startswith("http://"))
        self.client = Client(address, (self.root / ".service/token").read_text().strip())

    def end(self) -> int:
        """End the service by SIGTERM, and return its exit status."""
        return self._service.end(signal.SIGTERM)

    def kill(self) -> None:
        """End the service, which stops its crawls; what is left then is killed."""
        pids = [int(path.read_text().split()[-1]) for path in self.root.glob("*/lock") if path.stat().st_size]
        with suppress(subprocess.TimeoutExpired):
            self.end()
        self._service.kill()
        for pid in pids:
            if "scrapy" in processes.name_of(pid):
                processes.kill(pid)


class Story(Stage):
    """A crawl of a closed web that was saved and stopped in the middle, resumed by the same command, and ended."""

    COPIES = "copy"
    """What the User-Agents of crawls of copies begin with."""

    def __init__(self, technology: str, folder: Path) -> None:
        placements = (
            Placement("robots-private", hosts=("h0002.test",)),
            Placement("status", share=0.06, options={"code": 404}),
            Placement("empty-reply", share=0.06),
        )
        web = SlowWeb(5, 6, 120, suffix="test", words=60, zipf=0.3, links=8, placements=placements)
        super().__init__(technology, folder, web)

    def begin(self) -> None:
        self.lead(
            self.site.seeds,
            POLITENESS_MIN_DELAY=0.1,
            RETRY_TIMES=0,
            HEALTH_FAILURES_TO_PARK=50,
            ARCHIVE_SINKS="webcrawl.search.store.SearchIndex",
            PROCESSING_MODULES="webcrawl.processing.main_text.MainText",
        )
        need(until(lambda: len(self.web.pages()) >= 12), f"it did not begin: {self.workers[0].stderr[-300:]}")
        self.kept["save begins"] = time.time()
        self.kept["save"] = self.run("save", self.target)
        since = time.time()
        self.kept["stop"] = self.run("stop", self.target)
        stopped = time.time()
        until(lambda: not self.is_running(), 10.0)
        self.kept["gone"] = not self.is_running()
        for worker in self.workers:
            worker.signal(signal.SIGTERM)
        self.kept["stopped"] = self.statuses()
        self.kept["late"] = len(self.web.hits(since=stopped))
        self.kept["saved at"] = since
        if self.redis is None:
            self.kept["checkpoint"] = self.run("checkpoint", self.jobdirs[0], self.folder / "taken")
        self.site.is_slow = False
        self.kept["begun again"] = time.time()
        self.again()
        self.kept["ended"] = self.statuses()

    def hits(self) -> list[Hit]:
        """Return the requests of the crawl itself, not those of copies or commands."""
        return [hit for hit in self.web.hits() if hit.user_agent.startswith("webcrawl/")]

    def pages(self) -> list[Hit]:
        """Return its requests for pages."""
        return [hit for hit in self.hits() if not hit.is_robots]

    def url(self, hit: Hit) -> str:
        """Return the URL of a request."""
        return f"http://{hit.host}:{self.web.port}{hit.path}"

    def wanted(self) -> set[str]:
        """Return the URLs that a crawler with good manners requests."""
        return {url for url, fact in self.site.truth().items() if not fact.forbidden}

    def copy_crawls_on(self, jobdir: Path, name: str) -> set[str]:
        """Crawl a copy of this crawl to its end; return what it has requested."""
        agent = f"{self.COPIES}-{name}/1.0"
        [copy] = self.start(
            self.site.seeds, f"of-{name}", **{**self._settings, "USER_AGENT": agent}, jobdir=jobdir
        )
        status = _status(copy, 2 * SECONDS)
        need(status == 0, f"the crawl of the copy ended with {status}: {last_line(copy.stderr)}")
        return {self.url(hit) for hit in self.web.pages() if hit.user_agent == agent}

    @property
    def names(self) -> dict[str, str]:
        found = super().names
        hit = next(hit for hit in self.pages() if hit.status == 200)
        found |= {"url": self.url(hit), "host": hit.host, "file": str(self.jobdirs[0] / "fetch.jsonl")}
        found |= {"damaged": str(self._damaged()), "unseen": f"http://{hit.host}:{self.web.port}/unseen"}
        return found

    def _damaged(self) -> Path:
        """Return a copy of the crawl without a line of its fetch log, and with a wrong total in its frontier."""
        path = self.folder / "damaged"
        if not path.exists():
            shutil.copytree(self.jobdirs[0], path)
            log = path / "fetch.jsonl"
            lines = log.read_bytes().splitlines(keepends=True)
            log.write_bytes(b"".join(lines[:2] + lines[3:]))
            if (path / "frontier.db").exists():
                with closing(sqlite3.connect(path / "frontier.db")) as opened, opened:
                    opened.execute("UPDATE totals SET queued = queued + 7")
        return path


STAGES: dict[str, type[Stage]] = {
    "live": Live,
    "quick": Quick,
    "accident": Accident,
    "trap": Trap,
    "copies": Copied,
    "variants": Varied,
    "mirrors": MirroredHosts,
    "hostile": Hostile,
    "counted": Counted,
    "short": Short,
    "story": Story,
    "service": Served,
}
