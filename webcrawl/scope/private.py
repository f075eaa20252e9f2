"""The rule that refuses private networks, which the public internet cannot reach: this machine, its local network,
its data centre.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from webcrawl.urls.lists import hostname
from webcrawl.urls.politeness_key import is_address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.scope.scope import Candidate, LinkBatch

Network = IPv4Network | IPv6Network

# IANA IPv4 Special-Purpose Address Registry (RFC 6890), and multicast (RFC 5771).
_V4 = {
    IPv4Network("0.0.0.0/8"): "this network",
    IPv4Network("10.0.0.0/8"): "private",
    IPv4Network("100.64.0.0/10"): "carrier-grade NAT",
    IPv4Network("127.0.0.0/8"): "loopback",
    IPv4Network("169.254.0.0/16"): "link-local",
    IPv4Network("172.16.0.0/12"): "private",
    IPv4Network("192.0.0.0/24"): "reserved",
    IPv4Network("192.0.2.0/24"): "documentation",
    IPv4Network("192.88.99.0/24"): "reserved",
    IPv4Network("192.168.0.0/16"): "private",
    IPv4Network("198.18.0.0/15"): "benchmarking",
    IPv4Network("198.51.100.0/24"): "documentation",
    IPv4Network("203.0.113.0/24"): "documentation",
    IPv4Network("224.0.0.0/4"): "multicast",
    IPv4Network("240.0.0.0/4"): "reserved",
}
# IANA IPv6 Special-Purpose Address Registry. Global unicast is 2000::/3 alone (RFC 4291, section 2.4): other ranges
# are listed only if they have a name of their own.
_V6 = {
    IPv6Network("::/128"): "unspecified",
    IPv6Network("::1/128"): "loopback",
    IPv6Network("fc00::/7"): "private",
    IPv6Network("fe80::/10"): "link-local",
    IPv6Network("fec0::/10"): "site-local",
    IPv6Network("ff00::/8"): "multicast",
    IPv6Network("2001::/23"): "reserved",
    IPv6Network("2001:db8::/32"): "documentation",
    IPv6Network("3fff::/20"): "documentation",
}
_GLOBAL_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")

_NEVER_LIFTED = frozenset(
    ("this network", "unspecified", "multicast", "reserved", "documentation", "no address")
)
"""Kinds that are no address of a host. A filtering name server returns 0.0.0.0 for names that it blocks."""

_LOCAL_NAMES = ("localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "ip6-loopback")
REMEMBERED_HOSTS = 65_536


@lru_cache(REMEMBERED_HOSTS)
def kind_of_address(ip: str) -> str | None:
    """Return in a word why an address is not public; None if it is. Never raises."""
    try:
        return _kind(ip_address(ip))
    except ValueError:
        return "no address"


def _kind(address: IPv4Address | IPv6Address) -> str | None:
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in _V4.items() if address in network), None)
    inside = _embedded(address)
    if inside is not None:
        return _kind(inside)
    kind = next((kind for network, kind in _V6.items() if address in network), None)
    return kind or (None if address in _GLOBAL_V6 else "reserved")


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that is contacted: IPv4-mapped, NAT64 (RFC 6052), 6to4 (RFC 3056)."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def names_that_allow(host: str) -> list[str]:
    """Return the host itself and its parent domains: allowing one of them allows the host."""
    labels = host.rstrip(".").split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]


class PrivateAddressRule:
    """Refuses IP literals that are not public and the names of this machine, unless they are allowed.

    A name may still resolve to a private address: the code that resolves it calls ``refuses_address``. The set of
    allowed addresses may grow and never shrinks. ``allow`` adds those in the operator's settings. A seed allows less:
    if it is an address, this address; if it has a name, for this name and its subdomains the private addresses of the
    first resolution, and none if one of these was public.
    """

    name = "private-address"

    def __init__(self, allowed: Iterable[str | Network] = ()) -> None:
        self._networks: list[Network] = []
        self._addresses: set[IPv4Address | IPv6Address] = set()
        self._hosts: set[str] = set()
        self._seeds: dict[str, frozenset[IPv4Address | IPv6Address] | None] = {}
        """Names of seeds, with the addresses that they allow; None until the name was resolved."""
        self._refuses_host = lru_cache(REMEMBERED_HOSTS)(self._objection)
        for host_or_network in allowed:
            self.allow(host_or_network)

    def allow(self, host_or_network: str | Network) -> None:
        """Allow a host name with all names below it, an address, or a network (``10.0.0.0/8``).

        Raises ValueError, which names the text, when it is none of these.
        """
        text = str(host_or_network).strip()
        try:
            network = ip_network(text.strip("[]"), strict=False)
            if network.num_addresses == 1:
                self._addresses.add(network.network_address)
            else:
                self._networks.append(network)
        except ValueError:
            host = None if "/" in text and "://" not in text else hostname(text)
            if host is None:
                raise ValueError(f"neither a host nor a network: {host_or_network!r}") from None
            self._hosts.add(host)
        self._refuses_host.cache_clear()

    def allow_seed(self, host: str) -> None:
        """Allow the host of a seed, in the form of ``get_host``."""
        if is_address(host):
            self.allow(host)
            return
        name = host.rstrip(".")
        if name not in self._seeds:
            self._seeds[name] = None
            if _is_local(name):
                self._refuses_host.cache_clear()

    def seeds_above(self, host: str) -> list[str]:
        """Return the names of seeds that ``host`` is, or is a subdomain of, and that have not been resolved yet."""
        return [name for name in names_that_allow(host) if name in self._seeds and self._seeds[name] is None]

    def seed_resolved(self, name: str, addresses: Iterable[str]) -> None:
        """Record the first addresses of the name of a seed. A second call changes nothing."""
        if name in self._seeds and self._seeds[name] is None:
            self._seeds[name] = _lifted(addresses)

    def refuses(self, candidate: Candidate) -> str | None:
        return self._refuses_host(candidate.host)

    def refuses_none(self, links: LinkBatch) -> bool:
        return not any(map(self._refuses_host, links.different_hosts))

    def refuses_address(self, host: str, ip: str) -> str | None:
        """Return the objection to contacting ``ip`` for ``host``; None if there is none."""
        kind = kind_of_address(ip)
        if kind is None or self._allows_host(host) or self._allows_ip(ip) or self._seed_allows(host, ip):
            return None
        return f"{ip} is {kind}"

    def _objection(self, host: str) -> str | None:
        if is_address(host):
            return self.refuses_address(host, host.strip("[]"))
        if not _is_local(host.rstrip(".")):
            return None
        if self._allows_host(host) or self._allows_ip("127.0.0.1"):
            return None
        # Its address is checked when the connection is opened.
        return None if any(name in self._seeds for name in names_that_allow(host)) else "loopback name"

    def _allows_host(self, host: str) -> bool:
        return any(name in self._hosts for name in names_that_allow(host))

    def _allows_ip(self, text: str) -> bool:
        try:
            address = ip_address(text)
        except ValueError:
            return False
        reached = [address, _reached(address)]
        return any(ip in self._addresses for ip in reached) or any(
            ip in network for ip in reached for network in self._networks
        )

    def _seed_allows(self, host: str, text: str) -> bool:
        try:
            address = _reached(ip_address(text))
        except ValueError:
            return False
        return any(address in (self._seeds.get(name) or ()) for name in names_that_allow(host))


def _reached(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the address that is contacted."""
    return (isinstance(address, IPv6Address) and _embedded(address)) or address


def _lifted(addresses: Iterable[str]) -> frozenset[IPv4Address | IPv6Address]:
    """Return the addresses for which a seed lifts the rule if it resolved to all of these."""
    kinds = {address: kind_of_address(address) for address in addresses}
    if None in kinds.values():
        # A public host. A private address in its name records is an error, or an attack.
        return frozenset()
    return frozenset(
        _reached(ip_address(address)) for address, kind in kinds.items() if kind not in _NEVER_LIFTED
    )


def _is_local(name: str) -> bool:
    return name in _LOCAL_NAMES or name.endswith(".localhost")
