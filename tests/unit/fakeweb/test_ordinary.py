"""The web that looks like the real one has the figures that it says."""

from __future__ import annotations

import gzip
import statistics

import brotli

from tests.fakeweb.answer import Answer, Pause, Request
from tests.fakeweb.ordinary import MEDIAN_BYTES, OLD_ADDRESS, OrdinaryWeb, OrdinaryZone
from tests.fakeweb.ports import Ports

WEB = OrdinaryWeb(hosts=1_000_000)
WEB.bind(Ports(http=8001, https=8002))
SAMPLE = range(0, 1_000_000, 101)


def ask(host: str, path: str, scheme: str = "https", accepted: str = "gzip, br") -> Answer:
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: {accepted}".encode()
    return WEB.answer(Request("GET", scheme, host, path, "", head, b"", 1))


def wire(answer: Answer) -> bytes:
    return b"".join(step for step in answer.steps if isinstance(step, bytes))


def test_sizes_hosts_and_robots_files_are_as_stated() -> None:
    sizes = [WEB._size(number, 0) for number in SAMPLE]
    assert abs(statistics.mean(sizes) - 242_000) < 12_000
    assert abs(statistics.median(sizes) - MEDIAN_BYTES) < 5_000
    assert 0.45 < statistics.mean(WEB.pages(number) == 1 for number in SAMPLE[1:]) < 0.55
    assert 0.09 < statistics.mean(WEB.redirects(number) for number in SAMPLE) < 0.11
    assert 0.13 < statistics.mean(WEB.is_old(number) for number in SAMPLE) < 0.16
    statuses = [ask(f"www.{WEB.name(number)}", "/robots.txt").status for number in SAMPLE]
    assert dict.fromkeys(statuses, 0) == dict.fromkeys([200, 404, 403, 503, None], 0)
    assert 0.83 < statuses.count(200) / len(statuses) < 0.87


def test_a_page_has_the_size_that_was_drawn_and_the_same_bytes_each_time() -> None:
    for number in (1, 2, 30_000):
        body = WEB.body(number, 0)
        assert body == WEB.body(number, 0)
        assert abs(len(body) - WEB._size(number, 0)) < 100
        assert body.count(b"<a ") >= 10


def test_codings_are_those_that_the_client_accepts() -> None:
    decode = {b"gzip": gzip.decompress, b"br": brotli.decompress}
    seen = set()
    for number in range(2, 40):
        if WEB.redirects(number):
            continue
        for accepted in ("gzip, br", "identity"):
            head, _, body = wire(ask(WEB.name(number), "/", accepted=accepted)).partition(b"\r\n\r\n")
            coding = head.partition(b"Content-Encoding: ")[2].partition(b"\r\n")[0]
            seen.add((accepted, coding))
            assert decode.get(coding, bytes)(body) == WEB.body(number, 0)
    assert seen == {("gzip, br", b"gzip"), ("gzip, br", b"br"), ("gzip, br", b""), ("identity", b"")}


def test_some_hosts_lead_from_http_to_https_to_www() -> None:
    number = next(filter(WEB.redirects, range(1, 100)))
    name = WEB.name(number)
    assert f"Location: https://{name}:8002/\r\n".encode() in wire(ask(name, "/", "http"))
    assert f"Location: https://www.{name}:8002/\r\n".encode() in wire(ask(name, "/"))
    assert ask(f"www.{name}", "/").status == 200
    assert WEB.seeds[number] == f"http://{name}:8001/"


def test_answers_take_their_time_and_a_robots_file_may_never_come() -> None:
    assert isinstance(next(iter(ask(WEB.name(0), "/").steps)), Pause)
    assert ask("nobody.test", "/").status == ask(WEB.name(0), "/a/x.html").status == 404


def test_names_have_the_address_of_their_version_of_tls() -> None:
    zone = OrdinaryZone(["test"], web=WEB)
    old = next(filter(WEB.is_old, range(100)))
    assert zone.resolve(WEB.name(old)) == (0, (OLD_ADDRESS,))
    assert zone.resolve(f"www.{WEB.name(old)}") == (0, (OLD_ADDRESS,))
    new = next(number for number in range(100) if not WEB.is_old(number))
    assert zone.resolve(WEB.name(new)) == (0, ("127.0.0.1",))
    assert zone.resolve("x.test") == zone.resolve("h9999999.test") == (3, ())
