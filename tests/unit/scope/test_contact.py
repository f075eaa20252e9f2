"""A crawl without a contact stays off the public web."""

from __future__ import annotations

from webcrawl.politeness.contact import is_public
from webcrawl.scope.scope import Candidate
from webcrawl.scope.url_rules import ContactRule


def _refusal(host: str) -> str | None:
    return ContactRule(is_public).refuses(Candidate(f"http://{host}/", host, host))


def test_public_hosts_are_refused_and_the_setting_is_named() -> None:
    assert "CRAWLER_CONTACT" in (_refusal("www.example.org") or "")
    assert "CRAWLER_CONTACT" in (_refusal("93.184.216.34") or "")


def test_hosts_that_are_on_no_public_web_are_not() -> None:
    for host in ("localhost", "h1.localhost", "127.0.0.1", "[::1]", "10.1.2.3", "wiki.test", "nas.local"):
        assert _refusal(host) is None, host
