"""What an operator changes while a crawl runs, as the server's log shows it."""

from __future__ import annotations

from itertools import pairwise

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
