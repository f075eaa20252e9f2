"""Numbers, names and sizes follow from the seed alone."""

from __future__ import annotations

import pytest

from tests.fakeweb.names import chance, host_names, loopback_address, numbers, zipf_sizes
from tests.rows import each_row


def test_the_same_text_gives_the_same_numbers_in_every_python() -> None:
    assert numbers("7 links 0 0", 3) == (3087953208, 114456568, 2663798423)


def test_a_chance_lies_between_zero_and_one() -> None:
    draws = [chance(f"draw {number}") for number in range(1000)]

    assert 0 <= min(draws) < 0.01
    assert 0.99 < max(draws) < 1


def test_hosts_share_domains_when_asked_to() -> None:
    assert host_names(4, "test", 2) == ["h0000.test", "s1.h0000.test", "h0001.test", "s1.h0001.test"]


@each_row(("hosts", "pages"), [(1, 1), (3, 3), (50, 2000), (1000, 10_000)])
def test_sizes_add_up_and_no_host_is_empty(hosts: int, pages: int) -> None:
    sizes = zipf_sizes(hosts, pages, 1.0)

    assert sum(sizes) == pages
    assert min(sizes) >= 1


def test_the_largest_host_is_twice_the_second() -> None:
    first, second, *_ = zipf_sizes(100, 1_000_000, 1.0)

    assert first / second == pytest.approx(2, rel=0.01)


def test_too_few_pages_for_the_hosts_are_refused() -> None:
    with pytest.raises(ValueError, match="3 pages are too few for 4 hosts"):
        zipf_sizes(4, 3, 1.0)


def test_own_addresses_are_loopback_and_differ() -> None:
    addresses = [loopback_address(index) for index in range(70_000)]

    assert len(set(addresses)) == 70_000
    assert all(address.startswith("127.") for address in addresses)
    assert all(0 <= int(part) < 255 for part in addresses[-1].split("."))
