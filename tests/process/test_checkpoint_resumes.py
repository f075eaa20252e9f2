"""A checkpoint taken while a crawl runs is a crawl itself: it can be finished elsewhere."""

from __future__ import annotations

import shutil

import pytest

from tests.commands import own_process
from tests.crawl import crawling, expectation

PAGES = 150
CONCURRENT = 64


def checkpoint(source, target):
    return own_process(source.parent, "checkpoint", source, target)


@pytest.mark.parametrize("seen", ["exact", pytest.param("bloom", marks=pytest.mark.soak)])
def test_a_checkpoint_of_a_running_crawl_is_finished_elsewhere(serve, start, crawl, folder, seen):
    web = serve(hosts=12, pages=PAGES, zipf=0.4, seed=14)
    running = start(web.seeds, POLITENESS_MIN_DELAY=0.3, FRONTIER_SEEN=seen, CONCURRENT_REQUESTS=CONCURRENT)
    running.until_logged(30)
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


def test_a_crawl_takes_checkpoints_by_itself_and_keeps_the_last_ones(serve, start, crawl, folder):
    """Over a kill, and with something half done in the way; the last one is a crawl that can be finished."""
    web = serve(hosts=6, pages=None, seed=15)
    kept, home = folder / "kept", folder / "by-itself" / "job"
    given = {"CHECKPOINT_INTERVAL": 0.0003, "CHECKPOINT_FOLDER": kept, "CHECKPOINTS_KEPT": 2}

    def taken(crawled, count):
        """The checkpoints once another ``count`` were taken by this process."""
        crawled.until(lambda: crawled.stderr.count("INFO: Checkpoint ") >= count)
        return sorted(path.name for path in kept.iterdir() if path.suffix != ".part")

    first = start(web.seeds, jobdir=home, POLITENESS_MIN_DELAY=0.3, **given)
    before = taken(first, 3)
    first.kill()
    (kept / "checkpoint-20200101T000000Z.part").mkdir()
    (kept / "mine").mkdir()
    second = start(web.seeds, jobdir=home, POLITENESS_MIN_DELAY=0.3, **given)
    after = taken(second, 2)
    second.signal()
    second.wait().assert_ended_well()

    assert before[-1] < after[-2]
    assert 2 <= len(after) <= 4  # the one that is to go next, and "mine"
    left = sorted(path.name for path in kept.iterdir())
    assert left[-1] == "mine"
    assert len(left) <= 4
    assert not [name for name in left if name.endswith(".part")]
    restored = crawl(web.seeds, jobdir=kept / left[-2], CLOSESPIDER_PAGECOUNT=20).assert_sound()
    assert restored.totals["done"] > 20


def test_checkpoints_of_a_crawl_without_a_frontier_on_disk_are_refused(crawl):
    for given, said in (
        ({"FRONTIER_BACKEND": "memory"}, "CHECKPOINT_INTERVAL: needs FRONTIER_BACKEND=sqlite, not memory"),
        ({"REDIS_URL": "redis://127.0.0.1:1/"}, "not redis; Redis is copied as any Redis is"),
    ):
        crawled = crawl("http://127.0.0.1:1/", CHECKPOINT_INTERVAL=6, **given)
        assert crawled.status == 2
        assert said in crawled.stderr
