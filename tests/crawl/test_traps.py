"""A web with traps: next to no request into them, every real page, by the server's own log."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.commands import own_process
from tests.crawl import expectation
from tests.fakeweb.labyrinth import REAL, TRAPS, is_trap
from tests.rows import each_row

HOST = "h0000.localhost"
SETTINGS = {"CONCURRENT_REQUESTS": 16, "COMMIT_INTERVAL_SECONDS": 0}
ALONE = ("missing", "absent", "noise", "printed")
TOGETHER = tuple(name for name in TRAPS if name not in ALONE)
"""Those of one site; ``make soak`` has a web of sites with all of them."""
LIMIT, MOST = 100, 250
"""Requests into one kind of trap, on average and at most: of the thousands that a crawler makes there without looking
for traps. It makes 55 and 106; how many exactly depends on the order in which pages come, and so on the machine.
"""


@pytest.fixture(scope="module")
def web(serve):
    return serve(kind="labyrinth", hosts=1, sections=(*REAL, *TOGETHER))


@pytest.fixture(scope="module")
def ended(web, crawl):
    return crawl(web.seeds, **SETTINGS).assert_ended_well()


def test_a_crawl_of_endless_traps_ends(ended):
    assert ended.status == 0
    ended.assert_sound()


def test_no_real_page_is_missed(web, ended):
    real = web.site.truth()
    missed = real - set(expectation.asked(web))
    assert len(real) > 500
    assert missed == set()


def test_next_to_nothing_of_the_traps_is_fetched(web, ended):
    hits = Counter(url.split("/")[3] for url in expectation.asked(web) if is_trap(url))
    print(dict(hits))
    assert set(hits) == set(TOGETHER)
    assert hits.total() <= LIMIT * len(TOGETHER)
    assert max(hits.values()) < MOST


@pytest.mark.parametrize("section", ALONE)
def test_a_trap_that_is_all_of_a_site_is_left_however_it_disguises_itself(serve, crawl, section):
    alone = serve(kind="labyrinth", hosts=1, sections=(section,))
    crawl(alone.seeds, **SETTINGS).assert_ended_well().assert_sound()
    hits = Counter(url for url in expectation.asked(alone) if is_trap(url))
    assert 10 < hits.total() < MOST


def traps(crawl, *words):
    """What ``scrapy traps`` says of a crawl in its JOBDIR."""
    return own_process(crawl.path.parent, "traps", *words, "--json", JOBDIR=crawl.path).told["traps"]


def the_one(found, end):
    """The trap whose pattern ends so."""
    patterns = {trap["pattern"]: trap for trap in found}
    ending = [trap for pattern, trap in patterns.items() if pattern.endswith(end)]
    assert len(ending) == 1, list(patterns)
    return ending[0]


def test_what_is_in_quarantine_is_listed_with_samples(web, ended):
    found = traps(ended)
    assert all(is_trap(url) for trap in found for url in trap["samples"])
    assert all(trap["samples"] and trap["why"] and trap["looked"] for trap in found)
    assert all(trap["released_at"] is None for trap in found)
    assert sum(trap["withheld"] for trap in found) > 100
    said = own_process(ended.path.parent, "traps", JOBDIR=ended.path).said
    assert f": {len(found)} patterns in quarantine" in said
    assert all(trap["id"] in said and trap["samples"][0][:40] in said for trap in found)


def test_the_log_says_what_is_in_quarantine_why_and_how_it_is_released(ended):
    for trap in traps(ended):
        [line] = [line for line in ended.stderr.splitlines() if f"release {trap['id']}`" in line]
        assert trap["why"] in line
        assert "Trap: " in line


def test_refusals_are_counted_under_their_rule(ended):
    assert ended.figures().rules["trap"] > 0
    assert "trap" in ended.stderr[ended.stderr.index("pages ") :]


def test_explain_names_the_pattern_and_how_it_is_released(web, ended):
    trap = the_one(traps(ended), "/days/?day")
    given = {"JOBDIR": ended.path, "FETCH_PRIVATE_ADDRESSES": 1}
    for url in (f"{web.seeds[0]}days/?day=987654", *trap["samples"][:1]):
        told = own_process(ended.path.parent, "explain", url, "--json", **given).told
        [word] = [word for word in told["scope"]["rules"] if word["rule"] == "trap"]
        assert trap["pattern"] in word["objection"]
        assert f"scrapy traps release {trap['id']}" in word["objection"]
        assert told["scope"]["decided_by"] == "trap"
    said = own_process(ended.path.parent, "explain", f"{web.seeds[0]}articles/7.html", **given).said
    assert "  in scope" in said


@each_row(
    ("words", "said"),
    [
        (("reliese",), "is no command of traps; there is release"),
        (("release",), "no pattern; give patterns or their ids"),
        (("release", "12345678"), "no trap of this crawl is called 12345678"),
        (("--dry-run",), "is for release"),
    ],
)
def test_what_is_wrong_with_the_command_is_said(ended, words, said):
    done = own_process(ended.path.parent, "traps", *words, JOBDIR=ended.path)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_a_trap_that_is_released_is_queued_again_and_never_judged_again(web, ended, crawl):
    trap = the_one(traps(ended), "/more/?key")
    assert trap["withheld"] == 1
    asked = Counter(expectation.asked(web))
    assert traps(ended, "release", trap["id"], "--dry-run")[0]["released_at"] is None
    assert traps(ended)[-1]["released_at"] is None
    [released] = traps(ended, "release", trap["pattern"])
    assert released["released_at"] is not None
    crawl(web.seeds, of=ended, CLOSESPIDER_PAGECOUNT=70, **SETTINGS).assert_ended_well()
    new = Counter(expectation.asked(web)) - asked
    pages = sorted(int(url.rpartition("=k")[2]) for url in new if "/more/?key=" in url)
    # On from the page that was withheld, each once, far beyond what made it a trap.
    assert len(pages) >= 60
    assert pages == list(range(pages[0], pages[0] + len(pages)))
    assert set(new) == {url for url in new if "/more/?key=" in url}
    ended.assert_sound()
    assert [one["released_at"] is None for one in traps(ended) if one["id"] == trap["id"]] == [False]


@pytest.mark.soak
@pytest.mark.parametrize("order", ["breadth_first", pytest.param("random", marks=pytest.mark.soak)])
def test_many_sites_of_traps_end_and_nothing_real_is_missed(serve, crawl, order):
    many = serve(kind="labyrinth", hosts=20)
    settings = {**SETTINGS, "CONCURRENT_REQUESTS": 64, "POLITENESS_KEY": "host", "FRONTIER_ORDER": order}
    crawl(many.seeds, within=600, **settings).assert_ended_well().assert_sound()
    hits = Counter(expectation.asked(many))
    assert many.site.truth() <= set(hits)
    assert sum(count for url, count in hits.items() if is_trap(url)) <= 20 * LIMIT * len(TRAPS)
