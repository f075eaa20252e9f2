"""Private addresses: every kind of both families, whatever they are spelled or wrapped in."""

import csv
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.scope.private import PrivateAddressRule, kind_of_address
from webcrawl.scope.scope import Candidate
from webcrawl.urls.politeness_key import get_host
from webcrawl.urls.resolve import resolve

DATA = Path(__file__).parents[2] / "data"

with (DATA / "urls_private_addresses.csv").open(encoding="utf-8") as table:
    ADDRESSES = [(row["ip"], row["kind"] or None) for row in csv.DictReader(table)]


def refused(url: str, rule: PrivateAddressRule) -> str | None:
    resolved = resolve(url, "about:blank")
    assert resolved is not None
    host = get_host(resolved)
    return rule.refuses(Candidate(resolved, host, host))


@each_row(("ip", "kind"), ADDRESSES)
def test_an_address_is_public_or_of_a_kind_that_is_not(ip, kind):
    assert kind_of_address(ip) == kind


@given(st.text() | st.ip_addresses().map(str))
def test_no_text_makes_the_question_raise(text):
    kind_of_address(text)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_the_same_when_it_comes_as_ipv6(ip):
    kind = kind_of_address(str(ip))
    assert kind == kind_of_address(f"::ffff:{ip}") == kind_of_address(f"64:ff9b::{ip}")


@each_row(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "10.0.0.1",
        "192.168.1.1:8080",
        "169.254.169.254",
        "0",
        "[::1]",
        "[::1]:80",
        "[::ffff:10.0.0.1]",
        "[fd00::1]",
        "[fe80::1]",
        "[::]",
        "100.64.0.1",
        "1.2.3.4.5.localhost",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "h1.localhost",
        "localhost.localdomain",
        "ip6-localhost",
        "127.0.0.1.",
    ],
)
def test_urls_into_this_machine_or_network_are_refused(host):
    assert refused(f"http://{host}/", PrivateAddressRule())


@each_row(
    "host", ["h.test", "8.8.8.8", "[2a00::1]", "localhost.test", "mylocalhost", "10.test", "127.0.0.1.test"]
)
def test_urls_into_the_internet_are_not(host):
    assert refused(f"http://{host}/", PrivateAddressRule()) is None


@each_row(
    ("allowed", "host"),
    [
        ("127.0.0.1", "127.0.0.1:8080"),
        ("127.0.0.0/8", "127.1"),
        ("127.0.0.1", "localhost"),
        ("10.0.0.1/8", "10.255.0.1"),
        ("10.0.0.0/8", "[::ffff:10.0.0.1]"),
        ("[::1]", "[::1]"),
        ("fd00::/8", "[fd12::1]"),
        ("localhost", "localhost"),
        ("localhost", "h1.localhost"),
        ("http://LOCALHOST:8080/", "localhost."),
        ("h1.localhost", "a.h1.localhost"),
    ],
)
def test_what_the_operator_allows_is_in_scope_and_nothing_else(allowed, host):
    rule = PrivateAddressRule([allowed])
    assert refused(f"http://{host}/", rule) is None
    assert refused("http://192.168.7.7/", rule)


def test_a_network_can_be_given_as_one():
    assert refused("http://10.0.0.1/", PrivateAddressRule([ip_network("10.0.0.0/8")])) is None


def test_what_is_allowed_later_counts_at_once():
    rule = PrivateAddressRule()
    assert refused("http://localhost/", rule)
    rule.allow("localhost")
    assert refused("http://localhost/", rule) is None


@each_row("text", ["10.0.0.0/33", "a b", "", "host/path"])
def test_what_is_neither_host_nor_network_is_named(text):
    with pytest.raises(ValueError, match=f"neither a host nor a network: '{text}'"):
        PrivateAddressRule([text])


def test_a_resolver_asks_about_the_address_behind_a_name():
    rule = PrivateAddressRule(["intranet.test", "10.0.0.0/8"])
    assert rule.refuses_address("h.test", "8.8.8.8") is None
    assert rule.refuses_address("h.test", "192.168.0.1") == "192.168.0.1 is private"
    assert rule.refuses_address("h.test", "10.0.0.1") is None
    assert rule.refuses_address("www.intranet.test", "192.168.0.1") is None
    assert rule.refuses_address("h.test", "garbage") == "garbage is no address"
