"""A process that may open few files crawls on with those it has: no URL fails and no host is parked for it."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fakeweb import Placement

SLOW = (Placement("slow-start", paths=("/",), options={"seconds": 0.2}),)
SPARE = 16
"""Files for connections: far fewer than there are hosts."""


def files_of(process):
    """How many files it has open, connections apart."""
    number = 0
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        # It may be closed after it was listed.
        with suppress(FileNotFoundError):
            number += not str(link.readlink()).startswith("socket:")
    return number


@pytest.fixture(scope="module")
def web(serve):
    # Connections are not kept: each page needs another one.
    closing = {"keep_alive_seconds": 0.1, "keep_alive_announced": True}
    return serve(hosts=40, pages=80, zipf=0.0, placements=SLOW, **closing)


@pytest.fixture(scope="module")
def crawled(web, start):
    roots = [f"{web.web.origin(host)}/" for host in range(len(web.web.hosts))]
    crawl = start(roots, POLITENESS_MIN_DELAY=0.3, RETRY_TIMES=0)
    crawl.until_logged(1)
    files = files_of(crawl.process) + SPARE
    resource.prlimit(crawl.process.pid, resource.RLIMIT_NOFILE, (files, files))
    return crawl.wait().assert_ended_well()


def test_every_page_is_fetched_at_the_first_try(web, crawled):
    crawled.assert_sound()
    assert crawled.statuses() == dict.fromkeys(web.web.urls(), 200)
    assert [line for line in crawled.log() if "error" in line] == []


def test_it_is_said_once(crawled):
    assert crawled.stderr.count("There are no more files") == 1
