"""What containers run, run here: the entry points of image and compose.yaml under the signals that they get."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.crawl import expectation
from tests.crawl.crawling import AT_ONCE, ROOT, Crawl, Jobdir
from tests.fakeweb import witness
from tests.forked import Files
from tests.process import containers
from tests.process.workers import WorkerProcesses
from tests.redis_server import RedisServer
from webcrawl import settings

PAGES = 160
SERVICES = containers.compose()["services"]
WORKER = SERVICES["worker"]
GRACE = containers.seconds(WORKER["stop_grace_period"])
AGES_SECONDS = 60
"""So long after its last sign of life a worker cannot pass for healthy."""
TELLS = """for word in "$@"; do printf '%s\\0' "$word"; done; printf '\\0'; env -0"""
"""A program that tells its words and its environment."""


class Container:
    """A folder as CRAWLS and the image's environment, for one worker with a host name of its own.

    With ``redis`` it is one of the workers of compose.yaml, else a container that somebody runs by itself.
    """

    def __init__(self, crawls: Path, host: str, redis: str | None = None, **given: object) -> None:
        self.crawls = crawls
        self.host = host
        binaries = crawls.parent / f"bin-{host}"
        binaries.mkdir(parents=True, exist_ok=True)
        self.scrapy = binaries / "scrapy"
        for name, text in (("hostname", f"echo {host}"), ("scrapy", TELLS)):
            (binaries / name).write_text(f"#!/bin/sh\n{text}\n")
            (binaries / name).chmod(0o755)
        mine = {**AT_ONCE, **given}
        del mine["WORKER_NAME"]
        composed = (
            {} if redis is None else containers.compose(REDIS_URL=redis)["services"]["worker"]["environment"]
        )
        self.environment = {
            **containers.environment(),
            **composed,
            "PATH": f"{binaries}:{ROOT / 'docker'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "CRAWLS": str(crawls),
            **{f"WEBCRAWL_{name}": str(value) for name, value in mine.items()},
        }

    def told(self, *words: str) -> tuple[list[str], dict[str, str]]:
        """What the entry point starts with these words: the words behind ``scrapy``, and the environment."""
        self.crawls.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [*containers.last("ENTRYPOINT").words, *words],
            cwd=self.crawls.parent,
            env=self.environment,
            stdout=subprocess.PIPE,
            check=True,
        )
        started, _, environment = done.stdout.decode().partition("\0\0")
        variables = (variable.split("=", 1) for variable in environment.split("\0") if variable)
        return started.split("\0"), dict(variables)

    def run(self, *words: str, itself: bool = False) -> Crawl:
        """Start what the entry point starts; or the entry point ``itself``, which becomes the crawl."""
        number = len(list(self.crawls.parent.glob("stderr-*"))) + 1
        output, errors = self.crawls.parent / f"stdout-{number}", self.crawls.parent / f"stderr-{number}"
        errors.touch()
        process: forked.Process
        if itself:
            self.crawls.mkdir(exist_ok=True)
            self.scrapy.write_text(f'#!/bin/sh\nexec {sys.executable} -m scrapy "$@"\n')
            with output.open("wb") as out, errors.open("wb") as err:
                process = subprocess.Popen(
                    [*containers.last("ENTRYPOINT").words, *words],
                    cwd=self.crawls.parent,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                )
        else:
            started, environment = self.told(*words)
            files = Files(Path(os.devnull), output, errors)
            process = forked.scrapy(started, self.crawls.parent, environment, files)
        return Crawl(process, self.crawls / self.host, output, errors)

    def crawl(self, seeds: list[str], itself: bool = False) -> Crawl:
        """Start what compose.yaml says, with these seeds in the file that is mounted there."""
        file = self.crawls.parent / "seeds.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(seeds))
        words = (word.replace("/seeds.txt", str(file)) for word in WORKER["command"])
        return self.run(*words, itself=itself)

    def is_healthy(self) -> bool:
        """What the image's health check says."""
        words = containers.last("HEALTHCHECK").words
        return subprocess.run(words, env=self.environment, stderr=subprocess.DEVNULL).returncode == 0

    def age(self) -> None:
        """Let the time pass after which nobody is healthy any more who gives no sign of life."""
        lock = self.crawls / self.host / "lock"
        long_ago = lock.stat().st_mtime - AGES_SECONDS
        os.utime(lock, (long_ago, long_ago))


@pytest.fixture(scope="module")
def containers_of(folder):
    """Makes containers: one crawl's share a volume, and each has its host name."""
    started = []

    def one(crawl: str, host: str = "4f1c0de", redis: str | None = None, **given):
        container = Container(folder / crawl / "crawls", host, redis, **given)
        start = container.run

        def run(*words, **more):
            started.append(start(*words, **more))
            return started[-1]

        container.run = run
        return container

    yield one
    for crawl in started:
        if crawl.process.poll() is None:
            crawl.kill()


def fetched(*crawls):
    """How often each page was fetched, over all workers."""
    return sum((crawl.fetched() for crawl in crawls[1:]), crawls[0].fetched())


@pytest.mark.parametrize(
    ("given", "run"),
    [
        (["-a", "seeds=x y"], ["broad", "-a", "seeds=x y"]),
        ([], ["broad"]),
        (["crawl", "news", "-L", "INFO"], ["news", "-L", "INFO"]),
        (["scrapy", "crawl", "news", "-s", "JOBDIR=/other"], ["news", "-s", "JOBDIR=/other"]),
    ],
)
def test_every_crawl_in_a_container_is_a_worker_of_its_name(containers_of, given, run):
    container = containers_of("words")
    words, _ = container.told(*given)

    assert words[0] == "crawl"
    assert words[1:5] == ["-s", "WORKER_NAME=4f1c0de", "-s", f"JOBDIR={container.crawls / '4f1c0de'}"]
    assert words[5:] == run


def test_a_container_by_itself_is_stopped_and_goes_on(serve, containers_of):
    web = serve(hosts=12, pages=PAGES, zipf=0.3, seed=31)
    container = containers_of("stop", POLITENESS_MIN_DELAY=0.03)
    first = container.crawl(web.seeds, itself=True)
    first.until_logged(60)
    first.signal(signal.Signals[containers.last("STOPSIGNAL").text])
    first.wait(GRACE).assert_ended_well()
    assert 0 < len(first.fetched()) < PAGES
    assert first.assert_sound().active_hosts == 0

    again = container.crawl(web.seeds).wait().assert_ended_well()
    assert again.fetched() == dict.fromkeys(expectation.depths(web), 1)
    assert witness.repeated(web.hits()) == {}
    assert {line["worker"] for line in again.log()} == {"4f1c0de"}
    assert again.assert_sound().queued == 0


def test_scaled_workers_are_one_crawl_and_one_that_is_stopped_hands_over_at_once(
    serve, containers_of, serve_redis
):
    web, redis = serve(hosts=20, pages=PAGES, zipf=0.0, seed=32), serve_redis()
    hosts = ("0a1b", "2c3d")
    workers = [containers_of("scaled", host, redis.url, POLITENESS_MIN_DELAY=1) for host in hosts]
    crawls = [worker.crawl(web.seeds) for worker in workers]
    for crawl in crawls:
        crawl.until_logged(5)
    crawls[0].signal(signal.Signals[containers.last("STOPSIGNAL").text])
    crawls[0].wait(GRACE).assert_ended_well()
    assert set(WorkerProcesses(None, redis, []).queued("0a1b")) == set()
    assert "; 1 other worker running when this one ended" in crawls[0].stderr

    # The leases last longer than this waits: nobody could take over what was not given back.
    crawls[1].wait(settings.LEASE_SECONDS - 5).assert_ended_well()
    assert fetched(*crawls) == dict.fromkeys(expectation.depths(web), 1)
    assert witness.repeated(web.hits()) == {}
    assert witness.most_open(web.hits()) == 1
    for crawl, host in zip(crawls, hosts, strict=True):
        assert crawl.path.name == host
        assert {line["worker"] for line in crawl.log()} == {host}


def test_what_a_killed_container_leaves_is_readable_and_its_place_is_taken(serve, containers_of, serve_redis):
    """A server that never answers keeps the stop waiting until its container is killed."""
    web, redis = serve(hosts=6, pages=60, seed=33), serve_redis()
    settings = {"LEASE_SECONDS": 2, "DOWNLOAD_TIMEOUT": 60}
    silent, robots = (f"{web.web.origin(1)}/{path}" for path in ("x/silent", "robots.txt"))
    killed = containers_of("kill", "0a1b", redis.url, **settings).crawl([silent, *web.seeds])
    killed.until(lambda: len(lines := killed.log()) > 20 and robots in {line["url"] for line in lines})
    killed.signal(signal.SIGTERM)
    killed.until(lambda: "Received SIGTERM" in killed.stderr)
    assert killed.process.poll() is None
    killed.kill()
    [warc] = killed.warcs()
    assert warc.suffix == ".open"
    assert {line["url"] for line in killed.log()} <= {record.url for record in killed.records()}

    quicker = containers_of("kill", "2c3d", redis.url, **settings | {"DOWNLOAD_TIMEOUT": 1, "RETRY_TIMES": 0})
    anew = quicker.crawl([silent, *web.seeds]).wait().assert_ended_well()
    assert set(expectation.depths(web)) <= set(fetched(killed, anew))
    # On a busy machine so short a lease ends before the page, and it is requested again.
    assert {line["error"] for line in anew.log() if line["url"] == silent} == {"timeout"}

    # What docs/guides/containers.md says of the folder of a container that is no more.
    tidied = quicker.run("-s", f"JOBDIR={killed.path}").wait().assert_ended_well()
    assert "Repaired after a crash: " in tidied.stderr
    assert [path.suffix for path in Jobdir(killed.path).warcs()] == [".gz"]


def test_a_worker_is_healthy_while_its_loop_turns(serve, containers_of, serve_redis):
    web, redis = serve(hosts=3, pages=60, seed=34), serve_redis()
    container = containers_of("health", redis=redis.url, POLITENESS_MIN_DELAY=5)
    assert not container.is_healthy()
    crawl = container.crawl(web.seeds)
    crawl.until(lambda: " taken" in crawl.stderr)
    assert container.is_healthy()
    status = container.run("scrapy", "frontier", "status").wait()
    assert status.output.startswith(f"broad on Redis at 127.0.0.1:{redis.port}/0: 1 worker running\n")

    crawl.signal(signal.SIGSTOP)
    container.age()
    assert not container.is_healthy()
    crawl.signal(signal.SIGCONT)
    crawl.until(container.is_healthy)

    redis.kill()
    crawl.until(lambda: "The storage is away" in crawl.stderr)
    container.age()
    crawl.until(container.is_healthy)
    redis.start()

    crawl.signal(signal.SIGTERM)
    crawl.wait(GRACE).assert_ended_well()
    container.age()
    assert not container.is_healthy()


def test_workers_wait_for_a_server_that_still_reads_its_file(
    serve, containers_of, serve_redis, redis_is_healthy
):
    web, redis = serve(hosts=3, pages=20, seed=35), serve_redis({"key-load-delay": 100})
    assert redis_is_healthy(redis)
    redis.kill()
    with redis.append_only_file.open("ab") as file:
        file.write(b"*1\r\n$4\r\nPING\r\n" * 200_000)
    redis.start(until_loaded=False)
    assert not redis_is_healthy(redis)

    container = containers_of("loading", redis=redis.url)
    stopped = container.crawl(web.seeds)
    stopped.until(lambda: "is reading its data" in stopped.stderr)
    container.age()
    stopped.until(container.is_healthy)
    stopped.signal(signal.SIGTERM)
    assert stopped.wait(GRACE).status == 0
    assert "stopped before it began" in stopped.stderr

    crawl = container.crawl(web.seeds)
    crawl.until(lambda: "is reading its data" in crawl.stderr)
    redis.call("CONFIG", "SET", "key-load-delay", 0)
    crawl.wait().assert_ended_well()
    assert set(crawl.fetched()) == set(expectation.depths(web))
    assert crawl.stderr.count("is reading its data") == 1
    assert redis_is_healthy(redis)


def test_a_worker_without_its_server_ends_with_a_line_and_is_started_again(containers_of, serve_redis):
    """By whom, compose.yaml says."""
    redis = serve_redis().kill()
    crawl = containers_of("unreachable", redis=redis.url).crawl(["http://127.0.0.1/"]).wait()
    assert crawl.status == 2
    [said] = [line for line in crawl.stderr.splitlines() if line.startswith("scrapy crawl: ")]
    assert said.startswith(f"scrapy crawl: Redis at 127.0.0.1:{redis.port}/0 cannot be reached: ")
    assert "Traceback" not in crawl.stderr
    assert WORKER["restart"] == "on-failure"
    assert WORKER["depends_on"] == {"redis": {"condition": "service_healthy"}}


@pytest.fixture
def redis_is_healthy():
    """What the health check of compose.yaml says of a server."""
    client, *words = SERVICES["redis"]["healthcheck"]["test"][1:]
    if not shutil.which(client):
        pytest.skip(f"no {client} on the PATH")

    def ask(redis):
        return (
            subprocess.run([client, "-p", str(redis.port), *words], stdout=subprocess.DEVNULL).returncode == 0
        )

    return ask


def test_another_command_takes_the_place_of_the_crawl(containers_of):
    version = containers_of("other").run("scrapy", "version").wait()
    assert (version.status, version.output.startswith("Scrapy ")) == (0, True)


def test_a_wrong_variable_stops_a_worker_before_it_starts(containers_of):
    wrong = containers_of("wrong", POLITENESS_MIN_DELAY="soon").crawl(["http://127.0.0.1/"]).wait()
    assert wrong.status == 2
    assert "POLITENESS_MIN_DELAY" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_open_requests_can_end_within_the_grace_period():
    assert settings.DOWNLOAD_TIMEOUT < GRACE


def test_the_server_of_the_compose_file_forgets_nothing(tmp_path, needs_redis):
    words = shlex.split(containers.compose(REDIS_MAXMEMORY="64mb")["services"]["redis"]["command"])
    options = {
        name.removeprefix("--"): value or '""' for name, value in zip(words[1::2], words[2::2], strict=True)
    }
    with RedisServer(tmp_path, options) as server:
        config = server.call("CONFIG", "GET", "*")
    assert config[b"appendonly"] == b"yes"
    assert config[b"appendfsync"] == b"everysec"
    assert config[b"maxmemory"] == b"67108864"
    assert config[b"maxmemory-policy"] == b"noeviction"


def test_what_is_copied_into_the_image_is_there_and_not_ignored():
    copied = [
        word
        for stage in containers.stages()
        for step in stage
        if step.name == "COPY" and "--from" not in step.text
        for word in step.words[:-1]
    ]
    allowed = (ROOT / ".dockerignore").read_text().split()
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert [name for name in copied if f"!{name.removeprefix('./').split('/')[0]}" not in allowed] == []
