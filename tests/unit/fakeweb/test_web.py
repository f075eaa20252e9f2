"""A web is a function of its seed; a closed one is wholly reachable and known."""

from __future__ import annotations

import hashlib
import html
import os
import re
import subprocess
import sys
from collections import deque
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import ada_url
import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.fakeweb import Config, FakeWeb, Placement, Ports, Request, Web
from tests.fakeweb.behaviours import BEHAVIOURS
from tests.fakeweb.geography import Page
from tests.fakeweb.robots import ROBOTS
from tests.unit.fakeweb.wire import get

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakeweb import Fact, Site

    Start = Callable[[Site], FakeWeb]

_HREF = re.compile(r'<a href="([^"]*)"')
_REFRESH = re.compile(r"\d+; URL=(.*)")
_PRINT_DIGEST = """
import hashlib
from tests.fakeweb import Ports, Web
web = Web(7, 10, 100, dirty=True, charsets=True)
web.bind(Ports(8080))
print(hashlib.sha256(b"".join(web.html(page)[1] for page in web.pages())).hexdigest())
"""


def _crawl(web: Web, port: int) -> dict[str, int]:
    """Follow every link from the seeds and return the status of each URL."""
    seen = dict.fromkeys(web.seeds, 0)
    waiting = deque(web.seeds)
    while waiting:
        url = waiting.popleft()
        parts = urlsplit(url)
        target = parts._replace(scheme="", netloc="").geturl()
        status, _, body = get(port, target, parts.hostname or "")
        seen[url] = status
        for href in _HREF.findall(body.decode()):
            link = urljoin(url, html.unescape(href))
            if link not in seen:
                seen[link] = 0
                waiting.append(link)
    return seen


def test_a_simple_crawler_finds_exactly_the_pages_of_a_closed_web(start: Start) -> None:
    web = Web(3, 12, 200)
    server = start(web)

    found = _crawl(web, server.port)

    assert found == {url: fact.status for url, fact in web.truth().items()}
    assert sorted(found) == sorted(web.urls())
    assert len(found) == 200


def test_pages_that_misbehave_cut_nobody_off(start: Start) -> None:
    placements = [
        Placement("status", share=0.3, options={"code": 500}),
        Placement("redirect-missing", share=0.3),
    ]
    web = Web(3, 12, 200, placements=placements)
    server = start(web)

    found = _crawl(web, server.port)

    assert found == {url: fact.status for url, fact in web.truth().items()}
    assert 20 < sum(status == 500 for status in found.values()) < 90


@pytest.mark.slow
def test_a_web_is_the_same_in_another_process() -> None:
    web = Web(7, 10, 100, dirty=True, charsets=True)
    web.bind(Ports(8080))
    here = hashlib.sha256(b"".join(web.html(page)[1] for page in web.pages())).hexdigest()
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}

    there = subprocess.run(
        [sys.executable, "-c", _PRINT_DIGEST], env=environment, capture_output=True, text=True, check=True
    )

    assert there.stdout.strip() == here


def test_a_web_is_the_same_in_every_python_and_on_every_machine() -> None:
    web = Web(7, 10, 100, dirty=True, charsets=True)
    web.bind(Ports(8080))
    everything = "\n".join(f"{fact.url} {fact.size}" for fact in web.truth().values())

    assert hashlib.sha256(everything.encode()).hexdigest()[:16] == "b503883407ab125b"


def test_another_seed_is_another_web() -> None:
    assert set(Web(1, 5, 50).urls()) != set(Web(2, 5, 50).urls())


def _resolved_links(url: str, mime: str, body: bytes) -> set[str]:
    """Return the links of a page as a browser resolves them."""
    tree = LexborHTMLParser(_decoded(mime, body))
    base_node = tree.css_first("base[href]")
    base = ada_url.join_url(url, base_node.attributes["href"] or "") if base_node else url
    hrefs = [node.attributes["href"] for node in tree.css("a[href], area[href]")]
    hrefs += [node.attributes["src"] for node in tree.css("iframe[src]")]
    for node in tree.css("meta[http-equiv=refresh i]"):
        refresh = _REFRESH.fullmatch(node.attributes["content"] or "")
        hrefs.append(refresh[1] if refresh else None)
    links = set()
    for href in hrefs:
        try:
            link = ada_url.URL(href or "", base=base)
        except ValueError:
            continue
        link.hash = ""
        links.add(link.href)
    return links


def _decoded(mime: str, body: bytes) -> str:
    if body.startswith(b"\xff\xfe"):
        return body.decode("utf-16")
    declared = re.search(rb'charset="?([\w-]+)', mime.encode() + body[:200])
    assert declared is not None
    return body.decode(declared[1].decode())


def test_dirty_links_lead_exactly_where_they_should() -> None:
    web = Web(5, 8, 300, dirty=True, charsets=True)
    web.bind(Ports(8080))

    for page in web.pages():
        url = web.url(page)
        links = _resolved_links(url, *web.html(page))
        wanted = {link.origin + link.path for link in web.links(page)}
        assert wanted <= links
        assert all(not link.startswith("http") or link.partition("#")[0] == url for link in links - wanted)


def test_dirty_pages_show_every_kind_of_dirt() -> None:
    web = Web(5, 8, 300, dirty=True, charsets=True)
    web.bind(Ports(8080))
    pages = [web.html(page) for page in web.pages()]
    text = "".join(_decoded(mime, body) for mime, body in pages)

    kinds = [
        "<base",
        'href="\\',
        "HTTP://",
        "café ",
        "<area",
        "<iframe",
        "Refresh",
        "href= '",
        "HREF=",
        "%2e%2E",
    ]
    assert [kind for kind in kinds if kind.lower() not in text.lower()] == ["href= '"]
    assert "href = '" in text
    assert len({mime for mime, _ in pages}) > 3


def _request(host: str, path: str) -> Request:
    return Request("GET", "http", host, path, "", b"", b"", 1)


def test_an_endless_web_always_has_further_pages() -> None:
    web = Web(1, 5, None)
    url = web.seeds[0]

    for _ in range(50):
        parts = urlsplit(url)
        target = parts._replace(scheme="", netloc="").geturl()
        answer = web.answer(_request(parts.hostname or "", target))
        assert answer.status == 200
        url = urljoin(url, html.unescape(_HREF.findall(answer.wire.decode())[-1]))


def test_most_links_stay_on_their_host() -> None:
    web = Web(1, 50, None, links=100)
    pages = [link for number in range(100) for link in web.geography.targets(Page(0, number))]

    inside = sum(page.host == 0 for page in pages) / len(pages)

    assert 0.8 < inside < 0.88


def test_only_the_exact_path_is_a_page() -> None:
    web = Web(1, 3, 60)
    host = web.hosts[0]
    path = web.geography.path(Page(0, 5))

    assert web.answer(_request(host, path)).status == 200
    assert web.answer(_request(host, path + "/x")).status == 404
    assert web.answer(_request(host, path.replace("5", "9999"))).status == 404
    assert web.answer(_request("nobody.localhost", path)).status == 421


def _by_robots(facts: dict[str, Fact]) -> dict[str, set[bool]]:
    verdicts: dict[str, set[bool]] = {}
    for fact in facts.values():
        verdicts.setdefault(fact.robots, set()).add(fact.forbidden)
    return verdicts


def test_the_truth_knows_what_robots_txt_forbids() -> None:
    hosts = Web(1, 30, 900).hosts
    web = Web(
        1,
        30,
        900,
        placements=[
            Placement("robots-private", hosts=(hosts[0],)),
            Placement("robots-error", hosts=(hosts[20],)),
            Placement("robots-redirect", hosts=(hosts[21],), options={"hops": 5}),
            Placement("robots-redirect", hosts=(hosts[22],), options={"hops": 6}),
        ],
    )
    facts = web.truth()

    verdicts = _by_robots(facts)
    assert verdicts["robots-allow"] == {False}
    assert verdicts["robots-error"] == {True}
    assert verdicts["robots-private"] == {True, False}
    assert not facts[f"http://{hosts[21]}:80/"].forbidden
    assert facts[f"http://{hosts[22]}:80/"].forbidden
    private = [fact for fact in facts.values() if "/private/" in fact.url and fact.host == hosts[0]]
    assert private
    assert all(fact.forbidden for fact in private)


def test_robots_behaviours_by_share_leave_a_way_to_every_host() -> None:
    web = Web(1, 40, 400, placements=[Placement("robots-forbid", share=1.0)])

    open_hosts = [host for host in range(40) if web.robots_part(host).behaviour == "robots-allow"]

    assert open_hosts == [0, 1, 2, 3, 4]


def test_an_unknown_behaviour_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no behaviour is called 'typo'"):
        Web(placements=[Placement("typo", share=0.1)])


def test_paths_and_hosts_place_a_behaviour_exactly() -> None:
    hosts = Web(1, 3, 100).hosts
    web = Web(1, 3, 100, placements=[Placement("drip", hosts=(hosts[1],), paths=("/news/",))])

    playing = [fact for fact in web.truth().values() if fact.behaviour == "drip"]

    assert playing
    assert all(fact.url.startswith(f"http://{hosts[1]}:80/news/") for fact in playing)


def test_https_hosts_are_named_by_https_urls_and_redirect_http() -> None:
    web = Web(1, 20, 100, https=0.5, tls=True)
    web.bind(Ports(8080, https=8443))
    secure = next(url for url in web.urls() if url.startswith("https://"))
    host = urlsplit(secure).hostname or ""

    answer = web.answer(_request(host, "/robots.txt"))

    assert answer.status == 301
    assert f"Location: https://{host}:8443/robots.txt\r\n".encode() in answer.wire


def test_dead_hosts_are_linked_to_and_known() -> None:
    web = Web(1, 5, 50, dead=("dead-port", "dead-silent", "dead-tls", "dead-name"))
    web.bind(Ports(8080, closed=9, silent=10))

    dead = {fact.url: fact.behaviour for fact in web.truth().values() if fact.status is None}

    assert dead["http://dead-port0.localhost:9/0.html"] == "dead-port"
    assert dead["https://dead-tls1.localhost:8080/2.html"] == "dead-tls"
    assert len(dead) == 4 * 2 * 3
    linked = {link.origin + link.path for page in web.pages() for link in web.links(page)}
    assert set(dead) <= linked
    assert not set(dead) & set(web.urls())


def test_a_configuration_survives_json() -> None:
    config = Config(
        pages=None,
        placements=(Placement("drip", 0.1, ("a",), ("/b",), {"seconds": 0.5}),),
        dead=("dead-port",),
        dns_failing=("bad.test",),
    )

    assert Config.from_json(config.to_json()) == config


def test_every_behaviour_says_in_a_line_what_it_does() -> None:
    for shown in [*BEHAVIOURS.values(), *ROBOTS.values()]:
        assert shown.about.endswith("."), shown.name
