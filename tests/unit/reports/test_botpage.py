"""The page about the crawler: it stands alone, what it advises works, and no setting can break out of its place."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.features.usage import robots_file
from webcrawl.features.usage.statements import resolve
from webcrawl.reports.botpage import ANSWER, PURPOSE, Bot, page
from webcrawl.robots.text import read

VOID = {"meta", "link"}


def bot(**facts: object) -> Bot:
    told = {
        "tokens": ["webcrawl"],
        "user_agent": "webcrawl/0.1.0 (+https://a.example/bot)",
        "contact": "me@a.example",
        "nofollow_rels": ("nofollow", "ugc"),
        **facts,
    }
    return Bot(**told)


class Reading(HTMLParser):
    """The elements of a page; all of them must be closed in their order."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: dict[str, list[str]] = {}
        self.feed(html.decode("ascii"))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            self.words.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.words[self.open[-1]][-1] += data

    @property
    def shape(self) -> list[str]:
        return [tag for tag, _ in self.elements]


def examples(html: bytes) -> list[str]:
    return Reading(html).words["pre"]


def text_of(html: bytes) -> str:
    body = html.decode("ascii").partition("<body>")[2]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_it_says_all_that_an_owner_wants_to_know() -> None:
    made = text_of(page(bot(addresses=["192.0.2.7", "2001:db8::/32"])))
    for told in (
        " ".join(PURPOSE.split()),
        "webcrawl/0.1.0 (+https://a.example/bot)",
        "Name in robots.txt (product token) webcrawl",
        "192.0.2.7 , 2001:db8::/32",
        "at least 5 seconds, or 10 times the duration of the last responses if that is longer (up to 1 minute)",
        "notices a change within 24 hours",
        "of more than 5 minutes is not crawled at all",
        "me@a.example",
        ANSWER.split("\n\n")[1].replace("  ", " "),
    ):
        assert told in made


def test_what_it_advises_works() -> None:
    away, folder, slower, *_ = examples(page(bot(min_delay=12.0)))
    assert [str(rule) for rule in read(away, "webcrawl").rules] == ["Disallow: /"]
    assert [str(rule) for rule in read(folder, "webcrawl").rules] == ["Disallow: /private/"]
    assert read(slower, "webcrawl").crawl_delay_seconds == 24
    assert not any(read(text, "other").rules for text in (away, folder))


@pytest.mark.parametrize("token", ["webcrawl", ""])
def test_its_example_of_usage_preferences_says_what_it_is_to_say(token: str) -> None:
    example = examples(page(bot(tokens=[token])))[-1]
    usage = robots_file.read(example, [token])
    assert usage is not None
    assert resolve(usage.statements("http://a.test/x")) == {"search": "yes", "train-ai": "no"}
    assert {each.format for each in usage.statements("http://a.test/x")} == {
        "Content-Usage",
        "Content-Signal",
    }
    assert not read(example, "webcrawl").crawl_delay_seconds
    assert [str(rule) for rule in read(example, "webcrawl").rules] == ["Allow: /"]


def test_a_crawler_without_a_name_is_told_of_as_all_are() -> None:
    html = page(bot(tokens=[""]))
    assert read(examples(html)[0], "").rules
    assert "obeys the rules for all" in text_of(html)
    assert '<meta name=""' not in unescape(html.decode())


@each_row(
    ("facts", "told", "not_told"),
    [
        ({"crawl_delay_max": 0.0}, "sets a Crawl-delay is not crawled at all", "Crawl-delay: "),
        ({"crawl_delay_max": 7.5}, "Crawl-delay: 7", "Crawl-delay: 10"),
        ({"factor": 0.0}, "waits at least 5 seconds.", "times the duration"),
        ({"min_delay": 0.0}, "waits 10 times the duration", "waits at least"),
        ({"min_delay": 0.0, "factor": 0.0}, "one request at a time", "After each response the crawler waits"),
        ({"site": "host"}, "one request at a time to a host.", "all its hosts"),
        ({}, "are not listed here", "from another address"),
        ({"obeys_meta": False}, "X-Robots-Tag", "<meta"),
        ({"obeys_header": False}, "<meta", "X-Robots-Tag"),
        (
            {"obeys_meta": False, "obeys_header": False, "nofollow_rels": ()},
            "Contact",
            "Rules in pages",
        ),
        ({"purpose": "For\nscience.\n\n \n\nAnd fun."}, "For science. And fun.", "fill in forms"),
        ({"answer": "At once."}, "complaints At once.", "First we stop"),
        ({"data_use": "To train\nnothing."}, "used for To train nothing.", "an archive of the crawl"),
        ({}, "Scripts in pages are not run", "drawn in a browser"),
        ({}, "It does not change which pages are requested", "The pages are collected for"),
        ({"records_usage": False}, "Contact", "Content-Usage"),
        (
            {"purposes": ("search", "train-ai"), "usage_withheld": True},
            "The pages are collected for search and train-ai . A page that may not be used for this is left out",
            "not even requested",
        ),
        (
            {"usage_withheld": True, "usage_refused": True},
            "the page is not even requested",
            "does not change",
        ),
        (
            {"runs_scripts": True},
            "drawn in a browser, which runs their scripts",
            "Scripts in pages are not run",
        ),
        ({}, "send us the time of the request", "How to verify"),
        ({"addresses": ["192.0.2.7"]}, "it is one of the IP addresses above.", "By its signature"),
        (
            {"agent": "https://bot.example.org", "keys_url": "https://bot.example.org/keys"},
            "names https://bot.example.org , and the signature is valid under a key in https://bot.example.org/keys",
            "By its address",
        ),
        (
            {"addresses": ["192.0.2.7"], "names": [("192.0.2.7", "crawl-7.example.org")]},
            "is the address of the request. 192.0.2.7 crawl-7.example.org",
            "file for machines",
        ),
        ({"addresses": ["192.0.2.7"], "ranges_url": "ranges.json"}, "also in a file for machines", "By DNS"),
    ],
)
def test_it_says_what_the_settings_are(facts: dict[str, object], told: str, not_told: str) -> None:
    made = text_of(page(bot(**facts)))
    assert told in made
    assert not_told not in made


@each_row(
    ("contact", "href"),
    [
        ("me@a.example", "mailto:me@a.example"),
        ("me+bot?cc=x@a.example", "mailto:me+bot%3Fcc%3Dx@a.example"),
        ("https://a.example/?a=1&b=\"2'", "https://a.example/?a=1&b=\"2'"),
        ("javascript:alert(1)//@a.example", None),
        ("me@a.example, 9 to 5", None),
    ],
)
def test_the_contact_is_a_link_where_it_is_an_address(contact: str, href: str | None) -> None:
    reading = Reading(page(bot(contact=contact)))
    assert [facts["href"] for tag, facts in reading.elements if tag == "a"] == (
        [] if href is None else [href]
    )


def test_it_needs_no_other_file_and_is_read_in_the_dark_and_on_paper() -> None:
    html = page(bot())
    reading = Reading(html)
    assert not {"script", "link", "img", "iframe", "form", "object"} & {*reading.shape}
    assert not [facts for _, facts in reading.elements if {"src", "style", "onclick"} & {*facts}]
    [style] = reading.words["style"]
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme:dark" in style
    assert "@media print" in style


@given(st.text(), st.text(), st.text(), st.text(), st.text())
def test_no_text_changes_the_shape_of_the_page(
    agent: str, contact: str, purpose: str, answer: str, address: str
) -> None:
    plain = Reading(page(bot(contact="x", purpose="x", answer="x", addresses=["x"]))).shape
    made = page(bot(user_agent=agent, contact=contact, purpose=purpose, answer=answer, addresses=[address]))
    made.decode("ascii")
    shape = Reading(made).shape
    assert [tag for tag in shape if tag not in ("p", "a")] == [tag for tag in plain if tag not in ("p", "a")]


def test_machines_are_led_to_the_addresses() -> None:
    elements = Reading(page(bot(addresses=["192.0.2.7"], ranges_url="a&b.json"))).elements
    assert [attributes for tag, attributes in elements if tag == "link"] == [
        {"rel": "client-ranges", "href": "a&b.json"}
    ]
    assert "link" not in Reading(page(bot(addresses=["192.0.2.7"]))).shape
