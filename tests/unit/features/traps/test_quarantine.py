"""What a quarantine withholds, what it remembers of it, and what it hears from its store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.rows import each_row
from webcrawl.features.traps import parameters
from webcrawl.features.traps.parameters import Evidence, ParameterStats
from webcrawl.features.traps.quarantine import Quarantine, Trap, TrapRule, Withheld, in_words, pattern_id
from webcrawl.scope.scope import Candidate


def held(*patterns, **more):
    quarantine = Quarantine(**more)
    for pattern in patterns:
        quarantine.add(Evidence(pattern, "nothing new", 7, ("http://h.test/sample",)), 5.0)
    return quarantine


def refuses(quarantine, url, host="h.test"):
    return TrapRule(quarantine).refuses(Candidate(url, host, host))


@each_row(
    ("pattern", "refused", "allowed"),
    [
        (
            "h.test/cal/#/#",
            ["/cal/2031/05", "/cal/2031/05?x=1", "/cal/1/2"],
            ["/cal/2031", "/cal/2031/05/12", "/cal"],
        ),
        (
            "h.test/shop?size",
            ["/shop?size=1", "/shop?a=2&size=1"],
            ["/shop", "/shop?sizes=1", "/shop/?size=1", "/b?size=1"],
        ),
        ("h.test/x/+", ["/x/a/a", "/x/a/b/a/c", "/x/q/a/b/a"], ["/x/a/b", "/y/a/a", "/a/x/a"]),
        ("h.test/x/**", ["/x/a/b/c", "/x/a/b/c/d"], ["/x/a/b", "/y/a/b/c"]),
        ("h.test?/v/*", ["/v/0a1b2c3d4e5f/a"], ["/w/0a1b2c3d4e5f/a", "/v/a"]),
        ("h.test?/*", ["/v/0a1b2c3d4e5f/a", "/0a1b2c3d4e5f/a"], ["/v/a"]),
        ("h.test?sid", ["/a?sid=ab12cd34", "/b?sid=ab12cd34&x=1"], ["/a", "/a?sid=17"]),
    ],
)
def test_a_pattern_covers_what_it_says(pattern, refused, allowed):
    quarantine = held(pattern)
    assert [url for url in refused if refuses(quarantine, f"http://h.test{url}") is None] == []
    assert [url for url in allowed if refuses(quarantine, f"http://h.test{url}")] == []
    assert refuses(quarantine, f"http://h.test:81{refused[0]}") is None
    assert refuses(quarantine, f"http://i.test{refused[0]}", "i.test") is None


@each_row(
    ("pattern", "words"),
    [
        ("h.test/cal/#", "h.test/cal/#"),
        ("h.test/shop?size", "h.test/shop with the parameter size"),
        ("h.test/x/**", "all URLs deep below h.test/x/"),
        ("h.test?sid", "pages of h.test that were already fetched with another session sid"),
        ("h.test?;ref", "pages of h.test that were already fetched with another value of ref"),
        ("h.test?/*", "pages of h.test that were already fetched with another long number in the path"),
        (
            "h.test?/v/*",
            "pages of h.test that were already fetched with another long number in the path below /v",
        ),
    ],
)
def test_a_pattern_in_words(pattern, words):
    assert in_words(pattern) == words


@pytest.mark.parametrize(("run", "why"), [(1, "1 page in a row"), (12, "12 pages in a row")])
def test_the_reason_counts_pages(run, why):
    assert parameters._evidence("h.test/a", ParameterStats(run=run)).why == f"{why} had no new content"


def test_what_repeats_itself_at_the_root_says_nothing_of_folders():
    assert refuses(held("h.test/+"), "http://h.test/docs/en/api/en/") is None
    assert refuses(held("h.test/+"), "http://h.test/a/b/a/")


def test_the_objection_names_the_pattern_and_how_it_is_released():
    reason = refuses(held("h.test/cal/#"), "http://h.test/cal/1")
    assert "h.test/cal/#" in reason
    assert f"scrapy traps release {pattern_id('h.test/cal/#')}" in reason


def test_so_many_urls_are_remembered_and_the_rest_is_counted():
    quarantine = held("h.test/cal/#", withheld_max=3)
    [trap] = quarantine.traps()
    for n in range(10):
        quarantine.withhold(trap, Withheld(f"http://h.test/cal/{n}", 2, None))
    quarantine.withhold(trap, Withheld("http://h.test/cal/1", 2, None))
    [new], kept = quarantine.take_news()
    assert new == trap
    assert [url.url for url in kept[trap.pattern].urls] == [f"http://h.test/cal/{n}" for n in range(3)]
    assert kept[trap.pattern].count == 10
    assert quarantine.take_news() == ([], {})
    quarantine.give_back([new], kept)
    assert quarantine.take_news() == ([trap], kept)


def test_what_was_released_is_neither_withheld_nor_judged_again():
    quarantine = held("h.test/cal/#", "h.test/x/+")
    trap = quarantine.traps()[0]
    entered, left = quarantine.learn([replace(trap, released_at=9.0), quarantine.traps()[1]])
    assert (entered, [one.pattern for one in left]) == ([], ["h.test/cal/#"])
    assert refuses(quarantine, "http://h.test/cal/1") is None
    assert refuses(quarantine, "http://h.test/x/a/a")
    assert quarantine.add(Evidence("h.test/cal/#", "again", 7, ()), 9.0) is None


def test_tokens_that_were_released_for_a_whole_host_are_not_judged_again_in_one_of_its_folders():
    quarantine = held("h.test?/*")
    assert quarantine.add(Evidence("h.test?/v/*", "the same", 7, ()), 9.0) is not None
    quarantine.learn([replace(trap, released_at=9.0) for trap in quarantine.traps()])
    assert quarantine.add(Evidence("h.test?/w/*", "the same", 7, ()), 9.0) is None
    assert quarantine.add(Evidence("h.test?sid", "the same", 7, ()), 9.0) is not None


def test_what_others_found_is_obeyed_and_what_a_store_has_lost_is_stored_again():
    quarantine = held("h.test/cal/#")
    quarantine.take_news()
    other = Trap("i.test/x/#", "nothing new", 5.0, 7, ())
    entered, _ = quarantine.learn([other])
    assert entered == [other]
    assert refuses(quarantine, "http://i.test/x/1", "i.test")
    assert [trap.pattern for trap in quarantine.take_news()[0]] == ["h.test/cal/#"]


def test_a_quarantine_that_is_empty_asks_nothing():
    assert not Quarantine().holds("h.test")
    assert Quarantine().find_trap("http://h.test/a", "h.test") is None
    assert held("[::1]:80/a/#").holds("[::1]")
    assert held("h.test:80/a/#").holds("h.test")
    assert held("h.test?sid").holds("h.test")
