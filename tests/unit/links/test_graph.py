"""The graph of pages and of hosts, its figures against a recount, and its forms against other readers."""

from __future__ import annotations

import csv
import random
import xml.etree.ElementTree as ET
from collections import Counter

import igraph
import pyarrow.parquet
import pytest

from tests.unit.links.logged import kept, page, sitemap
from webcrawl.commands.links import write_graph
from webcrawl.links import graph as forms
from webcrawl.links import graph as parquet
from webcrawl.links.graph import Choice, GraphLibraryMissingError, host_graph, page_graph, pagerank
from webcrawl.links.reading import LinkLogs

A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"
HERE = "http://a.test/here"


def named(graph):
    return {(graph.name(one), graph.name(other)): count for one, other, count in graph.edges()}


def power_iteration(graph, weighted):
    """PageRank by its definition: what a vertex without links has goes to all."""
    size, ranks = len(graph), [1 / len(graph)] * len(graph)
    links = [(one, other, count if weighted else 1) for one, other, count in graph.edges()]
    out = Counter()
    for one, _, count in links:
        out[one] += count
    for _ in range(200):
        lost = sum(ranks[one] for one in range(size) if not out[one])
        after = [(0.15 + 0.85 * lost) / size] * size
        for one, other, count in links:
            after[other] += 0.85 * ranks[one] * count / out[one]
        ranks = after
    return ranks


@pytest.fixture
def logs(tmp_path):
    """Pages of some hosts with links at random, all texts odd."""
    chance = random.Random(5)
    urls = [f"http://{host}.test/{number}" for host in "abcde" for number in range(12)]
    entries = [
        page(url, [(other, "a", '<"&\ud800\x00', "") for other in chance.sample(urls, chance.randrange(7))])
        for url in urls[:50]
    ]
    kept(tmp_path, entries[:20], entries[20:])
    return LinkLogs([tmp_path])


def test_edges_are_links_between_different_pages_or_hosts(tmp_path):
    kept(tmp_path, [page(A, [B, (B, "area", "", ""), HERE, A, f"{B}?"]), page(HERE, [B])])
    pages = LinkLogs([tmp_path]).pages
    graph = page_graph(pages(), Choice())
    assert named(graph) == {(A, B): 3, (A, HERE): 1, (HERE, B): 1}
    assert dict(zip(map(graph.name, range(3)), graph.in_degrees(), strict=True)) == {A: 0, B: 2, HERE: 1}
    assert dict(zip(map(graph.name, range(3)), graph.in_links(), strict=True)) == {A: 0, B: 4, HERE: 1}
    hosts = host_graph(pages(), Choice())
    assert named(hosts) == {("a.test", "b.test"): 4}
    assert list(hosts.fetched) == [1, 0]
    assert named(graph.among_fetched()) == {(A, HERE): 1}
    assert len(hosts.among_fetched()) == 1


def test_lists_and_links_of_other_schemes_are_no_part_of_it(tmp_path):
    robots = page(f"{A}robots.txt", [(f"{A}map", "sitemap", "", "")], kind="robots")
    made = page(A, [B, "ftp://f.test/"])
    made.other_links = [("mailto:a@b.test", "a", "", ""), ("data:,", "a", "", "")]
    kept(tmp_path / "job", [made, robots, sitemap(tmp_path, f"{A}map", [C] * 1200 + ["mailto:x"])])
    pages = LinkLogs([tmp_path / "job"]).pages
    for graph in (page_graph(pages(), Choice()), page_graph(pages(), Choice(types=frozenset({"a"})))):
        assert (named(graph), list(map(graph.name, range(len(graph))))) == ({(A, B): 1}, [A, B])
    hosts = host_graph(pages(), Choice())
    assert list(map(hosts.name, range(len(hosts)))) == ["a.test", "b.test"]
    assert len(page_graph(pages(), Choice(types=frozenset({"sitemap"})))) == 1


def test_links_that_are_not_vouched_for_or_of_another_type_may_be_left_out(tmp_path):
    rows = [(B, "a", "", "nofollow"), (C, "canonical", "", ""), (HERE, "a", "", "me")]
    kept(tmp_path, [page(A, rows), page(C, [B], extra={"nofollow": True})])
    pages = LinkLogs([tmp_path]).pages
    assert named(page_graph(pages(), Choice(avoided=frozenset({"nofollow"})))).keys() == {(A, C), (A, HERE)}
    assert named(page_graph(pages(), Choice(types=frozenset({"a"})))).keys() == {(A, B), (A, HERE)}
    assert named(page_graph(pages(), Choice(nofollow=True))).keys() == {(A, B), (A, C), (A, HERE), (C, B)}


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("fetched", [True, False])
def test_pagerank_is_what_its_definition_gives(logs, weighted, fetched):
    graph = (host_graph if weighted else page_graph)(logs.pages(), Choice())
    graph = graph.among_fetched() if fetched else graph
    assert pagerank(graph, weighted=weighted) == pytest.approx(power_iteration(graph, weighted))


def test_a_graph_of_nothing_has_no_ranks(tmp_path):
    assert pagerank(page_graph(LinkLogs([tmp_path]).pages(), Choice()), weighted=False) == []
    kept(tmp_path, [page(A)])
    assert pagerank(page_graph(LinkLogs([tmp_path]).pages(), Choice()), weighted=False) == [1.0]


def test_without_the_library_it_is_said_which_is_missing(logs, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "igraph", None)
    with pytest.raises(GraphLibraryMissingError, match="pip install igraph"):
        pagerank(host_graph(logs.pages(), Choice()), weighted=True)


@pytest.mark.parametrize("ending", ["graphml", "net", "tsv", "parquet"])
def test_every_form_is_read_by_others_as_the_same_graph(logs, tmp_path, ending):
    graph = page_graph(logs.pages(), Choice())
    ranks = pagerank(graph, weighted=False)
    path = tmp_path / f"graph.{ending}"
    write_graph(graph, ranks, path)
    if ending == "tsv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, "excel-tab"))
        read = {(one, other): int(count) for one, other, count in rows[1:]}
    elif ending == "parquet":
        rows = pyarrow.parquet.read_table(path).to_pylist()
        read = {(row["from"], row["to"]): row["links"] for row in rows}
    else:
        made = igraph.Graph.Read(str(path), format="pajek" if ending == "net" else ending)
        ends = [(made.vs[edge.source]["name"], made.vs[edge.target]["name"]) for edge in made.es]
        read = dict(zip(ends, map(int, made.es["weight"]), strict=True))
        if ending == "graphml":
            assert made.vs["pagerank"] == pytest.approx(ranks)
            assert made.vs["in_degree"] == list(graph.in_degrees())
            assert sum(made.vs["fetched"]) == 50
    assert read == named(graph)


def test_odd_names_break_no_form(tmp_path):
    odd = "http://a.test/<&\"'>\ud800\x0b\n\tä"
    kept(tmp_path, [page(odd, [("http://b.test/]]>", "a", "\x7f\ud800\n\t", "")])])
    pages = LinkLogs([tmp_path]).pages
    graph = page_graph(pages(), Choice())
    for ending in ("graphml", "net", "tsv", "parquet"):
        write_graph(graph, None, tmp_path / f"odd.{ending}")
    root = ET.parse(tmp_path / "odd.graphml").getroot()
    assert "http://a.test/<&\"'>\ufffd\ufffd\ufffd\ufffdä" in [node.text for node in root.iter() if node.text]
    assert len(igraph.Graph.Read_Pajek(str(tmp_path / "odd.net")).vs) == 2
    assert all(line.count("\t") == 5 for line in "".join(forms.links_as_tsv(pages())).splitlines())
    assert parquet.write_links(pages(), tmp_path / "links.parquet") == 1
    [row] = pyarrow.parquet.read_table(tmp_path / "links.parquet").to_pylist()
    assert (row["type"], row["text"], row["status"]) == ("a", "\ufffd\ufffd\ufffd\ufffd", 200)


def test_all_links_as_a_table_are_those_of_the_log(logs, tmp_path):
    path = tmp_path / "links.parquet"
    assert parquet.write_links(logs.pages(), path) == sum(len(each.links) for each in logs.pages())
    rows = pyarrow.parquet.read_table(path).to_pylist()
    assert [(row["page"], row["to"]) for row in rows] == [
        (each.page, link.to) for each in logs.pages() for link in each.links
    ]
    assert not list(tmp_path.glob("*.part"))
