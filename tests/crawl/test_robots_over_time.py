"""robots.txt over hours in a few seconds: it expires, changes, goes away, and each version is in the archive."""

from __future__ import annotations

import re

import pytest

from tests.commands import own_process
from tests.crawl import expectation
from tests.crawl.crawling import ROOT
from tests.fakeweb import Placement
from tests.rows import each_row

PAGES = 16
LOST = (
    ("robots-lost", {"status": 500}),
    ("robots-lost", {"status": 503}),
    # So late that the key whose robots.txt it is waits in the storage meanwhile, and not in memory.
    ("robots-lost", {"status": 500, "across": "yes", "pause": 0.6}),
)
VERSIONS = f"h{len(LOST) + 1:04d}.localhost"


@pytest.fixture(scope="module", params=["sqlite", "redis"])
def storage(request):
    return request.param


@pytest.fixture(scope="module")
def web(serve, storage):
    parts = [
        Placement(name, hosts=(f"h{number:04d}.localhost",), options=options)
        for number, (name, options) in enumerate(LOST, 1)
    ]
    parts.append(Placement("robots-versions", hosts=(VERSIONS,)))
    count = len(parts) + 1
    return serve(hosts=count, pages=PAGES * count, zipf=0.1, same_host=1.0, placements=tuple(parts))


@pytest.fixture(scope="module")
def crawled(web, start, storage, request):
    """A crawl that is stopped on the way and taken up again, on each storage that outlives it."""
    settings = {
        "ROBOTS_TTL_SECONDS": 1,
        "POLITENESS_MIN_DELAY": 0.15,
        "HEALTH_PARK_SECONDS": 0.1,
        "HEALTH_PARKS_TO_GIVE_UP": 0,
    }
    if storage == "redis":
        settings["REDIS_URL"] = request.getfixturevalue("serve_redis")().url
    first = start(expectation.roots(web), CLOSESPIDER_PAGECOUNT=45, **settings).wait()
    crawl = start(expectation.roots(web), of=first, **settings).wait()
    assert first.status == crawl.status == 0, first.stderr + crawl.stderr
    return crawl, web.hits()


@each_row("number", range(1, len(LOST) + 1))
def test_the_last_text_stays_in_force_while_robots_txt_cannot_be_had(web, crawled, number):
    crawl, hits = crawled
    host = f"h{number:04d}.localhost"
    pages = {url for url in expectation.depths(web, expectation.roots(web)) if f"//{host}:" in url}
    asked = [hit for hit in hits if hit.host == host]

    assert {expectation.address(web, hit) for hit in asked if not _of_robots(hit)} == pages
    origin = web.web.origin(number)
    told = [
        line for line in crawl.lines("robots") if line["origin"] == origin and line["robots"] != "pending"
    ]
    assert [line["status"] for line in told] == [200, LOST[number - 1][1]["status"]]
    assert {line["robots"] for line in told} == {"rules"}
    after = [hit for hit in asked if hit.start > told[1]["end"] and not _of_robots(hit)]
    assert after


def test_every_version_of_a_robots_txt_is_in_the_archive_and_in_the_answer_to_its_owner(web, crawled):
    crawl, hits = crawled
    url = f"{web.web.origin(len(LOST) + 1)}/robots.txt"
    asked = sum(hit.host == VERSIONS and _of_robots(hit) for hit in hits)
    archived = [record for record in crawl.records() if record.type == "response" and record.url == url]
    texts = {int(re.search(rb"# version (\d+)", record.content)[1]) for record in archived}
    assert len(texts) == len(archived) == asked >= 2

    told = own_process(ROOT, "complaint", VERSIONS, "--json", JOBDIR=crawl.path).told
    [versions] = told["robots"].values()
    assert [version["digest"] for version in versions] == [
        record.headers["WARC-Payload-Digest"] for record in archived
    ]
    pages = [line for line in crawl.lines() if line["key"] == VERSIONS]
    assert sum(version["requests"] for version in versions) == len(pages)
    assert versions[0]["requests"] > 0


def _of_robots(hit):
    return hit.is_robots or hit.path.startswith("/x/robots-")
