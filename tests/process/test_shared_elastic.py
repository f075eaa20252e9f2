"""Workers come and go while a shared crawl runs; a network that is cut is waited for."""

from __future__ import annotations

import signal
import time

import pytest

from tests.cable import Cable
from tests.crawl import expectation
from tests.fakeweb import witness
from tests.process.workers import WorkerProcesses

DELAY = 0.3
SETTINGS = {"POLITENESS_MIN_DELAY": DELAY, "CONCURRENT_REQUESTS": 32}


def assert_polite_and_complete(web, processes):
    hits = web.hits()
    assert witness.violations(hits, lambda hit: DELAY, tolerance=0.005) == []
    assert witness.most_open(hits) == 1
    violations, totals = processes.audit()
    assert violations == []
    assert totals.workers == set(processes.workers)
    expected = set(expectation.depths(web))
    assert set(expectation.asked(web)) == expected
    assert processes.total("done") == len(expected)
    assert processes.total("queued") == processes.total("held_urls") == 0


def shares(processes, seconds):
    """How many pages each worker fetches in the time to come."""
    before = {name: len(processes.workers[name].lines()) for name in processes.running()}
    time.sleep(seconds)
    return {name: len(processes.workers[name].lines()) - count for name, count in before.items()}


@pytest.mark.soak
def test_two_become_six_and_six_become_one(serve, start, serve_redis):
    web = serve(hosts=150, pages=6000, zipf=0.2, seed=3)
    processes = WorkerProcesses(start, serve_redis(), web.seeds, LEASE_SECONDS=60, **SETTINGS)
    for name in ("w1", "w2"):
        processes.start(name)
    processes.workers["w1"].until_logged(150)
    for name in ("w3", "w4", "w5", "w6"):
        processes.start(name)
    processes.until_joined()
    time.sleep(3)
    six = shares(processes, 3)
    assert min(six.values()) > sum(six.values()) / 6 / 2, six
    assert max(six.values()) < sum(six.values()) / 6 * 2, six

    for name in ("w1", "w3", "w4", "w5", "w6"):
        processes.workers[name].signal(signal.SIGINT)
    for name in ("w1", "w3", "w4", "w5", "w6"):
        processes.workers[name].wait().assert_ended_well()
        assert set(processes.queued(name)) == set()
    # Who leaves hands over at once: the lease time is far longer than this test waits.
    time.sleep(1)
    alone = shares(processes, 2)
    processes.wait(120)
    print(six, alone)
    assert alone["w2"] > sum(six.values()) / 3 / 2, (six, alone)
    assert_polite_and_complete(web, processes)
    # Nothing was in flight when they left.
    assert witness.repeated(web.hits()) == {}


def test_a_dead_worker_s_hosts_are_taken_over_after_the_lease_time(serve, start, serve_redis):
    web = serve(hosts=30, pages=240, zipf=0.0, seed=4)
    processes = WorkerProcesses(start, serve_redis(), web.seeds, LEASE_SECONDS=4, **SETTINGS)
    processes.start("w1")
    processes.start("w2")
    processes.workers["w1"].until_logged(15)
    processes.kill("w1")
    held = set(processes.queued("w1"))
    assert held
    processes.workers["w2"].until(lambda: not set(processes.queued("w1")), 120)
    processes.wait(120)
    assert held <= set(processes.workers["w2"].fetched())
    assert_polite_and_complete(web, processes)


@pytest.mark.parametrize("hosts", [5, pytest.param(16, marks=pytest.mark.soak)])
def test_few_hosts_are_shared_out_although_they_are_never_at_rest(serve, start, serve_redis, hosts):
    web = serve(hosts=hosts, pages=None, seed=6)
    settings = {**SETTINGS, "POLITENESS_MIN_DELAY": 0.3 * hosts / 100, "POLITENESS_FACTOR": 0}
    processes = WorkerProcesses(start, serve_redis(), web.seeds, LEASE_SECONDS=60, **settings)
    for name in ("w1", "w2", "w3"):
        processes.start(name)
    processes.until_joined()
    for worker in processes.workers.values():
        before = len(worker.lines())
        worker.until(lambda worker=worker, before=before: len(worker.lines()) >= before + 20, 120)
    for name in processes.workers:
        processes.workers[name].signal(signal.SIGINT)
    for worker in processes.workers.values():
        worker.wait().assert_ended_well()
    assert witness.most_open(web.hits()) == 1


@pytest.mark.parametrize(
    "accident",
    ["cut", pytest.param("frozen", marks=pytest.mark.soak), pytest.param("killed", marks=pytest.mark.soak)],
)
def test_a_redis_that_is_away_is_waited_for(serve, start, serve_redis, accident):
    """Longer than the leases last: nobody may go on with what it had."""
    web = serve(hosts=30, pages=240, zipf=0.0, seed=5)
    redis = serve_redis()
    with Cable(redis.port) as cable:
        url = f"redis://127.0.0.1:{cable.port}/0"
        processes = WorkerProcesses(
            start, redis, web.seeds, **{**SETTINGS, "LEASE_SECONDS": 4, "REDIS_URL": url}
        )
        processes.start("w1")
        processes.start("w2")
        processes.workers["w1"].until_logged(15)
        away, back = {
            "cut": (cable.cut, cable.mend),
            "frozen": (redis.freeze, redis.thaw),
            "killed": (redis.kill, redis.start),
        }[accident]
        away()
        time.sleep(5)
        before = len(web.hits())
        time.sleep(1)
        assert len(web.hits()) == before
        back()
        processes.wait(120)
    for worker in processes.workers.values():
        assert worker.stderr.count("The storage is away, the crawl pauses until it is back") == 1
        assert worker.stderr.count("The storage is back, the crawl goes on") == 1
    assert_polite_and_complete(web, processes)
    refetched = witness.repeated(web.hits())
    assert len(refetched) <= 2 * 32
    assert set(refetched.values()) <= {2}


@pytest.mark.soak
def test_a_giant_host_starves_nobody(serve, start, serve_redis):
    web = serve(hosts=30, pages=700, zipf=1.5, seed=6)
    processes = WorkerProcesses(start, serve_redis(), web.seeds, **{**SETTINGS, "POLITENESS_MIN_DELAY": 0.02})
    processes.start("w1")
    processes.start("w2")
    processes.wait(120)
    hits = web.hits()
    giant = max(witness.by_key(hits).values(), key=len)
    others = [hit for hit in hits if hit.host != giant[0].host]
    assert len(giant) > len(others) / 2
    # All others are done long before it is.
    assert max(hit.end_mono for hit in others) < giant[-1].end_mono


def test_who_is_asked_to_end_twice_ends(serve, start, serve_redis):
    web = serve(hosts=5, pages=50, seed=7)
    redis = serve_redis()
    processes = WorkerProcesses(start, redis, web.seeds, **SETTINGS)
    worker = processes.start("w1")
    worker.until_logged(5)
    redis.freeze()
    worker.signal(signal.SIGINT)
    time.sleep(1)
    worker.signal(signal.SIGINT)
    worker.wait(10)
    redis.thaw()


SHIFTED = """
import time

really = time.time
time.time = lambda: really() + {seconds}
time.time_ns = lambda: int(time.time() * 1e9)
"""


@pytest.mark.parametrize("seconds", [3600, pytest.param(-86_400, marks=pytest.mark.soak)])
def test_machines_whose_clocks_differ_are_as_polite(
    serve, start, serve_redis, tmp_path, monkeypatch, seconds
):
    web = serve(hosts=20, pages=200, zipf=0.0, seed=8)
    processes = WorkerProcesses(start, serve_redis(), web.seeds, **SETTINGS)
    processes.start("w1")
    (tmp_path / "sitecustomize.py").write_text(SHIFTED.format(seconds=seconds))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    processes.start("w2")
    processes.wait(120)
    fetched = [len(worker.fetched()) for worker in processes.workers.values()]
    assert min(fetched) > 10, fetched
    assert_polite_and_complete(web, processes)
