"""The scheme rule."""

from tests.rows import each_row
from webcrawl.scope.scope import Candidate
from webcrawl.scope.url_rules import SchemeRule


@each_row(
    ("schemes", "url", "detail"),
    [
        (("http", "https"), "http://h.test/", None),
        (("http", "https"), "https://h.test/", None),
        (("http", "https"), "ftp://h.test/", "ftp"),
        (("http", "https"), "httpx://h.test/", "httpx"),
        (("HTTPS",), "https://h.test/", None),
        (("https",), "http://h.test/", "http"),
    ],
)
def test_only_the_schemes_of_the_crawl_are_in_scope(schemes, url, detail):
    assert SchemeRule(schemes).refuses(Candidate(url, "h.test", "h.test")) == detail
