"""Judges of what pages may be used for: by the feed of a crawl, its log and the requests that the sites got."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from warcio.archiveiterator import ArchiveIterator

from tests.fakeweb.answer import http_answer
from tests.gauntlet.promises.judges.starts import new_sites, start_crawl
from tests.gauntlet.promises.table import judge, need

if TYPE_CHECKING:
    from tests.fakeweb.answer import Answer, Request
    from tests.gauntlet.promises.stages import Short, Story
    from tests.gauntlet.promises.table import Promise

SAYS = {
    "silent": "User-agent: *\nDisallow:\n",
    "yes": "User-agent: *\nContent-Usage: train-ai=y\n",
    "no": "User-agent: *\nContent-Usage: train-ai=n\n",
    "signal": "User-agent: *\nContent-Signal: search=yes, ai-train=no\n",
    "token": "User-agent: *\nDisallow:\nUser-agent: GPTBot\nDisallow: /\n",
}
"""Names of hosts and their robots.txt."""


def _crawled(stage: Short, promise: Promise, **settings: Any) -> tuple[dict[str, str], set[str], set[str]]:
    """Crawl the hosts of SAYS and one that says it in its pages. Return the hosts by name; the names of those with
    requests for pages; the names of those with pages in the feed."""
    hosts = dict(zip((*SAYS, "page"), new_sites(stage, *SAYS, "page", pages=3), strict=True))
    for name, text in SAYS.items():
        stage.site.robots[hosts[name]] = text
    body = b'<title>own</title><meta name="tdm-reservation" content="1">'
    stage.site.answers[hosts["page"], "*"] = lambda request: http_answer(200, body)
    feed = stage.folder / f"usage-{stage.kept.get('number', 0)}.jsonl"
    feeds = json.dumps({str(feed): {"format": "jsonlines"}})
    seeds = [stage.site.url(host) for host in hosts.values()]
    start_crawl(stage, promise, seeds, POLITENESS_MIN_DELAY=0.1, CONTENT_SEEN=0, FEEDS=feeds, **settings)
    need(set(stage.statuses()) == {0}, "the crawl did not end well")
    requested = {name for name, host in hosts.items() if stage.web.pages(host)}
    text = feed.read_text() if feed.exists() else ""
    urls = [json.loads(line)["url"] for line in text.splitlines()]
    fed = {name for name, host in hosts.items() if any(f"//{host}:" in url for url in urls)}
    return hosts, requested, fed


def _names(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


@judge
def feeds_what_may_be_used(stage: Short, promise: Promise) -> str:
    """All hosts are requested that may be, and the feed has pages of those that may be used alone."""
    given = promise.given
    _, requested, fed = _crawled(stage, promise, **given["settings"])
    return need(
        requested == set(given["requested"]) and fed == set(given["fed"]),
        f"requested: {_names(requested)}; in the feed: {_names(fed)}",
    )


@judge
def asks_only_for_what_may_be_used(stage: Short, promise: Promise) -> str:
    """Hosts whose robots.txt says no get one request, for it."""
    hosts = dict(zip(SAYS, new_sites(stage, *SAYS, pages=3), strict=True))
    for name, text in SAYS.items():
        stage.site.robots[hosts[name]] = text
    seeds = [stage.site.url(host) for host in hosts.values()]
    start_crawl(stage, promise, seeds, POLITENESS_MIN_DELAY=0.1, **promise.given["settings"])
    need(set(stage.statuses()) == {0}, "the crawl did not end well")
    requested = {name for name, host in hosts.items() if stage.web.pages(host)}
    return need(requested == set(promise.given["requested"]), f"pages were requested of: {_names(requested)}")


@judge
def obeys_a_site_file(stage: Short, promise: Promise) -> str:
    """The file is requested after robots.txt and before any page, in a pause of its own, the Crawl-delay, and its
    rules are obeyed; it is not requested with the opposite of the setting."""
    path, body = promise.given["path"], promise.given["body"].encode()
    seen = {}
    for value in (1, 0):
        [host] = new_sites(stage, "files", pages=0)
        licence = f"\nLicense: {stage.site.url(host, path)}\n" if path == "/license.xml" else ""
        stage.site.robots[host] = f"User-agent: *\nCrawl-delay: 0.4\nDisallow:\n{licence}"
        stage.site.answers[host, path] = lambda request: http_answer(200, body, mime="text/plain")
        links = ["/kept/1", "/kept/2", "/free/1", "/free/2"]
        seeds = [stage.site.put(host, "/", [stage.site.url(host, link) for link in links])]
        settings = {"USAGE_PURPOSES": "train-ai", "USAGE_DISALLOWED": "refuse", promise.name: value}
        start_crawl(stage, promise, seeds, POLITENESS_MIN_DELAY=0.1, **settings)
        need(set(stage.statuses()) == {0}, "the crawl did not end well")
        hits = stage.web.hits(host)
        need(all(b.start - a.end >= 0.39 for a, b in pairwise(hits)), "a pause was too short")
        seen[value] = [hit.path for hit in hits]
    on, off = seen[1], seen[0]
    return need(
        on[:2] == ["/robots.txt", path]
        and sorted(on[2:]) == ["/", "/free/1", "/free/2"]
        and off.count(path) == 0
        and sorted(off[1:]) == ["/", *sorted(links)],
        f"requested with it: {', '.join(on)}; without: {', '.join(off)}",
    )


@judge
def records_use(stage: Short, promise: Promise) -> str:
    """Each page has the verdict of its site in the log, and none if that is turned off."""
    expected = {"yes": "yes", "no": "no", "signal": "no", "page": "no", "silent": None, "token": None}
    for is_on in (1, 0):
        hosts, _, _ = _crawled(stage, promise, **{promise.name: is_on})
        names = {host: name for name, host in hosts.items()}
        lines = [
            json.loads(line)
            for folder in stage.jobdirs
            for line in (folder / "fetch.jsonl").read_text().splitlines()
        ]
        pages = [line for line in lines if line["kind"] == "page" and line["status"] == 200]
        recorded = [line for line in pages if "usage" in line]
        wrong = [
            line["url"]
            for line in recorded
            if line["usage"].get("train-ai") != expected[names[line["url"].split("/")[2].split(":")[0]]]
        ]
        need(
            len(recorded) == is_on * len(pages),
            f"{len(recorded)} of {len(pages)} pages recorded with {is_on}",
        )
        need(not wrong, f"wrong verdicts: {wrong}")
    return "the verdict of each page is that of its site; none with 0"


@judge
def tells_usage(stage: Story, promise: Promise) -> str:
    """The pages of all sites are those that the server has answered with 200."""
    lines = stage.do("usage", *stage.jobdirs, "--json", "--limit", "0").out.splitlines()
    told = {row["site"]: row["pages"] for row in map(json.loads, lines)}
    served: dict[str, int] = {}
    for hit in stage.pages():
        if hit.status == 200:
            served[hit.host] = served.get(hit.host, 0) + 1
    total = told.pop("all sites")
    return need(
        told == served and total == sum(served.values()),
        f"{total} pages of {len(told)} hosts told and served",
    )


TEXTS = tuple(f"User-agent: *\nContent-Usage: train-ai={letter}\n" for letter in "yn")
"""The robots.txt of a host before and after it changes."""


@judge
def names_versions(stage: Short, promise: Promise) -> str:
    """While a host is crawled its robots.txt changes. Each page names that under which it was fetched, in log and
    explanation: its archived text is the one that the server had sent last."""
    [host] = new_sites(stage, "version", pages=30)
    stage.site.robots[host] = TEXTS[0]

    def change(request: Request) -> Answer:
        stage.site.robots[host] = TEXTS[1]
        return http_answer(200, b"<title>changing</title>")

    stage.site.answers[host, "/p/9"] = change
    brief = {"ROBOTS_TTL_SECONDS": 1, "ROBOTS_TTL_MIN_SECONDS": 1, "POLITENESS_MIN_DELAY": 0.1}
    start_crawl(stage, promise, [stage.site.url(host)], **brief)
    need(set(stage.statuses()) == {0}, "the crawl did not end well")
    changing = next(hit.start for hit in stage.web.hits(host, path="/p/9"))
    second = next(hit.start for hit in stage.web.hits(host, path="/robots.txt") if hit.start > changing)
    expected = {
        stage.site.url(host, hit.path): TEXTS[hit.start > second]
        for hit in stage.web.hits(host)
        if not hit.is_robots
    }
    need(set(expected.values()) == set(TEXTS), "all pages were fetched under one robots.txt")
    lines = [
        json.loads(line)
        for folder in stage.jobdirs
        for line in (folder / "fetch.jsonl").read_text().splitlines()
    ]
    digests = {line["robots_received"]: line["digest"] for line in lines if line["kind"] == "robots"}
    texts = _archived_robots(stage)
    pages = {line["url"]: line for line in lines if line["kind"] == "page"}
    wrong = [
        url
        for url, text in expected.items()
        if texts.get(digests.get(pages[url].get("robots_received"), "")) != text
    ]
    need(not wrong, f"pages whose version leads to another text, or to none: {wrong}")
    settings = stage.select if stage.redis is None else {**stage.select, "JOBDIR": stage.jobdirs[0]}
    logs = [word for folder in stage.jobdirs[1:] for word in ("--log", folder)]
    for text in TEXTS:
        url = next(url for url in expected if expected[url] == text)
        [told] = stage.ask("explain", url, *logs, **settings)["log"]["last"]
        version = pages[url]["robots_received"]
        need(told["robots_received"] == version, f"explain tells another version of {url}")
    return f"{len(expected)} pages under {len(digests)} answers of robots.txt, each found by its version"


def _archived_robots(stage: Short) -> dict[str, str]:
    """Return the archived texts of robots.txt by their digests."""
    texts = {}
    for folder in stage.jobdirs:
        for path in (folder / "warc").glob("*.warc.gz*"):
            with path.open("rb") as stream:
                for record in ArchiveIterator(stream):
                    target = record.rec_headers.get_header("WARC-Target-URI", "")
                    if record.rec_type == "response" and target.endswith("/robots.txt"):
                        digest = record.rec_headers.get_header("WARC-Payload-Digest")
                        texts[digest] = record.content_stream().read().decode()
    return texts
