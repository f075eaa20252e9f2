"""Packages that Scrapy's users love, in a project with the add-on: each crawls, and what it is for has happened."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from time import monotonic
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
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_proxies_that_rotate_get_pages_and_robots_txt(shop, origin):
    with listening(Forwarding) as one, listening(Forwarding) as two:
        proxies = ",".join(f"http://127.0.0.1:{server.server_port}" for server in (one, two))
        _, items, kept = crawl(shop, "rotating", "rotating", origin, **{"+ROTATING_PROXY_LIST": proxies})

    assert len(items) == 3
    assert Counter(one.asked + two.asked) == Counter(line["url"] for line in kept.log())
    assert kept.log()[0]["kind"] == "robots"


DRAWN_BY_SCRIPT = """
const port = location.port;
for (const host of ["excluded.localhost", "127.0.0.2"]) {
  const script = document.createElement("script");
  script.src = `http://${host}:${port}/other.js`;
  document.head.append(script);
}
document.body.append(new Image());
document.body.lastChild.src = "/c.png";
new WebSocket(`ws://${location.host}/socket`);
fetch("/data.json").then(answer => answer.json()).then(data => {
  document.body.innerHTML = `<p id=drawn>${data.text}</p>`;
});
"""
LEADS = "<body><p id=drawn>stayed</p><script>location = '{}'</script>"
SITES = {
    "127.0.0.1": {
        "/robots.txt": "User-agent: *\nDisallow: /secret",
        "/page": "<body><script src=/secret.js></script><script src=/never.js></script><script src=/app.js></script>",
        "/app.js": DRAWN_BY_SCRIPT,
        "/data.json": '{"text": "drawn by a script"}',
        "/leads": LEADS.format("/target"),
        "/leads-to-secret": LEADS.format("/secret"),
        "/target": "<body><p id=drawn>the target</p>",
        "/refresh": "<meta http-equiv=refresh content='0; url=/refreshed'>",
        "/refreshed": "<body><p id=drawn>refreshed</p>",
        "/endless": "<body><script>for (;;);</script>",
        "/many": """<body><script>
Promise.allSettled(Array.from({length: 8}, (_, number) => fetch(`/part.json?${number}`))).then(parts => {
  const came = parts.filter(part => part.status == "fulfilled").length;
  document.body.innerHTML = `<p id=drawn>${came} of ${parts.length}</p>`;
});
</script>""",
        "/part.json": "{}",
        "/kept": "<body><p id=drawn>kept</p>",
        "/later.json": '{"text": "as a callback wanted"}',
        "/elsewhere": """<body><script>
for (const name of ["first", "second"]) {
  const script = document.createElement("script");
  script.async = false;
  script.src = `http://localhost:${location.port}/${name}.js`;
  document.body.append(script);
}
</script>""",
    },
    "localhost": {
        "/robots.txt": "User-agent: *\nCrawl-delay: 1",
        "/first.js": "const drawn = 'drawn by another host', next = `http://localhost:${location.port}/next`;",
        "/second.js": "document.body.innerHTML = `<p id=drawn>${drawn}</p><a id=next href=${next}>next</a>`;",
        "/next": "<body><p id=drawn>next</p>",
    },
}
EMBEDS_MAX = 6
"""As many as /page asks for."""
CRAWL_DELAY, MEASURING_ERROR = 1.0, 0.005
MOVED = {"/moved": "/page"}
NEVER = "/never.js"


class Drawing(BaseHTTPRequestHandler):
    """A site whose pages are drawn by scripts, and lead to places where a crawl must not go."""

    def do_GET(self) -> None:
        begun = monotonic()
        path = self.path.partition("?")[0]
        host = self.headers["Host"].partition(":")[0]
        self.server.asked.append(f"http://{self.headers['Host']}{path}")
        if path == NEVER:
            self.server.over.wait(60)
            return
        body, to = SITES.get(host, {}).get(path, "").encode(), MOVED.get(path)
        self.send_response(302 if to else 200 if body else 404)
        kind = {"js": "text/javascript", "json": "application/json", "txt": "text/plain"}
        self.send_header("Content-Type", kind.get(path.rpartition(".")[2], "text/html"))
        self.send_header("Content-Length", str(len(body)))
        if to:
            self.send_header("Location", to)
        # Before the last byte is sent: afterwards the next request may begin at any time.
        self.server.turns.append((host, begun, monotonic()))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


BROWSER = shutil.which("chromium")
OPTIONS = json.dumps({"executable_path": BROWSER, "args": ["--no-sandbox"]})


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on the PATH")
def test_what_playwright_loads_is_fetched_by_the_crawl_and_archived(shop):
    """One browser for all: the handler is named as in scrapy-playwright's README, and the add-on replaces it."""
    (shop.folder / "excluded.txt").write_text("excluded.localhost\n")
    with listening(Drawing) as site:
        site.over, site.turns = Event(), []
        origins = {host: f"http://{host}:{site.server_port}" for host in SITES}
        here, there = origins.values()
        pages = ["endless", "moved", "leads", "leads-to-secret", "refresh", "many", "kept", "elsewhere"]
        done, items, kept = crawl(
            shop,
            "drawn",
            "drawn",
            {"urls": ",".join(f"{here}/{page}" for page in pages)},
            PLAYWRIGHT_LAUNCH_OPTIONS=OPTIONS,
            # A tab that is not closed keeps all other pages waiting.
            PLAYWRIGHT_MAX_PAGES_PER_CONTEXT=1,
            BROWSER_EMBEDS_MAX=EMBEDS_MAX,
            FETCH_PRIVATE_ADDRESSES="127.0.0.1/32",
            EXCLUSION_FILE="excluded.txt",
            DOWNLOAD_TIMEOUT=3,
            RETRY_TIMES=0,
        )
        site.over.set()

    assert sorted(items, key=lambda item: item["url"]) == [
        {"drawn": "drawn by another host", "url": f"{here}/elsewhere"},
        {"failed": "DownloadTimeoutError", "url": f"{here}/endless"},
        {"drawn": "kept", "later": "as a callback wanted", "url": f"{here}/kept"},
        {"failed": "Refused", "url": f"{here}/leads-to-secret"},
        {"drawn": f"{EMBEDS_MAX} of 8", "url": f"{here}/many"},
        {"drawn": "drawn by a script", "url": f"{here}/page"},
        {"drawn": "refreshed", "url": f"{here}/refreshed"},
        {"drawn": "the target", "url": f"{here}/target"},
        {"drawn": "next", "url": f"{there}/next"},
    ]
    # Nothing of other hosts, of what robots.txt forbids, or of a type that was not wanted.
    expected = Counter(f"{origins[host]}{path}" for host, paths in SITES.items() for path in paths)
    expected += Counter(f"{here}{path}" for path in (*MOVED, NEVER))
    expected[f"{here}/part.json"] = EMBEDS_MAX
    assert Counter(site.asked) == expected
    # The turns of a host, by the clock of the server: one request at a time, and pauses also around embeds.
    for host, delay in (("127.0.0.1", 0.0), ("localhost", CRAWL_DELAY - MEASURING_ERROR)):
        turns = sorted((begun, ended) for name, begun, ended in site.turns if name == host)
        assert all(one[1] + delay <= other[0] for one, other in pairwise(turns)), turns
    # The other host had no page before: its robots.txt is asked for since a page embeds something of it.
    of_other = [url.removeprefix(there) for url in site.asked if url.startswith(there)]
    assert (of_other[0], of_other[-1]) == ("/robots.txt", "/next")
    archived = {record.url.partition("?")[0] for record in kept.records() if record.type == "response"}
    assert archived == expected.keys() - {f"{here}{NEVER}"}
    kinds = {line["url"]: line["kind"] for line in kept.log()}
    assert (kinds[f"{here}/refresh"], kinds[f"{here}/refreshed"]) == ("page", "inline")
    counted = dict(re.findall(r"'browser/([^']+)': (\d+)", done.err))
    assert counted.items() >= {"refused/robots": "2", "refused/exclusion": "1", "refused/type": "1"}.items()
    assert counted.items() >= {"refused/private-address": "1", "refused/limit": "2", "failed": "1"}.items()


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
