"""What is done to the containers, and what the web's log and the engine say of it."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.fakeweb.ports import free_port
from tests.gauntlet.containers import web
from tests.gauntlet.containers.engine import REDIS, ROOT
from tests.gauntlet.scorecard import Judged, judged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.gauntlet.containers.engine import Engine

HOSTS = 24
PAGES = 45
"""On each host."""
DELAY_SECONDS = 3.0
LEASE_SECONDS = 8
PATIENCE_SECONDS = 400.0
MEBIBYTE = 1 << 20
WORKER_MEBIBYTES = 640
SECTION = "containers"
SERVICE_LABEL = "com.docker.compose.service"
PROJECT_LABEL = "com.docker.compose.project"


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of the web's log."""

    host: str
    path: str
    client: str
    status: int
    start: float
    end: float


class TooLateError(Exception):
    """Something did not happen in time. The text says what."""


class Deployment:
    """compose.yaml with a web beside it, as one project of its own."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.project = f"webcrawl-trial-{os.getpid()}"
        self._log = folder / "log" / "access.jsonl"
        self._log.parent.mkdir(parents=True)
        self._log.parent.chmod(0o777)
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"http://{web.name(number)}/\n" for number in range(HOSTS)))
        seeds.chmod(0o644)
        self.ports = {name: free_port() for name in ("SERVICE_PORT", "DASHBOARD_PORT")}
        self._variables = {
            "SEEDS": str(seeds),
            "WORKER_MEMORY": f"{WORKER_MEBIBYTES}m",
            **{name: str(port) for name, port in self.ports.items()},
        }
        overlay = folder / "overlay.yaml"
        overlay.write_text(json.dumps(self._overlay(), indent=1))
        self._files = [ROOT / "compose.yaml", overlay]

    def _overlay(self) -> dict[str, Any]:
        environment = {
            "WEBCRAWL_CRAWLER_CONTACT": "crawl@example.org",
            "WEBCRAWL_FETCH_PRIVATE_ADDRESSES": "1",
            "WEBCRAWL_POLITENESS_MIN_DELAY": str(DELAY_SECONDS),
            "WEBCRAWL_POLITENESS_FACTOR": "0",
            "WEBCRAWL_LEASE_SECONDS": str(LEASE_SECONDS),
        }
        redis = [
            "redis-server",
            "--appendonly",
            "yes",
            "--appendfsync",
            "everysec",
            "--save",
            "",
            "--maxmemory",
        ]
        redis += [
            "0",
            "--maxmemory-policy",
            "noeviction",
            "--dir",
            "/data",
            "--protected-mode",
            "no",
            "--bind",
            "0.0.0.0",
        ]
        program = ROOT / "tests/gauntlet/containers/web.py"
        return {
            "services": {
                # What the official image of Redis does, and Debian's package does not.
                "redis": {"image": REDIS, "command": redis},
                "worker": {"environment": environment},
                "service": {"environment": {**environment, "WEBCRAWL_SERVICE_PRIVATE_SEEDS": "1"}},
                "dashboard": {"environment": environment},
                "web": {
                    "image": "webcrawl:0.1.0",
                    "entrypoint": ["python", "/web.py"],
                    "command": [str(HOSTS), str(PAGES), "/log/access.jsonl"],
                    "user": "0:0",
                    "volumes": [f"{program}:/web.py:ro", f"{self._log.parent}:/log"],
                    "networks": {"default": {"aliases": [web.name(number) for number in range(HOSTS)]}},
                },
            }
        }

    def compose(self, *words: str) -> str:
        """Run compose."""
        return self.engine.compose(self._files, self.project, *words, variables=self._variables)

    def up(self, workers: int) -> None:
        """Start all that a shared crawl needs, or change the number of its workers."""
        self.compose(
            "--profile", "dashboard", "up", "--detach", "--scale", f"worker={workers}", "web", "redis"
        )
        self.compose(
            "--profile", "dashboard", "up", "--detach", "--scale", f"worker={workers}", "worker", "dashboard"
        )

    def down(self, *words: str) -> None:
        """Stop the workers, then stop and remove all containers.

        podman-compose knows of one worker when it is not told the scale, and the web must not go before the workers:
        its hosts would be parked, as sites that are down.
        """
        for name in self.containers("worker"):
            self.engine.run("stop", "--time", "90", name)
        for name in self.containers("worker", ended=True):
            self.engine.run("rm", name)
        self.compose("--profile", "dashboard", "--profile", "service", "down", *words)

    def containers(self, service: str, *, ended: bool = False) -> list[str]:
        """Return the names of the containers of a service, those that run or those that have ended."""
        words = ["ps", "--all", "--format", "{{.Names}}", "--filter", f"label={PROJECT_LABEL}={self.project}"]
        words += ["--filter", f"label={SERVICE_LABEL}={service}", "--filter"]
        return sorted(self.engine.run(*words, f"status={'exited' if ended else 'running'}").split())

    def hits(self) -> list[Hit]:
        """Return the web's log."""
        if not self._log.exists():
            return []
        lines = self._log.read_text(encoding="utf-8").splitlines()
        return [Hit(**json.loads(line)) for line in lines]

    def until(self, what: str, test: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
        """:raises TooLateError: it did not become true"""
        deadline = time.monotonic() + seconds
        while not test():
            if time.monotonic() > deadline:
                raise TooLateError(
                    f"after {seconds:g} s: not {what}; {len(self.hits())} requests\n{self._state()}"
                )
            time.sleep(0.5)

    def _state(self) -> str:
        """Return what the crawl says of itself, for the report of a failure."""
        shared = ["-s", "REDIS_URL=redis://redis:6379/0", "-s", "FRONTIER_BACKEND=redis"]
        told = [
            self.engine.run("exec", container, "scrapy", *words, *shared, fails=True)
            for container in self.containers("dashboard")
            for words in (["frontier", "status"], ["frontier", "check"], ["hosts", "--sort", "queued"])
        ]
        return "\n".join([*told, self.compose("logs", "--tail", "15", "worker")])

    def ask(self, port: str, path: str, token: str, body: object = None) -> Any:
        """Return the JSON that the service or the dashboard answers on the loopback address of this machine."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.ports[port]}{path}")
        request.add_header("Authorization", f"Bearer {token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.loads(response.read())


def shared_crawl(deployment: Deployment) -> Iterator[Judged]:
    """A crawl of three workers that is scaled, killed, taken down and brought up again."""
    engine = deployment.engine
    deployment.up(3)
    deployment.until("three workers", lambda: len(_clients(deployment.hits())) >= 3)
    yield _row(
        "three workers", "`up --scale worker=3` crawls with three workers.", True, _by_client(deployment)
    )
    first = deployment.containers("worker")
    yield from _rights(deployment, first[0])
    yield from _health(deployment, first[0])
    yield _dashboard(deployment)

    deployment.up(5)
    deployment.until("five workers", lambda: len(_clients(deployment.hits())) >= 5)
    yield _row("five workers", "`up --scale worker=5` adds two that fetch.", True, _by_client(deployment))

    yield _frozen(deployment, first[1])
    victim = deployment.containers("worker")[-1]
    killed_at = time.time()
    engine.run("kill", "--signal", "KILL", victim)
    deployment.until("15 s after a kill", lambda: time.time() - killed_at > LEASE_SECONDS + 7)
    since = [hit for hit in deployment.hits() if hit.start > killed_at]
    yield _row(
        "kill",
        "The others go on when one is killed.",
        len(_clients(since)) >= 4,
        f"requests by address: {_counts(deployment.hits())}; after it: {_counts(since)}",
    )

    before_down = len(_pages(deployment.hits()))
    stopped = [name for name in deployment.containers("worker") if name != victim][2:]
    for name in stopped:
        engine.run("stop", "--time", "90", name)
    statuses = [engine.inspect(name)["State"]["ExitCode"] for name in stopped]
    yield _row(
        "stop", "A worker that is stopped ends with status 0.", set(statuses) == {0}, f"statuses {statuses}"
    )

    deployment.down()
    at_down = len(deployment.hits())
    time.sleep(3 * DELAY_SECONDS)
    yield _row(
        "down",
        "After `down` nothing is requested any more.",
        len(deployment.hits()) == at_down and 0 < before_down < HOSTS * PAGES,
        f"{at_down} requests before, {len(deployment.hits()) - at_down} in {3 * DELAY_SECONDS:g} s after",
    )
    deployment.up(2)
    deployment.until(
        "all pages, and no worker left",
        lambda: len(_pages(deployment.hits())) == HOSTS * PAGES and not deployment.containers("worker"),
    )
    ended = deployment.containers("worker", ended=True)
    statuses = [engine.inspect(name)["State"]["ExitCode"] for name in ended]
    yield _row(
        "end",
        "`up` goes on with the crawl, and its workers end with 0.",
        set(statuses) == {0},
        f"statuses {statuses}",
    )
    yield from _whole_log(deployment, killed_at)


def service(deployment: Deployment) -> Iterator[Judged]:
    """The profile ``service``: an order by its API, and its stop."""
    before = len(deployment.hits())
    deployment.compose("--profile", "service", "up", "--detach", "web", "service")
    [container] = deployment.containers("service")
    token_file = "/crawls/.service/token"
    exec_words = ("exec", container, "cat", token_file)
    deployment.until("a token", lambda: deployment.engine.status(*exec_words) == 0)
    token = deployment.engine.run(*exec_words).strip()
    deployment.until("healthy", lambda: _is_healthy(deployment, container), 90)
    yield _row(
        "service health", "The service's health check says that it is well.", True, "healthcheck status 0"
    )
    order = {"name": "first", "seeds": [f"http://{web.name(0)}/"], "arguments": [f"domains={web.name(0)}"]}
    deployment.ask("SERVICE_PORT", "/api/v1/crawls", token, {**order, "start": True})
    deployment.until("its pages", lambda: len(deployment.hits()) > before + 5)
    yield _row(
        "service order",
        "An order by the API is crawled.",
        True,
        f"{len(deployment.hits()) - before} requests to {web.name(0)}",
    )
    deployment.engine.run("stop", "--time", "180", container)
    status = deployment.engine.inspect(container)["State"]["ExitCode"]
    at_stop = len(deployment.hits())
    time.sleep(2 * DELAY_SECONDS)
    yield _row(
        "service stop",
        "A service that is stopped ends with 0, and its crawls with it.",
        status == 0 and len(deployment.hits()) == at_stop,
        f"status {status}, {len(deployment.hits()) - at_stop} requests after it",
    )


def _rights(deployment: Deployment, container: str) -> Iterator[Judged]:
    engine = deployment.engine
    wrote = engine.status("exec", container, "sh", "-c", "echo x > /app/x || echo x > /venv/x || echo x > /x")
    user = engine.run("exec", container, "id", "-u").strip()
    yield _row("read-only", "Its root is read-only.", wrote != 0, f"writing ended with status {wrote}")
    yield _row("user", "A worker has no rights of root.", user == "10001", f"user {user}")
    limit = engine.inspect(container)["HostConfig"]["Memory"]
    seen = engine.run("exec", container, "sh", "-c", _MEMORY_LIMIT).strip()
    yield _row(
        "memory",
        "WORKER_MEMORY is the limit of a worker's memory.",
        limit == WORKER_MEBIBYTES * MEBIBYTE and seen in (str(limit), "unknown"),
        f"{limit // MEBIBYTE} MiB by the engine, {seen} inside",
    )


_MEMORY_LIMIT = (
    "cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null "
    "|| echo unknown"
)


def _health(deployment: Deployment, worker: str) -> Iterator[Judged]:
    [redis] = deployment.containers("redis")
    deployment.until("healthy", lambda: _is_healthy(deployment, worker), 90)
    is_redis_healthy = _is_healthy(deployment, redis)
    yield _row(
        "health",
        "The health checks of worker and Redis say that they are well.",
        is_redis_healthy,
        f"status 0 of {worker} and {redis}",
    )


def _frozen(deployment: Deployment, worker: str) -> Judged:
    """Freeze the processes of a worker, and let them go on after its check has noticed."""
    engine = deployment.engine
    engine.run("exec", worker, "python", "-c", _SIGNALLED, "STOP")
    began_at = time.time()
    try:
        deployment.until("unhealthy", lambda: not _is_healthy(deployment, worker), 120)
        seconds = time.time() - began_at
        # Its sites are with the others by now.
        frozen = [hit for hit in deployment.hits() if hit.start > began_at + LEASE_SECONDS]
    finally:
        engine.run("exec", worker, "python", "-c", _SIGNALLED, "CONT")
    deployment.until("healthy again", lambda: _is_healthy(deployment, worker), 120)
    return _row(
        "frozen",
        "A worker that hangs is unhealthy, the others go on, and it is healthy when it goes on.",
        bool(frozen),
        f"unhealthy after {seconds:.0f} s, {len(frozen)} requests of the others meanwhile",
    )


_SIGNALLED = """
import os, pathlib, signal, sys
for process in pathlib.Path("/proc").glob("[0-9]*"):
    words = (process / "cmdline").read_bytes()
    if b"scrapy" in words and int(process.name) != os.getpid():
        os.kill(int(process.name), getattr(signal, "SIG" + sys.argv[1]))
"""


def _dashboard(deployment: Deployment) -> Judged:
    deployment.until("a dashboard", lambda: deployment.containers("dashboard"))
    [container] = deployment.containers("dashboard")
    deployment.until("its health", lambda: _is_healthy(deployment, container), 90)
    token = deployment.engine.run("exec", container, "cat", "/state/dashboard.token").strip()
    told = deployment.ask("DASHBOARD_PORT", "/api/v1/crawl", token)
    workers = len(told["workers"])
    return _row(
        "dashboard",
        "The dashboard shows the workers of the shared crawl.",
        workers == 3,
        f"it shows {workers} workers",
    )


def _is_healthy(deployment: Deployment, container: str) -> bool:
    engine = deployment.engine
    if engine.is_docker:
        return bool(engine.inspect(container)["State"]["Health"]["Status"] == "healthy")
    # Without systemd Podman runs no checks by itself.
    return engine.status("healthcheck", "run", container) == 0


def _whole_log(deployment: Deployment, killed_at: float) -> Iterator[Judged]:
    hits = deployment.hits()
    counts = Counter((hit.host, hit.path) for hit in hits if hit.path != "/robots.txt")
    again = sum(count - 1 for count in counts.values())
    in_flight = sum(hit.start <= killed_at + 1 and hit.end >= killed_at - DELAY_SECONDS - 1 for hit in hits)
    yield _row(
        "coverage",
        "Every page is requested; twice at most what a killed worker had not stored.",
        len(_pages(hits)) == HOSTS * PAGES and again <= in_flight,
        f"{len(_pages(hits))} of {HOSTS * PAGES} pages, {again} requested again, {len(hits)} requests",
    )
    private = [hit for hit in hits if hit.path.startswith("/private/")]
    yield _row(
        "robots.txt", "What robots.txt forbids is not requested.", not private, f"{len(private)} requests"
    )
    by_host: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        by_host[hit.host].append(hit)
    gaps = [
        after.start - before.end
        for line in by_host.values()
        for before, after in zip(
            sorted(line, key=lambda hit: hit.start), sorted(line, key=lambda hit: hit.start)[1:], strict=False
        )
    ]
    yield _row(
        "politeness",
        f"A host has one request at a time, and {DELAY_SECONDS:g} s between two, over all workers.",
        min(gaps) >= DELAY_SECONDS - 0.05,
        f"{len(gaps)} gaps, the shortest {min(gaps):.2f} s",
    )


def _row(name: str, promise: str, kept: bool, evidence: str) -> Judged:
    return judged(SECTION, name, promise, kept, evidence)


def _pages(hits: list[Hit]) -> set[tuple[str, str]]:
    return {(hit.host, hit.path) for hit in hits if hit.status == 200 and hit.path != "/robots.txt"}


def _clients(hits: list[Hit]) -> set[str]:
    return {hit.client for hit in hits}


def _by_client(deployment: Deployment) -> str:
    return f"requests by address: {_counts(deployment.hits())}"


def _counts(hits: list[Hit]) -> str:
    return ", ".join(f"{number}" for _, number in Counter(hit.client for hit in hits).most_common())
