"""The web that looks like the real one has the figures that it says."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import statistics

import brotli
import uvloop

from tests.fakeweb.answer import Answer, Pause, Request
from tests.fakeweb.ordinary import MEDIAN_BYTES, OLD_ADDRESS, SEEDS, OrdinaryWeb, OrdinaryZone
from tests.fakeweb.ports import Ports
from tests.fakeweb.server import FakeWeb
from tests.fakeweb.tls import ordinary

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


def test_a_host_has_at_least_as_many_pages_as_was_asked_for_and_only_the_first_hosts_are_seeds() -> None:
    long_sites = OrdinaryWeb(hosts=10, pages=50, least=40)
    assert {40 <= long_sites.pages(number) <= 50 for number in range(1, 10)} == {True}
    assert len(WEB.seeds) == SEEDS < WEB.count


def test_answers_take_their_time_and_a_robots_file_may_never_come() -> None:
    assert isinstance(next(iter(ask(WEB.name(0), "/").steps)), Pause)
    assert ask("nobody.test", "/").status == ask(WEB.name(0), "/a/x.html").status == 404


def test_both_versions_of_tls_answer_after_a_pause_on_the_loop_of_the_server() -> None:
    web = OrdinaryWeb(hosts=20)
    old, new = (next(n for n in range(20) if web.is_old(n) is age) for age in (True, False))
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE

    async def first_line(port: int, number: int, address: str) -> tuple[str, bytes]:
        name = web.name(number)
        reader, writer = await asyncio.open_connection(address, port, ssl=trusting, server_hostname=name)
        writer.write(f"GET /robots.txt HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
        line = await reader.readline()
        writer.close()
        return writer.get_extra_info("ssl_object").version(), line

    async def ask_both() -> list[tuple[str, bytes]]:
        context, context_of_old = ordinary(web)
        addresses = ("127.0.0.1", OLD_ADDRESS)
        async with FakeWeb(
            web, tls=context, tls_at={OLD_ADDRESS: context_of_old}, addresses=addresses
        ) as server:
            port = server.ports.https or 0
            return [await first_line(port, new, "127.0.0.1"), await first_line(port, old, OLD_ADDRESS)]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        answers = runner.run(ask_both())
    assert [version for version, _ in answers] == ["TLSv1.3", "TLSv1.2"]
    assert all(line.startswith(b"HTTP/1.1 ") for _, line in answers)


def test_names_have_the_address_of_their_version_of_tls() -> None:
    zone = OrdinaryZone(["test"], web=WEB)
    old = next(filter(WEB.is_old, range(100)))
    assert zone.resolve(WEB.name(old)) == (0, (OLD_ADDRESS,))
    assert zone.resolve(f"www.{WEB.name(old)}") == (0, (OLD_ADDRESS,))
    new = next(number for number in range(100) if not WEB.is_old(number))
    assert zone.resolve(WEB.name(new)) == (0, ("127.0.0.1",))
    assert zone.resolve("x.test") == zone.resolve("h9999999.test") == (3, ())
