"""Which clocks a fetch shares with those of other keys."""

from __future__ import annotations

from tests.rows import each_row
from webcrawl.politeness.groups import Group, Groups
from webcrawl.politeness.shared_clocks import NO_SHARED_CLOCKS, SharedClocks, plain_address

GROUPS = Groups([Group("campus", 7.0, frozenset({"example.org"}), ())])


def domain_of(host: str) -> str:
    return ".".join(host.split(".")[-2:])


ALL = SharedClocks(1.0, 2.0, 3.0, GROUPS, domain_of)


def test_a_fetch_waits_for_all_four() -> None:
    assert ALL.of("www.example.org", "192.0.2.1") == {
        "address 192.0.2.1": 1.0,
        "domain example.org": 2.0,
        "host www.example.org": 3.0,
        "group campus": 7.0,
    }
    assert ALL.needs_address


def test_one_name_has_one_clock_however_it_is_written() -> None:
    assert ALL.of("WWW.example.org.", "::ffff:192.0.2.1") == ALL.of("www.example.org", "192.0.2.1")


def test_without_pauses_there_are_no_clocks() -> None:
    assert NO_SHARED_CLOCKS.of("www.example.org", "192.0.2.1") == {}
    assert not NO_SHARED_CLOCKS
    assert not SharedClocks(host_delay=1.0).needs_address
    assert SharedClocks(address_delay=1.0).of("www.example.org", None) == {}


@each_row(
    ("text", "plain"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:c000:201", "192.0.2.1"),
        ("2001:DB8::0:1", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("", None),
        ("example.org", None),
    ],
)
def test_one_spelling_for_each_address(text: str, plain: str | None) -> None:
    assert plain_address(text) == plain
