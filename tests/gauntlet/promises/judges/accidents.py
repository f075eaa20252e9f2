"""Judges of commands whose crawl is killed or hangs meanwhile, and of a crawl that is ended by force."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from tests.fakeweb import witness
from tests.fakeweb.answer import Answer, Pause
from tests.gauntlet.promises.judges.acting import counted, words_of
from tests.gauntlet.promises.judges.live_politeness import (
    FAILURES_TO_PARK,
    SILENT_SECONDS,
    failing_host,
)
from tests.gauntlet.promises.judges.steering import TRIES, failed_page
from tests.gauntlet.promises.stages import DELAY, last_line
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import until

if TYPE_CHECKING:
    from tests.gauntlet.promises.stages import Accident, Short
    from tests.gauntlet.promises.table import Promise

PATIENCE_SECONDS = 150.0
"""A command waits two minutes for a process that hangs and has a heartbeat."""


@judge
def fails_to_save(stage: Accident, promise: Promise) -> str:
    """With a file in the place of the folder for checkpoints the status is 1; without it a checkpoint is there."""
    folder = stage.jobdirs[0] / "checkpoints"
    folder.write_text("no folder")
    bad = stage.run("save", stage.target)
    goes_on = stage.is_fetching()
    folder.unlink()
    good = stage.run("save", stage.target)
    copies = len(list(folder.glob("*")))
    return need(
        (bad.status, goes_on, good.status, copies) == (1, True, 0, 1) and "checkpoint" in bad.err,
        f"exit status {bad.status}: {last_line(bad.err)}; the crawl {'goes' if goes_on else 'does not go'} on; with "
        f"room for it {good.status}, {counted(copies, 'checkpoint')}",
    )


@judge
def dies_instead(stage: Accident, promise: Promise) -> str:
    """The process hangs and is killed while the command waits for it. Afterwards the same command resumes it."""
    if "failing" in promise.given:
        host = failing_host(stage, "dying")
        failed_page(stage, "dying.hubs.test")
        stage.site.announce(stage.site.url("dying.hubs.test", "/hub"))
        failed = stage.web.pages
        until(lambda: len(failed(host)) > FAILURES_TO_PARK and len(failed("dying.hubs.test")) > TRIES)
        time.sleep(SILENT_SECONDS)
    words = words_of(stage, promise.given["words"])
    pid = stage.workers[0].process.pid
    os.kill(pid, signal.SIGSTOP)
    command = stage.background(*words)
    try:
        command.until_said(f"process {pid}")
        time.sleep(1.0)
        waited = command.process.poll() is None
    finally:
        stage.workers[0].kill()
    status = command.process.wait(PATIENCE_SECONDS)
    stage.do("resume", stage.target)
    stage.again()
    return need(
        waited and status == 1 and f"process {pid} has ended" in command.err and stage.is_fetching(),
        f"it {'waited' if waited else 'did not wait'}; exit status {status}: {last_line(command.err)}",
    )


@judge
def hangs(stage: Accident, promise: Promise) -> str:
    """The command names the process that hangs; when that goes on, the change holds by the log."""
    given = promise.given
    pid = stage.workers[0].process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        done = stage.run(*words_of(stage, given["words"]), seconds=PATIENCE_SECONDS)
    finally:
        os.kill(pid, signal.SIGCONT)
    told = f"exit status {done.status}: {last_line(done.err or done.out)}"
    need(done.status == 1 and f"process {pid} " in done.out + done.err, told)
    if "pause" in given:
        obeyed = until(lambda: min(stage.web.gaps(since=time.time() - 3.0), default=0.0) >= given["pause"])
        stage.do("set", stage.target, "--reset", "POLITENESS_MIN_DELAY")
    elif "excluded" in given:
        obeyed = until(
            lambda: not stage.web.hits(given["excluded"], time.time() - 3.0) and stage.is_fetching()
        )
    else:
        obeyed = until(lambda: not stage.is_running())
    return need(obeyed, f"{told}; it {'obeyed' if obeyed else 'did not obey'} when it hung no more")


@judge
def forced_to_end(stage: Short, promise: Promise) -> str:
    """An answer that does not come holds the first signal up; after the second one the process is gone with 1."""
    hosts = [f"www.forced{number}.test" for number in range(4)]
    for host in hosts:
        stage.site.drip(host, 12)
    silent = stage.site.url("www.silent.test")
    stage.site.answers["www.silent.test", "/"] = lambda request: Answer(200, steps=iter([Pause(60.0)]))
    seeds = [silent, *map(stage.site.url, hosts)]
    begun = time.time()
    stage.crawl(seeds, "forced", POLITENESS_MIN_DELAY=DELAY)
    worker = stage.workers[0]
    need(until(lambda: len(stage.web.pages(since=begun)) > 8), "the crawl did not begin")
    worker.signal(signal.SIGINT)
    need(until(lambda: "Received SIGINT" in worker.stderr), "it did not say that it got a signal")
    since = time.time()
    waited = stage.is_running()
    worker.signal(signal.SIGINT)
    [status] = stage.statuses(10.0)
    seconds = time.time() - since
    stage.crawl(seeds, "forced", POLITENESS_MIN_DELAY=DELAY, DOWNLOAD_TIMEOUT=3, RETRY_TIMES=0)
    [second] = stage.statuses()
    hits = [hit for host in hosts for hit in stage.web.pages(host)]
    missing = len(hosts) * 13 - len({(hit.host, hit.path) for hit in hits})
    twice = witness.repeated(hits)
    return need(
        (waited, status, second) == (True, 1, 0) and not missing and len(twice) <= len(hosts),
        f"exit status {status} {seconds:.1f} s after the second signal, resumed {second}; {counted(missing, 'page')} "
        f"lost, {len(twice)} requested twice of at most {len(hosts)} that were open",
    )
