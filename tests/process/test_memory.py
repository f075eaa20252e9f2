"""Memory over very many documents, with everything switched on that a crawl can keep of them."""

from __future__ import annotations

import os
import time
from urllib.parse import urlencode

import pytest

from tests import processes
from tests.crawl import expectation
from tests.fakeweb import Placement

DOCUMENTS = int(os.environ.get("SOAK_DOCUMENTS", "100000"))
"""How many pages; the promise is made for a hundred thousand."""
SECONDS = 4 * 3600
SAMPLE_SECONDS = 1.0
MODULES = ",".join(
    f"webcrawl.processing.{name}"
    for name in (
        "modules.Head",
        "main_text.MainText",
        "modules.Language",
        "modules.JsonLd",
        "modules.TagCounter",
        "pdf.Pdf",
        "modules.PlainText",
        "modules.Feed",
        "modules.Image",
    )
)
SETTINGS = {
    "PROCESSING_MODULES": MODULES,
    "ARCHIVE_SINKS": "webcrawl.search.store.SearchIndex",
    "LINK_LOG_ENABLED": 1,
    "CONTENT_SEEN": "bytes",
    "WARC_ROLL_BYTES": 100_000_000,
    "FETCH_LOG_ROLL_BYTES": 20_000_000,
    "LINK_LOG_ROLL_BYTES": 20_000_000,
    # As small as may be: a cache of 64 MB would go on to fill for millions of URLs.
    "FRONTIER_CACHE_BYTES": 1 << 20,
}
MORE = 1.1, 6 << 20
"""The second half may have a tenth more than the first, or of a small process some megabytes."""


def watched(crawl):
    """Of each process of a crawl, by what it runs: how many documents there were and its memory, again and again."""
    samples: dict[str, list[tuple[int, int]]] = {}
    log, lines, at = crawl.path, 0, 0
    deadline = time.monotonic() + SECONDS
    while crawl.process.poll() is None:
        assert time.monotonic() < deadline
        for pid in processes.all_below(crawl.process.pid):
            if (size := processes.resident_bytes(pid)) and (name := processes.name_of(pid)):
                samples.setdefault(f"{name} ({pid})", []).append((lines, size))
        lines, at = _lines(log, lines, at)
        time.sleep(SAMPLE_SECONDS)  # memory is looked at from time to time, whatever the crawl does
    return samples


def _lines(folder, lines, at):
    """How many requests there were, by the log as far as it was not read yet; it rolls over now and then."""
    path = folder / "fetch.jsonl"
    if not path.exists():
        return lines, 0
    with path.open("rb") as log:
        size = os.fstat(log.fileno()).st_size
        log.seek(at if at <= size else 0)
        data = log.read()
        return lines + data.count(b"\n"), log.tell()


@pytest.mark.soak
def test_two_hundred_megabytes_of_nested_tags_are_cut_and_the_crawl_goes_on(serve, start):
    web = serve(hosts=12, pages=200, seed=48)
    nested = [f"{web.web.origin(host)}/x/huge-nested" for host in range(8)]
    crawl = start([*nested, *web.seeds], **SETTINGS, DOWNLOAD_ANNOUNCED_MAXSIZE=0)
    samples = watched(crawl)
    crawl.wait().assert_ended_well()

    crawl.assert_sound()
    cut = {url: crawl.line(url) for url in nested}
    assert {line["truncated"] for line in cut.values()} == {"length"}
    assert {url: crawl.statuses()[url] for url in web.web.urls()} == dict.fromkeys(web.web.urls(), 200)
    most = {name: max(size for _, size in seen) >> 20 for name, seen in samples.items()}
    print(f"bytes of each {max(line['bytes'] for line in cut.values())}, most MB of each process {most}")
    assert max(most.values()) < 400


@pytest.mark.soak
@pytest.mark.parametrize(("form", "hosts"), [("huge", 20), ("huge-gz", 25)])
def test_huge_sitemaps_of_many_hosts_at_a_time_take_no_more_memory_than_their_budget(
    serve, start, form, hosts
):
    words = urlencode({"form": form, "urls": "/x/duplicate"})
    names = tuple(f"h{number:04}.localhost" for number in range(hosts))
    part = Placement("robots-sitemap", options={"sitemaps": f"/x/sitemap?{words}"}, hosts=names)
    web = serve(hosts=hosts + 5, pages=200, seed=49, placements=(part,))
    crawl = start(expectation.roots(web), SITEMAP_MAX_BYTES=60_000_000)
    samples = watched(crawl)
    crawl.wait().assert_ended_well()

    assert [line["urls"] for line in crawl.lines("sitemap")] == [1] * hosts
    most = {name: max(size for _, size in seen) >> 20 for name, seen in samples.items()}
    print(f"most MB of each process {most}")
    assert max(most.values()) < 400


@pytest.mark.soak
def test_memory_is_flat_over_very_many_documents(serve, start):
    web = serve(hosts=max(DOCUMENTS // 50, 20), pages=DOCUMENTS, zipf=0.5, seed=47, words=200)
    crawl = start(web.seeds, **SETTINGS)
    samples = watched(crawl)
    crawl.wait().assert_ended_well()

    figures = crawl.assert_sound()
    assert figures.totals["done"] >= DOCUMENTS
    grown, looked = {}, 0
    for name, all_seen in samples.items():
        total = all_seen[-1][0]
        # As long as documents come: at the end the report is made, and the index put in order.
        seen = [(lines, size) for lines, size in all_seen if lines < total]
        if total < DOCUMENTS // 2:
            continue  # it did not live long enough for two halves
        looked += 1
        halves = [[size for lines, size in seen if (lines * 2 > total) is late] for late in (False, True)]
        first, second = (max(half) for half in halves)
        if second > max(first * MORE[0], first + MORE[1]):
            grown[name] = second / first
        tenths = [
            max((size for lines, size in seen if lines * 10 // (total + 1) == n), default=0)
            for n in range(10)
        ]
        print(
            f"{name}: MB by tenths {[size >> 20 for size in tenths]}, second half / first {second / first:.3f}"
        )
    assert looked >= 3
    assert grown == {}
