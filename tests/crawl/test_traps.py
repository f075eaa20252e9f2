"""A web with traps: next to no request into them, every real page, by the server's own log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.crawl.crawling import ROOT
from tests.fakeweb.labyrinth import TRAPS, is_trap

HOST = "h0000.localhost"
SETTINGS = {"CONCURRENT_REQUESTS": 16, "COMMIT_INTERVAL_SECONDS": 0}
LIMIT = 60
"""Requests into one kind of trap, on average: of the thousands that a crawler makes there who looks for none."""


def command(crawl, *words):
    """Give ``scrapy traps`` or ``scrapy explain`` for a crawl in its JOBDIR; what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *words, "-s", f"JOBDIR={crawl.path}"],
        cwd=crawl.path.parent,
        env={**os.environ, "SCRAPY_SETTINGS_MODULE": "webcrawl.settings", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def asked_for(web):
    """How often each URL was requested, robots.txt apart."""
    return Counter(f"http://{hit.host}:{web.ports.http}{hit.path}" for hit in web.hits() if not hit.is_robots)


@pytest.fixture(scope="module")
def web(serve):
    return serve(kind="labyrinth", hosts=1)


@pytest.fixture(scope="module")
def ended(web, crawl):
    return crawl(web.seeds, **SETTINGS).assert_ended_well()


def test_a_crawl_of_endless_traps_ends(ended):
    assert ended.status == 0
    ended.assert_sound()


def test_no_real_page_is_missed(web, ended):
    real = web.site.truth()
    missed = real - set(asked_for(web))
    assert len(real) > 500
    assert missed == set()


def test_next_to_nothing_of_the_traps_is_fetched(web, ended):
    hits = Counter(url.split("/")[3] for url in asked_for(web).elements() if is_trap(url))
    print(dict(hits))
    assert set(hits) == set(TRAPS)
    assert hits.total() <= LIMIT * len(TRAPS)


def test_what_is_in_quarantine_is_listed_with_samples(ended):
    told = json.loads(command(ended, "traps", "--json"))
    traps = told["traps"]
    assert all(is_trap(url) for trap in traps for url in trap["samples"])
    assert all(trap["samples"] and trap["why"] and trap["looked"] for trap in traps)
    assert sum(trap["withheld"] for trap in traps) > 100
