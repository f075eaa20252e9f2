"""What other processes see of a crawl that runs, was killed, and has ended."""

from __future__ import annotations

import json

import pytest

from tests.commands import own_process
from webcrawl.reports import progress_log
from webcrawl.reports.progress_log import read_course


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=4, pages=60, seed=4)


def test_a_crawl_is_running_killed_and_ended(web, start, tmp_path):
    def state():
        found = json.loads(own_process(tmp_path, "status", str(running.path), "--json").said)
        return found["state"], found["reason"], found["spider"]

    running = start(web.seeds, POLITENESS_MIN_DELAY=0.5)
    running.until_logged(6)
    assert state() == ("running", None, "broad")
    running.kill()
    assert state() == ("killed", None, "broad")

    ended = start(web.seeds, of=running).wait().assert_ended_well()
    assert state() == ("ended", "finished", "broad")
    # Its last line of progress counts: no host is active any more.
    lines = list(progress_log.read(ended.path))
    assert lines[-1]["active"] == 0
    assert read_course(lines).cpu_seconds > 0
    report = (ended.path / "report.html").read_text("utf-8")
    assert "Polite: " in report
    assert "<dt>ended</dt><dd>finished, " in report
