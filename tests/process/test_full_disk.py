"""A full disk: the crawl pauses and says so, goes on when there is room, and loses nothing."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time

import pytest

from tests.crawl import expectation
from tests.fakeweb import witness

CONCURRENT = 64
DISK = 24_000_000
ROOM = 2_500_000
"""What the crawl finds free at its start; it needs several times as much."""
LOOK = 3.0
"""A pause is told from a slow moment by looking so long: the disk is tried again every two seconds."""


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "webcrawl-test", str(path)]
    if os.geteuid() != 0:
        pytest.skip("only root may mount the small disk that this test fills")
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the small disk that this test fills cannot be mounted: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


@pytest.mark.parametrize("warc", [1, 0], ids=["the archive fills it", "the frontier fills it"])
def test_a_full_disk_pauses_the_crawl_until_there_is_room(serve, start, disk, warc):
    pages = 600
    web = serve(hosts=30, pages=pages, words=600 if warc else 5, links=20 if warc else 60, zipf=0.3, seed=12)
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, DISK - (ROOM // 2 if warc else 400_000))
    crawl = start(web.seeds, jobdir=disk / "job", WARC_ENABLED=warc, CONCURRENT_REQUESTS=CONCURRENT)
    crawl.until(lambda: "No room left, the crawl pauses" in crawl.stderr)

    before = len(web.hits())
    time.sleep(LOOK)
    paused = len(web.hits())
    assert crawl.process.poll() is None
    assert paused - before <= CONCURRENT
    time.sleep(LOOK / 2)
    assert len(web.hits()) == paused < pages

    ballast.unlink()
    crawl.wait().assert_ended_well()
    assert "There is room again" in crawl.stderr
    assert crawl.fetched() == dict.fromkeys(expectation.depths(web), 1)
    assert witness.repeated(web.hits()) == {}
    assert crawl.assert_sound().queued == 0
    if warc:
        archived = {record.url for record in crawl.records() if record.type == "response"}
        assert set(expectation.depths(web)) <= archived


def test_a_crawl_killed_on_a_full_disk_can_go_on_when_there_is_room(serve, start, crawl, disk):
    web = serve(hosts=30, pages=600, words=600, zipf=0.3, seed=13)
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, DISK - ROOM)
    first = start(web.seeds, jobdir=disk / "job", CONCURRENT_REQUESTS=CONCURRENT)
    first.until(lambda: "No room left, the crawl pauses" in first.stderr)
    first.kill()
    ballast.unlink()

    second = crawl(web.seeds, of=first).assert_ended_well()
    assert set(second.fetched()) == set(expectation.depths(web))
    assert second.assert_sound().queued == 0
    assert len(witness.repeated(web.hits())) <= CONCURRENT


def test_a_crawl_does_not_begin_on_a_full_disk(serve, crawl, disk):
    web = serve(hosts=1, pages=1)
    with (disk / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    crawled = crawl(web.seeds, jobdir=disk / "job")

    assert crawled.status == 2, crawled.stderr[-3000:]
    assert "Traceback" not in crawled.stderr
    (line,) = [line for line in crawled.stderr.splitlines() if line.startswith("scrapy crawl: ")]
    assert str(disk) in line
    assert "full" in line
    assert web.hits() == []
