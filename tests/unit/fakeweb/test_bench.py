"""The benchmark's pages have the promised size and links, and lead only to pages that exist."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser

from tests.fakeweb import BenchWeb, Ports, Request
from tests.fakeweb.bench import PAGE_BYTES

_LINK = re.compile(r"(?:http://(h\d{4}\.localhost):8080)?/p/(\d+)")


def _web() -> BenchWeb:
    web = BenchWeb(1, 1000, 100)
    web.bind(Ports(8080))
    return web


def _get(web: BenchWeb, host: str, path: str) -> tuple[int | None, bytes]:
    answer = web.answer(Request("GET", "http", host, path, "", b"", b"", 1))
    return answer.status, answer.wire.partition(b"\r\n\r\n")[2]


def test_pages_have_29_kilobytes_and_100_links_of_which_80_stay() -> None:
    web = _web()

    for number in range(32):
        status, body = _get(web, "h0123.localhost", f"/p/{number}")
        assert status == 200
        assert abs(len(body) - PAGE_BYTES) < 300
        hrefs = [node.attributes["href"] or "" for node in LexborHTMLParser(body).css("a")]
        links = [_LINK.fullmatch(href) for href in hrefs]
        assert len(links) == 100
        assert sum(link is not None and link[1] is None for link in links) == 80
        for link in links:
            assert link is not None
            assert _get(web, link[1] or "h0123.localhost", f"/p/{link[2]}")[0] == 200


def test_links_reach_evenly_over_hosts_and_pages() -> None:
    web = _web()
    pages = [_get(web, f"h{host:04d}.localhost", "/p/1")[1].decode() for host in range(200)]
    links = [link for page in pages for link in _LINK.findall(page)]

    assert len({host for host, _ in links}) > 950
    assert len({page for _, page in links}) == 100


def test_the_length_announced_is_the_length() -> None:
    wire = _web().page(3, 4)
    head, _, body = wire.partition(b"\r\n\r\n")

    assert head.endswith(b"Content-Length: %d" % len(body))


def test_pages_differ_and_stay_the_same() -> None:
    one, two = _web(), _web()

    assert one.page(1, 1) == two.page(1, 1)
    assert one.page(1, 1) != one.page(1, 2)
    assert one.page(1, 1) != one.page(2, 1)


def test_what_is_not_on_the_map_is_404_and_robots_txt_allows_all() -> None:
    web = _web()

    assert _get(web, "h0000.localhost", "/p/100")[0] == 404
    assert _get(web, "h0000.localhost", "/p/x")[0] == 404
    assert _get(web, "h1000.localhost", "/p/1")[0] == 404
    assert _get(web, "h0000.localhost", "/robots.txt") == (200, b"User-agent: *\nDisallow:\n")
    assert _get(web, "h0000.localhost", "/")[0] == 200


def test_so_many_links_as_asked_for_lead_to_pages_of_their_own_four_in_five_on_the_host() -> None:
    web = BenchWeb(1, 1000, 20, 10)
    web.bind(Ports(8080))
    met: set[tuple[str, str]] = set()

    for number in [0, 1, 2, 23, 2_000_000_019]:
        status, body = _get(web, "h0007.localhost", f"/p/{number}")
        assert status == 200
        links = _LINK.findall(body.decode())
        fresh = {(host, page) for host, page in links if int(page) >= 20}
        assert (len(links), len(fresh), sum(not host for host, _ in fresh)) == (100, 10, 8)
        assert not fresh & met
        met |= fresh
    assert _get(web, "h0007.localhost", "/p/2000000020")[0] == 404
