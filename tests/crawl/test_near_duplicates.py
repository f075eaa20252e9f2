"""Pages with nearly the same main text: recorded, and withheld if that is certain, by the server's log and the
files."""

from __future__ import annotations

import json

import pytest

from tests.commands import own_process
from tests.crawl import expectation
from tests.crawl.near_duplicates import faults, withheld

SETTINGS = {
    "NEAR_DUPLICATES": "record,nofollow,nostore",
    "POLITENESS_KEY": "host",
    "TRAPS_QUARANTINE": 0,
    "COMMIT_INTERVAL_SECONDS": 0,
}
SIZE = 6


def feed(path):
    return {"FEEDS": json.dumps({str(path): {"format": "jsonlines"}})}


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def told(crawls, feeds):
    lines = [line for crawl in crawls for line in crawl.lines()]
    records = [record for crawl in crawls for record in crawl.records()]
    return lines, records, [item for path in feeds for item in read(path)]


@pytest.fixture
def web(serve):
    return serve(kind="variants", pages=SIZE)


def test_near_duplicates_are_withheld_and_nothing_else(web, crawl, tmp_path):
    pages = tmp_path / "pages.jsonl"
    ended = crawl(web.seeds, **SETTINGS, **feed(pages)).assert_ended_well()
    ended.assert_sound()
    lines, records, items = told([ended], [pages])
    assert faults(web.site, expectation.asked(web), lines, records, items) == []
    near = set(web.site.near())
    assert withheld(lines, "links_withheld") == withheld(lines, "body_withheld") == near
    clusters = {line["url"]: line["cluster"] for line in lines if "cluster" in line}
    assert clusters.keys() == near | set(web.site.mirrored())
    assert len(set(clusters.values())) == SIZE

    checked = own_process(ended.path.parent, "archive", "check", ended.path)
    assert checked.status == 0, checked.said + checked.err
    url, first = next(iter(web.site.near().items()))
    said = own_process(ended.path.parent, "explain", url, JOBDIR=ended.path).said
    assert f"cluster {clusters[url]}: " in said
    assert f"its text is that of {first} and links not followed and body not stored" in said


def test_it_is_off_by_default(web, crawl):
    ended = crawl(web.seeds, POLITENESS_KEY="host", DEPTH_LIMIT=4).assert_ended_well()
    assert not any("cluster" in line for line in ended.lines())
    assert not (ended.path / "near_duplicates.db").exists()


def test_two_workers_share_what_they_know(web, start, redis_server, tmp_path):
    shared = {**SETTINGS, "REDIS_URL": redis_server.url, "LEASE_SECONDS": 5, "POLITENESS_MIN_DELAY": 0.05}
    feeds = [tmp_path / f"pages-{name}.jsonl" for name in ("w1", "w2")]
    workers = [
        start(web.seeds, jobdir=tmp_path / name, WORKER_NAME=name, **shared, **feed(path))
        for name, path in zip(("w1", "w2"), feeds, strict=True)
    ]
    for worker in workers:
        worker.wait().assert_ended_well()
    lines, records, items = told(workers, feeds)
    assert faults(web.site, expectation.asked(web), lines, records, items) == []
    assert withheld(lines, "body_withheld")
    assert withheld(lines, "links_withheld")


@pytest.mark.soak
@pytest.mark.parametrize("storage", ["sqlite", "redis"])
def test_a_crawl_that_is_killed_loses_no_page_that_differs(serve, start, redis_server, tmp_path, storage):
    web = serve(kind="variants", pages=40)
    settings = {**SETTINGS, "NEAR_DUPLICATES": "record,nofollow", "POLITENESS_MIN_DELAY": 0.02}
    if storage == "redis":
        settings |= {"REDIS_URL": redis_server.url, "LEASE_SECONDS": 2}
    crawl = start(web.seeds, **settings)
    for lines in (30, 60, 120, 180, 240):
        crawl.until_logged(lines)
        crawl.kill()
        crawl = start(web.seeds, of=crawl, **settings)
    crawl.wait().assert_ended_well()
    lines = crawl.lines()
    items = [{"url": line["url"], "cluster": line.get("cluster")} for line in lines]
    wrong = faults(web.site, expectation.asked(web), lines, crawl.records(), items)
    assert wrong == []
    assert withheld(lines, "links_withheld")
