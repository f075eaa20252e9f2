"""A signal in every phase of a crawl ends it gracefully, a second one by force; nothing is lost either way."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests import processes
from tests.commands import own_process
from tests.crawl import crawling
from tests.process.stopped.web import HeldWeb

HERE = "tests.process.stopped.spider"
ENDS_WITHIN = 30
"""Far more than the two seconds that are meant, for machines with much to do."""


@dataclass
class Phase:
    """A crawl that stays at one place until it is let go."""

    web: HeldWeb
    start: Callable[..., Any]
    folder: Any
    serve_redis: Callable[..., Any]
    crawl: Any = None
    seeds: str = ""
    """For the broad spider; without seeds it is the one of this test."""
    undo: list[Callable[[], None]] = field(default_factory=list)
    settings: dict[str, object] = field(default_factory=dict)
    is_begun: bool = True
    """False if nothing was fetched before the signal, and the crawl has not begun."""

    def run(self, held: str = "", *, broad: str = "", **settings: object) -> None:
        self.settings |= settings
        self.seeds = broad or self.seeds
        home = {"jobdir": self.folder / "job", "WORKER_NAME": "w0"}
        if self.seeds:
            self.crawl = self.start(self.folder, self.seeds, **home, **self.settings)
            return
        arguments = {"urls": ",".join(self.web.seeds), "held": held}
        own = {
            "SPIDER_MODULES": HERE,
            "EXTENSIONS": f'{{"{HERE}.Opening": 1}}',
            "ITEM_PIPELINES": f'{{"{HERE}.Pipeline": 1}}',
        }
        options = ["-o", f"{self.folder}/items.jsonl"]
        self.crawl = self.start(
            self.folder,
            spider="stopped",
            arguments=arguments,
            options=options,
            **home,
            **own,
            **self.settings,
        )

    def until_there(self) -> None:
        self.crawl.until((self.folder / "there").exists)

    def let_go(self) -> None:
        self.web.go_on()
        (self.folder / "go").touch()
        while self.undo:
            self.undo.pop(0)()


def settings_read(phase: Phase) -> None:
    """The file of a setting is being read."""
    fifo = phase.folder / "allow.txt"
    os.mkfifo(fifo)
    phase.run(ALLOW_FILE=fifo)
    writing = os.open(fifo, os.O_WRONLY)
    phase.is_begun = False
    phase.undo += [lambda: os.close(writing), fifo.unlink, lambda: phase.settings.pop("ALLOW_FILE")]


def archive_repaired(phase: Phase) -> None:
    """The process that keeps the archive reads a file that it repairs."""
    (phase.folder / "job" / "warc").mkdir(parents=True)
    fifo = phase.folder / "job" / "warc" / "webcrawl-20260101000000000-00000-w0.warc.gz.open"
    os.mkfifo(fifo)
    phase.run()
    phase.crawl.until(lambda: "Spider opened" in phase.crawl.stderr)
    phase.crawl.until(lambda: processes.children_of(phase.crawl.process.pid))
    keeper = processes.children_of(phase.crawl.process.pid)
    phase.is_begun = False

    def free() -> None:
        for pid in keeper:
            processes.kill(pid)
        fifo.unlink()

    phase.undo.append(free)


def redis_away(phase: Phase) -> None:
    """Redis reads its file, and takes no commands yet."""
    redis = phase.serve_redis({"key-load-delay": 100})
    redis.kill()
    with redis.append_only_file.open("ab") as file:
        file.write(b"*1\r\n$4\r\nPING\r\n" * 200_000)
    redis.start(until_loaded=False)
    phase.settings |= {"FRONTIER_BACKEND": "redis", "REDIS_URL": redis.url}
    phase.run()
    phase.crawl.until(lambda: "is reading its data" in phase.crawl.stderr)
    phase.is_begun = False
    phase.undo.append(lambda: redis.call("CONFIG", "SET", "key-load-delay", 0))


def spider_opened(phase: Phase) -> None:
    """The state is open, and an extension is being opened."""
    phase.run("opened")
    phase.until_there()


def seeds_read(phase: Phase) -> None:
    """The list of seeds is read."""
    wrong = "mailto:nobody@example.org\n" * 300_000
    path = phase.folder / "seeds.txt"
    path.write_text("\n".join([phase.web.seeds[0], wrong, *phase.web.seeds[1:]]))
    phase.run(broad=str(path))
    phase.crawl.until(lambda: "Seed in line" in phase.crawl.stderr)


def start_waits(phase: Phase) -> None:
    """The start of the spider awaits something."""
    phase.run("start")
    phase.until_there()


def robots_open(phase: Phase) -> None:
    """Nothing but robots.txt is being fetched."""
    phase.web.held.add("/robots.txt")
    phase.run()
    phase.crawl.until(phase.web.waiting)


def delays(phase: Phase) -> None:
    """All hosts wait for their delays."""
    phase.settings["POLITENESS_MIN_DELAY"] = 15
    phase.run()
    phase.crawl.until_logged(3)
    phase.undo.append(lambda: phase.settings.pop("POLITENESS_MIN_DELAY"))


def slow_response(phase: Phase) -> None:
    """The answer to a page does not come."""
    phase.web.held.add("/3")
    phase.run(broad=",".join(phase.web.seeds))
    phase.crawl.until(phase.web.waiting)


def callback_awaits(phase: Phase) -> None:
    phase.run("await")
    phase.until_there()


def callback_sleeps(phase: Phase) -> None:
    """A callback holds the event loop."""
    phase.run("callback")
    phase.until_there()


def callback_computes(phase: Phase) -> None:
    """A callback holds the event loop and the processor."""
    phase.run("spin")
    phase.until_there()


def pipeline(phase: Phase) -> None:
    phase.run("pipeline")
    phase.until_there()


def archive_written(phase: Phase) -> None:
    """The process that keeps the archive does not answer."""
    phase.run("start")
    phase.until_there()
    keeper = processes.children_of(phase.crawl.process.pid)
    for pid in keeper:
        os.kill(pid, signal.SIGSTOP)
    (phase.folder / "go").touch()
    phase.crawl.until(lambda: len(phase.web.asked) >= 3)

    def thaw() -> None:
        for pid in keeper:
            os.kill(pid, signal.SIGCONT)

    phase.undo.append(thaw)


def closing(phase: Phase) -> None:
    """The crawl is done, and its spider does its last work."""
    phase.run("closed")
    phase.until_there()


def closing_blocked(phase: Phase) -> None:
    phase.run("blocked close")
    phase.until_there()


PHASES = (
    settings_read,
    archive_repaired,
    redis_away,
    spider_opened,
    seeds_read,
    start_waits,
    robots_open,
    delays,
    slow_response,
    callback_awaits,
    callback_sleeps,
    callback_computes,
    pipeline,
    archive_written,
    closing,
    closing_blocked,
)
AT_ONCE = (settings_read, archive_repaired, redis_away, seeds_read, start_waits, delays)
"""Phases in which one signal is enough though nothing lets the crawl go."""
USUAL = ((callback_sleeps, 2), (slow_response, 1))
"""Those that run each time."""


@pytest.fixture
def phase(tmp_path, request):
    web = HeldWeb()
    made = Phase(
        web, crawling.start, tmp_path, lambda options: request.getfixturevalue("serve_redis")(options)
    )
    yield made
    made.let_go()
    web.close()
    if made.crawl is not None and made.crawl.process.poll() is None:
        made.crawl.kill()


def _cases():
    for each in PHASES:
        for signals in (1, 2):
            marks = () if (each, signals) in USUAL else pytest.mark.soak
            yield pytest.param(each, signals, marks=marks, id=f"{each.__name__}-{signals}")


@pytest.mark.parametrize(("enter", "signals"), list(_cases()))
def test_signals_end_a_crawl_and_nothing_is_lost(phase, enter, signals):
    enter(phase)
    crawl = phase.crawl
    crawl.signal(signal.SIGTERM)
    if enter in AT_ONCE:
        crawl.wait(ENDS_WITHIN)
    elif signals == 1:
        crawl.until(lambda: "waits for" in crawl.stderr)
        phase.let_go()
        crawl.wait(ENDS_WITHIN)
    else:
        crawl.until(lambda: "a second signal ends" in crawl.stderr)
        forced_at = time.monotonic()
        crawl.signal(signal.SIGINT)
        crawl.wait(ENDS_WITHIN)
        print(f"{time.monotonic() - forced_at:.2f} s after the second signal")
    print(crawl.stderr[-3000:])
    assert "Traceback" not in crawl.stderr
    by_force = signals == 2 and enter not in AT_ONCE
    if by_force:
        assert crawl.status == 1
        assert "stopped by force" in crawl.stderr
    else:
        crawl.assert_ended_well()
    if not phase.is_begun:
        assert crawl.stderr.endswith("scrapy crawl: stopped before it began\n")

    phase.let_go()
    before = phase.web.fetched()
    phase.run()
    phase.crawl.wait().assert_ended_well()
    assert set(phase.web.fetched()) == phase.web.pages
    again = {url: number for url, number in phase.web.fetched().items() if number > 1}
    if by_force:
        # At most those that were open, or not yet durable.
        assert all(number == 2 and before[url] == 1 for url, number in again.items())
    else:
        assert again == {}
    assert phase.crawl.records()
    which = ["--spider", "stopped"] if "REDIS_URL" in phase.settings else []
    done = own_process(
        phase.folder, "frontier", "check", "--json", *which, JOBDIR=phase.folder / "job", **phase.settings
    )
    assert (done.told["agrees"], done.told["queued"]) == (True, 0)
