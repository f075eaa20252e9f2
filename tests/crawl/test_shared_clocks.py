"""Clocks that sites share: an address, a domain, a host, a group, each judged by the server's log."""

from __future__ import annotations

import json

import pytest

from tests.crawl import expectation
from tests.crawl.explaining import asking
from tests.fakeweb import Placement, witness
from tests.rows import each_row

MEASURING_ERROR = 0.005
ADDRESS, DOMAIN, HOST, GROUP, KEY = 0.05, 0.12, 0.2, 0.12, 0.06
SLOW = (Placement("slow-start", share=0.3, options={"seconds": 0.1}), Placement("flaky-reset", share=0.1))
WEB = {"hosts": 9, "pages": 27, "zipf": 0.2, "per_domain": 3, "placements": SLOW}


def above(name):
    return ".".join(name.split(".")[-2:])


def domain_of(hit):
    return above(hit.host)


def clocks_of(crawl):
    """What the lines of its log tell; pages of hosts that are in no group wait for none."""
    return {clock for line in crawl.lines() for clock in line.get("clocks", ())}


@pytest.fixture(scope="module")
def webs(serve):
    own = {"dns": True, "own_addresses": True, "suffix": "test"}
    webs = {name: serve(**WEB) for name in ("address", "domain", "host", "group")}
    return {**webs, "addresses": serve(**{**WEB, **own}), "network": serve(**{**WEB, **own})}


@pytest.fixture(scope="module")
def grouped(webs):
    """Two of three domains are a group."""
    return sorted({above(host) for host in webs["group"].web.hosts})[:2]


@pytest.fixture(scope="module")
def crawls(webs, grouped, start, tmp_path_factory):
    """All at the same time: most of it is waiting."""
    folder = tmp_path_factory.mktemp("groups")
    (folder / "domains").write_text(f"# two of three\npair {GROUP} {' '.join(grouped)}\n")
    (folder / "network").write_text(f"rack {GROUP} 127.0.0.0/8\n")
    settings = {
        "address": {"POLITENESS_ADDRESS_DELAY": ADDRESS},
        "addresses": {"POLITENESS_ADDRESS_DELAY": ADDRESS, "DNS_NAMESERVERS": webs["addresses"].nameserver},
        "domain": {"POLITENESS_DOMAIN_DELAY": DOMAIN},
        "host": {"POLITENESS_HOST_DELAY": HOST, "POLITENESS_KEY": "domain"},
        "group": {"POLITENESS_GROUPS_FILE": folder / "domains"},
        "network": {
            "POLITENESS_GROUPS_FILE": folder / "network",
            "DNS_NAMESERVERS": webs["network"].nameserver,
        },
    }
    shared = {"POLITENESS_MIN_DELAY": KEY, "POLITENESS_KEY": "host", "HEALTH_PARK_SECONDS": 1}
    started = {name: start(webs[name].seeds, **{**shared, **own}) for name, own in settings.items()}
    return {name: crawl.wait().assert_ended_well() for name, crawl in started.items()}


@each_row(
    ("name", "key_of", "delay"),
    [
        ("address", lambda hit: "127.0.0.1", ADDRESS),
        ("domain", domain_of, DOMAIN),
        ("domain", witness.host_of, KEY),
        ("host", witness.host_of, HOST),
        ("host", domain_of, KEY),
        ("network", lambda hit: "rack", GROUP),
    ],
)
def test_each_clock_is_kept_whatever_the_politeness_key(webs, crawls, name, key_of, delay):
    hits = webs[name].hits()

    assert witness.violations(hits, lambda hit: delay, key_of, tolerance=MEASURING_ERROR) == []
    assert witness.most_open(hits, key_of) == 1


def test_the_sites_of_a_group_share_a_clock_and_others_do_not(webs, crawls, grouped):
    hits = webs["group"].hits()
    inside = [hit for hit in hits if domain_of(hit) in grouped]

    assert witness.violations(inside, lambda hit: GROUP, lambda hit: "pair", tolerance=MEASURING_ERROR) == []
    assert witness.violations(hits, lambda hit: GROUP, lambda hit: "all") != []


def test_hosts_at_addresses_of_their_own_do_not_wait_for_each_other(webs, crawls):
    hits = webs["addresses"].hits()

    assert witness.violations(hits, lambda hit: ADDRESS, tolerance=MEASURING_ERROR) == []
    assert witness.most_open(hits, lambda hit: "all") > 1


def test_nothing_is_missed(webs, crawls):
    for name, crawl in crawls.items():
        expected = set(expectation.depths(webs[name]))
        assert {line["url"] for line in crawl.lines() if line.get("status") == 200} == expected, name


def test_each_line_of_the_log_tells_the_clocks_that_were_waited_for(webs, crawls):
    clocks = {name: clocks_of(crawl) for name, crawl in crawls.items()}

    assert clocks["address"] == {"address 127.0.0.1"}
    assert clocks["group"] == {"group pair"}
    assert clocks["network"] == {"group rack"}
    assert {clock.split()[0] for clock in clocks["domain"]} == {"domain"}
    assert {clock.split()[0] for clock in clocks["host"]} == {"host"}


def test_explain_tells_the_last_use_of_a_clock_by_whichever_host(webs, crawls, monkeypatch):
    crawl = crawls["address"]
    ask = asking(monkeypatch, {}, JOBDIR=crawl.path, POLITENESS_KEY="host", POLITENESS_ADDRESS_DELAY=3600)
    told = {url: json.loads(ask(url).as_json()) for url in webs["address"].seeds[:2]}
    last = max(line["end"] for line in crawl.log())

    for one in told.values():
        clocks = {clock["name"]: clock["until"] for clock in one["clocks"]["clocks"]}
        assert clocks["address 127.0.0.1"] == pytest.approx(last + 3600, abs=1e-3)
        assert one["clocks"]["binding"] == "address 127.0.0.1"
