"""The store of DUST rules: the same sentences hold on the tables of each technology."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from webcrawl.errors import StorageLost
from webcrawl.features.dust.learner import DustPage, DustState, PageContent, TrackedRule
from webcrawl.features.dust.rule import DustKind, DustRule
from webcrawl.features.dust.store import BY_HAND, PAGES, SPEC, DustPages, DustStore
from webcrawl.features.dust.url_parts import url_parts
from webcrawl.features.dust.withholding import WithheldUrl
from webcrawl.storage.tables import HEADER, Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.conftest import OpenTables

SLASH = DustRule("a.test", DustKind.SLASH, "/shop/a#?")
VIEW = DustRule("b.test:8080", DustKind.PARAMETER, "//a?", "view", "grid")


def tracked(rule: DustRule, state: DustState = DustState.PROBING, since: float = 5.0) -> TrackedRule:
    pairs = {1 << 63: "view=grid", 2: ""}
    return TrackedRule(
        rule, state, since, pairs, 1, 3, samples=4, why="because", pair=("http://a.test/ü", "x")
    )


def withheld(number: int, *rules: DustRule, site: str = "a.test") -> WithheldUrl:
    via = f"http://{site}/" if number % 2 else None
    return WithheldUrl(
        f"http://{site}/shop/{number}/", number, via, tuple(rule.id for rule in rules or (SLASH,))
    )


@pytest.fixture
def open_store(open_tables: OpenTables) -> Callable[[], DustStore]:
    """Gives the same store again and again, as processes of one crawl have it."""
    return lambda: DustStore(open_tables(SPEC))


@pytest.fixture
def store(open_store: Callable[[], DustStore]) -> DustStore:
    return open_store()


def everything(runner: asyncio.Runner, store: DustStore, site: str = "a.test") -> list[WithheldUrl]:
    urls, after = [], HEADER
    while after is not None:
        some, after = runner.run(store.owed(site, after, 3))
        urls += some
    return sorted(urls, key=lambda each: each.depth)


def test_an_empty_store_has_nothing(runner: asyncio.Runner, store: DustStore) -> None:
    assert runner.run(store.beliefs()) == []
    assert runner.run(store.owed("a.test", HEADER, 10)) == ([], None)
    assert runner.run(store.version()) == ""


def test_a_rule_that_was_stored_is_known_to_all(
    runner: asyncio.Runner, open_store: Callable[[], DustStore]
) -> None:
    stored = tracked(SLASH)
    runner.run(open_store().put([tracked(VIEW, DustState.CONFIRMED), stored]))
    first, second = runner.run(open_store().beliefs())
    assert (first.rule, first.state, second.rule, second.state) == (SLASH, "probing", VIEW, "confirmed")
    for name in ("since", "pairs", "predictions", "probes", "samples", "why", "pair"):
        assert getattr(first, name) == getattr(stored, name)


@pytest.mark.parametrize(
    ("state", "later", "stays"),
    [
        (DustState.PROBING, DustState.CONFIRMED, DustState.CONFIRMED),
        (DustState.CONFIRMED, DustState.PROBING, DustState.CONFIRMED),
        (DustState.CONFIRMED, DustState.DOUBTED, DustState.DOUBTED),
        (DustState.DOUBTED, DustState.CONFIRMED, DustState.CONFIRMED),
        (DustState.CONFIRMED, DustState.UNDONE, DustState.UNDONE),
        (DustState.UNDONE, DustState.CONFIRMED, DustState.UNDONE),
        (DustState.UNDONE, DustState.DOUBTED, DustState.UNDONE),
        (DustState.REFUTED, DustState.PROBING, DustState.REFUTED),
    ],
)
def test_a_rule_never_goes_back_to_an_earlier_state(
    runner: asyncio.Runner, store: DustStore, state: DustState, later: DustState, stays: DustState
) -> None:
    runner.run(store.put([tracked(SLASH, state)]))
    runner.run(store.put([tracked(SLASH, later)]))
    assert [each.state for each in runner.run(store.beliefs())] == [stays]


def test_a_rule_is_undone_by_hand(runner: asyncio.Runner, store: DustStore) -> None:
    runner.run(store.put([tracked(SLASH, DustState.CONFIRMED), tracked(VIEW, DustState.CONFIRMED)]))
    before = runner.run(store.version())
    runner.run(store.undo([SLASH.id, "0123abcd"], 9.0))
    assert runner.run(store.version()) != before
    first, second = runner.run(store.beliefs())
    assert (first.state, first.why, first.since) == (DustState.UNDONE, BY_HAND, 9.0)
    assert second.state is DustState.CONFIRMED


def test_withheld_urls_are_stored_once_and_counted_for_each_rule(
    runner: asyncio.Runner, store: DustStore
) -> None:
    runner.run(store.put([tracked(SLASH), tracked(VIEW)]))
    version = runner.run(store.version())
    urls = [withheld(number) for number in range(5)]
    [result] = runner.run(store.withhold(urls[:3]))
    assert (result.site, result.new, result.stored) == ("a.test", urls[:3], 3)
    results = runner.run(store.withhold([*urls, withheld(7, VIEW, site="b.test:8080")]))
    assert {(each.site, len(each.new), each.stored) for each in results} == {
        ("a.test", 2, 5),
        ("b.test:8080", 1, 1),
    }
    assert everything(runner, store) == urls
    assert [each.withheld for each in runner.run(store.beliefs())] == [5, 1]
    assert runner.run(store.version()) == version


def test_urls_that_are_queued_again_leave_the_store(runner: asyncio.Runner, store: DustStore) -> None:
    runner.run(store.put([tracked(SLASH)]))
    urls = [withheld(number) for number in range(5)]
    runner.run(store.withhold(urls))
    runner.run(store.requeued("a.test", [urls[1].url, urls[3].url, "http://a.test/unknown"]))
    assert everything(runner, store) == [urls[0], urls[2], urls[4]]
    assert [each.withheld for each in runner.run(store.beliefs())] == [3]
    [result] = runner.run(store.withhold([urls[1]]))
    assert (result.new, result.stored) == ([urls[1]], 4)


def test_rules_by_which_a_stored_url_is_withheld_replace_those_before(
    runner: asyncio.Runner, store: DustStore
) -> None:
    runner.run(store.put([tracked(SLASH), tracked(VIEW)]))
    runner.run(store.withhold([withheld(1), withheld(2)]))
    [result] = runner.run(store.withhold([withheld(1, VIEW)]))
    assert (result.new, result.stored) == ([], 2)
    assert everything(runner, store) == [withheld(1, VIEW), withheld(2)]
    assert runner.run(store.owing({SLASH.id: "a.test", VIEW.id: "a.test", "0": "c.test"})) == [
        SLASH.id,
        VIEW.id,
    ]
    runner.run(store.requeued("a.test", [withheld(2).url]))
    assert runner.run(store.owing({SLASH.id: "a.test", VIEW.id: "a.test"})) == [VIEW.id]


def test_how_many_urls_were_checked_is_known_to_all(
    runner: asyncio.Runner, open_store: Callable[[], DustStore]
) -> None:
    store = open_store()
    runner.run(store.put([tracked(SLASH), tracked(VIEW)]))
    runner.run(store.withhold([withheld(number) for number in range(3)]))
    runner.run(store.check("a.test", {SLASH.id: 3}))
    runner.run(store.withhold([withheld(7)]))
    assert [(each.withheld, each.checked) for each in runner.run(open_store().beliefs())] == [(4, 3), (0, 0)]


def dust_page(number: int, at: float, *, site: str = "a.test", links: int | None = 7) -> DustPage:
    url = f"http://{site}/page-{number}?ü=ö"
    parts = url_parts(url)
    assert parts is not None
    return DustPage(url, parts, PageContent((1 << 64) - number - 1, links), at)


@pytest.fixture
def open_pages(open_tables: OpenTables) -> Callable[[], DustPages]:
    return lambda: DustPages(open_tables(PAGES))


def test_pages_that_one_process_stores_another_reads(
    runner: asyncio.Runner, open_pages: Callable[[], DustPages]
) -> None:
    one, other = open_pages(), open_pages()
    assert (runner.run(other.read("a.test")), runner.run(other.header("a.test"))) == ([], None)
    pages = [dust_page(2, 5.0), dust_page(1, 6.0, links=None)]
    result = runner.run(one.put({"a.test": pages, "b.test:8080": [dust_page(1, 4.0, site="b.test:8080")]}))
    assert {site: new for site, (new, _) in result.items()} == {"a.test": 2, "b.test:8080": 1}
    assert runner.run(other.read("a.test")) == pages
    assert runner.run(other.header("a.test")) == result["a.test"][1]
    again = dust_page(2, 9.0, links=8)
    [(new, header)] = runner.run(other.put({"a.test": [again]})).values()
    assert new == 0
    assert header != result["a.test"][1]
    assert runner.run(one.find("a.test", [again.url, "http://a.test/"])) == [again, None]


def test_the_oldest_pages_go_first(runner: asyncio.Runner, open_pages: Callable[[], DustPages]) -> None:
    store = open_pages()
    here = [dust_page(number, 10.0 + number) for number in range(6)]
    there = [dust_page(number, 5.0 + number, site="c.test") for number in range(3)]
    runner.run(store.put({"a.test": here, "c.test": there}))
    runner.run(store.delete_oldest("a.test", 2))
    assert runner.run(store.read("a.test")) == here[2:]
    runner.run(store.bound(5))
    assert runner.run(store.read("c.test")) == there[2:]
    runner.run(store.bound(5))
    assert runner.run(store.read("a.test")) == here[2:]


def test_rows_that_cannot_be_read_are_reported(
    runner: asyncio.Runner, store: DustStore, open_tables: OpenTables
) -> None:
    runner.run(open_tables(SPEC).table(SPEC).add([("rules", Row(b"0123abcd", b'{"rule": 1}'))]))
    with pytest.raises(StorageLost, match="DUST rules cannot be read"):
        runner.run(store.beliefs())
