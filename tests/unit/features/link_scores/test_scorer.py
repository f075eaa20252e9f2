from __future__ import annotations

import itertools

import pytest

from tests.contract.samples import entry
from tests.rows import each_row
from webcrawl.features.link_scores.scorer import LOWEST, PAGES_FIRST, Importance
from webcrawl.features.link_scores.worth_table import WorthTable
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.urls.fingerprint import fingerprint


def link(name: str, **fields: object) -> UrlEntry:
    return entry(f"http://{name}/", via="http://x/", **fields)


def marks(*names: str) -> list[int]:
    return [fingerprint(f"http://{name}/") for name in names]


def counted(importance: Importance, web: dict[str, list[str]]) -> None:
    for page, links in web.items():
        importance.linked(*marks(page), marks(*links))


def levels(importance: Importance, *names: str) -> list[int | None]:
    return importance.levels([link(name) for name in names])


def test_by_in_links_a_page_has_its_level_by_how_many_pages_link_to_it() -> None:
    importance = Importance(WorthTable(64), cash=False)
    counted(importance, {"a": ["x", "y"], "b": ["x", "x"], "c": ["x"], "d": ["x", "d"]})
    assert levels(importance, "x", "y", "d", "nobody") == [4, 0, LOWEST, LOWEST]


def test_by_opic_a_page_shares_out_its_own_cash_and_what_came_to_it() -> None:
    importance = Importance(WorthTable(64), cash=True)
    counted(importance, {"a": ["x", "y"], "b": ["x"]})
    assert importance.table.worth(*marks("x")) == 1.5
    counted(importance, {"x": ["p", "q"]})
    # 1.5 came to it, 1 is its own: each of its links has half of that, and it has nothing left.
    assert importance.table.worth(*marks("p")) == 1.25
    assert importance.table.worth(*marks("x")) == 0
    assert levels(importance, "y", "p", "x") == [-2, 0, LOWEST]


def test_a_page_without_links_to_others_shares_out_nothing() -> None:
    importance = Importance(WorthTable(64), cash=True)
    counted(importance, {"a": ["x"], "x": ["x"], "y": []})
    assert importance.table.worth(*marks("x")) == 1.0


@each_row(
    "fields",
    [
        {"via": None},
        {"payload": "{}"},
        {"kind": Kind.SITEMAP.value},
        {"kind": Kind.ROBOTS.value},
        {"repeat": True},
    ],
)
def test_only_pages_that_were_found_by_a_link_are_ranked(fields: dict[str, object]) -> None:
    importance = Importance(WorthTable(64), cash=False)
    counted(importance, {"a": ["x"]})
    other = link("x")
    for name, value in fields.items():
        setattr(other, name, value)
    assert importance.levels([other, link("x")]) == [None, 0]


def test_what_is_queued_is_scored_again_ever_less_often() -> None:
    importance = Importance(WorthTable(64), cash=False)
    changed = []
    for page in range(1, 2000):
        before = importance.version
        importance.linked(page, [page + 1])
        if importance.version != before:
            changed.append(page)
    assert changed[0] == PAGES_FIRST
    assert all(1.2 < later / earlier < 1.3 for earlier, later in itertools.pairwise(changed))


@pytest.mark.parametrize("cash", [False, True])
def test_what_two_processes_add_is_the_same_for_both(cash: bool) -> None:
    one, other, alone = (Importance(WorthTable(64), cash=cash) for _ in range(3))
    one.news, other.news = {}, {}
    counted(one, {"a": ["x", "y"], "b": ["x"]})
    counted(other, {"c": ["x"], "d": ["y", "z"]})
    counted(alone, {"a": ["x", "y"], "b": ["x"], "c": ["x"], "d": ["y", "z"]})
    one.add(other.news, other.pages)
    other.add(one.news, 2)
    assert levels(one, "x", "y", "z") == levels(other, "x", "y", "z") == levels(alone, "x", "y", "z")
