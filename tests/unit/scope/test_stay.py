"""Links stay on the site of the page that they are on, by domain or by host."""

import pytest

from tests.rows import each_row
from webcrawl.frontier.intake import Intake
from webcrawl.scope.scope import Candidate, LinkBatch, Scope
from webcrawl.scope.url_rules import StayRule
from webcrawl.urls.politeness_key import PolitenessKey, get_host

PAGE = "http://www.a.co.uk:8080/x"
CASES = [
    ("http://www.a.co.uk/", True, True),
    ("https://www.a.co.uk.:8443/y", True, True),
    ("http://a.co.uk/", True, False),
    ("http://news.a.co.uk/", True, False),
    ("http://b.co.uk/", False, False),
    ("http://10.0.0.1/", False, False),
]


@each_row(("url", "in_domain", "on_host"), CASES)
@each_row("site", ["domain", "host"])
def test_a_link_stays_or_is_refused(site, url, in_domain, on_host):
    rule, stays = StayRule(site), in_domain if site == "domain" else on_host
    objection = rule.refuses(Candidate(url, get_host(url), "", 1, linked_from=PAGE))
    assert objection == (None if stays else f"another {site} than the page that leads there")
    assert rule.refuses_none(LinkBatch([PAGE, url], 1, str, PAGE)) is stays
    assert rule.refuses(Candidate(url, get_host(url), "")) is None


@pytest.fixture
def intake():
    return Intake(PolitenessKey("host"), Scope([StayRule("domain")]), Scope([]))


def test_what_is_refused_on_one_page_is_taken_on_a_page_of_its_own_site(intake):
    assert intake.take_links(["http://b.test/x"], 1, "http://a.test/").refused == [
        ("http://b.test/x", "stay")
    ]
    assert [entry.url for entry in intake.take_links(["http://b.test/x"], 1, "http://b.test/").entries] == [
        "http://b.test/x"
    ]


@pytest.mark.parametrize(("depth", "taken"), [(0, True), (1, False)])
def test_a_seed_may_redirect_to_another_site_and_what_it_leads_to_may_not(intake, depth, taken):
    entry = intake.link_entry("http://b.test/", depth, "http://a.test/", redirects=1)
    assert isinstance(entry, str) is not taken
    asked = intake.request_entry("http://b.test/", "GET", b"", depth, "http://a.test/", 1, followed=True)
    assert isinstance(asked, str) is not taken


def test_a_sitemap_of_another_site_is_not_read(intake):
    assert (
        intake.sitemap_entry("http://b.test/s.xml", "a.test", "http://a.test/robots.txt", redirects=1)
        == "stay"
    )
    assert not isinstance(
        intake.sitemap_entry("http://a.test/s.xml", "a.test", "http://a.test/robots.txt"), str
    )


def test_a_page_that_is_none_of_the_web_has_no_site():
    assert (
        StayRule("host").refuses(Candidate("http://a.test/", "a.test", "", 1, linked_from="data:,x")) is None
    )
