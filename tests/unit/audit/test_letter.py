"""The letter to a site owner: its facts are those of the logs and the settings."""

from __future__ import annotations

from typing import Any

from tests.rows import each_row
from tests.unit.reports.log_lines import request
from webcrawl.audit.complaint import Complaint
from webcrawl.audit.letter import CONTACT, TO_FILL_IN, LetterFacts, letter


def letter_on(*starts: float, requests: tuple[str, ...] = (), **facts: Any) -> str:
    complaint = Complaint("a.test")
    for start in starts:
        complaint.take(request(start))
    known: dict[str, Any] = {
        "user_agent": "bot/1 (+me@b.test)",
        "product_token": "bot",
        "contact": "me@b.test",
        "robots_ttl_seconds": 86_400,
    }
    return "\n".join(letter(complaint, LetterFacts(**(known | facts)), ["robots.txt: ..."], requests))


def test_it_has_the_facts_of_the_logs() -> None:
    text = letter_on(0, 5.759, requests=("Each request: ...", "  one"))
    for fact in (
        "Subject: Requests of our crawler to a.test\n\nDear site owner,\n",
        "From 2026-09-21 14:13:20 to 2026-09-21 14:13:25 it sent 2 requests\nand received 200 B, at most 2 requests",
        "It sent one request at a time, and waited 5.25 s or more after each response.",
        "The results, by status: 200 2.",
        "\nrobots.txt: ...\n",
        "    User-agent: bot\n    Disallow: /\n\nThe crawler notices it within 24 hours.",
        "User-Agent: bot/1 (+me@b.test)",
    ):
        assert fact in text
    assert text.endswith("\nme@b.test\n\n\nEach request: ...\n  one")


@each_row(
    ("facts", "told", "not_told"),
    [
        ({}, TO_FILL_IN, "is on the list"),
        (
            {"exclusion": "a.test (asked)"},
            "(entry: a.test (asked)). The crawler sends no requests",
            TO_FILL_IN,
        ),
        ({"contact": ""}, CONTACT, "me@b.test\n\n"),
        ({"product_token": ""}, "User-agent: *", "User-agent: bot"),
        ({"robots_ttl_seconds": 90}, "within 90 seconds", "hour"),
        ({"addresses": ["192.0.2.7"]}, "IP addresses: 192.0.2.7", "Anybody can send"),
        (
            {"keys_url": "https://b.test/keys"},
            "was not sent by us. The keys:\nhttps://b.test/keys",
            "Anybody can send",
        ),
        ({}, "Anybody can send this User-Agent", "is signed"),
    ],
)
def test_it_says_what_the_settings_say(facts: dict[str, Any], told: str, not_told: str) -> None:
    text = letter_on(0, 10, **facts)
    assert told in text
    assert not_told not in text


def test_without_requests_it_says_so_and_with_several_hosts_it_names_them() -> None:
    text = letter_on()
    assert "Our logs have no request to a.test or its subdomains in this time." in text
    assert "robots.txt: ..." not in text
    complaint = Complaint("a.test")
    for at in range(25):
        complaint.take(request(at * 10, host=f"h{at}.a.test"))
    facts = LetterFacts(user_agent="", product_token="", contact="", robots_ttl_seconds=60)
    lines = list(letter(complaint, facts, [], []))
    assert "    h0.a.test: 1 request, 100 B" in lines
    assert "    and 5 hosts more" in lines


def test_requests_that_were_open_at_once_are_admitted() -> None:
    assert "Some requests were open at the same time." in letter_on(0, 0.1)
