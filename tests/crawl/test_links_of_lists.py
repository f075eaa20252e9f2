"""What the link log has beside links of pages over HTTP: other schemes, sitemaps, robots.txt; and who sees it."""

from __future__ import annotations

import json
import re
from collections import Counter
from urllib.parse import urlencode

import pytest

from tests.commands import in_process
from tests.fakeweb import Placement
from webcrawl.archive.listed_links import PART_LINKS
from webcrawl.links.reading import LinkLogs

LONG = 2500
ANCHOR = re.compile(rb'<a href="((?:mailto|javascript|tel|data):[^"]*)">([^<]*)</a>')


def sitemap(form, *urls):
    """The path of a sitemap."""
    return f"/x/sitemap?{urlencode({'form': form, 'urls': '|'.join(urls)})}"


THERE = sitemap("rss", "/x/duplicate?1", "javascript://alert")
INDEX = sitemap("index", THERE, "/private/map.xml")
LISTING = sitemap("thousands", "/private/")
MOVED = sitemap("moved", THERE)
NAMED = (INDEX, LISTING, MOVED, "/x/none")


@pytest.fixture(scope="module")
def web(serve):
    named = Placement(
        "robots-sitemap",
        hosts=("h0001.localhost",),
        options={"sitemaps": "|".join((*NAMED, "ftp://x.test/map"))},
    )
    return serve(hosts=3, pages=27, seed=3, zipf=0.1, dirty=True, placements=(named,))


@pytest.fixture(scope="module")
def crawled(web, crawl):
    done = crawl(web.seeds, POLITENESS_FACTOR=0, RETRY_TIMES=0).assert_ended_well()
    done.assert_sound()
    return done


@pytest.fixture(scope="module")
def logged(crawled):
    """Every line, and the lines of each list together."""
    lines = list(LinkLogs([crawled.path]).pages())
    told = {}
    for line in lines:
        told.setdefault(line.page, []).append(line)
    return told


def listed(logged, url):
    return [(link.to, link.type) for line in logged[url] for link in line.links]


def test_links_of_other_schemes_are_those_that_the_archive_has(crawled, logged):
    pages, found = {line["url"]: line for line in crawled.lines()}, 0
    for record in crawled.records():
        if record.type != "response" or record.url not in pages or record.url.endswith("/x/none"):
            continue
        written = {
            (href.decode(), text.decode()) for href, text in ANCHOR.findall(record.content)
        }  # those of the fakeweb are as the standard writes them
        [line] = logged[record.url]
        others = {(link.to, link.text) for link in line.links if not link.to.startswith("http")}
        assert others == written, record.url
        assert pages[record.url].get("other_links", 0) == len(others)
        found += len(others)
    assert found > 20


def test_a_robots_txt_and_its_sitemaps_have_lines(web, logged):
    origin = web.web.origin(1)
    assert listed(logged, f"{origin}/robots.txt") == [
        *((origin + path, "sitemap") for path in NAMED),
        ("ftp://x.test/map", "sitemap"),
    ]
    assert listed(logged, origin + INDEX) == [
        (origin + THERE, "sitemap"),
        (f"{origin}/private/map.xml", "sitemap"),
    ]
    assert listed(logged, origin + THERE) == [
        (f"{origin}/x/duplicate?1", "sitemap"),
        ("javascript://alert", "sitemap"),
    ]
    assert listed(logged, origin + MOVED) == [(origin + THERE, "redirect")]
    assert listed(logged, origin + "/x/none") == []
    assert {line.kind for url in (INDEX, THERE, MOVED, "/x/none") for line in logged[origin + url]} == {
        "sitemap"
    }
    assert not any(url.endswith("/robots.txt") for url in logged if not url.startswith(origin))


def test_a_long_sitemap_is_told_in_parts_and_leaves_no_file(web, crawled, logged):
    origin = web.web.origin(1)
    lines = logged[origin + LISTING]
    assert [line.part for line in lines] == list(range(1, -(-LONG // PART_LINKS) + 1))
    assert listed(logged, origin + LISTING) == [
        (f"{origin}/private/{number}", "sitemap") for number in range(LONG)
    ]
    [told] = [line for line in crawled.lines("sitemap") if line["url"] == origin + LISTING]
    assert (told["links"], told["urls"]) == (LONG, LONG)
    assert not list((crawled.path / "spool").glob("*"))


def test_the_command_finds_them(web, links):
    origin = web.web.origin(1)
    [told] = map(json.loads, links("in", f"{origin}/private/{LONG - 1}", "--json").said.splitlines())
    assert (told["page"], told["kind"], told["type"]) == (origin + LISTING, "sitemap", "sitemap")
    out = links("out", origin + LISTING, "--json", "--limit", "0").said.splitlines()
    assert [json.loads(line)["to"] for line in out] == [
        f"{origin}/private/{number}" for number in range(LONG)
    ]
    assert "as a sitemap" in links("out", origin + LISTING).said
    assert "as a robots.txt" in links("out", f"{origin}/robots.txt").said
    for url in ("tel:+123456", "mailto:someone@example.com", " javascript:void(0)", "data:text/plain,hello"):
        assert json.loads(links("in", url, "--json").said.splitlines()[0])["to"] == url.strip()
    assert links("in", "ftp://x.test/map").said.endswith("1 link\n")


def test_the_graph_knows_pages_alone(web, logged, links, tmp_path):
    counted = Counter()
    for [line, *_] in logged.values():
        if line.kind == "page":
            ends = {link.canonical for link in line.links if link.canonical.startswith("http")}
            counted.update(end for end in ends if end != line.canonical)
    said = links("graph", "--of", "pages", "--no-rank", "--top", "0", "--nofollow", "--json").said
    told = {line["name"]: line["in_degree"] for line in map(json.loads, said.splitlines())}
    assert {name: degree for name, degree in told.items() if degree} == counted
    assert not any("/private/" in name or "robots.txt" in name or ":" in name[5:6] for name in told)
    hosts = [json.loads(line)["name"] for line in links("graph", "--json", "--top", "0").said.splitlines()]
    assert sorted(hosts) == [f"h000{number}.localhost" for number in range(3)]
    table = tmp_path / "links.tsv"
    links("export", "-o", str(table)).said  # noqa: B018 - it must end well
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    assert sum(row[3] == "sitemap" for row in rows) == len(NAMED) + 1 + 2 + 2 + LONG
    assert any(row[1] == "mailto:someone@example.com" for row in rows)


def test_nothing_is_wrong_with_the_archive(crawled, capsys):
    check = in_process("archive", capsys)
    assert check("check", str(crawled.path)).said.endswith("Nothing is wrong.\n")


def test_without_a_link_log_nothing_is_kept_of_them(web, crawl):
    done = crawl(web.seeds, LINK_LOG_ENABLED=0, POLITENESS_FACTOR=0, RETRY_TIMES=0).assert_ended_well()
    assert not any("links" in line for line in done.lines("sitemap"))
    assert not list((done.path / "spool").glob("*"))


def test_a_sitemap_that_is_not_followed_is_explained(web, crawl, capsys):
    done = crawl(web.seeds, SITEMAPS_FOLLOW=0, POLITENESS_FACTOR=0, RETRY_TIMES=0).assert_ended_well()
    explain = in_process("explain", capsys, JOBDIR=done.path, SITEMAPS_FOLLOW=0)
    url = web.web.origin(1) + LISTING
    assert "not followed: SITEMAPS_FOLLOW is off" in explain(url).said
    [told] = explain(url, "--json").told["found"]["links"]["some"]
    assert (told["page"], told["type"], told["withheld"]) == (
        f"{web.web.origin(1)}/robots.txt",
        "sitemap",
        "sitemaps",
    )
