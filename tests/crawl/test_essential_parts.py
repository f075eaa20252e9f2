"""No configuration makes the crawler impolite: what others add works, what they take away is told, and an origin of
which nobody gets to see an answer is not asked again at once. Judged by the log of the server.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.crawl.ordinary.middlewares import WAYS
from tests.fakeweb import witness

SETTINGS = "tests.crawl.ordinary.settings"
MIDDLEWARES = "tests.crawl.ordinary.middlewares"
MEDDLED = {
    543: f"{MIDDLEWARES}.Meddling",
    960: f"{MIDDLEWARES}.Meddling",
    961: f"{MIDDLEWARES}.MeddlingWithPages",
}
EATING = f"{MIDDLEWARES}.Eating"
OUTCOME = "webcrawl.downloadermiddlewares.outcome.OutcomeMiddleware"
DELAY = 0.5
MEASURING_ERROR = 0.005


def owed(hit):
    return DELAY


def as_json(*pairs):
    return json.dumps(dict(pairs))


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=2, pages=2)


def test_a_spider_with_middlewares_of_its_own_is_an_ordinary_crawl(serve, crawl):
    web = serve(hosts=1, pages=1)
    crawled = crawl(
        spider="idiom",
        module=SETTINGS,
        arguments={"origin": web.web.origin(0)},
        options=["-O", "items.jsonl"],
        POLITENESS_MIN_DELAY=DELAY,
        POLITENESS_FACTOR=0,
    ).assert_ended_well()

    hits = web.hits()
    assert [hit.path for hit in hits] == ["/robots.txt", "/x/echo?first", "/x/echo?second"]
    assert not witness.violations(hits, owed, tolerance=MEASURING_ERROR)
    items = (crawled.path.parent / "items.jsonl").read_text()
    assert items.count("X-Marked: yes") == items.count("\n") == 2
    assert "pages 2" in " ".join(crawled.stderr.split())
    assert len(crawled.lines()) == 2


@pytest.fixture(scope="module")
def meddled(serve, start):
    """A middleware meddles with everything, before ours or between these and the network; for each host in another
    way."""
    webs = {}
    for place, meddling in MEDDLED.items():
        served = serve(hosts=len(WAYS), pages=len(WAYS))
        origins = [served.web.origin(host) for host in range(len(WAYS))]
        seeds = [*(f"{origin}/x/ok?seed" for origin in origins), f"{origins[-1]}/x/reset"]
        crawl = start(
            seeds,
            DOWNLOADER_MIDDLEWARES=as_json((meddling, place)),
            SPIDER_MIDDLEWARES=as_json((EATING, 543 if place == 543 else None)),
            POLITENESS_KEY="host",
            POLITENESS_MIN_DELAY=DELAY,
            FRONTIER_PATIENCE_SECONDS=0,
            CLOSESPIDER_TIMEOUT=4,
        )
        webs[place] = served, crawl
    return {place: (served, crawl.wait()) for place, (served, crawl) in webs.items()}


@pytest.mark.parametrize("place", MEDDLED)
def test_whatever_a_middleware_does_the_pause_is_kept(meddled, place):
    served, crawl = meddled[place]

    assert len(served.hits()) > len(WAYS) / 2
    assert crawl.status == 0, crawl.stderr
    assert not witness.violations(served.hits(), owed, tolerance=MEASURING_ERROR)


@pytest.mark.parametrize("place", MEDDLED)
def test_a_robots_txt_whose_answer_is_lost_is_not_asked_for_again_at_once(meddled, place):
    served, crawl = meddled[place]

    asked = Counter(hit.host for hit in served.hits() if hit.is_robots)
    assert max(asked.values()) == 1, asked
    lines = Counter(line["key"] for line in crawl.lines("robots"))
    assert max(lines.values()) == 1, lines


@pytest.mark.parametrize("place", MEDDLED)
def test_no_middleware_of_a_project_keeps_robots_txt_away(meddled, place):
    served, crawl = meddled[place]

    assert len({hit.host for hit in served.hits() if hit.is_robots}) == len(WAYS)
    assert "cannot be fetched: a downloader" not in crawl.stderr


KEEPING = """
from scrapy.exceptions import IgnoreRequest


class Keeping:
    def process_request(self, request):
        if request.url.endswith("/robots.txt"):
            return self.keep(request)


class MovingProxy(Keeping):
    def keep(self, request):
        request._set_url(request.url + "?moved")


class RepeatingProxy(Keeping):
    def keep(self, request):
        return request.replace(dont_filter=True)


class IgnoringProxy(Keeping):
    def keep(self, request):
        raise IgnoreRequest
"""


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("MovingProxy", "changed its URL"),
        ("RepeatingProxy", "returned another Request in its place"),
        ("IgnoringProxy", "raised IgnoreRequest"),
    ],
)
def test_each_way_in_which_a_proxy_keeps_robots_txt_away_is_told(
    serve, crawl, folder, monkeypatch, name, what
):
    (folder / "keeping.py").write_text(KEEPING)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    web = serve(hosts=1, pages=1)
    crawled = crawl(
        web.seeds,
        DOWNLOADER_MIDDLEWARES=as_json((f"keeping.{name}", 950)),
        FRONTIER_PATIENCE_SECONDS=0,
    ).assert_ended_well()

    assert not web.hits()
    assert crawled.assert_sound().queued
    (line,) = [line for line in crawled.stderr.splitlines() if "WARNING" in line]
    assert f"The robots.txt of {web.web.origin(0)} cannot be fetched: a downloader middleware" in line
    assert f"(keeping.{name}) {what}. No page" in line


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"DOWNLOADER_MIDDLEWARES": as_json((OUTCOME, None))}, OUTCOME),
        ({"DOWNLOADER_MIDDLEWARES_BASE": "{}"}, "DOWNLOADER_MIDDLEWARES"),
        ({"DOWNLOADER_MIDDLEWARES": as_json((OUTCOME, 120))}, "must come before"),
        ({"SPIDER_MIDDLEWARES_BASE": "{}"}, "webcrawl.spidermiddlewares.page.PageMiddleware"),
        ({"SCHEDULER": "scrapy.core.scheduler.Scheduler"}, "SCHEDULER: must be webcrawl.scheduler.Scheduler"),
        (
            {"SCHEDULER": "scrapy_redis.scheduler.Scheduler"},
            "SCHEDULER: must be webcrawl.scheduler.Scheduler",
        ),
        (
            {"DOWNLOADER": "scrapy.core.downloader.Downloader"},
            "DOWNLOADER: must be webcrawl.engine.downloader",
        ),
        (
            {
                "SCHEDULER": "scrapy.core.scheduler.Scheduler",
                "DOWNLOADER": "scrapy.core.downloader.Downloader",
            },
            "from webcrawl.settings import *",
        ),
    ],
)
def test_a_crawl_that_lacks_an_essential_part_does_not_start(web, crawl, settings, named):
    before = len(web.hits())
    crawled = crawl(web.seeds, **settings)

    assert crawled.status == 2, crawled.stderr
    (line,) = crawled.stderr.splitlines()
    assert named in line
    assert not crawled.path.exists()
    assert len(web.hits()) == before


def test_the_scheduler_alone_in_another_project_asks_for_nothing(web, crawl):
    before = len(web.hits())
    crawled = crawl(
        spider="idiom", module="tests.crawl.ordinary.foreign", arguments={"origin": web.web.origin(0)}
    )

    assert crawled.status == 2
    assert "Traceback" not in crawled.stderr
    assert "from webcrawl.settings import *" in crawled.stderr
    assert len(web.hits()) == before
