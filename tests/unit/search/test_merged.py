"""One answer out of the indexes of several workers."""

from __future__ import annotations

from webcrawl.search.engine import Hit, SearchResults, merged


def hit(url, score, at=1.0):
    return Hit(url, url, None, score, at, [])


def test_the_best_of_all_come_first():
    one, two = SearchResults([hit("a", 3), hit("b", 1)], 2), SearchResults([hit("c", 2)], 7)
    found = merged([one, two], 2)
    assert [each.url for each in found.hits] == ["a", "c"]
    assert found.count == 9


def test_a_page_that_several_have_counts_once_as_it_was_fetched_last():
    one, two = SearchResults([hit("a", 3, at=1.0)], 1), SearchResults([hit("a", 2, at=5.0), hit("b", 2.5)], 2)
    found = merged([one, two], 10)
    assert [(each.url, each.score) for each in found.hits] == [("b", 2.5), ("a", 2)]
    assert found.count == 2


def test_no_index_no_pages():
    assert merged([], 5) == SearchResults([], 0)
