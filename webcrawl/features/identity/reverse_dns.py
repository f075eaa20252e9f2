"""Names of the crawler's own addresses: reverse DNS, confirmed by the addresses of the name."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Protocol

import aiodns

from webcrawl.fetching.resolver import Resolver, parse_nameservers
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

ADDRESSES_MAX = 256
"""The most addresses that are looked up; of more, a sample."""
NAMES_MAX = 10
"""The most names of one address that are confirmed."""
AT_ONCE = 16
SECONDS = 10.0
"""The longest time of one look-up."""


class NameLookup(Protocol):
    """A resolver. Its methods raise OSError if there is no answer."""

    async def names(self, address: str) -> Sequence[str]:
        """Return the names of an address (PTR)."""

    async def addresses(self, name: str) -> Sequence[str]:
        """Return the addresses of a name (A and AAAA)."""


@dataclass(frozen=True, slots=True)
class ReverseName:
    """The answer of DNS for one address."""

    address: str
    name: str
    """The name that leads back to the address; empty for none."""
    reason: str = ""
    """The reason why there is no name."""


def single_addresses(networks: Iterable[str]) -> Iterator[str]:
    """Yield the addresses of addresses and networks: all, or a sample of ``ADDRESSES_MAX`` if there are more.

    Small networks are complete; of large ones, which share what is left, addresses at equal distances are taken, the
    first and the last among them.
    """
    ranges = [_hosts(network) for network in map(ip_network, networks)]
    shares, left = dict.fromkeys(range(len(ranges)), 0), ADDRESSES_MAX
    smallest_first = sorted(shares, key=lambda number: ranges[number][1])
    for position, number in enumerate(smallest_first):
        shares[number] = min(ranges[number][1], left // (len(ranges) - position))
        left -= shares[number]
    for number, (first, count) in enumerate(ranges):
        share = shares[number]
        for index in range(share):
            yield str(first + (index * (count - 1) // (share - 1) if share > 1 else 0))


def _hosts(network: IPv4Network | IPv6Network) -> tuple[IPv4Address | IPv6Address, int]:
    """Return the first address of a network that a host may have, and the number of such addresses."""
    count = network.num_addresses
    if count <= 2:
        return network[0], count
    # As ``hosts``: the first address is that of the network, the last one of IPv4 the broadcast.
    return network[1], count - (2 if network.version == 4 else 1)


def sample_note(networks: Iterable[str]) -> str:
    """Return a sentence that says that not all addresses are looked up; empty if all are."""
    networks = list(networks)
    total = sum(_hosts(network)[1] for network in map(ip_network, networks))
    looked_up = len(list(single_addresses(networks)))
    if looked_up == total:
        return ""
    return f"a sample: {looked_up:,} of {total:,} addresses were looked up, spread over each network"


async def reverse_names(networks: Iterable[str], lookup: NameLookup) -> list[ReverseName]:
    """Return the confirmed name of each address, in their order."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def limited(address: str) -> ReverseName:
        async with limit:
            return await _reverse_name(address, lookup)

    return await asyncio.gather(*map(limited, single_addresses(networks)))


async def _reverse_name(address: str, lookup: NameLookup) -> ReverseName:
    try:
        names = await lookup.names(address)
    except OSError as error:
        return ReverseName(address, "", f"has no name ({error})")
    if not names:
        return ReverseName(address, "", "has no name")
    for name in names[:NAMES_MAX]:
        try:
            addresses = await lookup.addresses(name)
        except OSError:
            continue
        if ip_address(address) in map(ip_address, addresses):
            return ReverseName(address, name.rstrip(".").lower())
    shown = ", ".join(name.rstrip(".") for name in names[:NAMES_MAX])
    return ReverseName(address, "", f"has the name {shown}, which does not lead back to it")


class DnsLookup:
    """Looks names up with the name servers of the crawl, or those of the system. Must be made on an event loop."""

    def __init__(self, nameservers: Iterable[str] = ()) -> None:
        nameservers = list(nameservers)
        self._dns = aiodns.DNSResolver(nameservers=parse_nameservers(nameservers) or None)
        self._resolver = Resolver(nameservers, timeout_seconds=SECONDS)

    async def names(self, address: str) -> list[str]:
        """See NameLookup."""
        try:
            async with asyncio.timeout(SECONDS):
                result = await self._dns.query_dns(ip_address(address).reverse_pointer, "PTR")
        except TimeoutError:
            raise OSError(f"no answer in {SECONDS:g} s") from None
        except aiodns.error.DNSError as error:
            raise OSError(str(error.args[-1])) from error
        names = [getattr(record.data, "dname", "") for record in result.answer]
        return [printable(name) for name in names if name]

    async def addresses(self, name: str) -> list[str]:
        """See NameLookup."""
        return [result["host"] for result in await self._resolver.resolve(name)]

    async def close(self) -> None:
        """Cancel the look-ups that are under way."""
        await self._dns.close()
        await self._resolver.close()


async def look_up(networks: Iterable[str], nameservers: Iterable[tuple[str, int]]) -> list[ReverseName]:
    """Return the confirmed name of each address, as DNS says now. Without name servers those of the system are
    asked."""
    lookup = DnsLookup(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in nameservers)
    try:
        return await reverse_names(networks, lookup)
    finally:
        await lookup.close()
