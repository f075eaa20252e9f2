"""The binary form of entries: that of earlier code is read, and there is room for values of later code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rows import each_row
from webcrawl.frontier.records import UrlEntry
from webcrawl.storage.redis import packing
from webcrawl.storage.redis.packing import pack_entries, unpack_entries

CASES = json.loads((Path(__file__).parents[3] / "data/stored_entries.json").read_text("utf-8"))
"""Entries and their forms, as code wrote them that knew three carried values."""
KEY = "a.test"
LINK, MINE = "http://a.test/", "http://a.test/mine"


@dataclass(slots=True)
class LaterEntry(UrlEntry):
    """An entry of later code, with more values."""

    source: str | None = None
    language: str | None = None


def later(**values: object) -> LaterEntry:
    return LaterEntry(MINE, KEY, -7, 2, 5, **values)


ENTRIES = [
    later(source="a"),
    later(via=LINK, source="a", language="\N{SNOWMAN}" * 200),
    later(via=LINK, language=""),
    later(via=LINK, link_features="x", source="a"),
    later(kind="sitemap", redirects=3, listed="l", link_features="f", payload="p", source="a", language="b"),
    later(payload="p", language="b"),
    later(via=LINK),
]


@pytest.fixture
def with_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "UrlEntry", LaterEntry)
    monkeypatch.setattr(packing, "_FURTHER_VALUES", ("source", "language"))


@each_row("case", CASES, ids=lambda case: case["entry"]["url"])
def test_the_form_of_earlier_code_is_read(case: dict) -> None:
    assert list(unpack_entries(bytes.fromhex(case["packed"]), KEY)) == [UrlEntry(**case["entry"])]


def test_an_entry_without_later_values_has_the_form_that_earlier_code_reads() -> None:
    packed = pack_entries(KEY, [UrlEntry(**case["entry"]) for case in CASES])
    assert [one.hex() for one in packed] == [case["packed"] for case in CASES]


@pytest.mark.usefixtures("with_more")
def test_there_is_room_for_more_values() -> None:
    packed = pack_entries(KEY, ENTRIES)
    assert list(unpack_entries(b"".join(packed), KEY)) == ENTRIES


@pytest.mark.usefixtures("with_more")
def test_values_that_code_does_not_know_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = b"".join(pack_entries(KEY, ENTRIES))
    monkeypatch.setattr(packing, "_FURTHER_VALUES", ("source",))
    assert [entry.source for entry in unpack_entries(packed, KEY)] == [entry.source for entry in ENTRIES]
    monkeypatch.setattr(packing, "_FURTHER_VALUES", ())
    for entry, known in zip(unpack_entries(packed, KEY), ENTRIES, strict=True):
        assert (entry.url, entry.via, entry.kind, entry.redirects) == (
            MINE,
            known.via,
            known.kind,
            known.redirects,
        )
        assert (entry.listed, entry.link_features, entry.payload) == (
            known.listed,
            known.link_features,
            known.payload,
        )


def test_the_values_with_flags_of_their_own_are_the_first() -> None:
    """Their flags are in stored entries: a value is never moved before them or taken away."""
    assert (*packing._WITH_FLAGS, *packing._FURTHER_VALUES) == tuple(packing.CARRIED)
