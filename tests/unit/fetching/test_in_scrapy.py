"""The handler inside Scrapy: a crawl on uvloop, ``scrapy fetch`` and ``scrapy shell``, each in a process."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from tests.unit.fetching.lab import Peer, answering, run, serving

ROOT = Path(__file__).parents[3]
HANDLER = "webcrawl.fetching.http.HttpDownloadHandler"
SETTINGS = {
    "DOWNLOAD_HANDLERS": json.dumps({"http": HANDLER, "https": HANDLER}),
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "FETCH_PRIVATE_ADDRESSES": "True",
    "TELNETCONSOLE_ENABLED": "False",
    "REMOTE_CONTROL_ENABLED": "False",
}
SPIDER = """
import scrapy
class Spider(scrapy.Spider):
    name = "spider"
    async def start(self):
        for number in range(30):
            yield scrapy.Request(self.url + str(number), errback=self.failed)
        yield scrapy.Request(self.url.replace("http:", "https:"), errback=self.failed)
    def parse(self, response):
        yield {"body": response.text}
    def failed(self, failure):
        from webcrawl.fetching.failures import failure_word
        yield {"word": failure_word(failure.value)}
"""


async def _scrapy(folder: Path, *arguments: str) -> tuple[str, str]:
    """Run Scrapy outside of any project; warnings of things left open become part of stderr."""
    # A command that another test ran in this process has left the project's settings in the environment.
    outside = {name: value for name, value in os.environ.items() if name != "SCRAPY_SETTINGS_MODULE"}
    settings = [part for name, value in SETTINGS.items() for part in ("-s", f"{name}={value}")]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "always::ResourceWarning", "-m", "scrapy", *arguments, *settings),
        cwd=folder,
        env={**outside, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode(), err.decode()


PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\npage"


async def _page_and_no_tls(peer: Peer) -> None:
    if (await peer.reader.readexactly(1)) == b"G":
        await answering(PAGE)(peer)
    await peer.send(b"this is no TLS")


@pytest.mark.slow
def test_a_crawl_ends_cleanly(tmp_path: Path) -> None:
    (tmp_path / "spider.py").write_text(SPIDER)

    async def test() -> None:
        async with serving(_page_and_no_tls) as site:
            _, err = await _scrapy(
                tmp_path, "runspider", "spider.py", "-a", f"url={site.url()}", "-o", "items.jsonl"
            )
            items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
            assert sorted(map(str, items)) == [str({"body": "page"})] * 30 + [str({"word": "tls"})]
            assert "uvloop.Loop" in err
            for complaint in (
                "Unclosed",
                "unclosed transport",
                "unclosed <socket",
                "Traceback",
                "never awaited",
            ):
                assert complaint not in err

    run(test(), "asyncio", within=60)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("fetch", "--nolog", "{url}"), ("shell", "--nolog", "-c", "response.text", "{url}")]
)
def test_fetch_and_shell_work(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    async def test() -> None:
        async with serving(answering(PAGE)) as site:
            out, err = await _scrapy(tmp_path, *(argument.format(url=site.url()) for argument in arguments))
            assert out.strip().splitlines()[-1] == "page"
            assert "Unclosed" not in err
            assert "Traceback" not in err

    run(test(), "asyncio", within=60)
