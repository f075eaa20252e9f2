"""The content-seen test: the same sentences for each store."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.samples import NOW
from tests.rows import each_row
from webcrawl.errors import StorageFull, StorageLost
from webcrawl.features.content_seen.content_seen import UNKNOWN, ContentSeen, digest, follows, payload_digest
from webcrawl.features.content_seen.store import SPEC, Body, ContentLookup, ContentStore, Original
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.storage.tables import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.contract.conftest import OpenTables

    Opened = Callable[[], "Contents"]

NEW = ContentLookup(first=True)


def body(text: str, url: str, at: float = NOW, payload: str = "identity") -> Body:
    return Body(digest(text.encode()), hash(url), url, at, payload_digest((payload + text).encode()))


class Contents:
    """A store without ``await``."""

    def __init__(self, runner: asyncio.Runner, store: ContentStore) -> None:
        self._runner = runner
        self.store = store

    def check_and_add(self, *bodies: Body) -> list[ContentLookup]:
        return self._runner.run(self.store.check_and_add(bodies))

    def keep(self, *bodies: Body) -> None:
        self._runner.run(self.store.keep(bodies))


@pytest.fixture
def opened(runner: asyncio.Runner, open_tables: OpenTables) -> Opened:
    """Opens the same store, again and again."""
    return lambda: Contents(runner, ContentStore(open_tables(SPEC)))


A, B, C = "http://a.test/", "http://b.test/x?y=1", "http://c.test/\u00fc"


def test_the_first_is_the_original_of_all_others(opened: Opened) -> None:
    contents = opened()
    assert contents.check_and_add(body("same", A, NOW + 0.1234567)) == [NEW]
    lookups = contents.check_and_add(body("same", B, NOW + 9), body("other", C), body("same", C))
    original = Original(A, NOW + 0.1234567)
    assert lookups == [ContentLookup(original), NEW, ContentLookup(original, changed=True)]


def test_once_it_is_archived_its_record_is_named_to_all_with_the_same_payload(opened: Opened) -> None:
    contents = opened()
    contents.check_and_add(body("same", A))
    contents.keep(body("same", A))
    place = Original(A, NOW)
    packed = body("same", C, payload="gzip")
    lookups = contents.check_and_add(body("same", B, NOW + 9), packed, body("same", A, NOW + 10))
    assert lookups == [
        ContentLookup(place, archived=place),
        ContentLookup(place),
        ContentLookup(None, changed=False, archived=place),
    ]


def test_what_was_not_archived_before_a_crash_is_the_first_again(opened: Opened) -> None:
    contents = opened()
    contents.check_and_add(body("same", A))
    again = body("same", A, NOW + 60)
    assert contents.check_and_add(again) == [ContentLookup(None, changed=False, first=True)]
    contents.keep(again)
    place = Original(A, NOW + 60)
    assert contents.check_and_add(body("same", B)) == [ContentLookup(place, archived=place)]


def test_within_one_question_too(opened: Opened) -> None:
    assert opened().check_and_add(body("same", A), body("same", B)) == [NEW, ContentLookup(Original(A, NOW))]


def test_a_page_of_none_is_not_asked_whether_it_changed(opened: Opened) -> None:
    contents = opened()
    nobody = [replace(body(text, A), page=None) for text in ("one", "two", "one")]
    assert contents.check_and_add(nobody[0], body("three", A), nobody[1], nobody[2]) == [NEW] * 4
    assert contents.check_and_add(body("three", A)) == [ContentLookup(None, changed=False, first=True)]


def test_a_page_that_is_fetched_again_has_changed_or_not(opened: Opened) -> None:
    contents = opened()
    contents.check_and_add(body("one", A))
    assert contents.check_and_add(body("one", A)) == [ContentLookup(None, changed=False, first=True)]
    assert contents.check_and_add(body("two", A)) == [ContentLookup(None, changed=True, first=True)]
    assert contents.check_and_add(body("two", A)) == [ContentLookup(None, changed=False, first=True)]


def test_what_is_known_outlives_the_process(opened: Opened) -> None:
    opened().check_and_add(body("same", A))
    assert opened().check_and_add(body("same", B), body("same", A)) == [
        ContentLookup(Original(A, NOW)),
        ContentLookup(None, changed=False, first=True),
    ]


def test_another_process_knows_it_at_once(opened: Opened) -> None:
    one, other = opened(), opened()
    one.check_and_add(body("same", A))
    assert other.check_and_add(body("same", B)) == [ContentLookup(Original(A, NOW))]


def test_a_body_that_comes_again_before_it_is_archived_counts_from_its_last_request(opened: Opened) -> None:
    contents = opened()
    again = [body("same", A, NOW + later) for later in (0, 1, 2)]
    lookups = contents.check_and_add(*again, body("same", B))
    first = ContentLookup(None, changed=False, first=True)
    assert lookups == [NEW, first, first, ContentLookup(Original(A, NOW + 2))]
    assert contents.check_and_add(body("same", C)) == [ContentLookup(Original(A, NOW + 2))]


class Specification:
    """The content-seen test in two dictionaries."""

    def __init__(self) -> None:
        self._originals: dict[bytes, tuple[Body, bool]] = {}
        """Digest -> (body, True if the archive has it)."""
        self._pages: dict[int, bytes] = {}

    def check_and_add(self, one: Body) -> ContentLookup:
        changed = None
        if one.page is not None:
            before = self._pages.get(one.page)
            self._pages[one.page] = one.digest
            changed = None if before is None else before != one.digest
        original, kept = self._originals.setdefault(one.digest, (one, False))
        if original.url == one.url and not kept:
            self._originals[one.digest] = one, False
            return ContentLookup(changed=changed, first=True)
        place = Original(original.url, original.at)
        return ContentLookup(
            None if original.url == one.url else place,
            changed,
            place if kept and original.payload == one.payload else None,
        )

    def keep(self, bodies: Sequence[Body]) -> None:
        self._originals |= {one.digest: (one, True) for one in bodies}


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from("ig")), max_size=30),
    st.integers(1, 7),
)
@settings(max_examples=30, deadline=None)
def test_groups_of_bodies_are_answered_as_single_ones(met: list[tuple[str, str, str]], at_once: int) -> None:
    bodies = [
        body(text, f"http://{host}.test/", NOW + at, payload) for at, (text, host, payload) in enumerate(met)
    ]
    specification = Specification()
    with asyncio.Runner() as runner:
        contents = Contents(runner, ContentStore(MemoryTables()))
        for first in range(0, len(bodies), at_once):
            group = bodies[first : first + at_once]
            lookups = list(map(specification.check_and_add, group))
            assert contents.check_and_add(*group) == lookups
            firsts = [one for one, met in zip(group, lookups, strict=True) if met.first][:2]
            specification.keep(firsts)
            contents.keep(*firsts)


def test_the_same_text_is_known_by_other_bytes(opened: Opened, runner: asyncio.Runner) -> None:
    store = opened().store
    said = digest(b"what it says")

    async def test() -> list[ContentLookup]:
        seen = ContentSeen(store)
        asked = [
            (body("one", A), said),
            (body("two", B), said),
            (body("two", C), said),
            (body("one", A), said),
            (body("two", B), digest(b"what it says now")),
            (body("none", "http://d.test/"), b""),
        ]
        return [await seen.check_and_add(*each) for each in asked]

    original = Original(A, NOW)
    assert runner.run(test()) == [
        NEW,
        ContentLookup(original, first=True, by_text=True),
        ContentLookup(Original(B, NOW)),
        ContentLookup(None, changed=False, first=True),
        ContentLookup(None, changed=True, first=True),
        NEW,
    ]


class Full(ContentStore):
    async def check_and_add(self, bodies: Sequence[Body]) -> list[ContentLookup]:
        raise StorageFull("no room")

    async def keep(self, bodies: Sequence[Body]) -> None:
        raise StorageFull("no room")


class Broken(ContentStore):
    async def check_and_add(self, bodies: Sequence[Body]) -> list[ContentLookup]:
        raise RuntimeError("a mistake")


def test_many_ask_at_once_and_each_gets_its_answer(runner: asyncio.Runner) -> None:
    async def test() -> None:
        seen = ContentSeen(ContentStore(MemoryTables()))
        bodies = [body(str(number % 100), f"http://h{number}.test/") for number in range(1000)]
        lookups = await asyncio.gather(*map(seen.check_and_add, bodies))
        assert lookups[:100] == [NEW] * 100
        originals = [met.original for met in lookups[100:]]
        assert originals == [Original(f"http://h{n % 100}.test/", NOW) for n in range(900)]
        await seen.close()

    runner.run(test())


def test_without_room_everything_is_new(runner: asyncio.Runner) -> None:
    async def test() -> None:
        seen = ContentSeen(Full(MemoryTables()))
        assert await seen.check_and_add(body("same", A)) == UNKNOWN
        assert await seen.check_and_add(body("same", A), b"what it says") == UNKNOWN
        seen.keep(body("same", A))
        await seen.close()

    runner.run(test())


def test_a_mistake_is_not_kept_quiet(runner: asyncio.Runner) -> None:
    async def test() -> None:
        with pytest.raises(RuntimeError):
            await ContentSeen(Broken(MemoryTables())).check_and_add(body("same", A))
        with pytest.raises(RuntimeError):
            await ContentSeen(Broken(MemoryTables())).check_and_add(body("same", A), b"what it says")

    runner.run(test())


@each_row(
    ("url", "original", "elsewhere"),
    [
        ("http://a.test/p?s=2", "http://a.test/p?s=1", False),
        ("http://a.test/p", "http://a.test/p?s=1", False),
        ("http://a.test/q/p", "http://a.test/p", True),
        ("http://a.test/p/", "http://a.test/p", True),
        ("http://b.test/p", "http://a.test/p", True),
        ("https://a.test/p", "http://a.test/p", True),
        ("http://a.test:81/p", "http://a.test/p", True),
    ],
)
def test_links_are_followed_where_they_may_lead_elsewhere(url: str, original: str, elsewhere: bool) -> None:
    assert follows("elsewhere", url, original) is elsewhere
    assert follows("always", url, original)
    assert not follows("never", url, original)


@pytest.mark.parametrize("choice", ["elsewhere", "never", "always"])
def test_pages_that_say_the_same_may_link_to_anything(choice: str) -> None:
    assert follows(choice, "http://a.test/p?s=2", "http://a.test/p?s=1", by_text=True) is (choice != "never")


def test_who_asks_a_lost_store_hears_of_it_each_time() -> None:
    class Lost(ContentStore):
        async def keep(self, bodies: Sequence[Body]) -> None:
            raise StorageLost("lost")

        async def check_and_add(self, bodies: Sequence[Body]) -> list[ContentLookup]:
            raise StorageLost("lost")

    async def ask() -> None:
        seen = ContentSeen(Lost(MemoryTables()))
        for number in range(3):
            seen.keep(body("kept", f"http://a.test/{number}"))
            await asyncio.sleep(0)
            with pytest.raises(StorageLost):
                await asyncio.wait_for(seen.check_and_add(body("x", f"http://a.test/{number}")), 10)
        await asyncio.wait_for(seen.close(), 10)

    asyncio.run(ask())


@pytest.mark.parametrize("value", [b"", b"short", b"x" * 17 + b"\xff\xff"])
def test_what_is_no_record_is_an_error_of_the_storage(
    runner: asyncio.Runner, open_tables: OpenTables, value: bytes
) -> None:
    known = body("x", A)
    tables = open_tables(SPEC)
    runner.run(tables.table(SPEC).add([(f"o{known.digest[:1].hex()}", Row(known.digest, value))]))
    with pytest.raises(StorageLost, match="cannot be read"):
        runner.run(ContentStore(tables).check_and_add([known]))
