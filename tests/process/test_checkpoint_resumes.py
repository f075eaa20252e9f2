"""A checkpoint taken while a crawl runs is a crawl itself: it can be finished elsewhere."""

from __future__ import annotations

import shutil

import pytest

from tests.commands import own_process
from tests.crawl import crawling, expectation

PAGES = 300
CONCURRENT = 64


def checkpoint(source, target):
    return own_process(source.parent, "checkpoint", source, target)


@pytest.mark.parametrize("seen", ["exact", "bloom"])
def test_a_checkpoint_of_a_running_crawl_is_finished_elsewhere(serve, start, crawl, folder, seen):
    web = serve(hosts=12, pages=PAGES, zipf=0.4, seed=14)
    running = start(web.seeds, POLITENESS_MIN_DELAY=0.08, FRONTIER_SEEN=seen, CONCURRENT_REQUESTS=CONCURRENT)
    running.until_logged(60)
    done = checkpoint(running.path, folder / f"copy-{seen}")
    assert done.status == 0, done.err
    still_running = running.process.poll() is None
    running.wait().assert_ended_well()

    elsewhere = folder / f"elsewhere-{seen}" / "job"
    elsewhere.parent.mkdir()
    shutil.move(folder / f"copy-{seen}", elsewhere)
    copied = len(crawling.Jobdir(elsewhere).lines())
    restored = crawl(web.seeds, jobdir=elsewhere, FRONTIER_SEEN=seen).assert_ended_well()

    expected = set(expectation.depths(web))
    assert still_running
    assert 0 < copied < PAGES
    assert running.fetched() == dict.fromkeys(expected, 1)
    assert set(restored.fetched()) == expected
    assert sum(restored.fetched().values()) - PAGES <= CONCURRENT
    assert {record.url for record in restored.records() if record.type == "response"} >= expected
    if seen == "exact":
        assert restored.assert_sound().totals["done"] == PAGES
        assert running.assert_sound().totals["done"] == PAGES


def test_a_destination_that_exists_is_refused(serve, crawl, folder):
    web = serve(hosts=2, pages=4)
    crawled = crawl(web.seeds).assert_ended_well()
    target = folder / "taken"
    target.mkdir()
    (target / "file").write_text("mine")

    done = checkpoint(crawled.path, target)
    assert done.status == 2
    assert str(target) in done.err
    assert "Traceback" not in done.err
    assert [path.name for path in target.iterdir()] == ["file"]
