"""What a list of URLs names goes through a file where it is long, in parts that follow from the URLs alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from webcrawl.archive.listed_links import PART_CHARACTERS, PART_LINKS, ListedLinks, link_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG = "http://a.test/" + "x" * 8000
URLS = [f"http://a.test/{number}" for number in range(2300)] + [LONG] * 70 + ["mailto:a@b.test"] * 40


def pieces(chance: random.Random, at_once: int) -> Iterator[list[str]]:
    """The URLs as they may be found, some at a time."""
    start = 0
    while start < len(URLS):
        end = start + chance.randrange(at_once)
        yield URLS[start:end]
        start = end


def filled(folder: Path, seed: int, at_once: int) -> ListedLinks:
    listed = ListedLinks(str(folder / "spool"))
    for piece in pieces(random.Random(seed), at_once):
        listed.add(piece)
        if listed.is_full:
            listed.spill()
            assert len(listed.held()) <= PART_LINKS
            assert sum(map(len, listed.held())) <= PART_CHARACTERS
    listed.finish()
    return listed


@pytest.mark.parametrize(("seed", "at_once"), [(1, 2), (2, 300), (3, 5000)])
def test_all_urls_come_back_in_the_same_parts_however_they_came(
    tmp_path: Path, seed: int, at_once: int
) -> None:
    listed = filled(tmp_path, seed, at_once)
    spooled = listed.spooled()
    assert spooled is not None
    parts = list(spooled)
    assert [url for part in parts for url in part] == URLS
    assert [len(part) for part in parts] == [1000, 1000, 330, 31, 49]
    assert (listed.held(), listed.number, listed.others) == ([], 2370, 40)
    assert len(list((tmp_path / "spool").iterdir())) == 1
    spooled.remove()
    spooled.remove()
    assert not list((tmp_path / "spool").iterdir())


def test_a_short_list_needs_no_file(tmp_path: Path) -> None:
    listed = ListedLinks(str(tmp_path / "spool"))
    listed.add(URLS[:PART_LINKS])
    assert not listed.is_full
    assert (listed.held(), listed.spooled(), listed.has_spilled) == (URLS[:PART_LINKS], None, False)
    assert not (tmp_path / "spool").exists()


def test_links_of_http_and_of_other_schemes_are_apart() -> None:
    assert link_rows(["ftp://a.test/", "https://a.test/"]) == (
        [("https://a.test/", "sitemap", "", "")],
        [("ftp://a.test/", "sitemap", "", "")],
    )
