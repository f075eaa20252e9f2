"""The names by which robots.txt addresses a crawl of somebody's project, judged by the site's own log."""

from __future__ import annotations

import pytest

from tests.install import home

BROWSER_LIKE = "Mozilla/5.0 (X11; Linux x86_64) locations/1.0 (+https://crawler.example/about) framework/2.19"
SPIDERS = '''
from scrapy import Spider


class Named(Spider):
    """-a origin=... ; pages that robots.txt forbids to different names."""

    name = "named"

    def __init__(self, *args, origin="", **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [origin + path for path in ("/all", "/locations", "/bot", "/mozilla", "/open")]

    def parse(self, response):
        yield {"url": response.url}
'''
ROBOTS = """
User-agent: *
Disallow: /all

User-agent: locations
Disallow: /locations

User-agent: bot
Disallow: /bot

User-agent: Mozilla
Disallow: /mozilla
"""
ALL = {"/all", "/locations", "/bot", "/mozilla", "/open"}


@pytest.fixture(scope="module")
def project(folder):
    return home.bare(folder / "home", spiders=SPIDERS)


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({"USER_AGENT": BROWSER_LIKE}, ALL - {"/locations"}),
        ({"USER_AGENT": "bot/1.0", "ROBOTSTXT_USER_AGENT": "locations"}, ALL - {"/bot", "/locations"}),
        ({"USER_AGENT": BROWSER_LIKE, "ROBOTSTXT_USER_AGENT": "unnamed"}, ALL - {"/locations", "/all"}),
    ],
    ids=["a browser's User-Agent", "both names", "a name of which nothing is said"],
)
def test_what_robots_txt_forbids_to_any_name_of_the_crawl_is_not_requested(project, settings, allowed):
    with home.served({"/robots.txt": home.text(ROBOTS), **dict.fromkeys(ALL, home.page())}) as site:
        done = project.scrapy("crawl", "named", "-a", f"origin={site.origin}", **settings)

    assert done.status == 0, done.err
    assert site.paths()[0] == "/robots.txt"
    assert {*site.paths()[1:]} == allowed
    assert {hit.user_agent.partition(" (+")[0] for hit in site.hits} == {
        settings["USER_AGENT"].partition(" (+")[0]
    }
    assert "ROBOTSTXT_USER_AGENT has no effect" not in done.err
