"""What a page embeds is admitted by other rules than its links, for a number of hops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import webcrawl
from webcrawl.frontier.intake import Intake
from webcrawl.frontier.records import UrlEntry
from webcrawl.scope.exclusion import ExclusionList, ExclusionRule
from webcrawl.scope.scope import Scope
from webcrawl.scope.url_rules import (
    NOT_FOR_EMBEDS,
    DepthRule,
    ExtensionRule,
    OffsiteRule,
    SchemeRule,
    StayRule,
)
from webcrawl.urls.politeness_key import PolitenessKey

PAGE = "http://a.test/"
IMAGE = "http://cdn.test/x.png"


@pytest.fixture
def intake(tmp_path: Path) -> Intake:
    (tmp_path / "excluded").write_text("excluded.test\n")
    fixed = [SchemeRule(), ExclusionRule(ExclusionList.load(tmp_path / "excluded", 0))]
    followed = [*fixed, DepthRule(2), ExtensionRule(), OffsiteRule(["a.test"])]
    return Intake(PolitenessKey("host"), Scope(followed), Scope(fixed), embed_hops_max=2)


def taken(
    intake: Intake, links: list[str], embeds: list[str], hops: int = 1, depth: int = 1
) -> dict[str, int]:
    found: list[UrlEntry] = []
    for part in intake.in_parts(links, depth, PAGE, embeds, hops):
        found += part.entries
    return {entry.url: entry.embed_hops for entry in found}


def test_rules_that_say_which_pages_belong_to_the_crawl_do_not_apply(intake: Intake) -> None:
    links = ["http://a.test/page", "http://b.test/page"]
    assert taken(intake, links, [IMAGE], depth=2) == {IMAGE: 1, "http://a.test/page": 0}
    assert taken(intake, [], ["http://cdn.test/deep.css"], depth=3) == {"http://cdn.test/deep.css": 1}


def test_exclusions_apply(intake: Intake) -> None:
    assert taken(intake, [], ["http://excluded.test/x.png"]) == {}


def test_beyond_the_last_hop_an_embed_is_a_link_like_others(intake: Intake) -> None:
    assert taken(intake, [], [IMAGE], hops=2) == {IMAGE: 2}
    assert taken(intake, [], ["http://cdn.test/y.png", "http://a.test/frame"], hops=3) == {
        "http://a.test/frame": 0
    }


def test_a_link_that_was_refused_is_taken_as_an_embed_later(intake: Intake) -> None:
    assert taken(intake, [IMAGE], []) == {}
    assert taken(intake, [], [IMAGE]) == {IMAGE: 1}
    assert taken(intake, [], [IMAGE]) == {}


def test_the_redirect_of_an_embed_is_an_embed(intake: Intake) -> None:
    entry = intake.request_entry("http://store.test/x.png", "GET", b"", 1, IMAGE, 1, True, embed_hops=2)
    assert isinstance(entry, UrlEntry)
    assert entry.embed_hops == 2
    assert intake.request_entry("http://store.test/x.png", "GET", b"", 1, IMAGE, 1, True) == "extension"
    assert (
        intake.request_entry("http://excluded.test/x", "GET", b"", 1, IMAGE, 1, True, embed_hops=1)
        == "exclusion"
    )


def test_an_embed_is_in_scope_if_it_would_be_as_a_link_whatever_its_extension(intake: Intake) -> None:
    def is_in_scope(url: str) -> bool:
        part = next(intake.in_parts([], 1, PAGE, [url]))
        return intake.is_in_scope(part.entries[0])

    assert is_in_scope("http://a.test/style.css")
    assert not is_in_scope("http://cdn.test/frame")


def test_the_rules_that_do_not_apply_exist() -> None:
    code = "".join(path.read_text() for path in (Path(webcrawl.__file__).parent / "scope").glob("*.py"))
    assert set(re.findall(r'^    name = "([a-z-]+)"', code, re.MULTILINE)) > NOT_FOR_EMBEDS
    assert StayRule.name in NOT_FOR_EMBEDS
