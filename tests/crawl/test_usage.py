"""What pages may be used for: recorded with each, and kept out of a feed if the crawl is for something else."""

from __future__ import annotations

import csv
import json

import pytest

from tests.crawl import expectation
from tests.crawl.test_ordinary_spiders import SETTINGS
from tests.fakeweb import Placement
from webcrawl.archive.records import warc_date

OURS = (
    "|User-agent: webcrawl|Disallow: /private/|Content-Usage: train-ai=n"
    "|Content-Usage: /news/ train-ai=y, search=n"
)
ROBOTS = {
    1: (
        {"lines": "Content-Usage: train-ai=n|Content-Signal: search=yes"},
        {"train-ai": "no", "search": "yes"},
    ),
    2: ({"lines": "Content-Signal: search=yes, ai-train=yes"}, {"train-ai": "yes", "search": "yes"}),
    3: ({"lines": "Content-Usage: train-ai=y" + OURS}, None),
    4: ({"lines": "|User-agent: GPTBot|Disallow: /"}, {}),
}
"""Hosts by number: the lines of their robots.txt, and the verdicts that follow for each page."""
PAGES = (
    ("usage-header", {"fields": "Content-Usage: train-ai=n"}, {"train-ai": "no"}),
    ("usage-header", {"fields": "Content-Usage: train-ai=y"}, {"train-ai": "yes"}),
    (
        "usage-header",
        {"fields": "Content-Signal: ai-train=no, ai-input=yes"},
        {"train-ai": "no", "ai-input": "yes"},
    ),
    ("usage-header", {"fields": "tdm-reservation: 1|tdm-policy: /policy"}, {"tdm": "no", "train-ai": "no"}),
    ("usage-header", {"fields": "Robots-Tag: *;noai"}, {"ai-input": "no", "train-ai": "no"}),
    ("usage-header", {"fields": 'Link: </l.xml>; rel="license"'}, {}),
    ("tag-meta", {"name": "tdm-reservation", "content": "1"}, {"tdm": "no", "train-ai": "no"}),
    ("tag-meta", {"name": "robots", "content": "noai, nosnippet"}, {"ai-input": "no", "train-ai": "no"}),
)


@pytest.fixture(scope="module")
def web(serve):
    hosts = [
        Placement("robots-usage", hosts=(f"h{number:04d}.localhost",), options=options)
        for number, (options, _) in ROBOTS.items()
    ]
    pages = [Placement(name, 0.06, options=options) for name, options, _ in PAGES]
    return serve(hosts=8, pages=160, links=8, seed=11, placements=(*hosts, *pages))


@pytest.fixture(scope="module")
def truth(web):
    """URL to the verdicts on its page, from what the server sends, for each page that may be fetched."""
    reached = expectation.depths(web)
    known = {(name, json.dumps(options)): verdicts for name, options, verdicts in PAGES}
    verdicts = {}
    for page in web.web.pages():
        url = web.web.url(page)
        if url not in reached:
            continue
        number = int(url.partition("//h")[2][:4])
        said = ROBOTS.get(number, ({}, {}))[1]
        if said is None:
            said = {"train-ai": "yes", "search": "no"} if "/news/" in url else {"train-ai": "no"}
        part = web.web.part(page)
        own = known[part.behaviour, json.dumps(part.options)] if part else {}
        verdicts[url] = {
            purpose: "no" if "no" in (said.get(purpose), own.get(purpose)) else "yes"
            for purpose in said.keys() | own.keys()
        }
    return verdicts


def crawled_with(web, crawl, folder, name, options=(), **settings):
    feed = folder / f"{name}.jsonl"
    before = len(web.hits())
    crawled = crawl(web.seeds, options=("-o", str(feed), *options), **settings).assert_ended_well()
    crawled.assert_sound()
    items = {item["url"]: item for line in feed.read_text().splitlines() for item in [json.loads(line)]}
    requested = {expectation.address(web, hit) for hit in web.hits()[before:] if not hit.is_robots}
    return crawled, items, requested


def test_every_page_has_its_verdicts_in_log_item_and_archive(web, truth, crawl, folder):
    crawled, items, requested = crawled_with(web, crawl, folder, "recorded")

    assert requested == set(truth)
    lines = {line["url"]: line for line in crawled.lines("page")}
    stated = {url: {k: v for k, v in line["usage"].items() if k != "sources"} for url, line in lines.items()}
    assert stated == truth
    assert {url: item.get("usage", {}) for url, item in items.items()} == truth
    assert len({json.dumps(verdicts) for verdicts in truth.values()}) > 8
    # Each verdict is that of a source that says it
    for url, verdicts in truth.items():
        for purpose, verdict in verdicts.items():
            assert verdict in [source.get(purpose) for source in lines[url]["usage"]["sources"]]
    contradicting = [
        line["usage"]
        for line in lines.values()
        if {"yes", "no"} <= {source.get("train-ai") for source in line["usage"].get("sources", [])}
    ]
    assert contradicting
    assert all(usage["train-ai"] == "no" for usage in contradicting)
    metadata = {
        record.url: record.content.decode() for record in crawled.records() if record.type == "metadata"
    }
    for url, verdicts in truth.items():
        fields = dict(line.split(": ", 1) for line in metadata[url].splitlines() if ": " in line)
        if lines[url]["usage"]:
            words = fields["usage"].split(", ")
            assert sorted(words) == sorted(f"{k}={v}" for k, v in verdicts.items()) or (
                words == ["unknown"] and not verdicts
            )
            assert fields["usage-sources"]
        else:
            assert "usage" not in fields


def test_no_page_that_may_not_be_used_for_training_is_in_a_feed_for_training(web, truth, crawl, folder):
    table = folder / "columns.csv"
    crawled, items, requested = crawled_with(
        web, crawl, folder, "training", ("-o", str(table)), USAGE_PURPOSES="train-ai"
    )

    assert requested == set(truth)
    forbidden = {url for url, verdicts in truth.items() if verdicts.get("train-ai") == "no"}
    assert len(forbidden) > 20
    assert set(items) == set(truth) - forbidden
    # A feed of columns has one for usage.
    with table.open(newline="") as rows:
        usage = {row["url"]: json.loads(row["usage"] or "{}") for row in csv.DictReader(rows)}
    assert usage == {url: truth[url] for url in items}
    assert any(usage.values())
    withheld = {line["url"] for line in crawled.lines("page") if line.get("withheld")}
    assert withheld == forbidden
    archived = {record.url for record in crawled.records() if record.type == "response"}
    assert forbidden <= archived


def test_what_is_unknown_is_withheld_if_it_is_to_be(web, truth, crawl, folder):
    settings = {"USAGE_PURPOSES": "train-ai,search", "USAGE_UNKNOWN": "refuse"}
    _, items, _ = crawled_with(web, crawl, folder, "unknown", **settings)

    allowed = {"train-ai": "yes", "search": "yes"}
    assert set(items) == {url for url, verdicts in truth.items() if allowed.items() <= verdicts.items()}
    assert items


def test_what_a_robots_txt_disallows_is_not_requested_if_it_is_to_be(web, truth, crawl, folder):
    settings = {"USAGE_PURPOSES": "train-ai", "USAGE_DISALLOWED": "refuse", "USAGE_TOKENS": "GPTBot"}
    crawled, items, requested = crawled_with(web, crawl, folder, "refused", **settings)

    assert not [url for url in requested if any(f"//h000{number}." in url for number in (1, 4))]
    of_third = {url for url in requested if "//h0003." in url}
    assert all("/news/" in url for url in of_third)
    assert crawled.figures().rules["usage"] > 0
    assert items
    assert all(truth[url].get("train-ai") != "no" and "//h0004." not in url for url in items)


def test_records_nothing_if_it_is_turned_off(web, truth, crawl, folder):
    crawled, items, _ = crawled_with(web, crawl, folder, "off", USAGE_RECORD=0)

    assert set(items) == set(truth)
    assert not any("usage" in line for line in crawled.lines("page"))


VERSIONS = {"lines": "Content-Usage: train-ai=y", "later": "Content-Usage: train-ai=n", "times": 1}


@pytest.mark.parametrize("storage", ["sqlite", "redis"])
def test_a_changed_robots_txt_changes_pages_that_are_fetched_later(serve, crawl, folder, storage, request):
    """The first text allows training, all others forbid it."""
    part = Placement("robots-usage", hosts=("h0000.localhost",), options=VERSIONS)
    web = serve(hosts=1, pages=24, same_host=1.0, placements=(part,))
    settings = {"ROBOTS_TTL_SECONDS": 1, "ROBOTS_TTL_MIN_SECONDS": 1, "POLITENESS_MIN_DELAY": 0.1}
    if storage == "redis":
        settings["REDIS_URL"] = request.getfixturevalue("serve_redis")().url
    feed = folder / f"versions-{storage}.jsonl"
    crawled = crawl(web.seeds, options=("-o", str(feed)), USAGE_PURPOSES="train-ai", **settings)
    crawled.assert_ended_well()

    changed = [hit for hit in web.hits() if hit.is_robots][1]
    expected = {
        expectation.address(web, hit): "yes" if hit.start < changed.start else "no"
        for hit in web.hits()
        if not hit.is_robots
    }
    lines = {line["url"]: line["usage"]["train-ai"] for line in crawled.lines("page")}
    assert lines == expected
    assert set(lines.values()) == {"yes", "no"}
    items = {json.loads(line)["url"] for line in feed.read_text().splitlines()}
    assert items == {url for url, verdict in expected.items() if verdict == "yes"}
    assert_versions_lead_to_texts(crawled, lines, feed)


def assert_versions_lead_to_texts(crawled, verdicts, feed):
    """Each page names a robots.txt of the log, whose archived text says what the page may be used for."""
    texts = {
        record.headers["WARC-Payload-Digest"]: record.content.decode()
        for record in crawled.records()
        if record.type == "response" and record.url.endswith("/robots.txt")
    }
    digests = {
        line["robots_received"]: line["digest"] for line in crawled.lines("robots") if "digest" in line
    }
    pages = {line["url"]: line for line in crawled.lines("page")}
    for url, line in pages.items():
        letter = verdicts[url][0]
        assert f"train-ai={letter}" in texts[digests[line["robots_received"]]]
    assert len({line["robots_received"] for line in pages.values()}) > 1
    for item in map(json.loads, feed.read_text().splitlines()):
        assert item["robots_received"] == pages[item["url"]]["robots_received"]
    metadata = {
        record.url: record.content.decode() for record in crawled.records() if record.type == "metadata"
    }
    for url, line in pages.items():
        assert f"robots-received: {warc_date(line['robots_received'])}" in metadata[url]


@pytest.mark.parametrize(
    ("pipeline", "field", "store"),
    [
        ("files.FilesPipeline", "file_urls", "FILES_STORE"),
        ("images.ImagesPipeline", "image_urls", "IMAGES_STORE"),
    ],
)
def test_media_that_may_not_be_used_are_archived_and_withheld_from_the_pipelines(
    serve, crawl, folder, pipeline, field, store
):
    """Both hosts have media of the pages of both; one of them does not allow that any of its files is used."""
    part = Placement(
        "robots-usage", hosts=("h0001.localhost",), options=VERSIONS | {"lines": VERSIONS["later"]}
    )
    web = serve(hosts=2, pages=2, placements=(part,))
    feed, stored = folder / f"{field}.jsonl", folder / field
    crawled = crawl(
        spider="files",
        module=SETTINGS,
        arguments={
            "origins": ",".join(web.web.origin(number) for number in range(2)),
            "pages": "2",
            "files": "2",
            "field": field,
        },
        options=["-o", f"{feed}:jsonlines"],
        ITEM_PIPELINES=json.dumps({f"scrapy.pipelines.{pipeline}": 1}),
        USAGE_PURPOSES="train-ai",
        POLITENESS_MIN_DELAY=0.05,
        **{store: stored},
    ).assert_ended_well()

    items = [json.loads(line) for line in feed.read_text().splitlines()]
    assert {item["url"].split("/")[2].split(":")[0] for item in items} == {"h0000.localhost"}
    lines = {line["url"]: line for line in crawled.lines("inline")}
    withheld = {url for url, line in lines.items() if line.get("withheld")}
    assert withheld == {url for url in lines if "//h0001." in url}
    assert len(lines) == 2 * len(withheld) == 8
    assert {line["status"] for line in lines.values()} == {200}
    got = {file["url"] for item in items for file in item[field.replace("_urls", "s")]}
    assert got == lines.keys() - withheld
    assert len([path for path in stored.rglob("*") if path.is_file()]) == len(got)
    archived = {record.url for record in crawled.records() if record.type in ("response", "revisit")}
    assert withheld <= archived
    assert "Traceback" not in crawled.stderr


OWN = """
from webcrawl.items import Page
from webcrawl.spiders.broad import BroadSpider

class Own(BroadSpider):
    name = "own"

    async def parse(self, response):
        yield {"url": response.url, "own": True}
        yield Page(url=response.url, status=response.status)
"""


def test_items_that_a_spider_makes_of_a_page_itself_are_withheld_too(web, truth, crawl, folder):
    """The page was not parsed, so that its elements are read for that alone."""
    (folder / "own_spiders.py").write_text(OWN)
    feed = folder / "own.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        crawled = crawl(
            sorted(truth),
            options=("-o", str(feed)),
            spider="own",
            SPIDER_MODULES="own_spiders",
            USAGE_PURPOSES="train-ai",
        )
    assert crawled.status == 0, crawled.stderr[-2000:]
    items = {url for url, verdicts in truth.items() if verdicts.get("train-ai") != "no"}
    given = [json.loads(line) for line in feed.read_text().splitlines()]
    assert sorted(item["url"] for item in given if "own" in item) == sorted(items)
    assert sorted(item["url"] for item in given if "own" not in item) == sorted(items)
    withheld = {line["url"] for line in crawled.lines("page") if line.get("withheld")}
    assert withheld == set(truth) - items
