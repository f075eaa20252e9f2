"""What a container runs, run here: the image's entry point under the signals that a container gets."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crawl import expectation
from tests.crawl.crawling import AT_ONCE, ROOT, Crawl
from tests.fakeweb import witness
from tests.process import containers
from tests.redis_server import RedisServer
from webcrawl import settings

PAGES = 240
WORKER = containers.compose()["services"]["worker"]
GRACE = containers.seconds(WORKER["stop_grace_period"])


class Container:
    """A folder as CRAWLS and the image's environment, for one worker with a host name of its own."""

    def __init__(self, crawls: Path, host: str, **given: object) -> None:
        self.crawls = crawls
        self.host = host
        binaries = crawls.parent / f"bin-{host}"
        binaries.mkdir(parents=True, exist_ok=True)
        for name, text in (("hostname", f"echo {host}"), ("scrapy", f'exec {sys.executable} -m scrapy "$@"')):
            (binaries / name).write_text(f"#!/bin/sh\n{text}\n")
            (binaries / name).chmod(0o755)
        image, mine = containers.environment(), {**AT_ONCE, "FRONTIER_BACKEND": "sqlite", **given}
        del mine["WORKER_NAME"]
        self.environment = {
            **image,
            "PATH": f"{binaries}:{ROOT / 'docker'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "CRAWLS": str(crawls),
            **{f"WEBCRAWL_{name}": str(value) for name, value in mine.items()},
        }

    def run(self, *words: str) -> Crawl:
        """Start the entry point with these words behind it."""
        self.crawls.mkdir(exist_ok=True)
        number = len(list(self.crawls.parent.glob("stderr-*"))) + 1
        output, errors = self.crawls.parent / f"stdout-{number}", self.crawls.parent / f"stderr-{number}"
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                [*containers.last("ENTRYPOINT").words, *words],
                cwd=self.crawls.parent,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        return Crawl(process, self.crawls / self.host, output, errors)

    def crawl(self, seeds: list[str]) -> Crawl:
        """Start what compose.yaml says, with these seeds in the file that is mounted there."""
        file = self.crawls.parent / "seeds.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(seeds))
        return self.run(*(word.replace("/seeds.txt", str(file)) for word in WORKER["command"]))

    def is_healthy(self) -> bool:
        """What the image's health check says."""
        words = containers.last("HEALTHCHECK").words
        return subprocess.run(words, env=self.environment, stderr=subprocess.DEVNULL).returncode == 0


@pytest.fixture(scope="module")
def containers_of(folder):
    """Makes containers: one crawl's share a volume, and each has its host name."""
    started = []

    def one(crawl: str, host: str = "4f1c0de", **given):
        container = Container(folder / crawl / "crawls", host, **given)
        start = container.run

        def run(*words):
            started.append(start(*words))
            return started[-1]

        container.run = run
        return container

    yield one
    for crawl in started:
        if crawl.process.poll() is None:
            crawl.kill()


def test_a_stop_within_the_grace_period_loses_nothing(serve, containers_of):
    web = serve(hosts=12, pages=PAGES, zipf=0.3, seed=31)
    container = containers_of("stop", POLITENESS_MIN_DELAY=0.03)
    first = container.crawl(web.seeds)
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


def test_a_kill_when_the_grace_period_is_over_loses_nothing(serve, containers_of):
    """A server that never answers keeps the stop waiting until its container is killed."""
    web = serve(hosts=6, pages=60, seed=32)
    silent = f"{web.web.origin(1)}/x/silent"
    first = containers_of("kill", DOWNLOAD_TIMEOUT=60).crawl([silent, *web.seeds])
    robots = f"{web.web.origin(1)}/robots.txt"
    first.until(lambda: len(lines := first.log()) > 20 and robots in {line["url"] for line in lines})
    first.signal(signal.SIGTERM)
    first.until(lambda: "Received SIGTERM" in first.stderr)
    assert first.process.poll() is None
    first.kill()

    quicker = containers_of("kill", DOWNLOAD_TIMEOUT=1, RETRY_TIMES=0)
    again = quicker.crawl(web.seeds).wait().assert_ended_well()
    assert set(expectation.depths(web)) <= set(again.fetched())
    assert again.line(silent)["error"] == "timeout"
    assert again.assert_sound().queued == 0


def test_replicas_have_their_names_and_folders_on_one_volume(serve, containers_of):
    web = serve(hosts=3, pages=20, seed=33)
    crawls = [containers_of("replicas", host).crawl(web.seeds) for host in ("0a1b", "2c3d")]
    for crawl in crawls:
        crawl.wait().assert_ended_well()
        assert set(crawl.fetched()) == set(expectation.depths(web))
        assert {line["worker"] for line in crawl.log()} == {crawl.path.name}
    assert crawls[0].path.parent == crawls[1].path.parent
    assert crawls[0].path != crawls[1].path


def test_a_worker_is_healthy_while_its_loop_turns(serve, containers_of):
    web = serve(hosts=3, pages=60, seed=34)
    container = containers_of("health", POLITENESS_MIN_DELAY=5)
    assert not container.is_healthy()
    crawl = container.crawl(web.seeds)
    crawl.until(container.is_healthy)

    crawl.signal(signal.SIGSTOP)
    frozen_long_ago = (crawl.path / "lock").stat().st_mtime - 60
    os.utime(crawl.path / "lock", (frozen_long_ago, frozen_long_ago))
    assert not container.is_healthy()
    crawl.signal(signal.SIGCONT)
    crawl.until(container.is_healthy)
    crawl.signal(signal.SIGTERM)
    crawl.wait(GRACE).assert_ended_well()


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
