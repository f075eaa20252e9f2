"""robots.txt in every state and shape: it is asked for first, obeyed, and doubt means no."""

from __future__ import annotations

import socketserver
import threading
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.crawl import expectation
from tests.fakeweb import Placement, witness
from tests.fakeweb.ports import closed_port
from tests.rows import each_row

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
        pages=8 * count,
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
        DOWNLOAD_TIMEOUT=20,
        FRONTIER_PATIENCE_SECONDS=0,
        EXCLUSION_FILE=exclusions,
        CRAWLER_CONTACT="crawl@owner.test",
    )


@pytest.fixture(scope="module")
def hits(web, crawled):
    """Every request of the crawl, by the log of the server."""
    return web.hits()


@pytest.fixture(scope="module")
def pages_of(web):
    """The pages that may be fetched, by host."""
    pages = {}
    for url in expectation.depths(web, expectation.roots(web)):
        pages.setdefault(urlsplit(url).hostname, set()).add(url)
    return pages


@pytest.fixture(scope="module")
def lines_of(crawled):
    """The lines of fetch.jsonl about robots.txt, by origin."""
    lines = {}
    for line in crawled.lines("robots"):
        lines.setdefault(line["origin"], []).append(line)
    return lines


def named(play):
    return f"{play[1]} {play[2] or ''}"


def test_the_crawl_ends_well(crawled):
    crawled.assert_ended_well().assert_sound()


def test_every_outcome_of_the_table_is_played():
    assert all(row["plays"] for row in ROWS)
    assert {name for _, name, _ in PLAYS if not name.startswith("robots-")} == set(ABSENT)


@each_row("play", SERVED, ids=named)
def test_exactly_what_robots_txt_allows_is_fetched(web, hits, pages_of, play):
    """By the log of the server: every page that is allowed once, and no other."""
    row, host = play[0], host_of(*play[1:])
    asked = [expectation.address(web, hit) for hit in hits if hit.host == host and hit.path[:3] != "/x/"]

    pages = [url for url in asked if not url.endswith("/robots.txt")]
    assert Counter(pages) == Counter(pages_of.get(host, ()))
    if not row["fetched"] and "ends" not in row:
        assert pages == []


@each_row("play", PLAYS, ids=named)
def test_every_outcome_comes_to_the_state_of_the_table(web, absent, crawled, lines_of, play):
    row, name, options = play
    origin = (
        absent[name].rstrip("/") if name in ABSENT else f"http://{host_of(name, options)}:{web.ports.http}"
    )
    state = row.get("ends", row["state"])
    told = lines_of[origin]
    assert told[-1]["robots"] == state
    # What cannot be fetched is requested again as long as the crawl has other work.
    again = {"unreachable"} if state == "unreachable" else set()
    assert {line["robots"] for line in told[:-1]} <= {"pending"} | again
    if name in ABSENT:
        assert {line["error"] for line in told} == {ABSENT[name]}
        assert not [line for line in crawled.lines() if line["url"].startswith(origin)]


def test_no_page_is_asked_for_before_the_robots_txt_of_its_origin(hits):
    cut = {host_of(name, {}) for name in ("robots-huge", "robots-endless")}

    assert (
        witness.pages_before_robots([hit for hit in hits if hit.host not in cut and hit.path[:3] != "/x/"])
        == []
    )


def test_robots_txt_is_asked_for_once_and_a_redirect_at_most_five_times(hits):
    of_robots = Counter(hit.host for hit in hits if hit.is_robots)
    fetched = {
        host_of(*play[1:]) for play in SERVED if play[0].get("ends", play[0]["state"]) != "unreachable"
    }

    assert {of_robots[host] for host in fetched} == {1}
    assert not {hit.host for hit in hits} & {"excluded.test"}
    assert of_robots[host_of("robots-loop", {})] % 6 == 0
    six = host_of("robots-redirect", {"hops": 6})
    assert sum(hit.host == six for hit in hits) == 6 * of_robots[six]


def test_a_robots_txt_that_fails_is_asked_for_again_in_ever_longer_time(hits):
    looping = host_of("robots-loop", {})
    failing = {host_of(*play[1:]) for play in SERVED if play[0]["state"] == "unreachable"} - {looping}
    times = {
        host: sorted(hit.start_mono for hit in hits if hit.is_robots and hit.host == host) for host in failing
    }

    assert all(times.values())
    for host, starts in times.items():
        for number, (before, after) in enumerate(pairwise(starts)):
            assert after - before > 1.8 * 2**number, host
    assert len(times[host_of("robots-error", {"status": 429, "retry_after": "3600"})]) == 1


def test_no_more_of_a_robots_txt_is_read_than_its_limit(web, lines_of):
    for name in ("robots-huge", "robots-endless"):
        (line,) = lines_of[f"http://{host_of(name, {})}:{web.ports.http}"]
        assert line["bytes"] == 512_000
        assert line["truncated"] == "length"


def test_robots_requests_are_logged_and_archived_like_pages(crawled):
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
