"""Extraction leaves the event loop its turns, and one long page does not add to another."""

import asyncio
from collections.abc import Coroutine, Iterator
from itertools import count
from typing import Any

import pytest

from webcrawl.parsing import tree
from webcrawl.parsing.html import PageInput, ParsedPage, extract
from webcrawl.parsing.offload import Extractor
from webcrawl.parsing.stream import TOO_DEEP

URL = "http://a.example/"
PAGE = b"<title>Short</title><a href='/x'>x</a>"
LONG_PAGE = b"<title>Long</title>" + b"<p>text</p>" * 2000 + b"<a href='/x'>x</a>"


@pytest.fixture(autouse=True)
def _read_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "is_harmless", lambda *_: False)


def ticking(seconds: float) -> Iterator[float]:
    """A clock that goes on by so much whenever it is looked at."""
    return (tick * seconds for tick in count())


def extractor(seconds_a_step: float, seconds_max: float = 100.0) -> Extractor:
    clock = ticking(seconds_a_step)
    return Extractor(turn_seconds=0.005, seconds_max=seconds_max, clock=lambda: next(clock))


def drive(coroutine: Coroutine[Any, Any, ParsedPage]) -> tuple[ParsedPage, int]:
    """Run a coroutine that waits for nothing but its turn, and count the turns it gave away."""
    given = 0
    while True:
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value, given
        given += 1


def test_a_short_page_is_done_at_once() -> None:
    document, given = drive(extractor(0.0001).extract(PageInput(PAGE, URL, None, links_max=10)))
    assert given == 0
    assert document == extract(PageInput(PAGE, URL, None, links_max=10))


def test_a_long_page_gives_the_loop_its_turns_and_is_read_to_its_end() -> None:
    document, given = drive(extractor(0.001).extract(PageInput(LONG_PAGE, URL, None, links_max=10)))
    assert given >= 3
    assert document == extract(PageInput(LONG_PAGE, URL, None, links_max=10))


def test_a_page_that_takes_too_long_is_left_with_what_was_found_and_says_so() -> None:
    page = b"<title>Long</title><a href='/early'>x</a>" + LONG_PAGE
    document, _ = drive(extractor(0.005, seconds_max=0.02).extract(PageInput(page, URL, None, links_max=10)))
    assert [link.url for link in document.links] == ["http://a.example/early"]
    assert document.title == "Long"
    assert document.error == "not read to its end in 0.02 s"


def test_only_one_long_page_is_worked_on_at_a_time_while_short_ones_pass() -> None:
    async def scenario() -> list[str]:
        order: list[str] = []
        pages = extractor(0.002)

        async def one(name: str, page: bytes) -> None:
            await pages.extract(PageInput(page, URL, None, links_max=10))
            order.append(name)

        async with asyncio.TaskGroup() as group:
            for name, page in [("long 1", LONG_PAGE), ("long 2", LONG_PAGE), ("short", PAGE)]:
                group.create_task(one(name, page))
        return order

    assert asyncio.run(scenario()) == ["short", "long 1", "long 2"]


def test_a_page_that_opens_elements_without_end_is_left_when_they_are_too_many() -> None:
    """Each end tag without an element would be compared with all of them, and all are closed in one call."""
    body = b"<a href=/first>first</a>" + b"<b>" * 1_000_000 + b"</i>" * 20_000 + b"<a href=/last>last</a>"
    document = asyncio.run(Extractor().extract(PageInput(body, URL, "text/html", links_max=100)))
    assert [link.url for link in document.links] == ["http://a.example/first"]
    assert document.error == TOO_DEEP == "not read to its end: more than 20,000 elements are open"


def test_elements_that_are_closed_do_not_count_as_open() -> None:
    deep = b"<div>" * 15_000 + b"<a href=/deep>deep</a>"
    body = b"<p><b>word</b><img>" * 30_000 + deep + b"</div>" * 15_000 + b"<a href=/last>last</a>"
    document = asyncio.run(Extractor().extract(PageInput(body, URL, "text/html", links_max=100)))
    assert [link.url for link in document.links] == ["http://a.example/deep", "http://a.example/last"]
    assert document.error is None


def test_closing_needs_no_loop() -> None:
    Extractor().close()
