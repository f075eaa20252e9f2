"""The depth rule."""

from tests.rows import each_row
from webcrawl.scope.scope import Candidate
from webcrawl.scope.url_rules import DepthRule


@each_row(
    ("limit", "depth", "detail"),
    [(0, 0, None), (0, 10_000, None), (1, 0, None), (1, 1, None), (1, 2, "depth 2, 1 allowed")],
)
def test_urls_beyond_the_limit_are_refused_and_none_without_a_limit(limit, depth, detail):
    assert DepthRule(limit).refuses(Candidate("http://h.test/", "h.test", "h.test", depth)) == detail


def test_redirects_do_not_count_as_depth():
    assert DepthRule(1).refuses(Candidate("http://h.test/", "h.test", "h.test", depth=1, redirects=3)) is None
