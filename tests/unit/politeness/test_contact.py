"""The public web is not crawled without a contact; everything that is not public is."""

from __future__ import annotations

from collections.abc import Iterator

from tests.rows import each_row
from webcrawl.politeness.contact import contact_problem, is_contact, is_public, user_agent


@each_row(
    "host",
    [
        "example.org",
        "www.gov.uk",
        "8.8.8.8",
        "[2606:4700::1111]",
        "test.org",
        "localhost.com",
        "EXAMPLE.ORG.",
    ],
)
def test_a_public_host_needs_a_contact(host: str) -> None:
    assert is_public(host)
    problem = contact_problem("webcrawl/0.1", "", [host])
    assert problem is not None
    assert host in problem
    assert "-s CRAWLER_CONTACT=" in problem
    assert "\n" not in problem


@each_row(
    "host",
    [
        "localhost", "a.localhost", "127.0.0.1", "[::1]", "10.1.2.3", "192.168.0.1", "169.254.1.1", "fd00::1",
        "a.test", "b.example", "c.invalid", "d.internal", "e.local", "f.home.arpa", "home.arpa.",
    ],
)  # fmt: skip
def test_a_host_off_the_public_web_needs_none(host: str) -> None:
    assert not is_public(host)
    assert contact_problem("webcrawl/0.1", "", [host]) is None


@each_row(
    "text",
    [
        "bot/1 (+https://me.example.org/bot)",
        "bot/1 (me@example.org)",
        "http://localhost/about",
        "a.b+c@d.co.uk",
    ],
)
def test_a_web_or_email_address_is_a_contact(text: str) -> None:
    assert is_contact(text)
    assert contact_problem(text, "", ["example.org"]) is None
    assert contact_problem("webcrawl/0.1", text, ["example.org"]) is None


@each_row(
    "text", ["", "bot/1", "https://", "me@localhost", "@example.org", "Scrapy/2.19 (+https://scrapy.org)"]
)
def test_anything_else_is_none(text: str) -> None:
    assert not is_contact(text)


def test_with_a_contact_no_seed_is_read() -> None:
    def hosts() -> Iterator[str]:
        raise AssertionError
        yield ""

    assert contact_problem("bot (+https://me.example.org/)", "", hosts()) is None


def test_seeds_are_read_up_to_the_first_public_host() -> None:
    hosts = iter(["localhost", "example.org", "example.com"])
    assert contact_problem("bot", "", hosts) is not None
    assert next(hosts) == "example.com"


@each_row(
    ("given", "contact", "sent"),
    [
        ("", "", "webcrawl/0.1.0"),
        ("", "me@example.org", "webcrawl/0.1.0 (+me@example.org)"),
        ("bot/2", "https://me.example.org/", "bot/2 (+https://me.example.org/)"),
        ("bot/2 (x@y.org)", "https://me.example.org/", "bot/2 (x@y.org)"),
        ("Scrapy/2.19 (+https://scrapy.org)", "", "webcrawl/0.1.0"),
    ],
)
def test_the_user_agent_is_composed(given: str, contact: str, sent: str) -> None:
    assert user_agent(given, contact) == sent
    assert user_agent(sent, contact) == sent, "composing again changes nothing"
