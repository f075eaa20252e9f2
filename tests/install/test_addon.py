"""A project as tutorials write it, with and without the add-on: the same items, and with it a polite crawl."""

from __future__ import annotations

import pytest

from tests.commands import ROOT
from tests.crawl.crawling import Jobdir
from tests.fakeweb import witness
from tests.install import project

DELAY = 0.2
MEASURING_ERROR = 0.005
PLAIN = f"{project.LOOPBACK}DOWNLOAD_DELAY = 0\n"
POLITE = f"""{project.ADDON}
DOWNLOAD_DELAY = {DELAY}
POLITENESS_MIN_DELAY = {DELAY}
POLITENESS_FACTOR = 0
POLITENESS_KEY = "host"
FETCH_PRIVATE_ADDRESSES = True
"""
SPIDERS = ("site", "login")


def owed(hit):
    return DELAY


@pytest.fixture(scope="module")
def shop(site, folder):
    return project.make(folder / "shop", ROOT, site, more=POLITE)


@pytest.fixture(scope="module")
def plain(site, folder):
    """The same project before the line was written, in the environment of the other one."""
    return project.make(folder / "plain", ROOT, site, more=PLAIN)


def crawl(made, spider, web, *words, **settings):
    """Run a spider on a web; the feed has the items of this run alone."""
    (made.folder / "items.jsonl").unlink(missing_ok=True)
    return made.scrapy("crawl", spider, "-a", f"origin={web.web.origin(0)}", *words, **settings)


@pytest.fixture(scope="module", params=SPIDERS)
def both(request, shop, plain, serve):
    """The webs that were crawled without and with the add-on, the log of the second one's server, and what its crawl
    said.
    """
    webs = serve(hosts=2, pages=8, port=0), serve(hosts=2, pages=8, port=0)
    without = crawl(plain, request.param, webs[0])
    done = crawl(shop, request.param, webs[1])
    assert (without.status, done.status) == (0, 0), done.err
    return webs, webs[1].hits(), done


def lines(made, web):
    """The items without the port of the web, each once: Scrapy fetches a start URL again where a page links to it."""
    return {line.replace(f":{web.port}/", "/") for line in made.items()}


def test_the_items_are_the_same(both, shop, plain):
    items = lines(shop, both[0][1])

    assert items == lines(plain, both[0][0])
    assert len(items) == len(shop.items()) >= 3
    assert f"{len(items)} finished" == (shop.folder / "counted.txt").read_text()


def test_the_log_of_the_server_is_polite(both):
    _, hits, _ = both
    hosts = witness.by_key(hits, witness.host_of)

    assert not witness.violations(hits, owed, tolerance=MEASURING_ERROR)
    assert all(of_host[0].is_robots for of_host in hosts.values())
    assert all(sum(hit.is_robots for hit in of_host) == 1 for of_host in hosts.values())


def test_the_crawl_is_kept_and_the_command_says_where(both, shop):
    _, hits, done = both
    words = done.err.split()
    kept = Jobdir(shop.folder / words[words.index("kept") + 2])

    assert len(kept.log()) == len(hits)
    assert "To resume it: scrapy crawl" in done.err
    assert (kept.path / "report.html").stat().st_size


def test_a_stopped_crawl_goes_on(shop, serve):
    web = serve(hosts=1, pages=6)
    first = crawl(shop, "site", web, JOBDIR="stopped", CLOSESPIDER_PAGECOUNT=2)
    kept = Jobdir(shop.folder / "stopped")
    before, items = kept.fetched(), shop.items()
    again = crawl(shop, "site", web, JOBDIR="stopped")

    assert (first.status, again.status) == (0, 0), again.err
    start = f"{web.web.origin(0)}/"
    assert 2 <= len(before) < 6
    # As in Scrapy, start() runs again, and its requests are not filtered.
    assert kept.fetched() == {url: 1 + (url == start) for url in kept.fetched()}
    assert len(kept.fetched()) == len({*items, *shop.items()}) == 6


@pytest.mark.soak
def test_a_shared_crawl_needs_the_address_alone(shop, serve, redis_server):
    web = serve(hosts=1, pages=3)
    done = crawl(shop, "site", web, REDIS_URL=redis_server.url)

    assert done.status == 0, done.err
    assert "Beginning a crawl on Redis" in done.err
    assert len(shop.items()) == 3


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=1, pages=1)


@pytest.fixture
def written(shop):
    """Adds a line to the settings of the project, for one test."""
    settings = shop.settings.read_text()
    yield lambda line: shop.settings.write_text(f"{settings}{line}\n")
    shop.settings.write_text(settings)


OUTCOME = "webcrawl.downloadermiddlewares.outcome.OutcomeMiddleware"


@pytest.mark.parametrize(
    ("command", "line", "named"),
    [
        (
            "crawl",
            'SCHEDULER = "scrapy_redis.scheduler.Scheduler"',
            "SCHEDULER: must be webcrawl.scheduler.Scheduler or a subclass, not 'scrapy_redis.scheduler.Scheduler': "
            "it keeps the crawl polite; remove the line",
        ),
        (
            "runspider",
            'SCHEDULER = "scrapy_redis.scheduler.Scheduler"',
            "SCHEDULER: must be webcrawl.scheduler.Scheduler",
        ),
        (
            "crawl",
            'DOWNLOADER = "scrapy.core.downloader.Downloader"',
            "DOWNLOADER: must be webcrawl.engine.downloader",
        ),
        ("crawl", f'DOWNLOADER_MIDDLEWARES = {{"{OUTCOME}": None}}', f"the crawl needs {OUTCOME}"),
        ("crawl", 'POLITENESS_KEY = "nonsense"', "POLITENESS_KEY: must be"),
        ("runspider", 'POLITENESS_KEY = "nonsense"', "POLITENESS_KEY: must be"),
    ],
)
def test_what_contradicts_the_crawl_is_refused_in_one_line(
    shop, web, written, tmp_path, command, line, named
):
    written(line)
    before = len(web.hits())
    target = "site" if command == "crawl" else "shop/spiders/login.py"
    done = shop.scrapy(command, target, "-a", f"origin={web.web.origin(0)}", JOBDIR=tmp_path / "none")
    said = [line for line in done.err.splitlines() if line.startswith(f"scrapy {command}: ")]

    assert done.status == 2, done.err
    assert "Traceback" not in done.err
    assert len(said) == 1, done.err
    assert named in said[0]
    assert len(web.hits()) == before
    assert not (tmp_path / "none").exists()


def test_without_a_contact_the_sentence_says_what_to_write_into_the_settings(shop):
    spider = shop.folder / "shop/spiders/public.py"
    spider.write_text(
        "import scrapy\nclass Public(scrapy.Spider):\n"
        "    name = 'public'\n    start_urls = ['https://www.example.com/']\n"
    )
    done = shop.scrapy("crawl", "public")
    spider.unlink()

    assert done.status == 2
    assert 'CRAWLER_CONTACT = "you@your.site"' in done.err
    assert done.err.count("\n") == 1


def test_commands_for_one_page_send_what_the_crawl_sends_and_make_no_crawl(shop, web):
    page = f"{web.web.origin(0)}/x/echo?page"
    crawls = {*(shop.folder / "crawls").glob("*")}
    fetched = shop.scrapy("fetch", "--nolog", page)
    shown = shop.scrapy("shell", "--nolog", "-c", "response.status", page)
    parsed = shop.scrapy("parse", "--nolog", "--nocolour", "-c", "came", "--spider", "login", page)

    assert "X-Token" not in fetched.out
    assert "User-Agent: webcrawl/" in fetched.out
    assert (shown.status, shown.out) == (0, "200\n")
    assert "{'came': '', 'status': 200}" in parsed.out
    assert all("in scope" in done.err for done in (fetched, shown, parsed))
    assert {*(shop.folder / "crawls").glob("*")} == crawls


def test_feeds_may_have_the_formats_of_the_crawl(shop):
    done = shop.scrapy("crawl", "nosuch", "-O", "items.parquet")

    assert done.err == "scrapy crawl: nosuch: is no spider; there are login, site\n"


def test_commands_of_the_crawl_are_there_and_scrapys_own_work(shop):
    assert shop.scrapy("list").out == "login\nsite\n"
    listed = shop.scrapy().out
    assert "Run a spider, polite and resumable" in listed
    assert "  frontier " in listed
    assert shop.scrapy("settings", "--get", "DOWNLOAD_TIMEOUT").out == "180\n", "Scrapy's, without the add-on"


def test_a_project_without_the_line_keeps_scrapys_commands_and_is_told_of_the_others(plain, web):
    assert "Run a spider of the current project, by name" in plain.scrapy().out
    fetched = plain.scrapy("fetch", "--nolog", f"{web.web.origin(0)}/x/echo")
    report = plain.scrapy("report", "crawls/first")

    assert "User-Agent: Scrapy/" in fetched.out
    assert (report.status, report.out) == (2, "")
    assert report.err == (
        "scrapy report: the project in this folder does not use webcrawl; to use it, write into its settings.py: "
        'ADDONS = {"webcrawl.Addon": 100}\n'
    )


def test_outside_of_a_project_the_commands_that_read_crawls_work(both, shop, site, tmp_path):
    nowhere = project.Project(tmp_path, project.environment(ROOT, site))
    (kept,) = [path for path in (shop.folder / "crawls").iterdir() if path.name in both[2].err]
    audit = nowhere.scrapy("audit", str(kept), POLITENESS_KEY="host")
    crawled = nowhere.scrapy("crawl", "broad")

    assert audit.status == 0, audit.err
    assert crawled.status == 2
    assert "The crawl command is not available from this location." in crawled.out
    assert nowhere.scrapy("version").status == 0
