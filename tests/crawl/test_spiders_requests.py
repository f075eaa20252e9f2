"""A spider's own Requests mean what they mean in Scrapy: each spider here also runs in a project without this
crawler, and gets the same."""

from __future__ import annotations

import json
import signal
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.commands import own_process
from tests.crawl import expectation
from tests.crawl.ordinary.spiders.asked import Named
from tests.crawl.test_sitemaps import sitemap
from tests.fakeweb import Placement, witness

SETTINGS, PLAIN = "tests.crawl.ordinary.settings", "tests.crawl.ordinary.plain"


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=2, pages=2)


@pytest.fixture(scope="module")
def run(crawl, folder):
    """(crawl, items) of a spider, on this crawler or in plain Scrapy."""

    def one(spider, module=SETTINGS, *, arguments, **more):
        number = len(list(folder.glob("items-*")))
        path = folder / f"items-{number}.jsonl"
        if module == PLAIN:
            more["JOBDIR"] = None
        crawled = crawl(
            spider=spider, module=module, arguments=arguments, options=["-o", f"{path}:jsonlines"], **more
        )
        assert crawled.status == 0, crawled.stderr[-4000:]
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return crawled, sorted((json.loads(line) for line in lines), key=str)

    return one


def test_bodies_of_all_types_are_read_as_in_scrapy(web, run):
    arguments = {"origin": web.web.origin(0)}
    _, plain = run("bodies", PLAIN, arguments=arguments)
    crawled, ours = run("bodies", arguments=arguments)

    crawled.assert_ended_well()
    assert len(plain) == 7
    assert ours == plain
    assert crawled.figures().rules == {}


def test_links_of_pages_are_still_judged_by_extension_and_type(web, crawl):
    origin = web.web.origin(0)
    goal = f"{origin}/x/mime/linked.zip?type=application/zip"
    read, moved = f"{origin}/x/mime?type=application/json", f"{origin}/x/redirect-chain?hops=1&goal={goal}"
    crawled = crawl([read, moved])

    assert crawled.line(read)["bytes"] == 0
    assert moved in expectation.asked(web)
    assert goal not in expectation.asked(web)
    assert "extension 1" in " ".join(crawled.stderr.split())


def test_single_pages_are_shown_with_what_a_crawl_would_do(web, folder):
    url = f"{web.web.origin(0)}/x/mime/report.png?type=image/png"
    shown = own_process(folder, "fetch", "--nolog", url)

    assert f"{url}: in scope as a Request; links to it are refused (extension)" in shown.err
    assert "not for a link: image/png is not in MIME_TYPES_WANTED" in shown.err


@pytest.fixture(scope="module")
def private(serve):
    """A web that forbids /private/."""
    return serve(hosts=1, pages=1, placements=(Placement("robots-private", hosts=("h0000.localhost",)),))


@pytest.fixture(scope="module")
def dead():
    """The origin of a port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_errbacks_are_called_where_scrapy_calls_them(private, dead, run):
    arguments = {"origin": private.web.origin(0), "dead": dead}
    _, plain = run("errbacks", PLAIN, arguments=arguments, RETRY_TIMES=0)
    crawled, ours = run("errbacks", arguments=arguments, RETRY_TIMES=0)

    why = {
        item["failed"].removeprefix(arguments["origin"]): item["why"] for item in plain if "failed" in item
    }
    assert why == {
        "/private/start": "IgnoreRequest",
        "/private/page": "IgnoreRequest",
        "/x/status?code=404": "HttpError",
        f"{dead}/x/ok?dead": "DownloadConnectionRefusedError",
    }
    assert ours == plain
    crawled.assert_ended_well()
    assert crawled.assert_sound().rules == {"robots": 3, "connection-refused": 1}


def test_requests_that_only_this_crawler_refuses_reach_their_errback_too(web, run, folder):
    deny = folder / "deny.txt"
    deny.write_text("/denied\n")
    origin = web.web.origin(0)
    crawled, items = run("refusals", arguments={"origin": origin}, DENY_FILE=deny, REQUESTS_PER_KEY_MAX=4)

    crawled.assert_ended_well()
    assert {item["failed"]: item["rule"] for item in items if "failed" in item} == {
        "http://127.0.0.1:25/": "bad-port",
        f"{origin}/x/ok/denied": "deny",
        f"{origin}/x/ok?late": "requests-per-key",
    }
    assert len([item for item in items if "told" in item]) == 2
    assert crawled.assert_sound().queued == 0


def test_urls_of_a_dead_host_stay_queued_and_their_errbacks_are_called_at_the_end(private, dead, run):
    arguments = {"origin": private.web.origin(0), "dead": dead}
    first, items = run("errbacks", arguments=arguments, FRONTIER_PATIENCE_SECONDS=0)
    ended = [item["why"] for item in items if item.get("failed", "").startswith(dead)]
    queued = first.query("SELECT url FROM queue")
    _, again = run("errbacks", of=first, arguments=arguments, FRONTIER_PATIENCE_SECONDS=0)

    assert ended == ["DownloadConnectionRefusedError"]
    assert queued == [(f"{dead}/x/ok?dead",)]
    assert len([item for item in again if item.get("failed", "").startswith(dead)]) == 1


def test_errbacks_are_called_on_redis_too(private, dead, run, redis_server):
    arguments = {"origin": private.web.origin(0), "dead": dead}
    shared = {"FRONTIER_BACKEND": "redis", "REDIS_URL": redis_server.url, "FRONTIER_PATIENCE_SECONDS": 0}
    _, items = run("errbacks", arguments=arguments, **shared)

    assert sorted(item["why"] for item in items if "failed" in item) == [
        "DownloadConnectionRefusedError",
        "HttpError",
        "IgnoreRequest",
        "IgnoreRequest",
    ]


class Proxy(BaseHTTPRequestHandler):
    """A proxy that answers for every site itself; its server keeps what it was asked for."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers["Proxy-Authorization"]))
        moved = self.path.endswith("/robots.txt") and "elsewhere" not in self.path
        body = b"User-agent: *\nDisallow: /private\nSitemap: /sitemap.xml\n"
        self.send_response(301 if moved else 200)
        if moved:
            self.send_header("Location", "http://elsewhere.test/robots.txt")
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Print nothing."""


@pytest.fixture
def proxy():
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        server.asked = []
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_robots_txt_takes_the_proxy_of_its_page_and_so_do_its_redirects(proxy, run):
    crawled, items = run("proxied", arguments={"proxy": f"http://127.0.0.1:{proxy.server_port}"})

    crawled.assert_ended_well()
    assert [url for url, _ in proxy.asked[:2]] == [
        "http://site.test/robots.txt",
        "http://elsewhere.test/robots.txt",
    ]
    assert sorted(url for url, _ in proxy.asked[2:]) == ["http://site.test/one", "http://site.test/two"]
    assert {credentials for _, credentials in proxy.asked} == {"Basic bWU6aXQ="}
    assert [item["failed"] for item in items if "failed" in item] == ["http://site.test/private"]


def test_the_user_agent_of_a_spider_is_that_of_the_crawl(serve, run):
    web = serve(hosts=1, pages=1)
    _, plain = run("named", PLAIN, arguments={"origin": web.web.origin(0)})
    crawled, ours = run("named", arguments={"origin": web.web.origin(0)})

    assert [item["name"] for item in plain] == ["shopbot/2 (+https://shop.example/bot)", "own/1"]
    assert ours == plain
    assert Named.user_agent in (crawled.path / "runs.jsonl").read_text(encoding="utf-8")


def test_a_middleware_does_not_change_the_name_and_that_is_told_once(serve, run):
    web = serve(hosts=1, pages=1)
    ours = "tests.crawl.ordinary.middlewares."
    # The second comes after all of the crawler's own.
    added = json.dumps({f"{ours}RandomUserAgentMiddleware": 400, f"{ours}Disguising": 999})
    crawled, items = run("named", arguments={"origin": web.web.origin(0)}, DOWNLOADER_MIDDLEWARES=added)

    assert [item["name"] for item in items] == [Named.user_agent, "own/1"]
    assert crawled.stderr.count(f"{ours}RandomUserAgentMiddleware has no effect") == 1
    assert crawled.stderr.count("has set the User-Agent 'Mozilla/5.0 (disguised)'") == 1


def test_a_request_whose_url_a_middleware_changed_is_not_sent(serve, run):
    web = serve(hosts=1, pages=1)
    added = json.dumps({"tests.crawl.ordinary.middlewares.Moving": 999})
    crawled, items = run("named", arguments={"origin": web.web.origin(0)}, DOWNLOADER_MIDDLEWARES=added)

    assert items == []
    assert crawled.figures().rules == {"around-the-frontier": 2}
    assert {hit.path for hit in web.hits()} == {"/robots.txt"}


def test_items_are_in_their_file_before_their_page_is_done(serve, crawl, folder):
    web, path = serve(hosts=1, pages=1), folder / "killed.csv"
    first = f"{web.web.origin(0)}/x/echo?first"
    choices = {
        "spider": "killed",
        "module": SETTINGS,
        "arguments": {"origin": web.web.origin(0)},
        "options": ["-o", f"{path}:csv"],
    }
    crawled = crawl(**choices)

    assert crawled.status == -signal.SIGKILL
    assert path.read_text(encoding="utf-8").splitlines() == ["url", first]

    with path.open("a") as file:
        file.write('"an item\nof which ')
    resumed = crawl(of=crawled, **choices)
    assert f"{path} ended within an item when the crawl was killed: 18 bytes were cut off" in resumed.stderr
    assert path.read_text(encoding="utf-8").splitlines()[:2] == ["url", first]
    assert "an item" not in path.read_text(encoding="utf-8")


LISTED = ("/x/ok?one", "/x/ok?two")


@pytest.fixture(scope="module")
def mapped(serve):
    """A web whose robots.txt names a sitemap, and the URL of the latter."""
    path = sitemap("xml", *LISTED)
    part = Placement("robots-sitemap", hosts=("h0000.localhost",), options={"sitemaps": path})
    web = serve(hosts=1, pages=1, placements=(part,))
    return web, f"{web.web.origin(0)}{path}"


def test_meta_for_the_downloader_changes_nothing_and_a_resumed_crawl_starts_with_an_empty_state(mapped, run):
    web, feed = mapped
    origin, before = web.web.origin(0), len(web.hits())
    arguments = {"origin": origin}
    first, items = run("habits", arguments=arguments)
    hits = web.hits()[before:]
    _, again = run("habits", arguments=arguments, of=first)

    assert [item["failed"] for item in items if "failed" in item] == [f"{origin}/private/page"]
    assert {item["url"] for item in items if "url" in item} == {
        f"{origin}/x/ok?{name}" for name in ("start", "a", "b", "c")
    }
    # The site has one clock, whatever slots are named, and its sitemap is left alone.
    assert witness.most_open(hits) == 1
    assert feed.removeprefix(origin) not in {hit.path for hit in web.hits()[before:]}
    assert first.assert_sound().queued == 0
    # start() runs again, and what it gives alone is fetched again; nothing is left of the state.
    assert [item["url"] for item in again if "url" in item] == [f"{origin}/x/ok?start"]
    assert [item["state"] for item in (*items, *again) if "state" in item] == [{}, {}]


@pytest.mark.parametrize(("spider", "key"), [("mapped", "url"), ("nodes", "place")])
def test_spiders_for_sitemaps_and_feeds_are_those_of_scrapy(mapped, run, spider, key):
    web, feed = mapped
    arguments = {"origin": web.web.origin(0)} if spider == "mapped" else {"feed": feed}
    _, plain = run(spider, PLAIN, arguments=arguments)
    crawled, ours = run(spider, arguments=arguments)

    assert [item[key] for item in plain] == [f"{web.web.origin(0)}{path}" for path in LISTED]
    assert ours == plain
    crawled.assert_ended_well()


@pytest.mark.parametrize("is_named", [False, True])
def test_a_page_leads_to_no_scheme_that_the_project_does_not_name(web, run, folder, tmp_path, is_named):
    """The file of a start request is the developer's own wish."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    stored = tmp_path / "files"
    handlers = {"file": "scrapy.core.downloader.handlers.file.FileDownloadHandler"} if is_named else {}
    with socket.create_server(("127.0.0.1", 0)) as ftp:
        ftp.settimeout(0)
        arguments = {
            "origin": web.web.origin(0),
            "file": secret.as_uri(),
            "ftp": f"ftp://127.0.0.1:{ftp.getsockname()[1]}/",
        }
        more = {
            "FILES_STORE": stored,
            "ITEM_PIPELINES": json.dumps({"scrapy.pipelines.files.FilesPipeline": 1}),
            "DOWNLOAD_HANDLERS": json.dumps(handlers),
        }
        crawled, items = run("leading", arguments=arguments, **more)
        with pytest.raises(BlockingIOError):
            ftp.accept()
    crawled.assert_ended_well()
    found = [[value for value in item.values() if value != []] for item in items if "file_urls" not in item]
    refused = [["data:,text"], ["ftp", "scheme"]]
    if is_named:
        assert sorted(found) == sorted([*refused, ["secret"], [f"{secret.as_uri()}?found"]])
    else:
        assert sorted(found) == sorted([*refused, ["file", "scheme"], ["secret"]])
        assert not list(stored.rglob("*.txt"))
    assert "Traceback" not in crawled.stderr
