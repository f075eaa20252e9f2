"""Lists of URLs by state: which links are looked up, and which spelling is told."""

from __future__ import annotations

import random
import tracemalloc

from webcrawl.export.urls import FetchedUrls, FingerprintFilter
from webcrawl.frontier.records import State
from webcrawl.urls.canonical import DEFAULT
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host


def test_no_fingerprint_is_missed_and_few_others_are_told() -> None:
    chance = random.Random(3)
    sought, others = ([chance.getrandbits(64) - (1 << 63) for _ in range(100_000)] for _ in range(2))
    tracemalloc.start()
    marks = FingerprintFilter()
    marks.add(sought)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 17_000_000
    assert marks.among(sought) == list(range(len(sought)))
    assert len(marks.among(others)) < 200


def test_a_link_is_told_once_as_it_was_written_and_only_where_no_request_tells_more() -> None:
    sought = FingerprintFilter()
    sought.add([fingerprint("http://h.test/~a"), fingerprint("http://h.test/b")])
    urls = FetchedUrls(DEFAULT, get_host)
    urls.add({"url": "http://h.test/b", "key": "h.test", "error": "dns", "end": 3.0})
    for page in ("http://p.test/", "http://q.test/"):
        links = [("http://h.test/%7ea", "http://h.test/~a"), ("http://h.test/b", "http://h.test/b")]
        urls.add_links(page, [*links, ("http://h.test/c", "http://h.test/c")], sought)
    # Without books only what was asked for has a state.
    assert [(state.url, state.record.state) for state in urls.states(None)] == [
        ("http://h.test/b", State.FAILED)
    ]
