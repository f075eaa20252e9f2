"""Ports that browsers refuse are refused, unless the operator names them."""

from pathlib import Path

import pytest

from tests.rows import each_row
from webcrawl.scope.port import BAD_PORTS, COMMAND_PORTS, BadPortRule
from webcrawl.scope.scope import Candidate, LinkBatch
from webcrawl.urls.politeness_key import get_host, get_port

WEB = (80, 443, 8000, 8008, 8080, 8081, 8443, 8888, 3000, 5000, 9000, 65535)


def refused(url: str, rule: BadPortRule) -> str | None:
    one = rule.refuses(Candidate(url, get_host(url), get_host(url)))
    assert one is None or not rule.refuses_none(LinkBatch(["http://h.test/a:22", url], 1, str))
    return one


def test_the_list_is_that_of_browsers():
    """The numbers of the table in WHATWG Fetch, section "Port blocking"."""
    listed = (Path(__file__).parents[2] / "data" / "bad_ports.txt").read_text().split()
    assert frozenset(map(int, listed)) == BAD_PORTS


@each_row("port", sorted(BAD_PORTS | COMMAND_PORTS))
def test_a_port_of_another_service_is_refused(port):
    assert refused(f"http://h.test:{port}/", BadPortRule()) == f"port {port} is of no web server"
    assert refused(f"https://[::1]:{port}/", BadPortRule())


@each_row("port", WEB)
def test_a_port_of_the_web_is_not(port):
    assert refused(f"http://h.test:{port}/", BadPortRule()) is None


@pytest.mark.parametrize(
    ("url", "port"), [("http://h.test/:22", 80), ("https://[::1]/", 443), ("http://[::22]/", 80)]
)
def test_a_url_without_a_port_has_that_of_its_scheme(url, port):
    assert get_port(url) == port
    assert refused(url, BadPortRule()) is None


def test_a_seed_allows_its_own_host_and_port_and_the_operator_a_port_everywhere():
    rule = BadPortRule([6667])
    rule.allow_seed("h.test", 25)
    assert refused("http://h.test:25/a", rule) is None
    assert refused("http://h.test.:25/a", rule) is None
    assert refused("http://x.test:6667/", rule) is None
    assert refused("http://h.test:22/", rule)
    assert refused("http://h.test:6379/", rule)
    rule.allow_seed("h.test", 6379)
    assert refused("http://h.test:6379/", rule) is None
    assert refused("http://x.test:9200/", BadPortRule([9200])) is None
    assert refused("http://www.h.test:25/", rule)
