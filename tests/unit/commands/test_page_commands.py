"""``shell``, ``fetch`` and ``parse`` look at a page as the crawl would, say its verdicts, and touch no
crawl.
"""

from __future__ import annotations

import os
import subprocess
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import pytest

from tests import forked
from tests.served import serving
from tests.unit.commands.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.server import ThreadingHTTPServer
    from pathlib import Path

pytestmark = pytest.mark.slow

PAGES = {
    "/robots.txt": "User-agent: webcrawl\nDisallow: /private\n",
    "/": '<title>Home</title><a href="/b.html">b</a>',
    "/private/": "<title>Private</title>",
}


class Site(BaseHTTPRequestHandler):
    """A page, a page that robots.txt forbids, and a redirect to it."""

    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers.get("User-Agent")))  # type: ignore[attr-defined]
        if self.path == "/old":
            self.send_response(301)
            self.send_header("Location", "/private/")
            body = b""
        else:
            self.send_response(200 if self.path in PAGES else 404)
            body = PAGES.get(self.path, "").encode()
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[ThreadingHTTPServer]:
    with serving(Site) as server:
        server.seen = []  # type: ignore[attr-defined]
        yield server


@pytest.fixture
def run(site: ThreadingHTTPServer, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command of the real project in an empty folder; ``SITE`` in an argument stands for the site."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "SCRAPY_SETTINGS_MODULE": "webcrawl.settings",
    }

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        origin = f"http://127.0.0.1:{site.server_port}"
        given = [argument.replace("SITE", origin) for argument in arguments]
        done = forked.run([*given, "-s", "LOG_LEVEL=WARNING"], tmp_path, environment)
        assert "Traceback" not in done.stderr, done.stderr.splitlines()[-1]
        assert list(tmp_path.iterdir()) == [], "no crawl's state is made"
        return done

    return command


def paths(site: ThreadingHTTPServer) -> list[str]:
    return [path for path, _ in site.seen]  # type: ignore[attr-defined]


def test_fetch_goes_out_under_the_crawls_name_and_says_its_verdicts(run: Any, site: Any) -> None:
    done = run("fetch", "SITE/", "-s", "CRAWLER_CONTACT=me@example.org")
    assert done.returncode == 0
    assert done.stdout == PAGES["/"] + "\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"http://127.0.0.1:{site.server_port}/: in scope; robots.txt ")
    assert paths(site) == ["/robots.txt", "/"]
    assert {agent for _, agent in site.seen} == {"webcrawl/0.1.0 (+me@example.org)"}


def test_what_robots_txt_forbids_is_not_fetched(run: Any, site: Any) -> None:
    done = run("fetch", "SITE/private/")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Disallow: /private" in done.stderr
    assert "--force fetches it all the same" in done.stderr
    assert paths(site) == ["/robots.txt"]


def test_a_person_may_insist(run: Any, site: Any) -> None:
    done = run("fetch", "--force", "SITE/private/")
    assert done.returncode == 0
    assert done.stdout == PAGES["/private/"] + "\n"
    assert "Disallow: /private" in done.stderr


def test_a_redirects_target_has_its_own_verdict(run: Any, site: Any) -> None:
    assert run("fetch", "SITE/old").returncode == 1
    assert paths(site) == ["/robots.txt", "/old"]


def test_doubt_about_robots_txt_means_no(run: Any) -> None:
    done = run("fetch", "http://127.0.0.1:1/")
    assert done.returncode == 1
    assert "robots.txt is unreachable" in done.stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("fetch example.org", "fetch: example.org: is no URL; write http://example.org"),
        (
            "view gopher+x://a",
            "view: gopher+x://a: is no URL; must begin with one of file://, http://, https://",
        ),
        (
            "parse http://a/ http://b/",
            "parse: http://b/: is one argument too many after http://a/; give one URL",
        ),
        ("shell --forse", "shell: --forse: is no option of this command; see scrapy shell -h"),
    ],
)
def test_a_wrong_url_is_named(run: Any, words: str, line: str) -> None:
    done = run(*words.split())
    assert (done.returncode, done.stderr) == (2, f"scrapy {line}\n")


def test_wrong_settings_are_named_here_too(run: Any) -> None:
    done = run("fetch", "SITE/", "-s", "POLITENESS_KEI=host")
    assert done.returncode == 2
    assert done.stderr == "scrapy fetch: POLITENESS_KEI: is not a setting; did you mean POLITENESS_KEY?\n"


def test_parse_shows_what_the_broad_spider_makes_of_a_page(run: Any) -> None:
    done = run("parse", "--nocolour", "SITE/")
    assert done.returncode == 0
    assert "'title': 'Home'" in done.stdout
    assert "/b.html" in done.stdout


def test_the_shell_has_no_response_where_the_crawl_would_have_none(run: Any, site: Any) -> None:
    done = run("shell", "-c", "response", "SITE/private/")
    assert done.stdout == "None\n"
    assert "not fetched" in done.stderr


def test_the_shell_takes_a_url_a_file_and_nothing_at_all(
    run: Any, tmp_path: Path, tmp_path_factory: Any
) -> None:
    page = tmp_path_factory.mktemp("page") / "page.html"
    page.write_text("<title>File</title>")
    assert run("shell", "-c", "response.status", "SITE/").stdout == "200\n"
    assert run("shell", "-c", "response.css('title::text').get()", str(page)).stdout == "File\n"
    assert run("shell", "-c", "1 + 1").stdout == "2\n"
