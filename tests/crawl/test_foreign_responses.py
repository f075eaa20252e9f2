"""Responses that another download handler, Scrapy's HTTP cache or a middleware gave: records in the archive."""

from __future__ import annotations

import json

import pytest

from tests.commands import in_process
from tests.fakeweb import Placement
from tests.unit.archive import strictwarc

HANDLER = "other_handler.OtherHandler"
OTHER_HANDLER = """
import asyncio
from http.client import HTTPConnection
from urllib.parse import urlsplit

from scrapy.responsetypes import responsetypes


class OtherHandler:
    lazy = True

    async def download_request(self, request):
        return await asyncio.to_thread(self.fetch, request)

    async def close(self):
        pass

    def fetch(self, request):
        parts = urlsplit(request.url)
        connection = HTTPConnection("127.0.0.1", parts.port)
        headers = {"Host": parts.netloc, "User-Agent": request.headers["User-Agent"].decode()}
        connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""), headers=headers)
        answer = connection.getresponse()
        body, headers = answer.read(), dict(answer.getheaders())
        connection.close()
        kind = responsetypes.from_args(headers={k.encode(): v.encode() for k, v in headers.items()}, body=body)
        return kind(request.url, answer.status, headers, body, request=request)
"""
ANSWERING = """
from scrapy.http import HtmlResponse


class Answering:
    def process_request(self, request):
        if not request.url.endswith("/robots.txt"):
            return HtmlResponse(request.url, body=b"<p>made up", request=request)
"""


@pytest.fixture(scope="module")
def web(serve):
    placements = (
        Placement("gzip", share=0.3),
        Placement("redirect-chain", share=0.2, options={"hops": 1}),
        Placement("status", share=0.2),
    )
    return serve(hosts=3, pages=24, seed=11, placements=placements)


def resources(crawl):
    return {
        record.url: record
        for path in crawl.warcs()
        for record in strictwarc.strict_records(path)
        if record.type == "resource"
    }


def facts_of(crawl, url):
    [block] = [
        record.block.decode()
        for path in crawl.warcs()
        for record in strictwarc.strict_records(path)
        if record.type == "metadata" and record.url == url
    ]
    return dict(line.split(": ", 1) for line in block.splitlines())


def bodies(web):
    return {web.web.url(page): web.web.html(page)[1] for page in web.web.pages()}


def check(crawl, capsys):
    done = in_process("archive", capsys)("check", str(crawl.path))
    return done.said.splitlines()[-1]


def indexed(crawl):
    lines = [line for path in (crawl.path / "index").iterdir() for line in path.read_text().splitlines()]
    return {json.loads(line.split(" ", 2)[2])["url"] for line in lines}


def assert_archived(web, crawl, source, mark):
    """Each page with a 2xx status has one resource record with its body; other statuses have none."""
    found, pages = resources(crawl), bodies(web)
    lines = {line["url"]: line for line in crawl.log()}
    ok = {url for url, line in lines.items() if 200 <= line.get("status", 0) < 300}
    assert {line["kind"] for line in lines.values()} == {"page", "robots"}
    assert {"location"} & {name for line in lines.values() for name in line if line[name]}
    assert found.keys() == ok
    assert ok == indexed(crawl)
    assert {url: found[url].block for url in ok & pages.keys()} == {
        url: pages[url] for url in ok & pages.keys()
    }
    assert {record.fields["X-Crawler-Source"] for record in found.values()} == {source}
    assert {facts_of(crawl, url)["source"] for url in list(ok)[:3]} == {source}
    for line in lines.values():
        assert {name: line[name] for name in mark} == mark
        assert line.get("archived", True) is (line["url"] in ok)


def test_what_another_handler_fetches_has_resource_records(web, crawl, folder, monkeypatch, capsys):
    (folder / "other_handler.py").write_text(OTHER_HANDLER)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    handlers = json.dumps({"http": HANDLER, "https": HANDLER})
    done = crawl(web.seeds, DOWNLOAD_HANDLERS=handlers, RETRY_TIMES=0).assert_ended_well()
    assert_archived(web, done, HANDLER, {"handler": HANDLER, "ip": None})
    assert check(done, capsys) == "Nothing is wrong."
    [warning] = [line for line in done.stderr.splitlines() if "is fetched by" in line]
    assert f"http and https is fetched by {HANDLER}" in warning


def test_what_comes_from_the_http_cache_has_resource_records(web, crawl, folder, capsys):
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": folder / "cache", "RETRY_TIMES": 0}
    first = crawl(web.seeds, **cached).assert_ended_well()
    asked = len(web.hits())
    assert not resources(first)
    again = crawl(web.seeds, **cached).assert_ended_well()
    assert len(web.hits()) == asked
    assert_archived(web, again, "cache", {"cached": True, "ip": None})
    assert check(again, capsys) == "Nothing is wrong."


def test_what_a_middleware_answers_has_a_resource_record(web, crawl, folder, monkeypatch, capsys):
    (folder / "answering.py").write_text(ANSWERING)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    middlewares = json.dumps({"answering.Answering": 960})
    done = crawl(web.seeds[0], DOWNLOADER_MIDDLEWARES=middlewares).assert_ended_well()
    [record] = resources(done).values()
    assert (record.url, record.block) == (web.seeds[0], b"<p>made up")
    assert record.fields["X-Crawler-Source"] == "middleware"
    assert done.line(web.seeds[0])["handler"] == "middleware"
    assert check(done, capsys) == "Nothing is wrong."
