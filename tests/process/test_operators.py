"""Commands of operators, given in processes of their own, as the server's log, the files and the exit show them."""

from __future__ import annotations

import shutil
import signal
import time

import pytest

from tests.commands import own_process
from tests.crawl import crawling, expectation
from tests.process.workers import WorkerProcesses

QUIET_SECONDS = 1.5
"""A crawl that goes on sends many requests within this time."""
LEASE = 8
"""Lease time in seconds."""
SETTINGS = {"POLITENESS_MIN_DELAY": 6, "LOG_LEVEL": "INFO"}
"""A crawl of two minutes, however fast the machine is; what is left in the end is fetched without a delay."""


def operated(crawl, *words, **settings):
    """A command on the crawl in a folder that is obeyed; what it said."""
    done = own_process(crawl.path.parent, *words, crawl.path, **settings)
    assert (done.status, done.err) == (0, ""), (done, crawl.stderr[-2000:])
    return done.out


def sent_in_silence(web):
    """The number of requests that come while nothing should come."""
    before = len(web.hits())
    time.sleep(QUIET_SECONDS)
    return len(web.hits()) - before


def goes_on(crawl, web, more=5):
    before = len(web.hits())
    crawl.until(lambda: len(web.hits()) >= before + more)


@pytest.fixture(scope="module")
def story(serve, start, crawl, folder):
    """What an operator did with a crawl of one process, and what came of it."""
    web = serve(hosts=20, pages=300, zipf=0.2, seed=5)
    told = {"web": web}
    running = start(web.seeds, **SETTINGS)
    running.until_logged(30)
    told["pause"] = operated(running, "pause")
    told["paused status"] = own_process(running.path, "status", running.path).said
    running.signal(signal.SIGTERM)
    running.wait().assert_ended_well()

    again = start(web.seeds, of=running, **SETTINGS)
    again.until(lambda: "is paused by its operator" in again.stderr)
    told["hits while paused again"] = sent_in_silence(web)
    told["resume"] = operated(running, "resume")
    goes_on(again, web)

    told["save"] = operated(running, "save")
    told["checkpoints"] = sorted((running.path / "checkpoints").iterdir())
    again.kill()
    copy = folder / "copy" / "job"
    copy.parent.mkdir()
    shutil.copytree(told["checkpoints"][0], copy)
    told["copied"] = len(crawling.Jobdir(copy).fetched())
    told["from the copy"] = crawl(web.seeds, jobdir=copy)
    return told


def test_a_pause_outlasts_the_process(story):
    assert "it has paused, nothing is open" in story["pause"]
    assert "paused" in story["paused status"].splitlines()[0]
    assert story["hits while paused again"] == 0
    assert "it goes on" in story["resume"]


def test_a_saved_crawl_has_a_checkpoint_that_crawls_on(story):
    assert "it is saved" in story["save"]
    [checkpoint] = story["checkpoints"]
    assert checkpoint.name in story["save"]
    pages = set(expectation.depths(story["web"]))
    assert 0 < story["copied"] < len(pages)
    restored = story["from the copy"].assert_ended_well()
    assert set(restored.fetched()) == pages
    assert restored.assert_sound().queued == 0


def test_a_checkpoint_that_cannot_be_taken_is_an_error(serve, start, folder):
    web = serve(hosts=10, pages=100, zipf=0.2, seed=6)
    running = start(web.seeds, **SETTINGS)
    running.until_logged(10)
    (running.path / "checkpoints").write_text("no folder")
    done = own_process(folder, "save", running.path)
    assert done.status == 1
    assert "no checkpoint: " in done.err
    assert str(running.path / "checkpoints") in done.err
    assert "is saved" not in done.out
    running.signal()
    running.wait().assert_ended_well()


@pytest.fixture(scope="module")
def lost(serve, start, serve_redis):
    """A crawl of three workers, one of which is killed, and one frozen."""
    web = serve(hosts=30, pages=900, zipf=0.2, seed=7)
    redis = serve_redis()
    processes = WorkerProcesses(start, redis, web.seeds, **{**SETTINGS, "LEASE_SECONDS": LEASE})
    told = {}
    for name in ("w1", "w2", "w3"):
        processes.start(name)
    processes.until_joined()
    processes.workers["w1"].until_logged(5)

    def ask(command):
        began_at = time.monotonic()
        told[command] = own_process(redis.folder, command, redis.url)
        told[f"{command} seconds"] = time.monotonic() - began_at

    processes.kill("w3")
    processes.freeze("w2")
    # The command has another lease time than the crawl.
    ask("pause")
    told["silence"] = sent_in_silence(web)
    processes.thaw("w2")
    told["thawed"] = sent_in_silence(web)
    ask("save")
    ask("resume")
    goes_on(processes.workers["w1"], web)
    ask("stop")
    told["exits"] = [processes.workers[name].process.poll() for name in ("w1", "w2")]
    for name in ("w1", "w2"):
        processes.workers[name].wait(120).assert_ended_well()
    return told


def test_a_pause_waits_for_lost_workers_no_longer_than_their_leases_last(lost):
    assert lost["pause"].status == 0, lost["pause"]
    assert "all have paused, nothing is open" in lost["pause"].out
    assert "not waited for: w2, w3" in lost["pause"].out
    # The default of a command without the crawl's settings is 60 s.
    assert lost["pause seconds"] < 45
    assert lost["silence"] == 0


def test_a_worker_that_comes_back_from_a_freeze_obeys_the_pause_before_it_sends_anything(lost):
    assert lost["thawed"] == 0


def test_a_save_on_redis_says_what_it_did(lost):
    assert (lost["save"].status, lost["save"].err) == (0, "")
    assert "all have stored what they had, in Redis" in lost["save"].out
    assert "no checkpoints of a crawl on Redis" in lost["save"].out


def test_workers_are_gone_when_a_stop_has_returned(lost):
    assert lost["stop"].status == 0, lost["stop"]
    assert "all have ended" in lost["stop"].out
    assert lost["exits"] == [0, 0]
