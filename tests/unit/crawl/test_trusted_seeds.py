"""Whether seeds may name hosts that links may not lead to."""

from __future__ import annotations

import pytest

from webcrawl.crawl.seeded_hosts import SeededHosts
from webcrawl.fetching.private_addresses import SeedAddresses
from webcrawl.scope.port import BadPortRule
from webcrawl.scope.private import PrivateAddressRule
from webcrawl.scope.scope import Candidate


@pytest.mark.parametrize("allows", [True, False])
def test_a_seed_allows_its_host_and_port_if_seeds_are_trusted(allows):
    rule, ports = PrivateAddressRule(), BadPortRule(())
    seeded = SeededHosts(SeedAddresses(rule), ports, allows=allows)
    for url in ("http://127.0.0.1/", "http://intern.localhost/", "http://192.168.0.7:22/"):
        seeded.allow(url)

    for host in ("127.0.0.1", "intern.localhost", "192.168.0.7"):
        assert (rule.refuses(Candidate("", host, "")) is None) == allows
    assert ports.is_bad("http://192.168.0.7:22/")
    assert (len(seeded) > 0) == allows
