"""What an operator changes while a crawl runs, as the server's log shows it."""

from __future__ import annotations

import signal
from itertools import pairwise

from tests.commands import own_process
from tests.crawl.dashboards import serving
from tests.fakeweb import witness
from webcrawl.control.selection import select_crawl_in
from webcrawl.features.steering.store import SteeringStore
from webcrawl.storage import technology_in

BY = "alice@host 1"


def changed(crawl, *changes):
    """Make changes in the store of a crawl that runs."""
    stored = select_crawl_in(crawl.path, technology_in(crawl.path))

    async def change(store, now):
        for name, *arguments in changes:
            await getattr(store, name)(*arguments, BY, now)

    stored.change_store(SteeringStore, change)
    return stored


def test_a_change_is_obeyed_within_seconds(serve, start):
    web = serve(hosts=3, pages=36, zipf=0.1, same_host=0.9, seed=4)
    fast, slow, excluded = (f"h000{number}.localhost" for number in range(3))
    seeds = [f"http://{host}:{web.port}/" for host in (fast, slow, excluded)]
    crawl = start(seeds, POLITENESS_MIN_DELAY=1, LOG_LEVEL="INFO")
    crawl.until_logged(6)
    stored = changed(
        crawl,
        ("set_all", {"POLITENESS_MIN_DELAY": "0.02", "CONCURRENT_REQUESTS": "8", "DEPTH_LIMIT": "5000"}),
        ("exclude", excluded),
        ("set_delay", slow, 0.3),
    )
    crawl.until(lambda: "has a delay of at least 0.3 s: set by alice@host 1" in crawl.stderr)
    before = len(web.hits())
    crawl.wait().assert_ended_well()

    assert "POLITENESS_MIN_DELAY is 0.02 now, it was 1: set by alice@host 1" in crawl.stderr
    after = web.hits()[before:]
    # A request that was on its way may still arrive.
    assert len([hit for hit in after if hit.host == excluded]) <= 1
    assert crawl.figures().rules["exclusion"] > 1
    gaps = {
        host: [later.start_mono - earlier.end_mono for earlier, later in pairwise(hits)]
        for host in (fast, slow)
        if (hits := [hit for hit in after if hit.host == host])
    }
    assert min(gaps[slow]) >= 0.3
    assert min(gaps[fast]) < 1
    [state] = stored.read_store(SteeringStore, SteeringStore.workers)
    assert (state.worker, state.refused) == ("w0", {})
    assert (state.start["POLITENESS_MIN_DELAY"], state.start["CONCURRENT_REQUESTS"]) == ("1", "256")
    assert 0 not in (state.overlay, state.excluded, state.delays)
    told = own_process(crawl.path, "status", crawl.path, "--json").told["changes"]
    assert {name: one["by"] for name, one in told["settings"].items()} == dict.fromkeys(
        ("CONCURRENT_REQUESTS", "DEPTH_LIMIT", "POLITENESS_MIN_DELAY"), BY
    )
    assert f"  DEPTH_LIMIT = 5000  set by {BY}, " in own_process(crawl.path, "status", crawl.path).said


def test_a_change_by_command_is_obeyed_by_all_workers_of_a_redis(serve, start, serve_redis, tmp_path):
    """The changes outlive the workers: one is started again."""
    web = serve(hosts=12, pages=120, zipf=0.1, same_host=0.7, seed=4)
    slow, excluded = "h0001.localhost", "h0002.localhost"
    redis = serve_redis()
    settings = {"REDIS_URL": redis.url, "POLITENESS_MIN_DELAY": 5, "LOG_LEVEL": "INFO"}
    seeds = [f"http://h{number:04}.localhost:{web.port}/" for number in range(12)]
    workers = [start(seeds, WORKER_NAME=name, **settings) for name in ("w1", "w2")]
    for worker in workers:
        worker.until(lambda worker=worker: " taken" in worker.stderr)
    workers[0].until(lambda: len(web.hits()) > 12)

    def asked(*words):
        done = own_process(tmp_path, *words, REDIS_URL=redis.url)
        assert done.status == 0, done

    asked("exclude", excluded)
    asked("delay", slow, "0.3")
    # A private address, which the settings of the crawl allow.
    asked("add", f"http://127.0.0.1:{web.port}/added")
    asked("set", "POLITENESS_MIN_DELAY=0.02", "DEPTH_LIMIT=5000")
    for worker in workers:
        worker.until(lambda worker=worker: "POLITENESS_MIN_DELAY is 0.02 now, it was 5" in worker.stderr)
    before = len(web.hits())
    workers[0].signal(signal.SIGINT)
    workers[0].wait().assert_ended_well()
    again = start(seeds, of=workers[0], WORKER_NAME="w1", **settings)
    for worker in (again, workers[1]):
        worker.wait().assert_ended_well()

    hits = web.hits()
    after = hits[before:]
    assert [hit for hit in after if hit.host == excluded] == []
    assert "/added" in [hit.path for hit in hits]
    assert witness.violations(after, lambda hit: 0.3 if hit.host == slow else 0.02, tolerance=0.005) == []
    assert witness.most_open(hits) == 1
    assert witness.violations(after, lambda hit: 0 if hit.host == slow else 5) != []
    shown = own_process(tmp_path, "status", REDIS_URL=redis.url).said
    assert "changed by operators" in shown
    assert "  POLITENESS_MIN_DELAY = 0.02  set by " in shown
    assert f"  {slow}: a delay of at least 0.3 s  set by " in shown
    assert "  1 exclusion" in shown
    told = own_process(tmp_path, "status", "--json", REDIS_URL=redis.url).told["changes"]
    assert (told["settings"]["DEPTH_LIMIT"]["value"], told["exclusions"], told["delays"]) == ("5000", 1, 1)


def test_commands_judge_by_the_settings_of_the_crawl(serve, start, folder, tmp_path):
    """While it runs and after its end, without -s; a -s of theirs is stronger."""
    web = serve(hosts=2, pages=60, zipf=0.1, same_host=0.9, seed=8)
    (folder / "deny.txt").write_text("/denied\n")
    crawl = start(
        [f"http://h0000.localhost:{web.port}/"],
        POLITENESS_MIN_DELAY=0.7,
        PATH_SEGMENTS_MAX=9,
        DENY_FILE="../deny.txt",
        CLOSESPIDER_PAGECOUNT=20,
    )
    crawl.until_logged(3)
    added = f"http://127.0.0.1:{web.port}/added"
    queued = own_process(tmp_path, "add", added, crawl.path)
    assert (queued.status, "it is queued" in queued.out) == (0, True), queued
    stricter = own_process(tmp_path, "add", f"{added}2", crawl.path, FETCH_PRIVATE_ADDRESSES=0)
    assert (stricter.status, "private" in stricter.out) == (1, True), stricter
    refused = own_process(tmp_path, "add", f"http://h0000.localhost:{web.port}/denied", crawl.path)
    assert (refused.status, "deny" in refused.out) == (1, True), refused
    crawl.wait().assert_ended_well()

    assert [hit.path for hit in web.hits() if hit.path.startswith(("/added", "/denied"))] == ["/added"]
    told = own_process(tmp_path, "explain", f"{added}3", "--json", JOBDIR=crawl.path).told
    assert told["conclusion"]["fate"] == "would_be_queued", told
    with serving(JOBDIR=str(crawl.path)) as dashboard:
        state = dashboard.get("/crawl")
        assert (state["politeness"]["min_delay"], state["limits"]["pages"]) == (0.7, 20)


def test_the_dashboard_answers_with_what_came_of_a_command(serve, start):
    web = serve(hosts=2, pages=60, zipf=0.1, same_host=0.9, seed=8)
    crawl = start([f"http://h0000.localhost:{web.port}/"], POLITENESS_MIN_DELAY=0.5)
    crawl.until_logged(2)
    with serving(JOBDIR=str(crawl.path)) as dashboard:
        status, value = dashboard.ask("POST", "/commands", {"command": "pause"})
        assert (status, "it has paused, nothing is open" in value["sentence"]) == (200, True), value
        asked = len(web.hits())
        (crawl.path / "checkpoints").write_text("a file where the folder has its place")
        status, value = dashboard.ask("POST", "/commands", {"command": "save"})
        assert status == 409, value
        assert "no checkpoint" in value["error"]
        assert "checkpoints" in value["error"]
        assert len(web.hits()) == asked
        sentence = dashboard.ask("POST", "/commands", {"command": "stop"})[1]["sentence"]
        # The answer says whether the process has ended within some seconds.
        assert sentence.endswith(("it has ended", "It has not yet."))
        if "it has ended" in sentence:
            crawl.process.wait(10)
    crawl.wait()
    assert len(web.hits()) == asked
