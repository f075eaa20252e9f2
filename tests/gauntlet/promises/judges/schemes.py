"""Judges of what a spider of one's own asks for beside the web: local files, and servers of other schemes."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from tests.fakeweb.answer import http_answer
from tests.gauntlet.promises.judges.acting import counted
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gauntlet.promises.stages import Short
    from tests.gauntlet.promises.table import Promise

SECRET = "the words of a local file"
FOLLOWS = """
import scrapy


class Follows(scrapy.Spider):
    name = "follows"

    def __init__(self, seeds, **arguments):
        super().__init__(**arguments)
        self.start_urls = seeds.split(",")

    def parse(self, response):
        links = [response.urljoin(link) for link in response.css("a::attr(href)").getall()]
        yield {"file_urls": links}
        for link in links:
            yield response.follow(link, self.read, errback=self.failed, dont_filter=True)

    def read(self, response):
        yield {"read": response.url, "text": response.text}

    def failed(self, failure):
        yield {"failed": failure.request.url}
"""


@judge
def opens_no_other_scheme(stage: Short, promise: Promise) -> str:
    """A page links to a pipe, a file, an FTP server and a document; followed, and as files of an item."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.setblocking(False)
        first = _Crawled(stage, "plain", listener.getsockname()[1])
        contacted = _was_contacted(listener)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        named = {"file": "scrapy.core.downloader.handlers.file.FileDownloadHandler"}
        second = _Crawled(stage, "named", listener.getsockname()[1], DOWNLOAD_HANDLERS=json.dumps(named))
    return need(
        (first.opened, first.told, contacted, first.stored) == (0, False, False, 1) and second.opened > 0,
        f"the pipe was opened {counted(first.opened, 'time')}, the file's words are "
        f"{'in' if first.told else 'not in'} the crawl's files, the FTP server was "
        f"{'contacted' if contacted else 'not contacted'}, {counted(first.stored, 'document')} stored; with a "
        f"handler that the project names the pipe was opened {counted(second.opened, 'time')}",
    )


class _Crawled:
    """A crawl of the spider, and what was opened in it."""

    def __init__(self, stage: Short, name: str, port: int, **settings: Any) -> None:
        folder = stage.folder / f"follows-{name}"
        folder.mkdir()
        (folder / "follows.py").write_text(FOLLOWS)
        pipe, file = stage.folder / f"{name}.pipe", stage.folder / f"{name}.html"
        os.mkfifo(pipe)
        file.write_text(SECRET)
        host = f"www.{name}-scheme.test"
        stage.site.answers[host, "/document"] = lambda request: http_answer(200, b"a document")
        links = [pipe.as_uri(), file.as_uri(), f"ftp://127.0.0.1:{port}/x", "/document"]
        stage.crawl(
            [stage.site.put(host, "/", links)],
            f"follows-{name}",
            spider="follows",
            SPIDER_MODULES="follows",
            ITEM_PIPELINES=json.dumps({"scrapy.pipelines.files.FilesPipeline": 1}),
            FILES_STORE=folder / "files",
            FEEDS=json.dumps({str(folder / "items.jsonl"): {"format": "jsonlines"}}),
            RETRY_TIMES=0,
            POLITENESS_MIN_DELAY=0.1,
            **settings,
        )
        self.opened = _opened(stage, pipe)
        self.told = any(SECRET.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())
        self.stored = len([path for path in (folder / "files").rglob("*") if path.is_file()])
        pipe.unlink()


def _opened(stage: Short, pipe: Path) -> int:
    """Return how often the pipe was opened for reading until the crawl has ended."""
    number, deadline = 0, time.monotonic() + 2 * SECONDS
    while stage.is_running() and time.monotonic() < deadline:
        with suppress(OSError):
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            number += 1
            os.write(writer, b"<p>read")
            os.close(writer)
        time.sleep(0.05)
    need(stage.statuses(1.0) == [0], "the crawl did not end with 0")
    return number


def _was_contacted(listener: socket.socket) -> bool:
    """Whether a connection waits at a server."""
    with suppress(BlockingIOError):
        listener.accept()[0].close()
        return True
    return False
