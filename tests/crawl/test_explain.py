"""``scrapy explain`` is right for every URL of a crawl that was stopped half-way, and of the same when it has ended.

What is right is worked out from the map of the web, from what its server was asked, and from the fetch log.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from urllib.parse import quote

import pytest

from tests.commands import own_process
from tests.crawl import expectation
from tests.crawl.explaining import asking
from tests.fakeweb import Placement

ALLOW = r"//h000[0-7]\.(?!.*/news/)|/news/.*[13579]$"
FORBIDDEN, PRIVATE, WILD, UNREACHABLE, CUT, FLAKY = (f"h000{number}.localhost" for number in range(2, 8))
RULES = {
    FORBIDDEN: ("Disallow: /",),
    PRIVATE: ("Disallow: /private/",),
    WILD: ("Disallow: /*.html$", "Disallow: /*?view="),
}
"""What forbids, in the words of each host's robots.txt."""
RETRY_TIMES = 1
CLOCK_SECONDS = 0.05
"""By which the clock of a Redis differs from ours at most, on one machine."""
CHOICES = {
    "RETRY_TIMES": RETRY_TIMES,
    "FRONTIER_PATIENCE_SECONDS": 0,
    "CONCURRENT_REQUESTS": 4,
    "POLITENESS_FACTOR": 3,
}


@pytest.fixture
def web(serve):
    placements = (
        Placement("robots-forbid", hosts=(FORBIDDEN,)),
        Placement("robots-private", hosts=(PRIVATE,)),
        Placement("robots-wildcard", hosts=(WILD,)),
        Placement("robots-error", hosts=(UNREACHABLE,), options={"status": 500}),
        Placement("reset", hosts=(CUT,), paths=("/",)),
        Placement("flaky", hosts=(FLAKY,)),
    )
    return serve(hosts=9, pages=66, zipf=0.1, same_host=0.7, seed=5, placements=placements)


def telling(monkeypatch, **given):
    """What is explained of one URL after another, on one crawl."""
    ask = asking(monkeypatch, {"allow": ALLOW}, **{**CHOICES, **given})
    return lambda url, **arguments: json.loads(ask(url, **arguments).as_json())


class Truth:
    """What is so, by the map, the server's log and the lines of the fetch logs."""

    def __init__(self, web, lines):
        self.web = web
        self.facts = web.web.truth()
        self.lines = defaultdict(list)
        self.of_key = {}
        """The last line of each politeness key."""
        for line in sorted(lines, key=lambda line: line["end"]):
            self.of_key[line["key"]] = line
            if line["kind"] == "page":
                self.lines[line["url"]].append(line)
        sent = [len(those) for those in self.lines.values()]
        assert Counter(sent) == Counter(Counter(expectation.asked(web)).values())
        self.ends = {url: lines[-1] for url, lines in self.lines.items()}
        self.robots = {line["url"].removesuffix("/robots.txt") for line in lines if line["kind"] == "robots"}
        self.parents = defaultdict(set)
        pages = {web.web.url(page): page for page in web.web.pages()}
        for url, line in self.ends.items():
            if line.get("status") == 200 and url in pages:
                for link in web.web.links(pages[url]):
                    self.parents[link.origin + link.path].add(url)

    def urls(self):
        """All pages of the web, and links that lead nowhere."""
        return sorted({*self.facts, *self.parents})

    def attempts(self, url):
        """How often it was tried; what was sent again at once, on a new connection, is one attempt of two lines."""
        return sum(not line.get("resent") for line in self.lines[url])

    def is_tried_again(self, url):
        """Whether what came of it is not the last word."""
        failed = self.ends[url].get("status", 500) == 500
        return failed and self.attempts(url) <= RETRY_TIMES

    def fates(self, url):
        """The conclusions that are right, each with its rule."""
        if url in self.ends and self.is_tried_again(url):
            return {("waits", None), ("kept", None)}
        if url in self.ends:
            error = self.ends[url].get("error")
            return {("failed", error)} if error else {("done", None)}
        if url not in self.web.seeds:
            if not re.search(ALLOW, url):
                return {("would_be_refused", "allow")}
            if url not in self.parents:
                fact = self.facts.get(url)
                forbidden = fact is not None and fact.host in RULES and fact.forbidden
                known = url[: url.index("/", 8)] in self.robots
                return {("would_be_refused", "robots") if forbidden and known else ("would_be_queued", None)}
        fact = self.facts[url]
        if fact.host in RULES and fact.forbidden:
            asked = url.partition("//")[2].partition("/")[0] in {
                one.partition("//")[2] for one in self.robots
            }
            return {("refused", "robots"), ("will_be_refused", "robots")} if asked else {("waits", None)}
        return {("waits", None), ("kept", None)} if fact.host == CUT else {("waits", None)}


def assert_right(truth, told, url):
    """Everything that is said of a URL."""
    explanation = told(url)
    conclusion = (explanation["conclusion"]["fate"], explanation["conclusion"]["rule"])
    assert conclusion in truth.fates(url), url
    assert explanation["scope"]["allowed"] == (
        re.search(ALLOW, url) is not None or explanation["scope"]["stage"] == "seed"
    )
    assert_robots(truth, url, explanation["robots"])
    answered = [line["status"] for line in truth.lines[url] if line.get("status")]
    assert explanation["frontier"]["status"] == (answered[-1] if answered else None)
    if explanation["log"] is not None:
        assert explanation["log"] == {"count": len(truth.lines[url]), "last": truth.lines[url]}
        assert_discovered(truth, explanation, url)
    queued = explanation["frontier"]["queued"]
    assert (queued is not None) == (conclusion[0] in ("waits", "kept", "will_be_refused"))
    if queued is not None:
        via = queued["via"]
        assert via in truth.parents[url] if url not in truth.web.seeds else via is None
        assert queued["depth"] == (0 if via is None else truth.ends[via]["depth"] + 1)
        assert queued["url"] == url
        assert queued["attempts"] == truth.attempts(url)
        assert explanation["conclusion"]["leased"] is False
    if queued is not None:
        assert_clocks(truth, explanation)
    return explanation


def assert_discovered(truth, found, url):
    """The page that led to it is one that links to it; of what nobody knows, no page of the crawl does."""
    discovery = found["found"]
    if url not in truth.ends and found["frontier"]["queued"] is None:
        # What the rules refused is known only by those that are asked at its turn.
        pages = truth.parents.get(url, set())
        assert (discovery is None) == (found["conclusion"]["fate"] == "refused")
        assert discovery is None or discovery["links"]["number"] == len(pages)
        assert discovery is None or {link["page"] for link in discovery["links"]["some"]} <= pages
        return
    way = discovery["way"]
    via, depth = way["via"], way["depth"]
    assert way["by"] == ("seed" if url in truth.web.seeds else "link")
    assert via in truth.parents[url] if url not in truth.web.seeds else via is None
    assert depth == (0 if via is None else truth.ends[via]["depth"] + 1)


def assert_clocks(truth, found):
    """The key's own clock is what its last line says was owed; a URL waits for the latest of all."""
    clocks = {clock["name"]: clock["until"] for clock in found["clocks"]["clocks"]}
    last = truth.of_key.get(found["url"]["key"])
    assert ("politeness" in clocks) == (last is not None)
    if last is not None:
        assert clocks["politeness"] == pytest.approx(last["end"] + last["delay"], abs=CLOCK_SECONDS)
    untils = [found["now"], *clocks.values()]
    assert found["clocks"]["earliest_at"] == (None if None in untils else max(untils))


def assert_robots(truth, url, robots):
    """State, verdict and line are those of what the server sent."""
    host = truth.facts[url].host if url in truth.facts else url.split("/")[2].partition(":")[0]
    if robots["origin"] not in truth.robots:
        assert (robots["state"], robots["allowed"]) == (None, False)
        return
    assert robots["state"] == ("unreachable" if host == UNREACHABLE else "rules")
    if host == UNREACHABLE or url not in truth.facts:
        return
    fact = truth.facts[url]
    assert robots["fresh"]
    assert robots["allowed"] == robots["text_allows"] == (not fact.forbidden)
    if fact.forbidden:
        assert robots["rule"]["text"] in RULES[host]
        assert [line["text"] for line in robots["group"]] == ["User-agent: *"]


def explained(truth, told, queued=None):
    """Every URL of the web; the number of each conclusion."""
    explanations = [assert_right(truth, told, url) for url in truth.urls()]
    queues = defaultdict(list)
    for explanation in explanations:
        if explanation["frontier"]["queued"] is not None:
            queues[explanation["url"]["key"]].append(explanation["frontier"]["queued"]["before"])
    for key, before in queues.items():
        # Every place of every queue is somebody's.
        assert sorted(before) == list(range(len(before)))
        in_queue = {
            explanation["key"]["queued"] for explanation in explanations if explanation["url"]["key"] == key
        }
        assert in_queue == {len(before)}
    if queued is not None:
        assert sum(map(len, queues.values())) == queued
    return Counter(explanation["conclusion"]["fate"] for explanation in explanations)


def test_every_url_is_explained_when_the_crawl_was_stopped_and_when_it_has_ended(web, crawl, monkeypatch):
    choices = {"arguments": {"allow": ALLOW}, **CHOICES}
    first = crawl(web.seeds, CLOSESPIDER_PAGECOUNT=15, **choices).assert_ended_well()
    explain_url = telling(monkeypatch, JOBDIR=first.path)
    fates = explained(Truth(web, first.log()), explain_url, first.assert_sound().queued)
    assert fates["done"] >= 10
    assert min(fates[fate] for fate in ("waits", "would_be_queued", "would_be_refused")) > 2

    ended = crawl(web.seeds, of=first, **choices)
    truth = Truth(web, ended.log())
    fates = explained(truth, explain_url, ended.assert_sound().queued)
    assert fates["done"] == sum("status" in line for line in truth.ends.values())
    assert min(fates[fate] for fate in ("failed", "refused", "waits", "would_be_refused")) > 0
    assert_told_by_the_command(web, ended, truth)
    assert_refused_are_named(truth, explain_url, ended)


def assert_refused_are_named(truth, told, crawled, **settings):
    """In a list, those that were refused at their turn, with the rule; a seed that nothing links to is in no log."""
    words = ("export", "urls", crawled.path, "--state", "refused", "--format", "json")
    done = own_process(crawled.path.parent, *words, **settings)
    assert done.status == 0, done
    listed = [json.loads(line) for line in done.out.splitlines()]
    may_be = [url for url in truth.urls() if ("refused", "robots") in truth.fates(url)]
    refused = {url for url in may_be if told(url)["conclusion"]["fate"] == "refused"}
    assert {link["url"] for link in listed} == {url for url in refused if truth.parents.get(url)} != set()
    assert len(listed) == len({link["url"] for link in listed})
    assert {link["rule"] for link in listed} == {"robots"}
    assert all(link["via"] in truth.parents[link["url"]] for link in listed)


def assert_told_by_the_command(web, ended, truth):
    """As a person asks."""
    url = next(url for url in truth.ends if truth.ends[url].get("status") == 200)
    words = ["explain", url.replace("http://", "HTTP://"), "-a", f"allow={ALLOW}"]
    output = own_process(ended.path.parent, *words, JOBDIR=ended.path).said
    assert output.splitlines()[:2] == [url, "  done: it was fetched, and is not fetched again"]
    assert re.search(r"^  scheme +'HTTP' -> 'http'$", output, re.MULTILINE)
    assert re.search(r"^  200 +\d{4}-\d\d-\d\d .* ago\), page, .*text/html", output, re.MULTILINE)


def test_how_urls_were_found_and_why_they_were_not(serve, crawl, monkeypatch):
    placements = (
        Placement("tag-meta", hosts=(FORBIDDEN,), options={"name": "robots", "content": "nofollow"}),
        Placement("tag-rel", hosts=(PRIVATE,), options={"rel": "ugc"}),
    )
    web = serve(hosts=4, pages=80, links=6, seed=5, placements=placements)
    origin = web.web.origin(1)
    goal, huge = f"{origin}/x/ok?case=goal", f"{origin}/x/huge-links"
    chain = f"{origin}/x/redirect-chain?hops=2&goal={quote(goal, safe='')}"
    crawled = crawl([*web.seeds, chain, huge], DOWNLOAD_TEXT_MAXSIZE=0).assert_ended_well()
    ask = asking(monkeypatch, {}, JOBDIR=crawled.path)
    lines = {line["url"]: line for line in crawled.lines()}
    by_page = defaultdict(set)
    for page in web.web.pages():
        if web.web.url(page) in lines:
            for link in web.web.links(page):
                by_page[link.origin + link.path].add(web.web.url(page))
    withheld = {url: pages for url, pages in by_page.items() if url not in lines}
    assert len(withheld) > 2
    for url, pages in withheld.items():
        links = json.loads(ask(url).as_json())["found"]["links"]
        assert (links["number"], links["withheld"]) == (len(pages), len(pages)), url
        reasons = {"page" if FORBIDDEN in link["page"] else "rel" for link in links["some"]}
        assert {link["withheld"] for link in links["some"]} == reasons
    behind = json.loads(ask(f"{huge}?behind=1").as_json())["found"]
    assert behind["links"]["number"] == 0
    assert behind["cut"] == {"number": 1, "some": [huge]}
    way = json.loads(ask(goal).as_json())["found"]["way"]
    assert (way["by"], way["through"][0], len(way["through"]), way["page"]) == ("redirect", chain, 2, None)


def test_on_redis_too(web, crawl, serve_redis, monkeypatch):
    redis = serve_redis()
    choices = {"arguments": {"allow": ALLOW}, "REDIS_URL": redis.url, **CHOICES}
    first = crawl(web.seeds, CLOSESPIDER_PAGECOUNT=40, **choices).assert_ended_well()
    explain_url = telling(monkeypatch, JOBDIR=first.path, REDIS_URL=redis.url)
    fates = explained(Truth(web, first.log()), explain_url)
    assert min(fates[fate] for fate in ("done", "refused", "waits", "would_be_refused")) > 2, fates
    assert_refused_are_named(Truth(web, first.log()), explain_url, first, REDIS_URL=redis.url)
    elsewhere = explain_url(web.seeds[0], allow="other")["crawl"]["differs"]
    assert elsewhere == [{"name": "allow", "there": ALLOW, "here": "other"}]
