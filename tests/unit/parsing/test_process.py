"""Pages that a process beside the crawl reads are the same pages, and what ends the process costs one of them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.child_process import Frames, frame
from webcrawl.parsing import offload, process
from webcrawl.parsing.html import PageInput, ParsedPage, extract
from webcrawl.parsing.links import Link
from webcrawl.parsing.process import ReaderProcesses, document_frame, page_parts, unpack_document, unpack_page
from webcrawl.parsing.stream import TOO_DEEP
from webcrawl.processes import resident_bytes

pytestmark = pytest.mark.slow

URL = "http://a.example/docs/"
FRAIL = "tests.unit.parsing.frail_reader"

PAGES = {
    "plain": b"<title>One</title><a href='/x' rel=nofollow>x &amp; y</a><a href=y><img alt=z></a>",
    "empty": b"",
    "no links": b"<p>text",
    "a lone surrogate": b"<title>&#xD800;</title><a href='/?q=&#xDFFF;'>\xed\xa0\x80</a>",
    "head": b"<html lang=de><base href=/b/><meta name=robots content=noindex><link rel=canonical href=/c>"
    b"<link rel=alternate hreflang=fr href=/fr><a href=z>z</a>",
    "more links than wanted": b"<a href=%d></a>" * 30 % tuple(range(30)),
    "not for the tree": b"<div>" * 5000 + b"<a href=/deep>deep</a>",
}


@asynccontextmanager
async def reading(
    processes: int = 1, in_place_first: int = 0, module: str = FRAIL, memory_bytes: int = 0
) -> AsyncIterator[ReaderProcesses]:
    pages = ReaderProcesses(processes, in_place_first, module, memory_bytes)
    try:
        yield pages
    finally:
        pages.close()


async def read(pages: ReaderProcesses, body: bytes) -> ParsedPage:
    return await pages.extract(PageInput(body, URL, "text/html; charset=utf-8", links_max=20))


def in_place(body: bytes) -> ParsedPage:
    return extract(PageInput(body, URL, "text/html; charset=utf-8", links_max=20))


def test_every_kind_of_page_is_read_as_in_place() -> None:
    async def scenario() -> None:
        async with reading(2) as pages:
            await read(pages, b"")
            found = await asyncio.gather(*(read(pages, body) for body in PAGES.values()))
            for name, document in zip(PAGES, found, strict=True):
                assert document == in_place(PAGES[name]), name
            assert pages.ended == 0

    asyncio.run(scenario())


def test_a_page_that_ends_its_process_is_the_only_one_that_is_lost() -> None:
    async def scenario() -> None:
        async with reading() as pages:
            bodies = [b"<title>%d</title>" % number for number in range(8)]
            bodies[2:2] = [b"<title>deadly</title>"]
            bodies[5:5] = [b"<title>deadly too</title>"]
            await read(pages, b"")
            found = await asyncio.gather(*(read(pages, body) for body in bodies))
            wrong = [document.error for document in found if document.error]
            assert wrong == ["ended the process that read it"] * 2
            assert [document.title for document in found if not document.error] == [str(n) for n in range(8)]
            assert (await read(pages, PAGES["plain"])) == in_place(PAGES["plain"])

    asyncio.run(scenario())


def test_a_process_that_says_nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with reading() as pages:
            await read(pages, b"")
            monkeypatch.setattr(process, "SILENCE_SECONDS", 0.2)
            [each._check_progress(each._received - 1) for each in pages._readers]
            stuck = read(pages, b"stopping")
            fine = read(pages, PAGES["plain"])
            first, second = await asyncio.gather(stuck, fine)
            assert first.error == "ended the process that read it"
            assert second == in_place(PAGES["plain"])

    asyncio.run(scenario())


def test_a_long_page_holds_up_no_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> list[str]:
        order: list[str] = []
        async with reading() as pages:

            async def one(name: str, body: bytes) -> None:
                await read(pages, body)
                order.append(name)

            await read(pages, b"")
            await asyncio.gather(one("long", b"<p>text" * 30_000 + b"<div>" * 5000), one("short", b"<p>"))
        return order

    assert asyncio.run(scenario()) == ["short", "long"]


def test_the_first_pages_of_a_crawl_need_no_process() -> None:
    async def scenario() -> None:
        async with reading(in_place_first=2) as pages:
            for expected in (0, 0, 1):
                assert await read(pages, PAGES["plain"]) == in_place(PAGES["plain"])
                assert len(pages._readers) == expected
        async with reading(processes=0) as pages:
            await read(pages, PAGES["plain"])
            assert not pages._readers

    asyncio.run(scenario())


def test_without_a_process_pages_are_read_in_place_and_it_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async with reading(module="keyword") as pages:
            for _ in range(3):
                assert await read(pages, PAGES["plain"]) == in_place(PAGES["plain"])

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    assert [record.message for record in caplog.records] == [
        "Pages are read in place, since no process can be started for them: it does not answer"
    ]


texts = st.text(st.characters(), max_size=5)


@given(
    st.lists(st.builds(Link, texts, texts, texts, texts), max_size=4),
    st.lists(st.tuples(texts, texts), max_size=3),
    st.none() | texts,
    st.integers(1, 40),
)
def test_a_document_comes_over_the_socket_as_it_is(
    links: list[Link], pairs: list[tuple[str, str]], text: str | None, piece: int
) -> None:
    others = [tuple(link) for link in links]
    document = ParsedPage(
        "t", "b", "utf-8", 3, ["noindex"], pairs, text, text, pairs, {"u": "w"}, text, others, links
    )
    sent = document_frame(7, document) + frame("behind")
    received = Frames()
    values = [
        value for start in range(0, len(sent), piece) for value in received.feed(sent[start : start + piece])
    ]
    number, *parts = values[0]
    assert (number, values[1]) == (7, "behind")
    assert unpack_document(*parts) == document
    assert all(isinstance(link, Link) for link in unpack_document(*parts).links)


@given(st.binary(max_size=300), texts, st.none() | texts, st.frozensets(texts), st.integers(1, 40))
def test_a_page_comes_over_the_socket_as_it_is(
    body: bytes, url: str, content_type: str | None, types: frozenset[str], piece: int
) -> None:
    page = PageInput(body, url, content_type, 5, types, ("agent",), True)
    parts = page_parts(7, page)
    sent = b"".join(parts) + frame("behind")
    received = Frames()
    values = [
        value for start in range(0, len(sent), piece) for value in received.feed(sent[start : start + piece])
    ]
    number, *others = values[0]
    assert (number, values[1]) == (7, "behind")
    assert unpack_page(others) == page
    assert parts[1] is body


def test_the_links_are_the_last_field_of_a_document() -> None:
    assert fields(ParsedPage)[-1].name == "links"


@pytest.mark.parametrize("processes", [0, 1])
def test_a_page_with_too_many_open_elements_is_read_by_another_process(processes: int) -> None:
    """Also in a crawl without such processes: its end would hold the event loop."""
    body = b"<a href=/first>first</a>" + b"<b>" * 21_000 + b"<a href=/last>last</a>"

    async def scenario() -> None:
        async with reading(processes, in_place_first=10) as pages:
            document = await read(pages, body)
            assert document == in_place(body)
            assert [link.url for link in document.links] == [
                "http://a.example/first",
                "http://a.example/last",
            ]
            assert (pages.ended, document.error) == (0, None)
            # The others stay where they were.
            assert await read(pages, b"<title>One</title>") == in_place(b"<title>One</title>")
            assert pages._readers == []

    asyncio.run(scenario())


def test_without_a_process_such_a_page_is_left_with_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"<a href=/first>first</a>" + b"<b>" * 21_000 + b"<a href=/last>last</a>"

    def refused(*_: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(process, "start_on_socket", refused)

    async def scenario() -> None:
        async with reading(0) as pages:
            for _ in range(2):
                document = await read(pages, body)
                assert [link.url for link in document.links] == ["http://a.example/first"]
                assert document.error == TOO_DEEP

    asyncio.run(scenario())


def test_a_large_page_is_never_read_in_place() -> None:
    large = b"<p>" * process.LARGE_BYTES + b"<a href=/end>x</a>"

    async def scenario() -> None:
        async with reading(in_place_first=1_000) as pages:

            async def refuse(*_: object, **__: object) -> ParsedPage:
                raise AssertionError("it was read in place")

            pages._in_place.extract = refuse  # type: ignore[method-assign]
            # All but the first one wait for the process that it starts.
            found = await asyncio.gather(*(read(pages, large) for _ in range(3)))
            assert found == [in_place(large)] * 3

    asyncio.run(scenario())


MIB = 1 << 20


def resident(pages: ReaderProcesses) -> int:
    """The resident MiB of all processes that read pages, as the system reports them."""
    return sum(resident_bytes(each._process.pid) or 0 for each in pages._readers) // MIB


@each_row(
    "page",
    [
        b"<html>" + b"<a href=/x>x</a>" * 300 + b"<html><title>" + b"&notit;&#x1F600;" * 65_000,
        b"<div>" * 5000 + b"<!--" + b"x" * MIB,
        b"<div>" * 5000 + b"<p " + b" ".join(b"a%d=1" % number for number in range(100_000)),
        b"<a href=/x>" + b"<b>" * 5000 + b"&amp;" * 200_000,
    ],
    ids=["references in a title", "comment", "attributes", "references in a link"],
)
def test_a_process_keeps_nothing_of_the_pages_that_it_has_read(page: bytes) -> None:
    """Each of these pages left 1 to 12 MiB behind, which the garbage collector counted as 27 objects."""

    async def scenario() -> list[int]:
        async with reading() as pages:
            sizes = []
            for _ in range(6):
                await read(pages, page)
                sizes.append(resident(pages))
            return sizes

    sizes = asyncio.run(scenario())
    assert max(sizes[2:]) - sizes[1] <= 2, sizes


def test_a_process_that_has_grown_is_replaced_and_no_page_is_lost() -> None:
    """lxml keeps the names of all elements that a thread has ever read."""

    async def scenario() -> None:
        async with reading(memory_bytes=80 * MIB) as pages:
            bodies = [
                b"<title>%d</title>" % page + b"".join(b"<x%dx%d>" % (page, each) for each in range(100_000))
                for page in range(12)
            ]
            sizes = []
            for number in range(0, len(bodies), 2):
                found = await asyncio.gather(*(read(pages, body) for body in bodies[number : number + 2]))
                assert [document.title for document in found] == [str(number), str(number + 1)]
                assert [document.error for document in found] == [None, None]
                sizes.append(resident(pages))
            assert pages.replaced >= 1
            assert pages.ended == 0
            assert max(sizes) < 110, sizes

    asyncio.run(scenario())


def test_a_page_that_needs_too_much_memory_is_given_up_and_the_others_are_not() -> None:
    async def scenario() -> None:
        async with reading(memory_bytes=40 * MIB) as pages:
            await read(pages, b"")
            bodies = [b"<title>%d</title>" % number for number in range(4)]
            bodies[2:2] = [b"<title>large</title>" + b" " * 90 * MIB]
            found = await asyncio.gather(*(read(pages, body) for body in bodies))
            assert [document.error for document in found] == [None, None, process.TOO_MUCH_MEMORY, None, None]
            assert [document.title for document in found] == ["0", "1", "", "2", "3"]

    asyncio.run(scenario())


def test_a_process_that_pages_have_made_too_large_reads_the_further_ones_in_another(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sizes = {"self": 100 << 20}
    monkeypatch.setattr(process, "resident_bytes", lambda pid="self": sizes.get(str(pid), 0))
    page = b"<title>in %d</title>" + b"x" * process.MEASURED_BYTES

    async def scenario() -> None:
        async with reading(0, memory_bytes=64 << 20) as pages:
            await read(pages, page % 1)
            sizes["self"] += 64 << 20
            await read(pages, page % 2)
            assert (pages._readers, caplog.messages) == ([], [])
            sizes["self"] += 1
            await read(pages, page % 3)
            assert (await read(pages, page % 4)).title == "in 4"
            await read(pages, page % 5)
            assert len(pages._readers) == 1
            [warning] = caplog.messages
            assert "grown by more than 64 MiB" in warning

    asyncio.run(scenario())


def test_few_large_pages_are_in_place_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[PageInput] = []
    extraction = offload.Extraction

    def begin(page: PageInput, *, on_a_loop: bool) -> offload.Extraction:
        begun.append(page)
        return extraction(page, on_a_loop=on_a_loop)

    monkeypatch.setattr(offload, "Extraction", begin)
    # No page is done in its first turn.
    monkeypatch.setattr(process, "Extractor", partial(offload.Extractor, turn_seconds=1e-9))

    async def scenario() -> None:
        async with reading(0) as pages:
            every = asyncio.gather(*(read(pages, b"<p>x</p>" * process.LARGE_BYTES) for _ in range(20)))
            await asyncio.sleep(0)
            assert len(begun) == process.LARGE_AT_ONCE
            every.cancel()

    asyncio.run(scenario())
