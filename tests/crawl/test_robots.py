"""robots.txt in every state and shape: it is asked for first, obeyed, and doubt means no."""

from __future__ import annotations

import socketserver
import threading
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.crawl import expectation
from tests.fakeweb import Placement, witness
from tests.fakeweb.ports import closed_port

ROWS = tomllib.loads((Path(__file__).parents[1] / "data/robots/states.toml").read_text("utf-8"))["row"]
PLAYS = [(row, name, options) for row in ROWS for name, options in row["plays"]]
SERVED = [play for play in PLAYS if play[1].startswith("robots-")]
ABSENT = {"refused": "connection-refused", "no-name": "dns", "no-answer-for-name": "dns", "no-tls": "tls"}
"""Ways for a host not to be there, and the word for each in the log."""


def host_of(name, options):
    """The host that plays this; the first one of the web is an ordinary host."""
    [number] = [
        number for number, (_, played, given) in enumerate(SERVED, 1) if (played, given) == (name, options)
    ]
    return f"h{number:04d}.test"


class Deaf(socketserver.BaseRequestHandler):
    """Answers everything with a line that is no TLS."""

    def handle(self):
        self.request.recv(1)
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.fixture(scope="module")
def no_tls():
    """The port of a server that speaks no TLS."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Deaf) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def web(serve):
    placements = tuple(
        Placement(name, hosts=(host_of(name, options),), options=options) for _, name, options in SERVED
    )
    count = len(SERVED) + 1
    return serve(
        hosts=count,
        pages=12 * count,
        zipf=0.1,
        same_host=1.0,
        placements=placements,
        suffix="test",
        dns=True,
        dns_failing=("no-answer-for-name.test",),
        tls=True,
    )


@pytest.fixture(scope="module")
def absent(web, no_tls):
    """The front pages of hosts that are not there, by the way in which they are not."""
    with closed_port() as refused:
        yield {
            "refused": f"http://refused.test:{refused}/",
            "no-name": f"http://no-name.elsewhere:{web.ports.http}/",
            "no-answer-for-name": f"http://no-answer-for-name.test:{web.ports.http}/",
            "no-tls": f"https://no-tls.test:{no_tls}/",
        }


@pytest.fixture(scope="module")
def crawled(web, absent, crawl, folder):
    exclusions = folder / "exclusions.txt"
    exclusions.write_text("excluded.test\n")
    return crawl(
        [*expectation.roots(web), *absent.values()],
        DNS_NAMESERVERS=web.nameserver,
        DOWNLOAD_TIMEOUT=2,
        FRONTIER_PATIENCE_SECONDS=0,
        EXCLUSION_FILE=exclusions,
        CRAWLER_CONTACT="crawl@owner.test",
    )


def named(play):
    return f"{play[1]} {play[2] or ''}"


def test_the_crawl_ends_well(crawled):
    crawled.assert_ended_well().assert_sound()


def test_every_outcome_of_the_table_is_played():
    assert all(row["plays"] for row in ROWS)
    assert {name for _, name, _ in PLAYS if not name.startswith("robots-")} == set(ABSENT)


@pytest.mark.parametrize("play", SERVED, ids=named)
def test_exactly_what_robots_txt_allows_is_fetched(web, crawled, play):
    """By the log of the server: every page that is allowed once, and no other."""
    row, host = play[0], host_of(*play[1:])
    expected = {url for url in expectation.depths(web, expectation.roots(web)) if f"//{host}:" in url}
    asked = [
        expectation.address(web, hit) for hit in web.hits() if hit.host == host and hit.path[:3] != "/x/"
    ]

    pages = [url for url in asked if not url.endswith("/robots.txt")]
    assert Counter(pages) == Counter(expected)
    if not row["fetched"] and "ends" not in row:
        assert pages == []


@pytest.mark.parametrize("play", PLAYS, ids=named)
def test_every_outcome_comes_to_the_state_of_the_table(web, absent, crawled, play):
    row, name, options = play
    origin = (
        absent[name].rstrip("/") if name in ABSENT else f"http://{host_of(name, options)}:{web.ports.http}"
    )
    told = [line for line in crawled.lines("robots") if line["origin"] == origin]
    assert told[-1]["robots"] == row.get("ends", row["state"])
    assert {line["robots"] for line in told[:-1]} <= {"pending"}
    if name in ABSENT:
        assert [line["error"] for line in told] == [ABSENT[name]]
        assert not [line for line in crawled.lines() if line["url"].startswith(origin)]


def test_no_page_is_asked_for_before_the_robots_txt_of_its_origin(web, crawled):
    cut = {host_of(name, {}) for name in ("robots-huge", "robots-endless")}
    hits = [hit for hit in web.hits() if hit.host not in cut and hit.path[:3] != "/x/"]

    assert witness.pages_before_robots(hits) == []


def test_robots_txt_is_asked_for_once_and_a_redirect_at_most_five_times(web, crawled):
    hits = web.hits()
    of_robots = Counter(hit.host for hit in hits if hit.is_robots)
    looping = host_of("robots-loop", {})

    assert of_robots.pop(looping) == 6
    assert set(of_robots.values()) == {1}
    assert not {hit.host for hit in hits} & {"excluded.test"}
    six = host_of("robots-redirect", {"hops": 6})
    assert sum(hit.host == six for hit in hits) == 6


def test_no_more_of_a_robots_txt_is_read_than_its_limit(web, crawled):
    for name in ("robots-huge", "robots-endless"):
        host = host_of(name, {})
        (line,) = [line for line in crawled.lines("robots") if f"//{host}:" in line["url"]]
        assert line["bytes"] == 512_000
        assert line["truncated"] == "length"


def test_robots_requests_are_logged_and_archived_like_pages(web, crawled):
    lines = crawled.lines("robots")
    archived = {record.url for record in crawled.records() if record.type == "response"}

    assert {line["url"] for line in lines if "status" in line} <= archived
    words = {line["error"] for line in lines if "error" in line}
    assert words == {"timeout", "reset", "protocol", "empty", *ABSENT.values()}


def test_each_scheme_and_port_of_a_host_has_a_robots_txt_of_its_own(serve, crawl):
    web = serve(hosts=1, pages=2, tls=True)
    other = serve(hosts=1, pages=2, placements=(Placement("robots-forbid", hosts=("h0000.localhost",)),))
    secure = f"https://h0000.localhost:{web.ports.https}/"
    crawl([*web.seeds, secure, *other.seeds]).assert_ended_well()

    asked = [(hit.scheme, hit.path) for hit in web.hits()]
    for scheme in ("http", "https"):
        of_scheme = [path for known, path in asked if known == scheme]
        assert of_scheme[0] == "/robots.txt"
        assert of_scheme.count("/robots.txt") == 1
        assert "/" in of_scheme
    assert [hit.path for hit in other.hits()] == ["/robots.txt"]
