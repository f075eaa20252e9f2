"""The names by which robots.txt addresses a crawl of somebody's project, judged by the site's own log."""

from __future__ import annotations

import pytest

from tests.install import home

BROWSER_LIKE = "Mozilla/5.0 (X11; Linux x86_64) locations/1.0 (+https://crawler.example/about) framework/2.19"
SPIDERS = '''
from scrapy import Request, Spider


class Named(Spider):
    """-a origin=... ; pages that robots.txt forbids to different names."""

    name = "named"

    def __init__(self, *args, origin="", **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [origin + path for path in ("/all", "/locations", "/bot", "/mozilla", "/open")]

    def parse(self, response):
        yield {"url": response.url}


class Renamed(Spider):
    """-a origin=... -a agent=... ; Requests with a User-Agent of their own, of ``start`` and inline."""

    name = "renamed"

    def __init__(self, *args, origin="", agent="", **kwargs):
        super().__init__(*args, **kwargs)
        self.origin, self.headers = origin, {"user-agent": agent}

    async def start(self):
        for path in ("/all", "/locations", "/mozilla", "/open"):
            yield Request(self.origin + path, headers=self.headers)

    async def parse(self, response):
        if response.url.endswith("/open"):
            for path in ("/bot", "/inline", "/locations/inline"):
                request = Request(self.origin + path, headers=self.headers)
                try:
                    await self.crawler.engine.download_async(request)
                except Exception as error:
                    self.logger.info("Not requested: %s", error)
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


@pytest.mark.parametrize(
    ("agent", "allowed"),
    [
        ("locations/2.0", {"/mozilla", "/open", "/inline"}),
        ("bot/2.0", {"/locations", "/mozilla", "/open", "/inline", "/locations/inline"}),
        ("Mozilla/5.0 (X11; Linux x86_64)", {"/locations", "/open", "/inline", "/locations/inline"}),
        ("unheard-of/1.0", {"/locations", "/mozilla", "/open", "/inline", "/locations/inline"}),
    ],
)
def test_a_request_with_a_name_of_its_own_is_judged_by_that_and_by_those_of_the_crawl(
    project, agent, allowed
):
    paths = {*ALL, "/inline", "/locations/inline"}
    with home.served({"/robots.txt": home.text(ROBOTS), **dict.fromkeys(paths, home.page())}) as site:
        words = ("crawl", "renamed", "-a", f"origin={site.origin}", "-a", f"agent={agent}")
        done = project.scrapy(*words, USER_AGENT="bot/1.0", ROBOTSTXT_USER_AGENT="unnamed")

    assert done.status == 0, done.err
    assert {*site.paths()[1:]} == allowed
    assert {hit.user_agent for hit in site.hits if hit.path in allowed} == {agent}
