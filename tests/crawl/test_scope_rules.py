"""A link for each rule of scope, and a redirect to the same place: where they lead, by the servers' logs.

``scrapy explain`` names the rule for each of them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.crawl.explaining import asking
from webcrawl.errors import CrawlError
from webcrawl.explain.account import Fate

CASES = json.loads((Path(__file__).parents[1] / "data" / "scope_links.json").read_text())
START, EXCLUDED = "h0000.localhost", "h0002.localhost"
KNOWN = ("h0001.localhost", EXCLUDED, "h0004.localhost")
"""Hosts that are named as seeds, and may so be contacted on loopback. The others may not."""


URL_OF_A_SERVER = re.compile(r"(?:https?|ftp)://")
"""Others are no URLs that a crawl could have known."""


@pytest.fixture(scope="module")
def other(serve):
    """A server at another port."""
    return serve(hosts=2, pages=2)


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=5, pages=5)


@pytest.fixture(scope="module")
def links(web, other):
    """URLs, as links have them, each with the rule that refuses it."""
    values = {"port": str(web.port), "other": str(other.port), "long": "x" * 300}

    def filled(link):
        written = re.sub(r"\{(\w+)\}", lambda name: values[name[1]], link)
        return f"http:{written}" if written.startswith("//") else written

    return {filled(link): case["rule"] for case in CASES for link in case["links"]}


@pytest.fixture(scope="module")
def choices(web, links, folder):
    """Arguments and settings of the crawl."""
    files = {
        "EXCLUSION_FILE": f"{EXCLUDED}  # asked by mail\nhttp://h0001.localhost:{web.port}/x/ok/excluded/\n",
        "DENY_FILE": "[?&]denied=\n",
        "ALLOW_FILE": "^https?://[^/]+/(?:x|latest)\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    settings = {name: folder / name for name in files}
    settings |= {
        "FETCH_PRIVATE_ADDRESSES": 0,
        "PORTS_ALLOWED": str(web.port),
        "TOP_LEVEL_DOMAINS": "localhost",
        "PATH_SEGMENTS_MAX": 7,
        "PATH_REPEATS_MAX": 3,
        "URLLENGTH_LIMIT": 200,
    }
    origin = web.web.origin(0)
    pages = [f"{origin}/x/links?to={quote(link, safe='')}" for link in links]
    moved = [f"{origin}/x/redirect-chain?hops=1&goal={quote(link, safe='')}" for link in links]
    hosts = [f"http://{host}:{web.port}/x/empty" for host in KNOWN]
    arguments = {"allow": r"\?(?!neither)", "seeds": ",".join([*pages, *moved, *hosts])}
    return arguments, settings


@pytest.fixture(scope="module")
def crawled(choices, crawl):
    arguments, settings = choices
    return crawl(arguments=arguments, **settings).assert_ended_well()


def test_the_servers_saw_what_is_in_scope_and_nothing_else(web, other, links, crawled):
    crawled.assert_sound()
    asked = Counter((hit.host, hit.path) for hit in web.hits() if hit.host != START)
    good = {link.partition("#")[0] for link, rule in links.items() if rule is None}
    expected = {tuple(link.split(f":{web.port}"))[:2] for link in good}
    expected = {(host.removeprefix("http://"), path) for host, path in expected}
    for host in KNOWN:
        expected |= {(host, "/robots.txt"), (host, "/x/empty")} if host != EXCLUDED else set()
    assert asked == Counter(expected)
    assert other.hits() == []
    # A request into the machine would have been seen.
    with closing(HTTPConnection("127.0.0.1", web.port, timeout=30)) as connection:
        connection.request("GET", "/x/ok?inside")
        connection.getresponse().read()
    assert web.hits()[-1].host == "127.0.0.1"


def test_explain_names_the_rule_of_each_of_them(links, choices, crawled, monkeypatch):
    arguments, given = choices
    ask = asking(monkeypatch, arguments, **given, JOBDIR=crawled.path)
    told = {}
    for link, rule in links.items():
        if not URL_OF_A_SERVER.match(link):
            with pytest.raises(CrawlError, match="does not begin with http"):
                ask(link).answer()
            continue
        explanation, _ = ask(link).answer()
        decided = explanation.scoping.decided_by
        told[link] = None if decided is None else decided.rule
        assert explanation.conclusion.fate is (Fate.DONE if rule is None else Fate.WOULD_BE_REFUSED)
    assert told == {link: rule for link, rule in links.items() if URL_OF_A_SERVER.match(link)}
