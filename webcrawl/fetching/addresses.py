"""The addresses of hosts: the first ones of the names of seeds are remembered, and one is chosen for a host.

If the politeness of the crawl counts by address, the address of a host is chosen before the request and pinned.
"""

from __future__ import annotations

import socket
from collections import OrderedDict
from contextvars import ContextVar
from ipaddress import ip_address
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver, ResolveResult

from webcrawl.fetching.shortage import scarce
from webcrawl.politeness.shared_clocks import plain_address

if TYPE_CHECKING:
    from webcrawl.fetching.private_addresses import SeedAddresses
    from webcrawl.fetching.shortage import Shortage
    from webcrawl.scope.private import PrivateAddressRule


def literal_address(host: str) -> str | None:
    """Return the address that a URL's host is itself; None for a name."""
    try:
        return str(ip_address(host.removeprefix("[").removesuffix("]")))
    except ValueError:
        return None


class SeedResolver(AbstractResolver):
    """A resolver that records the first answers to the names of seeds before it returns them."""

    def __init__(self, resolver: AbstractResolver, seeds: SeedAddresses) -> None:
        self._resolver = resolver
        self._seeds = seeds

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        await self._seeds.resolved(host, [one["host"] for one in found])
        return found

    async def close(self) -> None:
        await self._resolver.close()


REMEMBERED = 100_000
"""The number of hosts whose pinned address is remembered, if they have several addresses; some 20 MB."""

pinned: ContextVar[str | None] = ContextVar("webcrawl_pinned", default=None)
"""The address to which a connection must be made, whatever its host's name resolves to now; None for any."""


class PinnedAddresses:
    """Chooses one address for each host, and keeps it while the host has it and it is reachable."""

    def __init__(self, resolver: AbstractResolver, rule: PrivateAddressRule, shortage: Shortage) -> None:
        self._resolver = resolver
        self._rule = rule
        self._shortage = shortage
        self._chosen: OrderedDict[str, str] = OrderedDict()
        self._failed: dict[str, str] = {}

    async def locate(self, host: str) -> str | None:
        """Return the address for the next request to ``host``, as in a resolved URL; None if it has none that may be
        contacted.
        """
        literal = literal_address(host)
        if literal is not None:
            return self._allowed(host, literal)
        try:
            found = await self._resolve(host)
        except (OSError, ValueError):
            return None
        allowed = [address for one in found if (address := self._allowed(host, one["host"]))]
        if not allowed:
            return None
        chosen = self._choose(host, list(dict.fromkeys(allowed)))
        self._chosen[host] = chosen
        self._chosen.move_to_end(host)
        if len(self._chosen) > REMEMBERED:
            self._failed.pop(self._chosen.popitem(last=False)[0], None)
        return chosen

    async def _resolve(self, host: str) -> list[ResolveResult]:
        """Resolve the name, once the machine has a socket for the query."""
        while True:
            await self._shortage.wait()
            try:
                return await self._resolver.resolve(host)
            except OSError as error:
                number = scarce(error)
                if number is None:
                    raise
                self._shortage.note(number)

    def unreachable(self, host: str, address: str) -> None:
        """Note that the address could not be reached: the next request goes to another address of the host, if it has
        any.
        """
        if self._chosen.get(host) == address:
            self._failed[host] = address

    def _choose(self, host: str, addresses: list[str]) -> str:
        failed = self._failed.pop(host, None)
        if failed in addresses:
            return addresses[(addresses.index(failed) + 1) % len(addresses)]
        chosen = self._chosen.get(host)
        return chosen if chosen in addresses else addresses[0]

    def _allowed(self, host: str, address: str) -> str | None:
        refused = self._rule.refuses_address(host, address.partition("%")[0])
        return None if refused else plain_address(address)


class PinnedResolver(AbstractResolver):
    """The resolver of aiohttp's connector: returns the pinned address if there is one, else asks the resolver."""

    def __init__(self, resolver: AbstractResolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        address = pinned.get()
        if address is None:
            return await self._resolver.resolve(host, port, family)
        kind = socket.AF_INET6 if ip_address(address).version == 6 else socket.AF_INET
        flags = socket.AI_NUMERICHOST
        return [ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=flags)]

    async def close(self) -> None:
        await self._resolver.close()
