"""Crawls over FTP and Gopher, and over a scheme whose handler stands in the docs: by the rules of the web."""

from __future__ import annotations

import json
import re
import ssl
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests import commands
from tests.crawl import crawling
from tests.crawl.auditing import audited
from tests.crawl.explaining import asking
from tests.fakeweb.tls import key_and_certificate
from tests.schemeservers.ftp import serve_ftp, serve_script
from tests.schemeservers.gopher import item, serve_gopher
from tests.served import serving, serving_folder

ON = json.dumps(
    {
        "ftp": "webcrawl.fetching.ftp.FtpDownloadHandler",
        "gopher": "webcrawl.fetching.gopher.GopherDownloadHandler",
    }
)
DELAY = 0.05
PAGE = Path(__file__).parents[2] / "docs/internals/add-a-scheme.md"


@pytest.fixture(scope="module")
def root(folder):
    root = folder / "root"
    (root / "pub" / "deep").mkdir(parents=True)
    (root / "private").mkdir()
    (root / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n")
    (root / "private" / "x.txt").write_text("secret")
    (root / "pub" / "a b.txt").write_text("text")
    (root / "pub" / "README").write_text("read me")
    (root / "pub" / "clip.mp4").write_bytes(b"film")
    (root / "pub" / "deep" / "page.html").write_text('<a href="../README">up</a><a href="/none">none</a>')
    (root / "pub" / "up").symlink_to("..")
    return root


@pytest.fixture(scope="module")
def ftp(root):
    with serve_ftp(root) as server:
        yield server


@pytest.fixture(scope="module")
def gopher(ftp):
    documents = {
        "": item("i", "hello", "") + item("1", "Folder", "/folder") + item("7", "search", "/search"),
        "/folder": item("0", "Text", "/text")
        + item("h", "FTP", f"URL:{ftp.url}pub/")
        + item("0", "gone", "/gone"),
        "/text": b"text\r\n.\r\n",
    }
    with serve_gopher(documents) as server:
        yield server


@pytest.fixture(scope="module")
def web(folder, ftp, gopher):
    site = folder / "site"
    site.mkdir()
    links = (
        f'<a href="{ftp.url}pub">files</a><a href="{gopher.url}">menu</a><a href="ftp://h.invalid/">other</a>'
    )
    (site / "index.html").write_text(links)
    with serving_folder(site) as origin:
        yield origin.replace("127.0.0.1", "localhost")


@pytest.fixture(scope="module")
def crawled(crawl, web):
    """A crawl that begins on the web; all three servers are one host."""
    done = crawl(
        [f"{web}/"],
        DOWNLOAD_HANDLERS=ON,
        EXTENSIONS_REFUSED="",
        POLITENESS_MIN_DELAY=DELAY,
        LINK_LOG_ENABLED=1,
        arguments={"domains": "localhost"},
    )
    return done.assert_ended_well()


def test_links_lead_there_and_on(crawled, ftp, gopher, web):
    assert crawled.statuses() == {
        f"{web}/": 200,
        f"{ftp.url}pub": 301,
        f"{ftp.url}pub/": 200,
        f"{ftp.url}pub/a%20b.txt": 200,
        f"{ftp.url}pub/README": 200,
        f"{ftp.url}pub/deep/": 200,
        f"{ftp.url}pub/deep/page.html": 200,
        f"{ftp.url}none": 404,
        # The server lists the symbolic link as a folder. The second time its listing is the same.
        f"{ftp.url}pub/up/": 200,
        f"{ftp.url}pub/up/robots.txt": 200,
        f"{ftp.url}pub/up/private/": 200,
        f"{ftp.url}pub/up/private/x.txt": 200,
        f"{ftp.url}pub/up/pub/": 200,
        gopher.url: 200,
        f"{gopher.url}1/folder": 200,
        f"{gopher.url}0/text": 200,
        f"{gopher.url}0/gone": 404,
    }
    assert max(crawled.fetched().values()) == 1
    assert crawled.figures().queued == 0


def test_one_clock_holds_for_all_of_them(crawled, ftp, gopher):
    assert {line["key"] for line in crawled.log()} == {"localhost"}
    assert ftp.most_open() == 1
    assert min(ftp.gaps()) >= DELAY
    assert ftp.named("QUIT")
    violations, totals = audited(crawled.path)
    assert violations == []
    assert totals.requests == len(crawled.log())


def test_robots_txt_is_asked_for_where_the_scheme_has_it(crawled, ftp, gopher, web):
    robots = {line["origin"]: (line["url"], line["robots"]) for line in crawled.lines("robots")}
    assert robots == {
        web: (f"{web}/robots.txt", "allowed_all"),
        ftp.url[:-1]: (f"{ftp.url}robots.txt", "rules"),
        gopher.url[:-1]: (f"{gopher.url}0/robots.txt", "allowed_all"),
    }


def test_the_archive_has_resource_records(crawled, ftp, gopher, capsys, monkeypatch):
    resources = {record.url: record for record in crawled.records() if record.type == "resource"}
    assert resources[f"{ftp.url}pub/a%20b.txt"].content == b"text"
    assert resources[f"{gopher.url}0/text"].content == b"text\r\n.\r\n"
    assert b"type=dir" in resources[f"{ftp.url}pub/"].content
    assert resources[f"{ftp.url}pub/"].headers["Content-Type"] == "text/ftp-dir"
    assert resources[f"{ftp.url}pub/"].headers["WARC-IP-Address"] == "127.0.0.1"
    line = crawled.line(f"{ftp.url}none")
    assert (line["status"], line["reply"], line["archived"]) == (404, "550", False)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "webcrawl.settings")
    checked = commands.in_process("archive", capsys)("check", str(crawled.path))
    assert checked.status == 0, checked


def test_a_crawl_without_handlers_follows_none(crawl, web, ftp, gopher):
    before = len(ftp.sessions), len(gopher.requests)
    done = crawl([f"{web}/"]).assert_ended_well()
    assert list(done.statuses()) == [f"{web}/"]
    assert (len(ftp.sessions), len(gopher.requests)) == before
    refused = crawl([ftp.url])
    assert refused.status == 2
    assert "does not begin with http:// or https://" in refused.stderr


def test_robots_txt_scope_and_exclusions_are_obeyed(crawl, folder, ftp):
    excluded = folder / "excluded.txt"
    excluded.write_text(f"{ftp.url}pub/deep/\n")
    done = crawl([ftp.url], DOWNLOAD_HANDLERS=ON, EXCLUSION_FILE=excluded, DEPTH_LIMIT=2).assert_ended_well()
    assert f"{ftp.url}private/" not in done.statuses()
    assert done.figures().rules["robots"] == 1
    assert f"{ftp.url}pub/README" in done.statuses()
    assert not [url for url in done.statuses() if "deep" in url]


def test_a_redirect_of_the_web_is_judged_by_scope(crawl, ftp):
    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404 if self.path == "/robots.txt" else 302)
            self.send_header("Location", f"{ftp.url}pub/README")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            """Nobody reads it."""

    with serving(Redirecting) as server:
        url = f"http://localhost:{server.server_port}/"
        followed = crawl([url], DOWNLOAD_HANDLERS=ON).assert_ended_well()
        refused = crawl([url]).assert_ended_well()
    assert followed.statuses() == {url: 302, f"{ftp.url}pub/README": 200}
    assert refused.statuses() == {url: 302}
    assert refused.figures().rules["redirect-target"] == 1


def test_a_shared_crawl_follows_them_too(crawl, ftp, redis_server):
    done = crawl(
        [f"{ftp.url}pub/"], DOWNLOAD_HANDLERS=ON, REDIS_URL=redis_server.url, DEPTH_LIMIT=1
    ).assert_ended_well()
    assert done.statuses()[f"{ftp.url}pub/README"] == 200
    assert audited(done.path)[0] == []


def test_explain_knows_the_schemes_of_the_crawl(monkeypatch, ftp):
    on = asking(monkeypatch, {"seeds": ftp.url}, DOWNLOAD_HANDLERS=ON)
    off = asking(monkeypatch, {})
    assert json.loads(on(f"{ftp.url}pub/x").as_json())["conclusion"]["fate"] == "would_be_queued"
    refused = json.loads(off(f"{ftp.url}pub/x").as_json())["conclusion"]
    assert (refused["fate"], refused["rule"]) == ("would_be_refused", "scheme")


def test_the_command_fetch(folder, ftp, gopher):
    settings = {"DOWNLOAD_HANDLERS": ON, "FETCH_PRIVATE_ADDRESSES": 1}
    done = commands.own_process(folder, "fetch", f"{ftp.url}pub/README", **settings)
    assert done.out == "read me\n"
    assert f"{ftp.url}pub/README: in scope" in done.err
    refused = commands.own_process(folder, "fetch", f"{ftp.url}private/x.txt", **settings)
    assert "secret" not in refused.out
    assert "line 2" in refused.err


def test_a_host_that_refuses_the_login_is_left_alone(crawl, root):
    with serve_ftp(root, users={"me": "secret"}, auth_failed_timeout=0) as ftp:
        urls = [f"{ftp.url}pub/{number}" for number in range(8)]
        settings = {"HEALTH_FAILURES_TO_PARK": 2, "FRONTIER_PATIENCE_SECONDS": 1, "CLOSESPIDER_TIMEOUT": 30}
        done = crawl(urls, DOWNLOAD_HANDLERS=ON, **settings)
    assert {line["error"] for line in done.log()} == {"login"}
    assert len(done.log()) <= 2
    assert done.figures().queued == len(urls)


def test_kill_and_resume_lose_nothing(start, folder):
    root = folder / "many"
    root.mkdir()
    for number in range(30):
        (root / f"{number}.txt").write_text(str(number))
    with serve_ftp(root) as ftp:
        crawl = start([ftp.url], DOWNLOAD_HANDLERS=ON, EXTENSIONS_REFUSED="", POLITENESS_MIN_DELAY=0.02)
        crawl.until_logged(10)
        crawl.kill()
        again = start(of=crawl, DOWNLOAD_HANDLERS=ON, EXTENSIONS_REFUSED="").wait().assert_ended_well()
        fetched = again.fetched()
    assert set(fetched) == {ftp.url, *(f"{ftp.url}{number}.txt" for number in range(30))}
    assert set(again.statuses().values()) == {200}
    # What was in flight is fetched again, and nothing else: one request at a time, and those that were not durable.
    assert ftp.most_open() == 1
    assert audited(again.path)[0] == []


def gemini(connection, context, port, asked):
    """A capsule of three pages and a redirect."""
    with context.wrap_socket(connection, server_side=True) as secure:
        url = secure.makefile("rb").readline().decode().rstrip("\r\n")
        asked.append(url)
        root = f"gemini://localhost:{port()}/"
        pages = {
            root: b"20 text/gemini\r\n# Home\n=> page A page\n=> /moved\n=>  gone  Gone \n=> mailto:a@b.example\n",
            f"{root}page": b"20 text/plain\r\n=> no-link",
            f"{root}moved": f"31 {root}page\r\n".encode(),
        }
        secure.sendall(pages.get(url, b"51 not found\r\n"))
        secure.unwrap()


def test_the_handler_in_the_docs_works_word_by_word(folder):
    section = PAGE.read_text(encoding="utf-8")
    code = re.search(r"```python\n(# gemini\.py\n.*?)```", section, re.DOTALL)[1]
    home = folder / "gemini"
    home.mkdir()
    (home / "gemini.py").write_text(code)
    setting = re.search(r"-s '(DOWNLOAD_HANDLERS)=(\{.*?\})'", section)
    (home / "server.pem").write_bytes(b"".join(key_and_certificate(["localhost"])))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(home / "server.pem")
    asked, ports, ready = [], [], threading.Event()

    def session(connection):
        ready.wait(120)
        gemini(connection, context, lambda: ports[0], asked)

    with serve_script(session) as port:
        ports.append(port)
        ready.set()
        root = f"gemini://localhost:{port}/"
        done = crawling.start(home, [root], **{setting[1]: setting[2]}).wait().assert_ended_well()
    assert done.statuses() == {root: 200, f"{root}page": 200, f"{root}moved": 302, f"{root}gone": 404}
    assert done.line(f"{root}gone")["reply"] == "51"
    assert asked[0] == f"{root}robots.txt"
    (resource,) = [
        record for record in done.records() if record.url == f"{root}page" and record.type == "resource"
    ]
    assert resource.content == b"=> no-link"
