"""``allowed_domains`` of a spider means what it means in Scrapy."""

from __future__ import annotations

from tests.rows import each_row
from webcrawl.scope.scope import Candidate
from webcrawl.scope.url_rules import OffsiteRule


@each_row("host", ["example.org", "www.example.org", "a.b.example.org", "other.test", "example.org."])
def test_the_domains_and_what_is_below_them_are_allowed(host: str) -> None:
    assert OffsiteRule(["Example.org", "other.test"]).refuses(Candidate("", host, host)) is None


@each_row("host", ["example.com", "notexample.org", "example.org.evil.test", "org"])
def test_everything_else_is_refused(host: str) -> None:
    assert OffsiteRule(["example.org"]).refuses(Candidate("", host, host)) is not None
