"""Packages that Scrapy's users love, in a project with the add-on: each crawls, and what it is for has happened."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from tests.commands import ROOT
from tests.crawl.crawling import Jobdir
from tests.install import project

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON = ROOT / ".venv/packages/bin/python"
"""The environment that ``make packages`` makes: what these packages need stays out of the one of the tests."""
SPIDERS = Path(__file__).parent / "spiders"
SETTINGS = """ADDONS = {"webcrawl.Addon": 100, "scrapy_poet.Addon": 300}
DOWNLOAD_DELAY = 0
POLITENESS_MIN_DELAY = 0
POLITENESS_FACTOR = 0
POLITENESS_KEY = "host"
FETCH_PRIVATE_ADDRESSES = True
FEEDS = {"items.jsonl": {"format": "jsonlines", "overwrite": True}}
"""


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter of that environment."""
    if not PYTHON.exists():
        pytest.skip("`make packages` has not installed the packages")
    return str(PYTHON)


@pytest.fixture(scope="module")
def shop(folder, python, site):
    """A new project with the spiders of this folder."""
    home = folder / "shop"
    home.mkdir()
    made = project.Project(home, project.environment(ROOT, site), python)
    command = [python, "-m", "scrapy", "startproject", "shop", str(home)]
    subprocess.run(command, cwd=home, env=made.environment, check=True, stdout=subprocess.DEVNULL)
    for spider in SPIDERS.glob("*.py"):
        (home / "shop/spiders" / spider.name).write_text(spider.read_text())
    with made.settings.open("a") as settings:
        settings.write(SETTINGS)
    return made


def crawl(shop, spider, folder, /, arguments=None, **settings):
    """Run a spider; return what the command said, the items and the JOBDIR."""
    (shop.folder / "items.jsonl").unlink(missing_ok=True)
    words = [word for name, value in (arguments or {}).items() for word in ("-a", f"{name}={value}")]
    done = shop.scrapy("crawl", spider, *words, JOBDIR=folder, **settings)
    assert done.status == 0, done.err
    return done, [json.loads(line) for line in shop.items()], Jobdir(shop.folder / folder)


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=1, pages=3, port=0)


@pytest.fixture(scope="module")
def origin(web):
    return {"origin": web.web.origin(0)}


def test_scrapy_user_agents_does_not_hide_the_crawler(shop, origin):
    _, [item], kept = crawl(shop, "agents", "agents", origin, CRAWLER_CONTACT="me@my.test")

    assert "User-Agent: webcrawl" in item["sent"]
    assert "me@my.test" in item["sent"]
    assert [line["kind"] for line in kept.log()] == ["robots", "page"]


def test_monitors_of_spidermon_read_items_and_statuses(shop, origin):
    done, items, _ = crawl(shop, "watched", "watched", origin)

    assert len(items) == 3
    assert "Items/There are items... OK" in done.err
    # Three pages of status 404 where one is allowed: it counts by Scrapy's statistics.
    assert "Unwanted HTTP codes monitor/Should not hit the limit of unwanted http status... FAIL" in " ".join(
        done.err.split()
    )


def test_page_objects_of_scrapy_poet_are_filled_and_their_client_keeps_the_turn_of_the_host(
    shop, origin, web
):
    before = len(web.hits())
    _, [item], kept = crawl(shop, "posed", "posed", origin)

    assert item["title"]
    assert "GET /x/echo?client" in item["other"]
    assert sorted(line["kind"] for line in kept.log())[-2:] == ["page", "robots"]
    hits = web.hits()[before:]
    assert [hit.path for hit in hits] == ["/robots.txt", "/", "/x/echo?client"]
    assert all(one.end <= other.start for one, other in pairwise(hits))


class Forwarding(BaseHTTPRequestHandler):
    """Answers a request for a whole URL with what the server of the URL answers."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        # Every name of the fake web is on loopback; systems differ in whether they know that.
        parts = urlsplit(self.path)
        there = parts._replace(netloc=f"127.0.0.1:{parts.port}").geturl()
        request = Request(there, headers={"Host": parts.netloc})
        with build_opener(ProxyHandler({})).open(request) as answer:
            body = answer.read()
        self.send_response(200)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def listening(handler) -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.asked = []
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_proxies_that_rotate_get_pages_and_robots_txt(shop, origin):
    with listening(Forwarding) as one, listening(Forwarding) as two:
        proxies = ",".join(f"http://127.0.0.1:{server.server_port}" for server in (one, two))
        _, items, kept = crawl(shop, "rotating", "rotating", origin, **{"+ROTATING_PROXY_LIST": proxies})

    assert len(items) == 3
    assert Counter(one.asked + two.asked) == Counter(line["url"] for line in kept.log())
    assert kept.log()[0]["kind"] == "robots"


class Drawing(BaseHTTPRequestHandler):
    """A page that is drawn by a script, which also loads an image of another host and leads to a private address."""

    def do_GET(self) -> None:
        host = self.headers["Host"]
        self.server.asked.append(f"{host}{self.path}")
        port = host.rpartition(":")[2]
        sources = (f"http://excluded.localhost:{port}/a.png", f"http://127.0.0.2:{port}/b.png", "/c.png")
        images = "".join(f"<img src={source}>" for source in sources)
        script = f"document.body.innerHTML = '<p id=drawn>drawn by a script</p>{images}'"
        body = f"<title>A page</title><body><script>{script}</script>".encode() if self.path == "/" else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


BROWSER = shutil.which("chromium")
OPTIONS = json.dumps({"executable_path": BROWSER, "args": ["--no-sandbox"]})
HANDLER = "webcrawl.fetching.playwright.PlaywrightDownloadHandler"
needs_browser = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on the PATH")


@needs_browser
def test_pages_that_playwright_draws_are_archived(shop):
    with listening(Drawing) as site:
        url = f"http://127.0.0.1:{site.server_port}/"
        _, [item], kept = crawl(shop, "drawn", "drawn", {"url": url}, PLAYWRIGHT_LAUNCH_OPTIONS=OPTIONS)

    assert item == {"drawn": "drawn by a script", "url": url}
    assert site.asked[0].endswith("/robots.txt")
    [page] = [record for record in kept.records() if record.url == url and record.type == "resource"]
    assert b"drawn by a script" in page.content


@needs_browser
def test_private_addresses_and_exclusions_hold_for_what_the_browser_loads(shop):
    (shop.folder / "excluded.txt").write_text("excluded.localhost\n")
    with listening(Drawing) as site:
        here = f"127.0.0.1:{site.server_port}"
        done, [item], _ = crawl(
            shop,
            "drawn",
            "guarded",
            {"url": f"http://{here}/"},
            DOWNLOAD_HANDLERS=json.dumps({"http": HANDLER, "https": HANDLER}),
            PLAYWRIGHT_LAUNCH_OPTIONS=OPTIONS,
            FETCH_PRIVATE_ADDRESSES="127.0.0.1/32",
            EXCLUSION_FILE="excluded.txt",
        )

    assert item["drawn"] == "drawn by a script"
    # The image of the page's own host came through the proxy; those of an excluded host and a private address not.
    assert {f"{here}/", f"{here}/c.png"} <= set(site.asked)
    assert {asked.partition(":")[0] for asked in site.asked} == {"127.0.0.1"}
    assert "The browser was not connected to excluded.localhost: it is covered by" in done.err
    assert "The browser was not connected to 127.0.0.2: " in done.err


def test_the_pipeline_of_scrapy_redis_gets_the_items_of_a_crawl_on_redis(shop, origin, redis_server):
    pipelines = json.dumps({"scrapy_redis.pipelines.RedisPipeline": 300})
    _, items, _ = crawl(
        shop,
        "watched",
        "piped",
        origin,
        ITEM_PIPELINES=pipelines,
        REDIS_URL=redis_server.url,
        WORKER_NAME="w",
    )

    pushed = [json.loads(item) for item in redis_server.call("LRANGE", "watched:items", 0, -1)]
    assert sorted(item["url"] for item in pushed) == sorted(item["url"] for item in items)
    assert len(pushed) == 3
