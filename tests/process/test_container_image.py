"""The Dockerfile, walked step by step: what it installs and copies is enough for a crawl by a user without rights."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from tests.crawl import expectation
from tests.crawl.crawling import ROOT, Jobdir
from tests.process import containers
from tests.process.workers import WorkerProcesses

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("unshare"),
        reason="walking the Dockerfile takes root on Linux: it mounts a copy of the system that only it sees",
    ),
]

SETTINGS = {
    "CRAWLER_CONTACT": "crawl@example.org",
    "FETCH_PRIVATE_ADDRESSES": "1",
    "POLITENESS_MIN_DELAY": "0",
    "POLITENESS_FACTOR": "0",
}


HOSTS = ("0a1b", "2c3d")


def walk(folder, seeds, redis):
    """Build and crawl with two workers; return the process, whose standard error the caller has to read."""
    (folder / "image").mkdir()
    composed = containers.compose(REDIS_URL=redis.url)["services"]["worker"]["environment"]
    variables = {**composed, **{f"WEBCRAWL_{name}": value for name, value in SETTINGS.items()}}
    walked = [sys.executable, "-m", "tests.process.dockerfile", str(folder / "image"), ",".join(HOSTS)]
    return subprocess.Popen(
        ["unshare", "--mount", *walked, "-a", f"seeds={','.join(seeds)}"],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def fetched(folder):
    """How often each page was fetched, over all workers."""
    jobs = [Jobdir(folder / "volume" / host) for host in HOSTS]
    assert {line["worker"] for job in jobs for line in job.log()} <= set(HOSTS)
    assert all((job.path / "report.html").exists() for job in jobs)
    return sum((job.fetched() for job in jobs), Counter())


def test_the_steps_give_workers_that_crawl_as_a_user_without_rights(tmp_path, serve, redis_server):
    web = serve(hosts=5, pages=40, seed=35)
    process = walk(tmp_path, web.seeds, redis_server)
    _, stderr = process.communicate(timeout=300)

    assert process.returncode == 0, stderr[-4000:]
    assert "Traceback" not in stderr
    assert fetched(tmp_path) == dict.fromkeys(expectation.depths(web), 1)
    assert WorkerProcesses(None, redis_server, []).total("queued") == 0


def test_a_signal_reaches_them_there(tmp_path, serve, redis_server, monkeypatch):
    web = serve(hosts=5, pages=200, seed=36)
    monkeypatch.setitem(SETTINGS, "POLITENESS_MIN_DELAY", "0.2")
    process = walk(tmp_path, web.seeds, redis_server)
    while len(web.hits()) < 20:
        assert process.poll() is None, process.stderr.read()[-4000:]
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=90)

    assert process.returncode == 0, stderr[-4000:]
    assert stderr.count("Received SIGTERM") == len(HOSTS)
    assert 0 < len(fetched(tmp_path)) < len(expectation.depths(web))
    processes = WorkerProcesses(None, redis_server, [])
    assert [set(processes.queued(host)) for host in HOSTS] == [set(), set()]
    assert processes.total("queued") > processes.total("held_urls") == 0
