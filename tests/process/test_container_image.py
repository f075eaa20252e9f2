"""The Dockerfile, walked step by step: what it installs and copies is enough for a crawl by a user without rights."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.crawl import expectation
from tests.crawl.crawling import ROOT, Jobdir

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


def walk(folder, seeds):
    """Build and crawl; return the process, whose standard error the caller has to read."""
    (folder / "image").mkdir()
    variables = {f"WEBCRAWL_{name}": value for name, value in SETTINGS.items()}
    walked = [sys.executable, "-m", "tests.process.walk", str(folder / "image")]
    return subprocess.Popen(
        ["unshare", "--mount", *walked, "-a", f"seeds={','.join(seeds)}"],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_steps_give_a_worker_that_crawls_as_a_user_without_rights(tmp_path, serve):
    web = serve(hosts=5, pages=40, seed=35)
    process = walk(tmp_path, web.seeds)
    _, stderr = process.communicate(timeout=300)

    assert process.returncode == 0, stderr[-4000:]
    assert "Traceback" not in stderr
    job = Jobdir(tmp_path / "volume" / socket.gethostname())
    assert set(job.fetched()) == set(expectation.depths(web))
    assert (job.path / "report.html").exists()
    assert job.assert_sound().queued == 0


def test_a_signal_reaches_it_there(tmp_path, serve, monkeypatch):
    web = serve(hosts=5, pages=200, seed=36)
    monkeypatch.setitem(SETTINGS, "POLITENESS_MIN_DELAY", "0.2")
    process = walk(tmp_path, web.seeds)
    while len(web.hits()) < 20:
        assert process.poll() is None, process.stderr.read()[-4000:]
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=90)

    assert process.returncode == 0, stderr[-4000:]
    assert "Received SIGTERM" in stderr
    job = Jobdir(tmp_path / "volume" / socket.gethostname())
    assert 0 < len(job.fetched()) < len(expectation.depths(web))
    assert job.assert_sound().active_hosts == 0
