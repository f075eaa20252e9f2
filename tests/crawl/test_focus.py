"""A crawl that looks for certain pages tells of each how relevant it is."""

from __future__ import annotations

import pytest

from tests.commands import own_process
from tests.served import serving_folder
from webcrawl.config.features import FOCUS_FORMS

STARS = "<title>Stars</title><p>The telescope shows a star. Another telescope shows another."
PLAIN = "<title>Soup</title><p>Onions, salt and water."
OWN = """
from webcrawl.spiders.broad import BroadSpider

class Own(BroadSpider):
    name = "own"

    def relevance(self, page):
        if page.url.endswith("b.html"):
            raise ValueError("no idea")
        return 2.0 if "Onions" in page.text else page.depth / 4
"""


@pytest.fixture(scope="module")
def origin(folder):
    """A site of pages about stars, pages about soup, a copy, and a document that is not read."""
    site = folder / "site"
    site.mkdir()
    names = ("a.html", "b.html", "copy.html", "d.bin", "missing.html", "moved")
    links = "".join(f"<a href={name}>{name}</a>" for name in names)
    (site / "index.html").write_text(f"<title>Home</title>{links}")
    (site / "a.html").write_text(STARS)
    (site / "b.html").write_text(PLAIN)
    (site / "copy.html").write_text(STARS)
    (site / "d.bin").write_bytes(b"\0telescope")
    (site / "moved").mkdir()
    (site / "moved/index.html").write_text(PLAIN + STARS)
    with serving_folder(site) as origin:
        yield origin


def relevances(crawled, origin):
    """What the log says of each page that came."""
    return {
        line["url"].removeprefix(origin): line.get("relevance")
        for line in crawled.lines()
        if line.get("status") == 200
    }


@pytest.fixture(scope="module")
def crawled(origin, crawl):
    """The whole site, but for a page that is left for another run."""
    ended = crawl(
        [f"{origin}/"],
        arguments={"focus": "telescope"},
        EXTENSIONS_REFUSED="zip",
        CLOSESPIDER_PAGECOUNT=7,
        CONCURRENT_REQUESTS=1,
    )
    return ended.assert_ended_well()


def test_the_log_says_how_relevant_each_page_is(origin, crawled):
    found = relevances(crawled, origin)
    assert {path for path, value in found.items() if value} in (
        {"/a.html", "/moved/"},
        {"/copy.html", "/moved/"},
    )
    assert found.keys() == {"/", "/a.html", "/b.html", "/copy.html", "/d.bin", "/moved/"}
    assert 0.3 < found["/moved/"] < 0.5
    assert found["/d.bin"] == found["/b.html"] == 0
    assert {line["url"].removeprefix(origin) for line in crawled.lines() if line.get("relevant")} == {
        path for path, value in found.items() if value >= 0.5
    }


def test_the_summary_and_the_report_have_the_harvest(crawled):
    found = sum("relevant" in line for line in crawled.lines())
    scored = sum("relevance" in line for line in crawled.lines())
    assert f"{100 * found / scored:.1f} % of {scored} scored" in crawled.stderr
    assert ">Harvest</h2>" in (crawled.path / "report.html").read_text()


@pytest.mark.parametrize("pages", ["relevant", "none"])
def test_what_is_not_wanted_in_the_archive_has_its_line_in_the_log_alone(origin, crawl, pages):
    given = {"arguments": {"focus": "telescope"}, "WARC_PAGES": pages, "CONCURRENT_REQUESTS": 1}
    given |= {"EXTENSIONS_REFUSED": "zip", "FOCUS_RELEVANT": 0.3}
    crawled = crawl([f"{origin}/"], **given).assert_ended_well()

    lines = {line["url"]: line for line in crawled.lines()}
    relevant = {url for url, line in lines.items() if line.get("relevant")}
    wanted = relevant if pages == "relevant" else set()
    archived = {record.url for record in crawled.records() if record.type in ("response", "revisit")}
    came = {url for url, line in lines.items() if line["status"] == 200}
    assert relevant
    assert archived & came == wanted
    assert archived >= {f"{origin}/robots.txt", f"{origin}/missing.html", f"{origin}/moved"}
    assert {url for url, line in lines.items() if line.get("archived") is False} == came - wanted
    assert own_process(crawled.path, "archive", "check", crawled.path).status == 0


def test_pages_can_be_relevant_only_to_something(origin, crawl):
    refused = crawl([f"{origin}/"], WARC_PAGES="relevant")
    assert refused.status == 2
    assert "WARC_PAGES: relevant needs a subject" in refused.stderr


def test_explain_says_what_a_link_is_guessed_to_be_worth_and_by_what(origin, crawled):
    told = own_process(crawled.path, "explain", f"{origin}/a.html", "--json", JOBDIR=crawled.path).told[
        "focus"
    ]
    assert 0 < told["worth"] < 1
    assert told["learned"] > 0
    assert told["features"]["name html"] != 0
    text = own_process(crawled.path, "explain", f"{origin}/a.html", JOBDIR=crawled.path).said
    assert "\nfocus\n" in text
    assert f"{told['worth']:.3f}, level {told['level']}, by its URL alone" in text


def test_a_crawl_that_goes_on_knows_what_it_had_learned(crawled, start):
    resumed = start(of=crawled, arguments={"focus": "telescope"}, EXTENSIONS_REFUSED="zip").wait()
    assert "Continuing with weights learned from" in resumed.assert_ended_well().stderr


@pytest.mark.soak
@pytest.mark.parametrize("storage", ["sqlite", "redis"])
def test_a_crawl_that_is_killed_knows_what_it_had_learned(serve, start, redis_server, storage):
    web = serve(hosts=50, pages=None)
    settings = {"POLITENESS_MIN_DELAY": 0.5}
    if storage == "redis":
        settings |= {"REDIS_URL": redis_server.url, "LEASE_SECONDS": 2}
    crawl = start(web.seeds, arguments={"focus": "the"}, **settings)
    if storage == "sqlite":
        crawl.until((crawl.path / "focus.model").exists)
    else:
        client = redis_server.client()
        crawl.until(lambda: client.keys("*focus*deltas"))
        client.close()
    crawl.kill()
    resumed = start(of=crawl, arguments={"focus": "the"}, **settings)
    resumed.until(lambda: "Continuing with weights learned from" in resumed.stderr)
    resumed.kill()


def test_a_spider_says_it_by_one_method(origin, folder, crawl):
    (folder / "own_spiders.py").write_text(OWN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        crawled = crawl(
            [f"{origin}/"], spider="own", SPIDER_MODULES="own_spiders", CONTENT_SEEN=0, ROBOTS_TTL_SECONDS=9
        )
    assert crawled.status == 0, crawled.stderr[-3000:]
    found = relevances(crawled, origin)
    assert found["/moved/"] == 1
    assert found["/a.html"] == 0.25
    assert found["/b.html"] == found["/"] == 0
    assert "no idea" in (crawled.path / "errors.log").read_text()


def test_a_focus_that_is_none_is_told_in_one_line(origin, crawl):
    refused = crawl([f"{origin}/"], arguments={"focus": "mime:pdf"}, FOCUS="re:(")
    assert refused.status == 2
    assert len(refused.stderr.splitlines()) == 2
    assert refused.stderr.count(f"must be {FOCUS_FORMS} (") == 2
