"""The tree of sites equals a slow count, and neither terminal nor page is broken by what stands in it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from lxml import html

from tests.rows import each_row
from tests.unit.export.logs import HOSTILE, log
from webcrawl.export import tree as tree_forms
from webcrawl.export.safe import one_line
from webcrawl.export.tree import Node, Tree, build_tree
from webcrawl.export.urls import select_seeds
from webcrawl.urls.politeness_key import registrable_domain

if TYPE_CHECKING:
    from collections.abc import Iterator


def prefixes(url: str, depth: int) -> Iterator[tuple[str, ...]]:
    """Everything that a URL counts for, the slow way."""
    host, _, rest = url.removeprefix("http://").partition("/")
    names: tuple[str, ...] = (registrable_domain(host), host)
    yield names[:1]
    yield names
    parts = rest.partition("?")[0].split("/")
    for number, part in enumerate(parts[:depth]):
        last = number == len(parts) - 1
        if part or not last:
            names = (*names, part if last else f"{part}/")
            yield names


def recount(lines: list[dict[str, Any]], depth: int) -> dict[tuple[str, ...], tuple[int, ...]]:
    counts: dict[tuple[str, ...], Counter[str]] = {}
    for line in lines:
        for place in prefixes(line["url"], depth):
            found = counts.setdefault(place, Counter())
            found["requests"] += 1
            found["pages"] += line["kind"] == "page" and "status" in line
            found["failed"] += "status" not in line
            found["bytes"] += line["bytes"]
    return {
        place: tuple(c[name] for name in ("requests", "pages", "failed", "bytes"))
        for place, c in counts.items()
    }


def nodes(node: Node, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
    place = (*above, node.name)
    yield place, node.counts
    for child in node.children:
        yield from nodes(child, place)


@each_row("depth", [0, 1, 2, 5])
def test_a_tree_equals_a_slow_recount(depth: int) -> None:
    lines = log(depth)
    tree = build_tree(lines, depth=depth, most=0)
    found = dict(pair for site in tree.sites() for pair in nodes(site))
    assert found == recount(lines, depth)
    assert tree.totals[0] == len(lines)


def test_the_largest_come_first_and_the_others_are_added_up() -> None:
    lines = log(7)
    expected = recount(lines, 2)
    tree = build_tree(lines, depth=2, most=2)
    sites = list(tree.sites())
    pages = [site.counts[1] for site in sites]
    assert pages == sorted(pages, reverse=True)
    for site in sites:
        for node, place in [
            (site, (site.name,)),
            *((host, (site.name, host.name)) for host in site.children),
        ]:
            below = [c for p, c in expected.items() if p[:-1] == place]
            assert len(node.children) + node.others == len(below)
            assert len(node.children) <= 2
            shown = sorted((child.counts[1] for child in node.children), reverse=True)
            assert [child.counts[1] for child in node.children] == shown
            assert shown == sorted((c[1] for c in below), reverse=True)[: len(shown)]
            if node.others:
                own = sum(c[0] for c in below) - sum(child.counts[0] for child in node.children)
                assert node.other_counts[0] == own


def test_as_json_it_is_read_again() -> None:
    tree = build_tree([*log(1), *HOSTILE])
    told = json.loads("".join(tree_forms.as_json(tree, 'a "crawl"')))
    assert told["title"] == 'a "crawl"'
    assert sum(site["requests"] for site in told["sites"]) == told["totals"]["requests"] == 600 + len(HOSTILE)
    assert told["domains"] == len(told["sites"])


@pytest.mark.parametrize("form", [tree_forms.as_text, tree_forms.as_html])
def test_what_servers_sent_breaks_nothing(form: Any) -> None:
    text = "".join(form(build_tree(HOSTILE, depth=5), "<i>\x1b[0m"))
    assert text.encode("utf-8")
    assert all(character.isprintable() or character == "\n" for character in text)
    if form is tree_forms.as_html:
        assert {element.tag for element in html.fromstring(text).iter()}.isdisjoint({"script", "u"})
        assert "<script" not in text
        assert len(html.fromstring(text).xpath("//i[contains(., '\u241b')]")) == 0


def test_a_page_of_very_many_sites_has_the_largest_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_forms, "SHOWN_SITES", 3)
    page = "".join(tree_forms.as_html(build_tree(log(3)), "a crawl"))
    assert len(html.fromstring(page).xpath("/html/body/details/details")) == 3
    assert "The 3 smallest are not on this page" in page


def test_an_empty_log_has_an_empty_tree() -> None:
    for form in (tree_forms.as_text, tree_forms.as_json, tree_forms.as_html):
        assert "".join(form(Tree(), "nothing"))


@pytest.mark.parametrize("by_domain", [False, True])
def test_a_site_is_entered_where_it_is_nearest_to_a_seed(by_domain: bool) -> None:
    lines = log(11)
    best: dict[str, tuple[int, int, str]] = {}
    pages: Counter[str] = Counter()
    for line in lines:
        if line["kind"] != "page" or not 200 <= line.get("status", 0) < 300:
            continue
        host = line["url"].split("/")[2]
        site = registrable_domain(host) if by_domain else host
        nearness = (line["depth"], len(line["url"]), line["url"])
        best[site] = min(best.get(site, nearness), nearness)
        pages[site] += 1
    order = sorted(best, key=lambda site: (-pages[site], site))
    assert list(select_seeds([*lines, *HOSTILE[1:]], by_domain=by_domain)) == [
        best[site][2] + "\n" for site in order
    ]


def test_a_line_of_a_list_is_one_line_and_stays_a_url() -> None:
    assert one_line("http://a.test/ü?q=1") == "http://a.test/ü?q=1"
    assert one_line("http://a.test/a b\n\x1b\ud800") == "http://a.test/a%20b%0A%1B%3F"
