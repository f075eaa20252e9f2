"""Judges of settings that a crawl is started with, and of limits that end it: short crawls, one for each."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any

from tests.fakeweb import witness
from tests.fakeweb.answer import http_answer
from tests.gauntlet.promises.judges.acting import counted
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import ANSWER_SECONDS, STEADY, until

if TYPE_CHECKING:
    from tests.gauntlet.promises.stages import Short
    from tests.gauntlet.promises.table import Promise

OPEN = len(STEADY)
"""Requests that may be open when a limit is reached: one for each host."""
FAILS = """
import scrapy


class Fails(scrapy.Spider):
    name = "fails"

    def __init__(self, seeds, **arguments):
        super().__init__(**arguments)
        self.start_urls = seeds.split(",")

    def parse(self, response):
        yield from response.follow_all(css="a")
        if response.url.count("/") > 3:
            raise ValueError("as this spider is meant to")
"""


def _seeds(stage: Short, hosts: tuple[str, ...] = STEADY) -> list[str]:
    return [stage.site.url(host) for host in hosts]


def start_crawl(stage: Short, promise: Promise, seeds: list[str], **settings: Any) -> float:
    """Start a crawl, and return when."""
    number = stage.kept["number"] = stage.kept.get("number", 0) + 1
    since = time.time()
    stage.crawl(seeds, f"crawl-{number}", **settings)
    return since


def new_sites(stage: Short, *names: str, pages: int = 20) -> list[str]:
    """Return hosts of their own with so many slow pages."""
    number = stage.kept["sites"] = stage.kept.get("sites", 0) + 1
    hosts = [f"{name}.site{number}.test" for name in names]
    for host in hosts:
        stage.site.drip(host, pages)
    return hosts


# -- limits ----------------------------------------------------------------------------------------------------------


@judge
def ends_at_a_number(stage: Short, promise: Promise) -> str:
    """Each process ends with 0 when it has as many pages, and one request a host more at most."""
    given, number = promise.given, promise.given["number"]
    settings = {"POLITENESS_MIN_DELAY": 0.1, "TRAPS_QUARANTINE": 0}
    more = {}
    if given.get("spider"):
        folder = stage.folder / f"crawl-{stage.kept.get('number', 0) + 1}"
        folder.mkdir()
        (folder / f"{given['spider']}.py").write_text(FAILS)
        # More unexpected errors than this end a crawl with 1, whatever limit is set.
        settings["ERRORS_UNANTICIPATED_MAX"] = 1000
        more = {"spider": given["spider"], "SPIDER_MODULES": given["spider"]}
    live = promise.kind == "live setting"
    if not live:
        settings[promise.name] = number
    since = start_crawl(stage, promise, _seeds(stage), **settings, **more)
    before = 0
    if live:
        need(until(lambda: len(stage.web.pages(since=since)) > 5), "the crawl did not begin")
        spider = ["--spider", given["spider"]] if given.get("spider") and stage.redis else []
        stage.do("set", f"{promise.name}={number}", stage.target, *spider)
        before = len(stage.web.pages(since=since))
    statuses = stage.statuses()
    pages, workers = len(stage.web.pages(since=since)), len(stage.workers)
    # The callbacks of the first pages do not fail.
    most = max(before, workers * number) + workers * OPEN * 2 + (len(STEADY) if more else 0)
    return need(
        set(statuses) == {0} and number <= pages <= most,
        f"exit status {statuses}; {pages} pages, {before} of them when it was set; the limit is {number} of each of "
        f"{counted(workers, 'process')}",
    )


@judge
def ends_after_seconds(stage: Short, promise: Promise) -> str:
    live = promise.kind == "live setting"
    seconds = 20.0 if live else 4.0
    since = start_crawl(
        stage, promise, _seeds(stage), POLITENESS_MIN_DELAY=0.1, **({} if live else {promise.name: seconds})
    )
    if live:
        need(until(lambda: len(stage.web.pages(since=since)) > 5), "the crawl did not begin")
        stage.do("set", f"{promise.name}={seconds:g}", stage.target)
    statuses = stage.statuses()
    # The start of a process takes as long as the machine is busy; the limit counts from the moment the spider opened.
    hits = stage.web.hits(since=since)
    last = hits[-1].start - hits[0].start
    return need(
        set(statuses) == {0} and seconds - 3.0 <= last <= seconds + 8.0,
        f"exit status {statuses}; the last request began {last:.1f} s after the first, the limit is {seconds:g} s",
    )


@judge
def ends_at_requests_of_a_host(stage: Short, promise: Promise) -> str:
    """No host gets more requests, or pages, from all processes together, and the crawl ends."""
    number, hosts = promise.given["number"], new_sites(stage, "a", "b", "c", pages=60)
    since = start_crawl(stage, promise, _seeds(stage, tuple(hosts)), POLITENESS_MIN_DELAY=0.2)
    need(until(lambda: len(stage.web.pages(since=since)) > 5), "the crawl did not begin")
    stage.do("set", f"{promise.name}={number}", stage.target)
    statuses = stage.statuses()
    counts = {
        host: len(stage.web.hits(host) if promise.given["robots"] else stage.web.pages(host))
        for host in hosts
    }
    return need(
        set(statuses) == {0} and set(counts.values()) == {number},
        f"exit status {statuses}; requests of 62 each: {sorted(counts.values())}, the limit is {number}",
    )


# -- settings that matter first --------------------------------------------------------------------------------------


@judge
def has_a_contact(stage: Short, promise: Promise) -> str:
    """Without one a crawl of the public web does not start; with one each request names it."""
    refused = stage.run(
        "crawl",
        "broad",
        "-a",
        "seeds=http://www.example.org/",
        JOBDIR=stage.folder / "none",
        FETCH_PRIVATE_ADDRESSES=0,
    )
    [host] = new_sites(stage, "contact", pages=3)
    contact = "https://your.site/about-the-crawl"
    start_crawl(stage, promise, [stage.site.url(host)], CRAWLER_CONTACT=contact)
    stage.statuses()
    agents = {hit.user_agent for hit in stage.web.hits(host)}
    return need(
        refused.status == 2
        and "CRAWLER_CONTACT" in refused.err
        and all(contact in agent for agent in agents)
        and agents,
        f"without it: exit status {refused.status}; User-Agents with it: {agents}",
    )


@judge
def resumes_its_folder(stage: Short, promise: Promise) -> str:
    [host] = new_sites(stage, "folder")
    seeds = [stage.site.url(host)]
    settings = {"POLITENESS_MIN_DELAY": 0.1}
    stage.crawl(seeds, "resumed", **settings)
    need(until(lambda: len(stage.web.pages(host)) >= 5), "the crawl did not begin")
    for worker in stage.workers:
        worker.signal(signal.SIGTERM)
    first = stage.statuses()
    middle = len(stage.web.pages(host))
    stage.workers = stage.start(seeds, "resumed", **settings)
    second = stage.statuses()
    twice = witness.repeated(stage.web.hits(host))
    pages = len(stage.web.pages(host))
    files = all((path / "fetch.jsonl").exists() for path in stage.jobdirs)
    return need(
        {*first, *second} == {0} and not twice and pages == 21 and middle < 21 and files,
        f"exit status {first} and {second}; {middle} pages of 21, then {pages - middle} more, {len(twice)} twice",
    )


@judge
def shares_a_redis(stage: Short, promise: Promise) -> str:
    """Both workers fetch, each page is requested once, and no two requests to a host overlap."""
    hosts = new_sites(stage, *"abcdefgh", pages=12)
    start_crawl(stage, promise, _seeds(stage, tuple(hosts)), POLITENESS_MIN_DELAY=0.1)
    statuses = stage.statuses()
    hits = [hit for host in hosts for hit in stage.web.hits(host)]
    lines = [len(worker.lines()) for worker in stage.workers]
    pages = sum(not hit.is_robots for hit in hits)
    return need(
        set(statuses) == {0}
        and all(lines)
        and not witness.repeated(hits)
        and pages == 13 * 8
        and witness.most_open(hits) == 1,
        f"exit status {statuses}; {lines} pages by worker, {pages} of {13 * 8} requested, "
        f"{len(witness.repeated(hits))} twice, {witness.most_open(hits)} open at once to a host",
    )


@judge
def keys_of_politeness(stage: Short, promise: Promise) -> str:
    """With domain all hosts of a site have one clock, with host each has its own."""
    told = {}
    for key in ("domain", "host"):
        hosts = new_sites(stage, "a", "b", "c", pages=6)
        start_crawl(stage, promise, _seeds(stage, tuple(hosts)), POLITENESS_KEY=key, POLITENESS_MIN_DELAY=0.2)
        stage.statuses()
        hits = [hit for host in hosts for hit in stage.web.hits(host)]
        short = witness.violations(
            hits, lambda hit: 0.2, lambda hit: hit.host.partition(".")[2], tolerance=0.002
        )
        told[key] = (len(hits), len(short))
    return need(
        told["domain"][1] == 0 < told["host"][1] and told["domain"][0] == told["host"][0],
        f"requests, and those too early for one clock: {told}",
    )


@judge
def keeps_a_pause(stage: Short, promise: Promise) -> str:
    given = promise.given
    hosts = new_sites(stage, "a", "b", pages=5)
    start_crawl(stage, promise, _seeds(stage, tuple(hosts)), **given["settings"])
    statuses = stage.statuses()
    # The answer with robots.txt takes no time: the two pauses after it and the root are no measure.
    gaps = [gap for host in hosts for gap in stage.web.gaps([host])[2:]]
    return need(
        set(statuses) == {0}
        and len(gaps) >= 6
        and min(gaps) >= given["least"] - 0.002
        and min(gaps) < given["below"],
        f"exit status {statuses}; shortest of {len(gaps)} pauses {min(gaps):.3f} s, answers take {ANSWER_SECONDS} s",
    )


@judge
def excludes_by_file(stage: Short, promise: Promise) -> str:
    good, bad = new_sites(stage, "good", "bad", pages=4)
    path = stage.folder / "exclusion.txt"
    path.write_text(f"{bad}  # asked\n")
    stage.site.announce(stage.site.url(bad, "/linked"), on=good)
    start_crawl(stage, promise, _seeds(stage, (bad, good)), EXCLUSION_FILE=path)
    statuses = stage.statuses()
    found = {host: len(stage.web.hits(host)) for host in (good, bad)}
    return need(
        set(statuses) == {0} and found == {good: 6, bad: 0}, f"exit status {statuses}; requests {found}"
    )


@judge
def opens_no_more(stage: Short, promise: Promise) -> str:
    since = start_crawl(stage, promise, _seeds(stage), CONCURRENT_REQUESTS=2, POLITENESS_MIN_DELAY=0.1)
    workers = len(stage.workers)
    need(until(lambda: len(stage.web.pages(since=since)) > 30), "the crawl did not begin")
    # On a busy machine, the workers begin one after the other.
    until(lambda: stage.web.most_open(since, time.time()) >= 2 * workers)
    most = stage.web.most_open(since, time.time())
    stage.kill()
    return need(
        most == 2 * workers, f"most requests open at once: {most}, with {counted(workers, 'process')} of 2"
    )


@judge
def goes_no_deeper(stage: Short, promise: Promise) -> str:
    [host] = new_sites(stage, "deep", pages=0)
    for depth in range(5):
        stage.site.put(host, f"/{depth}", [f"/{depth + 1}"])
    start_crawl(stage, promise, [stage.site.url(host, "/0")], DEPTH_LIMIT=2)
    statuses = stage.statuses()
    paths = [hit.path for hit in stage.web.pages(host)]
    return need(
        paths == ["/0", "/1", "/2"], f"exit status {statuses}; a chain of 5 links: {paths} were requested"
    )


@judge
def orders_the_queue(stage: Short, promise: Promise) -> str:
    """Breadth first is the order of discovery; random is another one."""
    told = {}
    for order in ("breadth_first", "random"):
        [host] = new_sites(stage, "order", pages=30)
        start_crawl(stage, promise, [stage.site.url(host)], FRONTIER_ORDER=order)
        stage.statuses()
        told[order] = [int(hit.path.rpartition("/")[2]) for hit in stage.web.pages(host) if "/p/" in hit.path]
    first, random = told["breadth_first"], told["random"]
    return need(
        first == sorted(first) == sorted(random) != random, f"30 pages; random began with {random[:6]}"
    )


@judge
def cuts_bodies(stage: Short, promise: Promise) -> str:
    """A body of 8 MB is cut: the connection is closed early, and what is stored is as long as the limit."""
    [host] = new_sites(stage, "large", pages=0)
    body = b"<!doctype html><title>large</title>" + b"<p>words and more words</p>" * 300_000
    stage.site.answers[host, "/large"] = lambda request: http_answer(200, body)
    start_crawl(
        stage, promise, [stage.site.url(host, "/large")], DOWNLOAD_MAXSIZE=65536, DOWNLOAD_TEXT_MAXSIZE=0
    )
    statuses = stage.statuses()
    sizes = [line["bytes"] for worker in stage.workers for line in worker.lines()]
    stored = [
        len(record.content)
        for worker in stage.workers
        for record in worker.records()
        if record.type == "response" and record.url and "/large" in record.url
    ]
    complete = [hit.complete for hit in stage.web.pages(host)]
    return need(
        set(statuses) == {0} and stored and max(stored) <= 66_000 and complete == [False],
        f"exit status {statuses}; of {len(body):,} bytes {stored} are stored, the log says {sizes}; the server "
        f"{'was' if complete == [False] else 'was not'} interrupted",
    )


@judge
def leaves_other_types(stage: Short, promise: Promise) -> str:
    """The body of another type is not read: the server cannot send it all."""
    [host] = new_sites(stage, "types", pages=0)
    body = b"\0binary\0" * 1_000_000
    stage.site.put(host, "/hub", ["/other", "/text"])
    for path, mime in (("/other", "application/octet-stream"), ("/text", "text/html")):
        stage.site.answers[host, path] = lambda request, mime=mime: http_answer(
            200, body if mime != "text/html" else b"<title>text</title>", mime=mime
        )
    start_crawl(stage, promise, [stage.site.url(host, "/hub")], MIME_TYPES_WANTED="text/html")
    statuses = stage.statuses()
    complete = {hit.path: hit.complete for hit in stage.web.pages(host)}
    return need(
        complete == {"/hub": True, "/other": False, "/text": True},
        f"exit status {statuses}; sent completely: {complete}",
    )
