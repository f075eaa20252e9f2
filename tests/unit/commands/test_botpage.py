"""``scrapy botpage``: from the settings of a crawl to a page, or a line that says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from webcrawl.features.identity import keys, reverse_dns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.commands import Command

CONTACT = "me@a.example"


@pytest.fixture
def botpage(command: Callable[..., Command]) -> Command:
    return command("botpage")


def test_the_page_follows_from_the_settings(botpage: Command) -> None:
    done = botpage(
        "--address",
        "192.0.2.7,2001:db8::1",
        CRAWLER_CONTACT=CONTACT,
        USER_AGENT="library-bot/2",
        BOTPAGE_ADDRESSES="198.51.100.0/24",
        BOTPAGE_PURPOSE="For the <library>.",
        BOTPAGE_ANSWER="Within a day.",
        POLITENESS_MIN_DELAY=9,
        POLITENESS_MODEL="fixed",
    )
    assert (done.status, done.err) == (0, "")
    for told in (
        "<code>library-bot/2 (+me@a.example)</code>",
        "User-agent: library-bot\nDisallow: /",
        "<code>198.51.100.0/24</code>, <code>192.0.2.7</code>, <code>2001:db8::1</code>",
        "<p>For the &lt;library&gt;.</p>",
        "<p>Within a day.</p>",
        "waits at least 9 seconds.",
        'href="mailto:me@a.example"',
    ):
        assert told in done.out


def test_it_is_written_to_a_file_at_once(botpage: Command) -> None:
    Path("bot.html").write_text("before")
    done = botpage("--output", "bot.html", BOTPAGE_CONTACT=CONTACT)
    assert (done.status, done.out, done.err) == (0, "", "")
    assert Path("bot.html").read_text().startswith("<!doctype html>")
    assert [path.name for path in Path().iterdir()] == ["bot.html"]


def test_a_page_that_would_name_itself_needs_another_contact(botpage: Command) -> None:
    done = botpage(CRAWLER_CONTACT="https://a.example/bot")
    assert done.status == 2
    assert "BOTPAGE_CONTACT: must be set, for instance to you@your.site" in done.err
    assert "CRAWLER_CONTACT, https://a.example/bot, is a web page" in done.err
    done = botpage(CRAWLER_CONTACT="https://a.example/bot", BOTPAGE_CONTACT=CONTACT)
    assert (done.status, done.err) == (0, "")
    assert "webcrawl/0.1.0 (+https://a.example/bot)" in done.out
    assert 'href="mailto:me@a.example"' in done.out


@pytest.mark.parametrize(
    ("words", "settings", "line"),
    [
        ([], {}, "BOTPAGE_CONTACT: must be set, for instance to you@your.site: site owners"),
        (
            [],
            {"BOTPAGE_CONTACT": "me"},
            "BOTPAGE_CONTACT: must be a web or e-mail address that you answer at, not",
        ),
        ([], {"BOTPAGE_ADDRESSES": "here"}, "BOTPAGE_ADDRESSES: must be a list of IP addresses and networks"),
        (
            ["--address", "here"],
            {"CRAWLER_CONTACT": CONTACT},
            "--address: must be a list of IP addresses and",
        ),
        (
            ["--output", "no/such"],
            {"CRAWLER_CONTACT": CONTACT},
            "--output: no/such: No such file or directory",
        ),
        (["--output", "."], {"CRAWLER_CONTACT": CONTACT}, "--output: .: "),
        ([], {"BOTPAGE_PURPSE": "x"}, "BOTPAGE_PURPSE: is not a setting; did you mean BOTPAGE_PURPOSE?"),
    ],
)
def test_what_is_wrong_is_named_in_a_line(
    botpage: Command, words: list[str], settings: dict[str, str], line: str
) -> None:
    done = botpage(*words, **settings)
    assert (done.status, done.out) == (2, "")
    [told] = done.err.splitlines()
    assert told.removeprefix("scrapy botpage: ").startswith(line)
    assert not list(Path().iterdir())


def test_the_addresses_are_written_beside_the_page_for_machines(botpage: Command) -> None:
    settings = {"BOTPAGE_CONTACT": CONTACT, "USER_AGENT": "library-bot/2", "BOTPAGE_ADDRESSES": "192.0.2.7"}
    assert botpage("--output", "bot.html", "--address", "2001:db8::/48", **settings).status == 0
    assert '<link rel="client-ranges" href="client-ranges.json">' in Path("bot.html").read_text()
    ranges = json.loads(Path("client-ranges.json").read_text())
    assert ranges["prefixes"] == [
        {"ipv4Prefix": "192.0.2.7/32", "service": "library-bot"},
        {"ipv6Prefix": "2001:db8::/48", "service": "library-bot"},
    ]
    printed = botpage(**settings)
    assert "client-ranges" not in printed.out


def test_the_page_says_how_a_signed_request_is_verified(botpage: Command) -> None:
    keys.write_file(Path("key"), keys.KeyRing([keys.new_key()]))
    done = botpage(
        BOTPAGE_CONTACT=CONTACT,
        BOTPAGE_ADDRESSES="192.0.2.7",
        BOTPAGE_DATA_USE="For a search engine.",
        IDENTITY_KEY_FILE="key",
        IDENTITY_AGENT="https://bot.example.org",
    )
    assert (done.status, done.err) == (0, "")
    for told in (
        '<link rel="client-ranges" href="https://bot.example.org/client-ranges.json">',
        '<a href="https://bot.example.org/.well-known/http-message-signatures-directory">',
        "<p>For a search engine.</p>",
        "<p>Scripts in pages are not run",
    ):
        assert told in done.out


def test_a_crawl_that_draws_pages_says_that_it_runs_scripts(botpage: Command) -> None:
    handler = "webcrawl.fetching.playwright.PlaywrightDownloadHandler"
    done = botpage(BOTPAGE_CONTACT=CONTACT, DOWNLOAD_HANDLERS=json.dumps({"https": handler}))
    assert "drawn in a browser, which runs their scripts" in done.out


def test_names_are_told_if_they_lead_back(botpage: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    async def look_up(networks: Sequence[str], nameservers: object) -> list[reverse_dns.ReverseName]:
        assert (networks, nameservers) == (("192.0.2.7", "192.0.2.8"), (("127.0.0.1", 5353),))
        return [
            reverse_dns.ReverseName("192.0.2.7", "crawl-7.example.org"),
            reverse_dns.ReverseName("192.0.2.8", "", "has no name"),
        ]

    monkeypatch.setattr(reverse_dns, "look_up", look_up)
    settings = {"BOTPAGE_CONTACT": CONTACT, "BOTPAGE_ADDRESSES": "192.0.2.7,192.0.2.8"}
    done = botpage("--reverse-dns", DNS_NAMESERVERS="127.0.0.1:5353", **settings)
    assert done.status == 0
    assert "<dt>192.0.2.7</dt><dd><code>crawl-7.example.org</code></dd>" in done.out
    assert done.err == "scrapy botpage: 192.0.2.8 has no name; the page has no name for it\n"


def test_the_page_says_what_usage_preferences_do(botpage: Command) -> None:
    settings = {"BOTPAGE_CONTACT": CONTACT, "USAGE_PURPOSES": "train-ai"}
    withheld, refused = botpage(**settings), botpage(USAGE_DISALLOWED="refuse", **settings)
    for done in (withheld, refused):
        assert "The pages are collected for <code>train-ai</code>." in done.out
        assert "is left out of everything made from the crawled pages" in done.out
    assert "not even requested" not in withheld.out
    assert "not even requested" in refused.out
