from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.samples import entry
from webcrawl.frontier.intake import RECENT, Intake, Recent
from webcrawl.frontier.records import UrlEntry
from webcrawl.scope.scope import Candidate, Scope
from webcrawl.scope.url_rules import DepthRule
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import PolitenessKey
from webcrawl.urls.schemes import Schemes

VIA = "http://a.test/"


class Refuses:
    """Refuses URLs with a word in them, and remembers what it was asked."""

    def __init__(self, name: str, word: str) -> None:
        self.name = name
        self._word = word
        self.asked: list[Candidate] = []

    def refuses(self, candidate: Candidate) -> str | None:
        self.asked.append(candidate)
        return f"contains {self._word}" if self._word in candidate.url else None


@pytest.fixture
def bad() -> Refuses:
    return Refuses("badword", "bad")


@pytest.fixture
def far() -> Refuses:
    return Refuses("whitelist", "far")


@pytest.fixture
def intake(bad: Refuses, far: Refuses) -> Intake:
    """Nothing bad at all, and nothing far away or deeper than three unless it is a seed."""
    return Intake(PolitenessKey("domain"), Scope([bad, far, DepthRule(3)]), Scope([bad]))


def taken(intake: Intake, *urls: str, depth: int = 1) -> list[str]:
    return [one.url for one in intake.take_links(urls, depth, VIA).entries]


def test_a_link_becomes_an_entry_that_knows_where_it_came_from(intake: Intake) -> None:
    [one] = intake.take_links(["http://www.b.co.uk:8080/x?q=1"], 2, VIA).entries
    assert (one.url, one.key, one.depth, one.via) == ("http://www.b.co.uk:8080/x?q=1", "b.co.uk", 2, VIA)
    assert (one.level, one.position, one.repeat, one.payload) == (0, 0, False, None)


def test_links_keep_their_order(intake: Intake) -> None:
    urls = [f"http://a.test/{number}" for number in (3, 1, 2)]
    assert taken(intake, *urls) == urls


def test_links_that_are_the_same_to_the_canonical_form_are_taken_once(intake: Intake) -> None:
    assert len(taken(intake, "http://a.test/%7ex?b=1", "http://a.test/~x?b=1")) == 1


def test_of_equal_spellings_the_first_is_taken_at_its_place(intake: Intake) -> None:
    urls = [
        "http://a.test/%7ex",
        "http://a.test/1",
        "http://a.test/~x",
        "http://a.test/%7Ex",
        "http://a.test/?y[]",
    ]
    assert taken(intake, *urls, "http://a.test/?y%5B%5D") == [urls[0], urls[1], urls[4]]


def test_what_is_fetched_is_the_url_as_linked_and_not_its_canonical_form(intake: Intake) -> None:
    assert taken(intake, "http://a.test/x/index.html?b=1&a=2") == ["http://a.test/x/index.html?b=1&a=2"]


def test_a_link_that_was_met_lately_is_not_asked_about_again(intake: Intake, bad: Refuses) -> None:
    assert taken(intake, "http://a.test/x", "http://a.test/bad") == ["http://a.test/x"]
    asked = len(bad.asked)
    again = intake.take_links(["http://a.test/x", "http://a.test/bad"], 1, VIA)
    assert again == ([], [])
    assert len(bad.asked) == asked


def test_what_was_met_lately_is_taken_again_when_it_is_to_be_forgotten(intake: Intake) -> None:
    taken(intake, "http://a.test/1")
    intake.forget()
    assert taken(intake, "http://a.test/1", "http://a.test/2") == ["http://a.test/1", "http://a.test/2"]


def test_refused_links_are_told_with_the_rule_that_decided(intake: Intake) -> None:
    assert intake.take_links(["http://a.test/far", "http://far.test/bad"], 1, VIA).refused == [
        ("http://a.test/far", "whitelist"),
        ("http://far.test/bad", "badword"),
    ]


def test_what_lies_too_deep_is_taken_when_it_is_found_nearer_to_a_seed(intake: Intake) -> None:
    assert taken(intake, "http://a.test/x", depth=4) == []
    assert taken(intake, "http://a.test/x", depth=2) == ["http://a.test/x"]
    assert taken(intake, "http://a.test/x", depth=1) == []


def test_scope_is_asked_with_host_and_key(intake: Intake, bad: Refuses) -> None:
    taken(intake, "http://www.a.co.uk/x", depth=2)
    assert bad.asked == [Candidate("http://www.a.co.uk/x", "www.a.co.uk", "a.co.uk", 2, linked_from=VIA)]


def test_a_page_without_links_gives_nothing(intake: Intake) -> None:
    assert intake.take_links([], 1, VIA) == ([], [])


def test_a_seed_need_not_match_what_only_followed_urls_must(intake: Intake) -> None:
    seed = intake.seed_entry("http://far.test/")
    assert isinstance(seed, UrlEntry)
    assert (seed.depth, seed.via) == (0, None)
    assert intake.link_entry("http://far.test/", 1, VIA) == "whitelist"
    assert intake.seed_entry("http://bad.test/") == "badword"


def test_a_seed_is_the_same_url_as_a_link_to_it(intake: Intake) -> None:
    seed = intake.seed_entry("http://a.test/~x")
    [link] = intake.take_links(["http://a.test/%7ex"], 1, VIA).entries
    assert isinstance(seed, UrlEntry)
    assert seed.fingerprint == link.fingerprint


def test_a_redirect_target_remembers_how_many_led_to_it(intake: Intake, bad: Refuses) -> None:
    target = intake.link_entry("http://a.test/x", 1, VIA, redirects=2)
    assert isinstance(target, UrlEntry)
    assert target.redirects == 2
    assert bad.asked[-1].redirects == 2


def test_requests_that_differ_in_method_or_body_are_different_urls(intake: Intake) -> None:
    def mark(method: str, body: bytes) -> int:
        one = intake.request_entry("http://a.test/x", method, body, 0, None, 0, False)
        assert isinstance(one, UrlEntry)
        return one.fingerprint

    different = [
        mark("GET", b""),
        mark("POST", b""),
        mark("POST", b"a"),
        mark("POST", b"b"),
        mark("GET", b"a"),
    ]
    assert len(set(different)) == 5
    assert mark("POST", b"a") == mark("POST", b"a")
    assert mark("GET", b"") == entry_mark(intake, "http://a.test/x")


def entry_mark(intake: Intake, url: str) -> int:
    seed = intake.seed_entry(url)
    assert isinstance(seed, UrlEntry)
    return seed.fingerprint


def test_a_request_is_followed_or_begun_by_its_own_rules(intake: Intake) -> None:
    assert intake.request_entry("http://far.test/", "GET", b"", 1, VIA, 0, True) == "whitelist"
    assert isinstance(intake.request_entry("http://far.test/", "GET", b"", 0, None, 0, False), UrlEntry)


def test_a_request_with_a_url_that_browsers_clean_is_cleaned(intake: Intake) -> None:
    one = intake.request_entry("HTTP://A.test/a/../b\\c", "GET", b"", 0, None, 0, False)
    assert isinstance(one, UrlEntry)
    assert one.url == "http://a.test/b/c"


@pytest.mark.parametrize("url", ["http://", "http://a b/", "https://[::1/", "no-scheme"])
def test_a_request_whose_url_no_browser_takes_is_refused(intake: Intake, url: str) -> None:
    assert intake.request_entry(url, "GET", b"", 0, None, 0, False) == "url"


def test_urls_of_other_schemes_have_a_queue_of_their_scheme(intake: Intake) -> None:
    one = intake.request_entry("data:,hello", "GET", b"", 0, None, 0, False)
    assert isinstance(one, UrlEntry)
    assert (one.url, one.key) == ("data:,hello", "data:")
    assert intake.admit(one) is None


@pytest.mark.parametrize(
    "url", ["ftp://a.test/", "file:///etc/passwd", "FILE:///etc/passwd", "s3://bucket/key"]
)
@pytest.mark.parametrize(("depth", "via"), [(1, VIA), (0, VIA), (1, None)])
def test_one_that_a_page_has_is_refused_if_the_project_does_not_name_its_scheme(
    intake: Intake, url: str, depth: int, via: str | None
) -> None:
    assert intake.request_entry(url, "GET", b"", depth, via, 0, True) == "scheme"
    intake.schemes = Schemes(others=frozenset({"ftp", "file", "s3"}))
    assert isinstance(intake.request_entry(url, "GET", b"", depth, via, 0, True), UrlEntry)


def test_data_that_a_page_has_is_no_request_to_anybody(intake: Intake) -> None:
    assert isinstance(intake.request_entry("data:,hello", "GET", b"", 1, VIA, 0, True), UrlEntry)


def test_before_a_fetch_only_the_rules_for_all_urls_are_asked_again(intake: Intake) -> None:
    assert intake.admit(entry("http://far.test/")) is None
    assert intake.admit(entry("http://a.test/bad")) == "badword"


def test_the_table_of_what_was_met_lately_is_made_once() -> None:
    everything = Scope(())
    tracemalloc.start()
    try:
        intake = Intake(PolitenessKey("host"), everything, everything)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert intake.take_links(["http://a.test/"], 1, VIA).entries
    assert kept >= 8 * RECENT
    assert most < 9 * RECENT


def test_what_was_met_lately_is_remembered_until_another_takes_its_place() -> None:
    recent = Recent(8)
    recent.update(range(8))
    assert recent.unseen(range(-1, 9)) == [-1, 8]
    recent.update([8, -1])
    assert recent.unseen([8, 0, -1, 7, 3]) == [0, 7]
    recent.clear()
    assert recent.unseen(range(-1, 9)) == list(range(-1, 9))


def test_a_link_that_may_return_is_looked_at_again_and_no_other(intake: Intake) -> None:
    urls = [f"http://a.test/{number}" for number in range(4)]
    entries = intake.take_links(urls, 1, "http://a.test/").entries
    intake.may_return([entries[2].fingerprint, fingerprint("http://a.test/other")])
    again = intake.take_links(urls, 1, "http://a.test/").entries
    assert [one.url for one in again] == urls[2:3]


def test_what_is_discarded_is_not_met_whatever_its_place() -> None:
    recent = Recent(8)
    for value in (0, 1, 8, 9, -8):
        recent.update([value])
        recent.discard([value, value + 8])
        assert recent.unseen([value, 0, 1]) == [value, 0, 1]


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=50), st.sampled_from([2, 16]))
def test_what_was_never_met_is_never_taken_for_met(values: list[int], size: int) -> None:
    recent = Recent(size)
    met: set[int] = set()
    for value in values:
        if value not in met:
            assert recent.unseen([value]) == [value]
            recent.update([value])
        met.add(value)


def test_a_sitemap_of_ones_own_need_not_match_what_is_said_of_pages_and_one_elsewhere_must(
    intake: Intake,
) -> None:
    own = intake.sitemap_entry("http://files.a.test/far/sitemap.xml", "a.test", "http://a.test/robots.txt")
    assert isinstance(own, UrlEntry)
    assert (own.kind, own.key, own.depth, own.via) == ("sitemap", "a.test", 0, "http://a.test/robots.txt")
    assert intake.sitemap_entry("http://b.test/far/sitemap.xml", "a.test", VIA) == "whitelist"
    assert intake.sitemap_entry("http://a.test/bad.xml", "a.test", VIA) == "badword"
    elsewhere = intake.sitemap_entry("http://b.test/sitemap.xml", "a.test", VIA, 2, 1)
    assert isinstance(elsewhere, UrlEntry)
    assert (elsewhere.key, elsewhere.depth, elsewhere.redirects) == ("b.test", 2, 1)


def test_thousands_of_links_are_taken_in_parts_that_come_to_the_same() -> None:
    urls = [f"http://h{number % 50}.example/{'%41' * (number % 90)}?n={number}" for number in range(2_000)]
    linked: list[list[int]] = []
    whole, parted = (
        Intake(PolitenessKey("domain"), Scope([]), Scope([]), linked=lambda _, marks: linked.append([*marks]))
        for _ in range(2)
    )
    entries = whole.take_links(urls, 1, VIA).entries
    parts = list(parted.in_parts(urls, 1, VIA))

    assert len(parts) > 5
    assert [one for part in parts for one in part.entries] == entries
    assert linked[1] == linked[0]


def test_the_links_of_an_ordinary_page_are_one_part(intake: Intake) -> None:
    urls = [f"http://a.example/{number}" for number in range(100)]
    assert len(list(intake.in_parts(urls, 1, VIA))) == 1
