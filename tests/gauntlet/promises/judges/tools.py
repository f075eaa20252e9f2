"""Judges of commands that need no crawl, or make several: the server's log says what they requested."""

from __future__ import annotations

import json
import signal
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fakeweb.answer import http_answer
from tests.gauntlet.promises.judges.acting import counted
from tests.gauntlet.promises.stages import BROWSER, last_line
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import until

if TYPE_CHECKING:
    from tests.crawl.crawling import Crawl
    from tests.gauntlet.promises.stages import Live, Served, Short
    from tests.gauntlet.promises.table import Promise

CONTRACT = '''
import scrapy


class Checked(scrapy.Spider):
    name = "checked"

    def parse(self, response):
        """Return the title.

        @url {url}
        @returns items {number} {number}
        """
        yield {{"title": response.css("title::text").get()}}
'''

UNMADE = """
import scrapy


class Unmade(scrapy.Spider):
    name = "unmade"

    def __init__(self, *arguments, **named):
        raise ValueError("as this spider is meant to")
"""


def _status_of(port: int, path: str) -> tuple[int, str]:
    """Return status and text of a page of a server on loopback; the status is 0 if nothing listens."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30.0)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except ConnectionRefusedError:
        return 0, ""
    finally:
        connection.close()


@judge
def serves_a_library(stage: Short, promise: Promise) -> str:
    """Its pages are served until Ctrl-C, which ends it with 0."""
    started = stage.background("demo", "--port", 0)
    said = started.until_said("until Ctrl-C")
    port = int(said.partition("localhost:")[2].partition("/")[0])
    book, robots = _status_of(port, "/books/7/")[0], _status_of(port, "/robots.txt")[1]
    status = started.end(signal.SIGINT)
    after = _status_of(port, "/")[0]
    return need(
        (book, status, after) == (200, 0, 0) and "Disallow: /staff/" in robots,
        f"/books/7/: {book}; /staff/ forbidden: {'Disallow: /staff/' in robots}; Ctrl-C: exit status {status}, after "
        f"it: {after or 'no connection'}",
    )


@judge
def delivers_a_test(stage: Short, promise: Promise) -> str:
    """A receiver that listens gets the message, with status 0; with one that does not the status is 1."""
    hook = f"http://127.0.0.1:{stage.web.port}/hook"
    stage.site.answers["127.0.0.1", "/hook"] = lambda request: http_answer(200, b"taken")
    good = stage.run("notify", "a test", NOTIFY_WEBHOOKS=hook)
    number = len(stage.web.hits("127.0.0.1", path="/hook"))
    bad = stage.run("notify", NOTIFY_WEBHOOKS="http://127.0.0.1:1/hook")
    return need(
        (good.status, bad.status, number) == (0, 1, 1),
        f"exit status {good.status}, {counted(number, 'request')} to the receiver; with none there {bad.status}: "
        f"{last_line(bad.out or bad.err)}",
    )


@judge
def asks_for_one_page(stage: Short, promise: Promise) -> str:
    """One page is requested; a page that robots.txt forbids is not."""
    number = stage.kept["pages"] = stage.kept.get("pages", 0) + 1
    host = f"one.page{number}.test"
    stage.site.robots[host] = "User-agent: *\nDisallow: /private\n"
    url, forbidden = stage.site.url(host, "/page"), stage.site.url(host, "/private/page")
    settings: dict[str, Any] = {"DNS_NAMESERVERS": stage.web.nameserver, "FETCH_PRIVATE_ADDRESSES": 1}
    words = promise.given["words"]
    done = stage.do(*(url if word == "{page}" else word for word in words), **settings)
    stage.run(*(forbidden if word == "{page}" else word for word in words), **settings)
    paths = [hit.path for hit in stage.web.pages(host)]
    said = promise.given["said"].replace("{page}", url)
    return need(
        paths == ["/page"] and said in done.out + done.err,
        f"requested: {paths}; it {'said' if said in done.out + done.err else 'did not say'} {said!r}",
    )


@judge
def opens_a_browser(stage: Short, promise: Promise) -> str:
    """The browser gets a file with the page; for a page that robots.txt forbids none is started."""
    host = "viewed.test"
    stage.site.robots[host] = "User-agent: *\nDisallow: /private\n"
    opened = stage.folder / "opened"
    browser = stage.folder / BROWSER
    browser.write_text(f'#!/bin/sh\ncat "${{1#file://}}" >> {opened}\n')
    browser.chmod(0o755)
    settings: dict[str, Any] = {"DNS_NAMESERVERS": stage.web.nameserver, "FETCH_PRIVATE_ADDRESSES": 1}
    good = stage.run("view", stage.site.put(host, "/page", [], "what was viewed"), **settings)
    shown = until(opened.exists, 5.0) and "what was viewed" in opened.read_text()
    opened.unlink(missing_ok=True)
    refused = stage.run("view", stage.site.put(host, "/private/page", [], "secret"), **settings)
    paths = [hit.path for hit in stage.web.pages(host)]
    return need(
        (good.status, shown, refused.status, opened.exists()) == (0, True, 1, False) and paths == ["/page"],
        f"exit status {good.status}, the browser {'has shown' if shown else 'did not show'} the page; forbidden: "
        f"{refused.status}, the browser was {'started' if opened.exists() else 'not started'}; requested: {paths}",
    )


@judge
def ends_with_an_error(stage: Short, promise: Promise) -> str:
    """The status is 1, and the page was requested as often as the row says."""
    host = f"{promise.name.replace(' ', '')}.error.test"
    (stage.folder / "unmade.py").write_text(UNMADE)
    words = [stage.site.url(host, "/page") if word == "{page}" else word for word in promise.given["words"]]
    settings: dict[str, Any] = {"DNS_NAMESERVERS": stage.web.nameserver, "FETCH_PRIVATE_ADDRESSES": 1}
    done = stage.run(*words, SPIDER_MODULES="unmade", **settings)
    number = len(stage.web.pages(host))
    return need(
        (done.status, number) == (1, promise.given["requested"]),
        f"exit status {done.status}, {counted(number, 'request')}; {last_line(done.err)}",
    )


@judge
def imports_urls(stage: Short, promise: Promise) -> str:
    """A crawl that has ended imports a file of URLs, and goes on with them alone."""
    host = "www.imported.test"
    stage.site.drip(host, 3)
    seeds = [stage.site.url(host)]
    stage.crawl(seeds, "importing", POLITENESS_MIN_DELAY=0.1)
    ended = stage.statuses()
    before = len(stage.web.pages(host))
    urls = [stage.site.url(host, f"/imported/{number}") for number in range(3)]
    file = stage.folder / "by-hand.jsonl"
    file.write_text("".join(json.dumps({"url": url}) + "\n" for url in [*urls, seeds[0]]))
    stage.do("segments", "import", file, JOBDIR=stage.jobdirs[0], POLITENESS_KEY="host")
    stage.crawl(seeds, "importing", POLITENESS_MIN_DELAY=0.1)
    ended += stage.statuses()
    pages = [hit.path for hit in stage.web.pages(host)]
    come = sum(stage.web.has(url) for url in urls)
    return need(
        set(ended) == {0} and (before, come, len(pages), len(set(pages))) == (4, 3, 7, 7),
        f"exit status {ended}; {before} pages before; of 3 imported URLs {come} were requested, "
        f"{len(pages) - len(set(pages))} pages twice",
    )


@judge
def checks_contracts(stage: Short, promise: Promise) -> str:
    """The page of a contract is requested; a contract that holds ends it with 0, another one with 1."""
    url = stage.site.put("contract.test", "/page", [], "a title")
    statuses = []
    for number in (1, 2):
        name = f"contracts{number}"
        (stage.folder / f"{name}.py").write_text(CONTRACT.format(url=url, number=number))
        settings: dict[str, Any] = {"DNS_NAMESERVERS": stage.web.nameserver, "FETCH_PRIVATE_ADDRESSES": 1}
        statuses.append(stage.run("check", "checked", SPIDER_MODULES=name, **settings).status)
    requested = len(stage.web.hits("contract.test", path="/page"))
    return need(
        statuses == [0, 1] and requested == 2,
        f"exit status {statuses[0]} of one that holds, {statuses[1]} of another; {counted(requested, 'request')}",
    )


@judge
def parts_a_crawl(stage: Short, promise: Promise) -> str:
    """The queue of a stopped crawl is crawled in two segments and imported: each page is requested once."""
    hosts = ("www.segment1.test", "www.segment2.test", "www.segment3.test")
    for host in hosts:
        stage.site.drip(host, 12)
    settings = {"POLITENESS_MIN_DELAY": 0.1}
    stage.kept["number"] = stage.kept.get("number", 0) + 1
    whole = f"crawl-{stage.kept['number']}"
    seeds = [stage.site.url(host) for host in hosts]
    stage.crawl(seeds, whole, **settings, CLOSESPIDER_PAGECOUNT=6)
    ended = stage.statuses()

    def pages() -> int:
        return sum(len(stage.web.pages(host)) for host in hosts)

    first, job = pages(), stage.jobdirs[0]
    parts = stage.folder / f"{whole}-parts"
    stage.do("segments", "export", parts, "--files", 2, JOBDIR=job, POLITENESS_KEY="host")
    files = sorted(parts.glob("segment-*"))
    crawls: list[Crawl] = []
    for number, path in enumerate(files):
        crawls += stage.crawl(None, f"{whole}-{number}", **settings, arguments={"segment": str(path)})
        ended += stage.statuses()
    second = pages()
    stage.do("segments", "import", *(crawl.path for crawl in crawls), JOBDIR=job, POLITENESS_KEY="host")
    stage.crawl(seeds, whole, **settings)
    ended += stage.statuses()
    paths = {(hit.host, hit.path) for host in hosts for hit in stage.web.pages(host)}
    return need(
        set(ended) == {0} and first < second == pages() == len(paths) == 13 * len(hosts),
        f"exit status {ended}; {first} pages, {second} with {counted(len(files), 'segment')}, {pages()} after the "
        f"import; {len(paths)} of {13 * len(hosts)} pages",
    )


@judge
def dashboard_ends(stage: Live, promise: Promise) -> str:
    """It answers until Ctrl-C, which ends it with 0 and leaves the crawl alone."""
    started = stage.background("dashboard", stage.target, "--port", 0)
    said = started.until_said("Ctrl-C")
    port = int(next(word for word in said.split() if word.startswith("http://")).split(":")[2].split("/")[0])
    page = _status_of(port, "/")[0]
    status = started.end(signal.SIGINT)
    after = _status_of(port, "/")[0]
    return need(
        (page, status, after) == (200, 0, 0) and stage.is_fetching(),
        f"page: {page}; Ctrl-C: exit status {status}, after it {after or 'no connection'}; the crawl goes on",
    )


@judge
def service_ends(stage: Served, promise: Promise) -> str:
    """SIGTERM stops all crawls; then it ends with 0, and no request comes."""
    locks = [path.read_text().split()[-1] for path in stage.root.glob("*/lock") if path.stat().st_size]
    need(until(lambda: stage.web.pages(since=time.time() - 1.0)), "no crawl was fetching")
    status = stage.end()
    since = time.time()
    time.sleep(2.0)
    late = len(stage.web.hits(since=since))
    left = [pid for pid in locks if Path(f"/proc/{pid}").exists()]
    return need(
        status == 0 and not late and not left,
        f"exit status {status}; {counted(late, 'request')} in 2 s after it; processes left: {left}",
    )
