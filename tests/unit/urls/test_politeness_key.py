"""Keys: one per machine or per registrable domain, the same for ever, found without the network."""

import csv
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.urls import politeness_key
from webcrawl.urls import politeness_key as registrable
from webcrawl.urls.politeness_key import (
    PolitenessKey,
    get_host,
    get_origin,
    has_known_suffix,
    registrable_domain,
)

DATA = Path(__file__).parents[2] / "data"

with (DATA / "urls_keys.csv").open(encoding="utf-8") as table:
    KEYS = [(row["host"], row["domain"]) for row in csv.DictReader(table)]

DOMAIN = PolitenessKey("domain")
HOST = PolitenessKey("host")

hosts = st.text() | st.lists(
    st.sampled_from(
        ["www", "com", "co", "uk", "github", "io", "ck", "xn--", "xn--55qx5d", "", "1", "test", "[::1]"]
    ),
    max_size=6,
).map(".".join)


@each_row(("host", "domain"), KEYS)
def test_the_domain_key_follows_the_public_suffix_list(host, domain):
    assert DOMAIN.of_host(host) == domain


@each_row(
    ("host", "key"),
    [("www.example.com", "www.example.com"), ("example.com.", "example.com"), ("[::1]", "[::1]"), (".", ".")],
)
def test_the_host_key_is_the_host_name(host, key):
    assert HOST.of_host(host) == key


@each_row("key", [DOMAIN, HOST], ids=["domain", "host"])
@each_row("host", ["www.example.com", "10.0.0.1", "[2001:db8::1]", "localhost", "example.com."])
def test_ports_and_schemes_of_one_machine_share_a_key(key, host):
    urls = [f"http://{host}/", f"http://{host}:8080/a", f"https://{host}/b?c", f"https://{host}:8443/"]
    assert {key.of_url(url) for url in urls} == {key.of_host(host)}


@given(hosts)
def test_a_key_is_its_own_key_and_no_host_raises(host):
    for key in (DOMAIN, HOST):
        name = key.of_host(host)
        assert key.of_host(name) == name
        assert PolitenessKey(key.mode).of_host(host) == name


@given(hosts)
def test_a_domain_is_the_end_of_its_host(host):
    assert (host.rstrip(".").lower() or host).endswith(registrable_domain(host))


@each_row(
    ("url", "host", "origin"),
    [
        ("http://h.test/", "h.test", "http://h.test"),
        ("https://h.test/a:b/c@d", "h.test", "https://h.test"),
        ("http://h.test:8080/a", "h.test", "http://h.test:8080"),
        ("https://[::1]/a", "[::1]", "https://[::1]"),
        ("https://[::1]:8443/a", "[::1]", "https://[::1]:8443"),
        ("http://h/", "h", "http://h"),
        ("http://h/?u=http://o.test:80/", "h", "http://h"),
    ],
)
def test_host_and_origin_are_cut_from_a_resolved_url(url, host, origin):
    assert get_host(url) == host
    assert get_origin(url) == origin


def test_another_mode_is_refused():
    with pytest.raises(ValueError, match="'ip'"):
        PolitenessKey("ip")


def test_a_key_forgets_hosts_rather_than_growing(monkeypatch):
    monkeypatch.setattr(politeness_key, "REMEMBERED_HOSTS", 10)
    key = PolitenessKey("host")
    for number in range(100):
        key.of_host(f"h{number}.test")
    assert key._cached.cache_info().currsize == 10


def test_the_suffix_list_is_loaded_without_network_and_without_a_cache_on_disk(monkeypatch, tmp_path):
    def refuse(*_args, **_kwargs):
        raise AssertionError("the network was asked for")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    registrable._extractor.cache_clear()
    assert PolitenessKey("domain").of_host("www.bbc.co.uk") == "bbc.co.uk"
    assert list(tmp_path.iterdir()) == []


@each_row(
    ("host", "known"),
    [
        ("example.com", True),
        ("a.github.io", True),
        ("github.io", True),
        ("a.test", False),
        ("localhost", False),
    ],
)
def test_only_names_under_listed_suffixes_count_as_known(host, known):
    assert has_known_suffix(host) is known
