"""The dashboard of a crawl on Redis: its state, its token, and a Redis that goes away and comes back."""

from __future__ import annotations

import stat
from urllib.parse import quote

import pytest

from tests.contract.samples import NOW
from tests.crawl.dashboards import serving
from webcrawl.features.timeseries.runs import ProcessRun, RunStore
from webcrawl.features.timeseries.store import Latest, SeriesStore
from webcrawl.storage.contract import Batch, Counted
from webcrawl.storage.redis.control import Control
from webcrawl.web.dashboard import reading


@pytest.fixture
def settings(sample, redis_server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    # A state is old at once.
    monkeypatch.setattr(reading, "STATE_SECONDS", 0.0)
    return {"REDIS_URL": redis_server.url}


async def record_runs(driven):
    """One worker was killed, and one has ended."""
    control = Control({"url": driven.url}, driven.spider, 60.0)
    runs, series = RunStore(control.tables), SeriesStore(control.tables)
    await control.open()
    try:
        for run in (ProcessRun("w1", NOW), ProcessRun("w2", NOW + 5.0)):
            await runs.begin(run)
        await series.publish(0, Latest("w1", NOW + 50.0, NOW, "machine", 7, "0.1"))
        await runs.end(ProcessRun("w2", NOW + 5.0, NOW + 60.0, "finished"))
    finally:
        await control.close()


def test_the_state_is_that_of_the_whole_crawl_and_the_token_is_in_the_users_folder(
    sample, settings, tmp_path
):
    for worker, begun_at in (("w2", NOW + 5.0), ("w1", NOW)):
        numbers = {"pages": 7, "bytes": 100, "status 200": 6, "status 404": 1, "error timeout": 2}
        sample.driven.commit(Batch(counted=Counted(worker, begun_at, numbers)))
    sample.driven.run(record_runs(sample.driven))
    with serving(**settings) as served:
        assert [(row["kind"], row["text"]) for row in served.get("/marks")["rows"]] == [
            ("run", "the worker w1 began"),
            ("run", "the worker w2 began"),
            ("end", "the worker w1 was killed"),
            ("end", "the worker w2 finished"),
        ]
        state = served.get("/crawl")
        assert (state["name"], state["storage"], state["jobdir"]) == ("broad", "redis", None)
        assert state["counts"]["hosts"] == 4
        assert (state["counts"]["done"], state["counts"]["given_up"]) == (2, 1)
        assert state["counts"]["queued"] > 300
        totals = state["totals"]
        assert (totals["pages"], totals["errors"], totals["pages_4xx"]) == (14, 4, 2)
        [file] = (tmp_path / "webcrawl").iterdir()
        assert (file.read_text().strip(), stat.S_IMODE(file.stat().st_mode)) == (served.token, 0o600)
        assert served.get("/url?url=http://short.test/1")["conclusion"]["fate"] == "waits"
        # A port has no queue of its own.
        for name in ("short.test", "short.test:8080", "http://short.test:8080/1"):
            assert served.get(f"/host?key={quote(name)}")["key"] == "short.test"
        assert served.ask("GET", "/host?key=nobody.test:80")[0] == 404
        before = served.token
    with serving(**settings) as served:
        assert served.token == before


def test_a_redis_that_is_away_is_a_sentence_and_it_recovers(sample, settings, redis_server):
    with serving(**settings) as served:
        assert served.get("/crawl")["counts"]["hosts"] == 4
        redis_server.kill()
        try:
            status, value = served.ask("GET", "/crawl")
            assert status == 503
            assert "Redis" in value["error"]
            status, value = served.ask("GET", "/url?url=http://short.test/1")
            assert (status, "Redis" in value["error"]) == (503, True)
        finally:
            redis_server.start()
        assert served.get("/crawl")["counts"]["hosts"] == 4
        assert served.ask("GET", "/url?url=http://short.test/1")[0] == 200
