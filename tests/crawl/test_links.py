"""The link log of a crawl against what was served, recounted with another parser; and ``scrapy links`` on it."""

from __future__ import annotations

import json
from collections import Counter
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin

import pytest

from webcrawl.links import segments
from webcrawl.links.reading import LinkLogs

FOLLOWED = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}


class Recount(HTMLParser):
    """URLs and anchor texts of a page's links, by the standard library."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.found: dict[str, str] = {}
        self._open: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in FOLLOWED and (href := dict(attrs).get(FOLLOWED[tag])):
            self._open = urldefrag(urljoin(self.url, href)).url
            self.found.setdefault(self._open, "")

    def handle_data(self, data: str) -> None:
        if self._open is not None and not self.found[self._open]:
            self.found[self._open] = " ".join(data.split())

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._open = None


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=4, pages=60, seed=11)


@pytest.fixture(scope="module")
def crawled(web, crawl):
    done = crawl(web.seeds, LINK_LOG_ROLL_BYTES=2000, RETRY_TIMES=0).assert_ended_well()
    assert not list((done.path / segments.FOLDER).glob("*.open"))
    assert len(segments.times(done.path)) > 1
    return done


@pytest.fixture(scope="module")
def recounted(crawled):
    """Page to its links, out of the archive."""
    pages = {line["url"] for line in crawled.lines()}
    links = {}
    for record in crawled.records():
        if record.type == "response" and record.url in pages:
            reader = Recount(record.url)
            reader.feed(record.content.decode())
            links[record.url] = reader.found
    return links


def test_every_page_has_its_links_and_their_texts(crawled, recounted, web):
    logged = {
        page.page: {link.to: link.text for link in page.links} for page in LinkLogs([crawled.path]).pages()
    }
    assert logged == recounted
    served = {
        web.web.url(page): {link.origin + link.path for link in web.web.links(page)}
        for page in web.web.pages()
    }
    assert {url: set(links) for url, links in logged.items()} == served


def test_out_and_in_tell_what_a_recount_does(links, recounted):
    counted = Counter(target for found in recounted.values() for target in found)
    target, times = counted.most_common(1)[0]
    lines = [json.loads(line) for line in links("in", target, "--json", "--limit", "0").said.splitlines()]
    assert sorted(link["page"] for link in lines) == sorted(
        url for url, found in recounted.items() if target in found
    )
    assert {link["to"] for link in lines} == {target}
    assert len(lines) == times
    page = max(recounted, key=lambda url: len(recounted[url]))
    lines = [json.loads(line) for line in links("out", page, "--json").said.splitlines()]
    assert {link["to"]: link["text"] for link in lines} == recounted[page]
    output = links("in", target, "--limit", "1").said
    assert output.startswith(f"Links to {target}\n  a  ")
    assert ("and more; --limit 0 shows all" in output) == (times > 1)


def test_a_folder_without_a_link_log_is_told(links, tmp_path):
    refused = links("in", "http://a.test/", str(tmp_path), str(tmp_path / "none"))
    assert (refused.status, refused.err.splitlines()) == (
        2,
        [
            f"scrapy links: {tmp_path}: holds no link log (links/)",
            f"scrapy links: {tmp_path}/none: is no folder",
        ],
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["inn", "http://a.test/"], "inn: is no subcommand of links; did you mean in?"),
        (["in", "not a url"], "'not a url' is no URL"),
        (["out", "http://a.test/", "--top", "3"], "--top: is for graph, not for out"),
        (["graph", "--of", "sites"], "--of: must be hosts or pages, not sites"),
        (["graph", "-o", "x.txt"], "--output: must end in .graphml, .net, .tsv, .parquet, not x.txt"),
        (["export"], "--output: is needed"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(links, words, why):
    refused = links(*words)
    assert refused.status == 2
    assert refused.err.startswith(f"scrapy links: {why}")
    assert refused.err.count("\n") == 1


def test_the_graph_of_hosts_is_the_recounted_one(links, recounted, tmp_path):
    def host(url):
        return url.split("/")[2].partition(":")[0]

    counted = Counter((host(page), host(target)) for page, found in recounted.items() for target in found)
    counted = {ends: count for ends, count in counted.items() if ends[0] != ends[1]}
    file = tmp_path / "hosts.tsv"
    output = links("graph", "-o", str(file), "--json", "--top", "0").said
    edges = [line.split("\t") for line in file.read_text().splitlines()[1:]]
    assert {(one, other): int(count) for one, other, count in edges} == counted
    lines = {line["name"]: line for line in map(json.loads, output.splitlines())}
    assert {name: line["in_links"] for name, line in lines.items()} == {
        name: sum(count for ends, count in counted.items() if ends[1] == name) for name in lines
    }
    assert sum(line["pagerank"] for line in lines.values()) == pytest.approx(1)
    assert f"{len(lines)} hosts, {len(lines)} of them fetched; " in links("graph", "--no-rank").said
    assert f"{len(recounted)} pages, " in links("graph", "--of", "pages", "--types", "a").said
    table = tmp_path / "links.tsv"
    links("export", "--output", str(table)).said  # noqa: B018 - it must end well
    assert table.read_text().count("\n") == 1 + sum(map(len, recounted.values()))
