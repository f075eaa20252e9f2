"""Names of the crawler's own addresses: those that lead back, and what is wrong with the others."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from ipaddress import ip_address

from webcrawl.features.identity.reverse_dns import (
    ADDRESSES_MAX,
    look_up,
    reverse_names,
    sample_note,
    single_addresses,
)


class Zone:
    """A resolver with the answers of a test."""

    def __init__(self, names: dict[str, list[str]], addresses: dict[str, list[str]]) -> None:
        self._names, self._addresses = names, addresses

    async def names(self, address: str) -> Sequence[str]:
        """See NameLookup."""
        if address not in self._names:
            raise OSError("no such name")
        return self._names[address]

    async def addresses(self, name: str) -> Sequence[str]:
        """See NameLookup."""
        if name not in self._addresses:
            raise OSError("no such name")
        return self._addresses[name]


def told(networks: list[str], zone: Zone) -> list[tuple[str, str, str]]:
    return [(one.address, one.name, one.reason) for one in asyncio.run(reverse_names(networks, zone))]


def test_a_name_counts_if_it_leads_back() -> None:
    zone = Zone(
        {
            "192.0.2.1": ["Crawl-1.example.org."],
            "192.0.2.2": ["forged.example.com"],
            "192.0.2.3": [],
            "2001:db8::1": ["gone.example.org", "crawl-6.example.org"],
        },
        {
            "Crawl-1.example.org.": ["198.51.100.1", "192.0.2.1"],
            "forged.example.com": ["203.0.113.9"],
            "crawl-6.example.org": ["2001:0db8:0:0::1"],
        },
    )
    assert told(["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "2001:db8::1"], zone) == [
        ("192.0.2.1", "crawl-1.example.org", ""),
        ("192.0.2.2", "", "has the name forged.example.com, which does not lead back to it"),
        ("192.0.2.3", "", "has no name"),
        ("192.0.2.4", "", "has no name (no such name)"),
        ("2001:db8::1", "crawl-6.example.org", ""),
    ]


def test_networks_are_looked_up_address_by_address_up_to_a_number() -> None:
    assert list(single_addresses(["192.0.2.0/30", "192.0.2.9"])) == ["192.0.2.1", "192.0.2.2", "192.0.2.9"]
    assert list(single_addresses(["192.0.2.0/31"])) == ["192.0.2.0", "192.0.2.1"]


def test_of_large_networks_a_sample_is_looked_up_and_said() -> None:
    networks = ["2001:db8::/32", "192.0.2.9", "198.51.0.0/16", "192.0.2.16/28"]
    many = list(single_addresses(networks))
    assert len(set(many)) == len(many) == ADDRESSES_MAX
    assert many[0] == "2001:db8::1"
    assert "192.0.2.9" in many
    of_ipv4 = [address for address in many if address.startswith("198.51.")]
    assert (of_ipv4[0], of_ipv4[-1]) == ("198.51.0.1", "198.51.255.254")
    assert len({address.rpartition(".")[0] for address in of_ipv4}) > 100
    assert [one for one in many if one.startswith("192.0.2.") and one != "192.0.2.9"] == [
        f"192.0.2.{number}" for number in range(17, 31)
    ]
    assert sample_note(["198.51.0.0/16"]) == (
        "a sample: 256 of 65,534 addresses were looked up, spread over each network"
    )
    assert sample_note(["192.0.2.0/24", "192.0.2.9"]) == ""
    assert list(single_addresses([])) == []


class Names(asyncio.DatagramProtocol):
    """A name server: one address has a name, and the name has that address."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.DatagramProtocol."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: object) -> None:
        """Answer one question."""
        end = data.index(b"\0", 12) + 5
        (kind,) = struct.unpack(">H", data[end - 4 : end - 2])
        asked = data[12 : end - 4]
        answer = b""
        if kind == 12 and asked.startswith(b"\x017\x012\x010\x03192"):
            answer = b"\x07crawler\x07example\x03org\0"
        elif kind == 1 and asked == b"\x07crawler\x07example\x03org\0":
            answer = ip_address("192.0.2.7").packed
        flags = 0x8180 if answer or kind == 28 else 0x8183
        record = b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(answer)) + answer if answer else b""
        head = data[:2] + struct.pack(">HHHHH", flags, 1, bool(answer), 0, 0)
        self._transport.sendto(head + data[12:end] + record, addr)  # type: ignore[attr-defined]


def test_the_name_servers_of_the_crawl_are_asked() -> None:
    async def test() -> list[tuple[str, str]]:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(Names, local_addr=("127.0.0.1", 0))
        port = transport.get_extra_info("sockname")[1]
        try:
            found = await look_up(["192.0.2.7", "192.0.2.8"], [("127.0.0.1", port)])
            return [(one.name, one.reason) for one in found]
        finally:
            transport.close()

    [(name, _), (nothing, reason)] = asyncio.run(test())
    assert (name, nothing) == ("crawler.example.org", "")
    assert reason.startswith("has no name (")
