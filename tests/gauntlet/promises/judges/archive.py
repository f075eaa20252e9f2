"""Judges of commands that read what a crawl has stored: compared with what the server has sent."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.gauntlet.promises.judges.acting import counted
from tests.gauntlet.promises.table import judge, need

if TYPE_CHECKING:
    from tests.fakeweb.log import Hit
    from tests.gauntlet.promises.stages import Story
    from tests.gauntlet.promises.table import Promise


def _ordinary(stage: Story) -> Hit:
    """Return a request that was answered with an ordinary page with links."""
    return next(hit for hit in stage.pages() if hit.status == 200 and hit.host == "h0001.test")


def _page(stage: Story, hit: Hit) -> Any:
    host = stage.site.geography.host_index(hit.host)
    return stage.site.geography.find(host, hit.path)


def _sent(stage: Story, hit: Hit) -> bytes:
    """Return the body that the server has sent."""
    body: bytes = stage.site.html(_page(stage, hit))[1]
    return body


def _answered(stage: Story) -> list[Hit]:
    return [hit for hit in stage.hits() if hit.status is not None]


@judge
def shows_what_was_sent(stage: Story, promise: Promise) -> str:
    wrong = []
    hits = [hit for hit in stage.pages() if hit.status == 200][:6]
    for hit in hits:
        done = stage.do("cat", stage.url(hit), *stage.jobdirs, "--body")
        if done.out.encode() != _sent(stage, hit):
            wrong.append(stage.url(hit))
    versions = stage.do("cat", stage.url(hits[0]), *stage.jobdirs, "--all").out.splitlines()
    return need(
        not wrong and len(versions) == 1,
        f"{len(hits) - len(wrong)} of {len(hits)} bodies equal the bytes sent; {counted(len(versions), 'version')}",
    )


@judge
def checks_the_archive(stage: Story, promise: Promise) -> str:
    """Every answer of the server has its record; a deleted line of the fetch log is a fault."""
    totals = json.loads(stage.do("archive", "check", *stage.jobdirs, "--json").out.splitlines()[-1])
    number = totals["records"]["response"] + totals["records"].get("revisit", 0)
    damaged = stage.run("archive", "check", stage.names["damaged"])
    return need(
        number == len(_answered(stage)) and totals["faults"] == 0 and damaged.status == 1,
        f"{number} records of answers, {totals['faults']} faults, the server sent {len(_answered(stage))}; "
        f"without a line of the fetch log: exit status {damaged.status}",
    )


@judge
def indexes_the_archive(stage: Story, promise: Promise) -> str:
    path = stage.folder / "index.cdxj"
    stage.do("archive", "index", *stage.jobdirs, "-o", path)
    lines = path.read_text().splitlines()
    urls = Counter(json.loads(line.split(" ", 2)[2])["url"] for line in lines)
    sent = Counter(map(stage.url, _answered(stage)))
    return need(
        urls == sent and lines == sorted(lines),
        f"{len(lines)} lines, sorted: {lines == sorted(lines)}; the server sent {sent.total()}",
    )


@judge
def exports_a_tree(stage: Story, promise: Promise) -> str:
    totals = json.loads(stage.do("export", "tree", *stage.jobdirs, "--format", "json").out)["totals"]
    pages = sum(hit.status is not None for hit in stage.pages())
    return need(
        (totals["requests"], totals["pages"]) == (len(stage.hits()), pages),
        f"{totals['requests']} requests, {totals['pages']} pages; the server has {len(stage.hits())} and {pages}",
    )


@judge
def exports_urls(stage: Story, promise: Promise) -> str:
    settings = stage.select if stage.redis is not None else {}
    told = {
        state: set(stage.do("export", "urls", *stage.jobdirs, "--state", state, **settings).out.split())
        for state in ("done", "failed", "queued")
    }
    done = {stage.url(hit) for hit in stage.pages() if hit.status is not None}
    failed = {stage.url(hit) for hit in stage.pages() if hit.status is None}
    return need(
        (told["done"], told["failed"], told["queued"]) == (done, failed, set()),
        f"{len(told['done'])} done, {len(told['failed'])} failed, {len(told['queued'])} queued; by the server "
        f"{len(done)} answered, {len(failed)} not",
    )


@judge
def exports_seeds(stage: Story, promise: Promise) -> str:
    told = stage.do("export", "seeds", *stage.jobdirs).out.split()
    hosts = {hit.host for hit in stage.pages() if hit.status == 200}
    found = {re.sub(r"^http://([^:/]+).*", r"\1", url) for url in told}
    return need(
        found == hosts and len(told) == len(hosts), f"{len(told)} seeds for {counted(len(hosts), 'host')}"
    )


@judge
def exports_parquet(stage: Story, promise: Promise) -> str:
    from pyarrow import parquet

    path = stage.folder / "log.parquet"
    stage.do("export", "parquet", *stage.jobdirs, "-o", path)
    urls = Counter(parquet.read_table(path, columns=["url"]).column("url").to_pylist())
    served = Counter(map(stage.url, stage.hits()))
    return need(urls == served, f"{urls.total()} rows; the server's log has {served.total()}")


@judge
def links_of_a_page(stage: Story, promise: Promise) -> str:
    hit = _ordinary(stage)
    lines = stage.do("links", "out", stage.url(hit), *stage.jobdirs, "--json").out.splitlines()
    told = {json.loads(line)["to"] for line in lines}
    there = {link.origin + link.path for link in stage.site.links(_page(stage, hit))}
    return need(told == there, f"{len(told)} targets; the page that was sent has {len(there)}")


@judge
def links_to_a_page(stage: Story, promise: Promise) -> str:
    target = stage.url(_ordinary(stage))
    lines = stage.do("links", "in", target, *stage.jobdirs, "--json").out.splitlines()
    told = {json.loads(line)["page"] for line in lines}
    there = {
        stage.url(hit)
        for hit in stage.pages()
        if hit.status == 200
        and _page(stage, hit)
        and target in {link.origin + link.path for link in stage.site.links(_page(stage, hit))}
    }
    return need(told == there, f"{len(told)} pages; of those sent {len(there)} link to it")


@judge
def graph_of_links(stage: Story, promise: Promise) -> str:
    path = stage.folder / "graph.tsv"
    stage.do("links", "graph", *stage.jobdirs, "--of", "hosts", "--no-rank", "-o", path)
    named = set(re.findall(r"h\d{4}\.test", path.read_text()))
    hosts = {hit.host for hit in stage.pages()}
    return need(named == hosts, f"{counted(len(named), 'host')}; the server's log has {len(hosts)}")


@judge
def exports_links(stage: Story, promise: Promise) -> str:
    path = stage.folder / "links.tsv"
    stage.do("links", "export", *stage.jobdirs, "-o", path)
    number = sum(line.startswith("http") or "\thttp" in line for line in path.read_text().splitlines())
    sent = sum(
        len({(link.origin + link.path) for link in stage.site.links(_page(stage, hit))})
        for hit in stage.pages()
        if hit.status in (200, 404) and _page(stage, hit)
    )
    return need(
        0.9 * sent <= number <= 1.3 * sent + 200, f"{number} lines; pages that were sent have {sent} links"
    )


@judge
def searches(stage: Story, promise: Promise) -> str:
    """The only page with three words in a row is found by them."""
    hit = _ordinary(stage)
    text = re.sub(r"<[^>]+>", " ", _sent(stage, hit).decode().partition("<p>")[2])
    words = re.findall(r"\b[a-z]{4,}\b", text.lower())[4:7]
    query = f'"{" ".join(words)}"'
    told = json.loads(stage.do("search", query, *stage.jobdirs, "--json").out)
    urls = [found["url"] for found in told["hits"]]
    absent = json.loads(stage.do("search", "xylophonist", *stage.jobdirs, "--json").out)["count"]
    return need(
        stage.url(hit) in urls[:3] and absent == 0,
        f"{query}: found {stage.url(hit) in urls}, of {len(urls)} hits; a word of no page: {absent}",
    )


@judge
def searches_by_dashboard(stage: Story, promise: Promise) -> str:
    if stage.redis is not None:
        status, told = stage.dashboard().ask("GET", "/api/v1/search?q=steady")
        return need(status == 404, f"the index is with the workers: {status}, {str(told)[:80]}")
    hit = _ordinary(stage)
    title = re.search(r"<title>(.*?) &", _sent(stage, hit).decode())
    told = stage.dashboard().get(f"/api/v1/search?q={quote(title[1] if title else '')}")
    urls = [row["url"] for row in told["rows"]]
    return need(stage.url(hit) in urls, f"{title and title[1]!r}: found in {len(urls)} rows")
