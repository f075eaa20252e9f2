"""The same short start page about a domain, on many domains."""

from __future__ import annotations

import asyncio

import pytest

from tests.rows import each_row
from webcrawl.errors import StorageLost
from webcrawl.features.refusals.start_pages import BODY_MAX, SPEC, StartPages, parked_text
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.storage.tables import Row

PAGE = "<title>%s</title><h1>%s</h1><p>This domain was registered on day 12. Its owner has no site yet.</p>"


def page(name: str) -> bytes:
    return (PAGE % (name, name)).encode()


def text_of(name: str) -> bytes | None:
    return parked_text(f"https://{name}/", name, page(name))


def test_the_name_of_the_host_and_digits_do_not_count() -> None:
    assert text_of("a.test") is not None
    assert text_of("a.test") == text_of("www.other.test")
    assert text_of("a.test") == parked_text("http://a.test/", "a.test", page("a.test").replace(b"12", b"31"))


@each_row(
    ("url", "body"),
    [
        ("https://a.test/about", page("a.test")),
        ("https://a.test/?page=/", page("a.test")),
        ("https://a.test/", b"<h1>Welcome to the web server!</h1> It is installed and works."),
        ("https://a.test/", b"domain"),
        ("https://a.test/", page("a.test") + b"<p>More.</p>" * 500),
        ("https://a.test/", page("a.test") + b'<a href="/x">x</a>' * 20),
        ("https://a.test/", page("a.test") + b" " * BODY_MAX),
    ],
)
def test_other_pages_are_not_looked_at(url: str, body: bytes) -> None:
    assert parked_text(url, "a.test", body) is None


def test_a_text_is_common_when_enough_domains_have_it() -> None:
    async def seen() -> list[bool]:
        pages = StartPages(MemoryTables(), 3)
        return [await pages.is_common(b"t" * 16, key) for key in ("a", "a", "b", "a", "c", "a", "d")]

    assert asyncio.run(seen()) == [False, False, False, False, True, True, True]


def test_pages_that_come_at_the_same_time_are_all_counted() -> None:
    async def seen() -> list[bool]:
        pages = StartPages(MemoryTables(), 20)
        return await asyncio.gather(*(pages.is_common(b"t" * 16, f"key-{number}") for number in range(25)))

    assert asyncio.run(seen()) == [False] * 19 + [True] * 6


def test_a_row_of_another_form_is_no_answer() -> None:
    async def seen() -> bool:
        tables = MemoryTables()
        await tables.table(SPEC).add([("t74", Row(b"t" * 16, b"odd"))])
        return await StartPages(tables, 3).is_common(b"t" * 16, "a")

    with pytest.raises(StorageLost, match="cannot be read"):
        asyncio.run(seen())
