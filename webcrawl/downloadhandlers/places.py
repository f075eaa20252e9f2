"""At which of its addresses a host is contacted, where that has to be known before: an address may have a clock."""

from __future__ import annotations

import socket
from collections import OrderedDict
from contextvars import ContextVar
from ipaddress import ip_address
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver, ResolveResult

from webcrawl.downloadhandlers.addresses import literal_address
from webcrawl.downloadhandlers.shortage import scarce
from webcrawl.hosts.shared_clocks import plain_address

if TYPE_CHECKING:
    from webcrawl.downloadhandlers.shortage import Shortage
    from webcrawl.scope.private import PrivateAddressRule

REMEMBERED = 100_000
"""Hosts of which is remembered at which of several addresses they are contacted, in some 20 MB."""

pinned: ContextVar[str | None] = ContextVar("webcrawl_pinned", default=None)
"""The address to which a connection is to be made, whatever its host's name resolves to by now; None for any."""


class Places:
    """Chooses one address a host, and stays with it while the host has it and it can be reached."""

    def __init__(self, resolver: AbstractResolver, rule: PrivateAddressRule, shortage: Shortage) -> None:
        self._resolver = resolver
        self._rule = rule
        self._shortage = shortage
        self._chosen: OrderedDict[str, str] = OrderedDict()
        self._failed: dict[str, str] = {}

    async def locate(self, host: str) -> str | None:
        """The address for the next request to ``host``, as in a resolved URL; None where it has none that we may
        contact."""
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
        """Resolve as soon as the machine has a socket to ask with."""
        while True:
            await self._shortage.wait()
            try:
                return await self._resolver.resolve(host)
            except OSError as error:
                number = scarce(error)
                if number is None:
                    raise
                self._shortage.met(number)

    def unreachable(self, host: str, address: str) -> None:
        """Nobody could be reached there: the next request goes to another one of its addresses, if it has any."""
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
    """What aiohttp's connector asks: the resolver, or the address that was chosen before."""

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
