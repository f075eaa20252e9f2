"""The setting FETCH_PRIVATE_ADDRESSES, as the rule that is asked before a socket is connected.

The rule sees the address itself, so neither a name that resolves to a private one, nor a second answer of its
name server (DNS rebinding), nor a URL with an address in it gets through.

At which of its addresses a host is contacted, where that has to be known before: an address may have a clock.
"""

from __future__ import annotations

import socket
from collections import OrderedDict
from collections.abc import Sequence
from contextvars import ContextVar
from ipaddress import ip_address
from typing import TYPE_CHECKING, Protocol

from aiohttp.abc import AbstractResolver, ResolveResult

from webcrawl.fetching.shortage import scarce
from webcrawl.politeness.shared_clocks import plain_address
from webcrawl.scope.private import PrivateAddressRule, kind_of_address

if TYPE_CHECKING:
    from webcrawl.fetching.shortage import Shortage


SETTING = "FETCH_PRIVATE_ADDRESSES"

_EVERYTHING = ("0.0.0.0/0", "::/0")
_YES = frozenset(("true", "1", "yes"))
_NO = frozenset(("false", "0", "no", "none", ""))


def address_rule(value: object) -> PrivateAddressRule:
    """Read the setting: True, False, or the networks and hosts that are allowed, as a list or with commas
    between.

    Raises ValueError that names the setting and the value.
    """
    if value is None or isinstance(value, (bool, int)):
        return PrivateAddressRule(_EVERYTHING if value else ())
    if isinstance(value, str):
        if value.strip().lower() in _YES | _NO:
            return PrivateAddressRule(_EVERYTHING if value.strip().lower() in _YES else ())
        value = [part for part in value.split(",") if part.strip()]
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise ValueError(f"{SETTING}: {value!r} is neither true, false nor a list of networks")
    try:
        return PrivateAddressRule(str(part) for part in value)
    except ValueError as error:
        raise ValueError(
            f"{SETTING}: {error}; allowed are true, false, networks (10.0.0.0/8), hosts"
        ) from error


def literal_address(host: str) -> str | None:
    """The address that a URL's host is itself; None for a name."""
    try:
        return str(ip_address(host.removeprefix("[").removesuffix("]")))
    except ValueError:
        return None


class FirstAddresses(Protocol):
    """Remembers what the names of seeds resolved to at first, over restarts and for all processes of a crawl."""

    async def first(self, name: str, addresses: Sequence[str]) -> Sequence[str]:
        """What is remembered of ``name``. If that is nothing, ``addresses`` are remembered, unless there are none."""


class SeedAddresses:
    """Fixes the addresses for which a seed lifts the rule: those of the first answer to its name.

    The name is resolved when it is contacted first. An answer that comes later, after a restart or in another process
    changes nothing: a public seed whose name leads into the private network one day (DNS rebinding) is refused.
    """

    def __init__(self, rule: PrivateAddressRule) -> None:
        self.rule = rule
        self._memory: FirstAddresses | None = None

    def remember_in(self, memory: FirstAddresses) -> None:
        """Without a memory what was resolved first in this process counts."""
        self._memory = memory

    async def resolved(self, host: str, addresses: Sequence[str]) -> None:
        """The name ``host`` was resolved; to be told before a connection is made."""
        plain = [address.partition("%")[0] for address in addresses]
        public = next((address for address in plain if kind_of_address(address) is None), None)
        # Of a public host one address is enough to know that it was public.
        found = plain if public is None else [public]
        for name in self.rule.seeds_above(host):
            own = found if name == host.lower().rstrip(".") else ()
            if not own and public is not None:
                # Nothing is to be lifted, so it need not be known what is lifted above.
                continue
            first = own if self._memory is None else await self._memory.first(name, own)
            if first:
                self.rule.seed_resolved(name, first)


class SeedResolver(AbstractResolver):
    """A resolver whose first answers to the names of seeds are noted before anybody has them."""

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
"""Hosts of which is remembered at which of several addresses they are contacted, in some 20 MB."""

pinned: ContextVar[str | None] = ContextVar("webcrawl_pinned", default=None)
"""The address to which a connection is to be made, whatever its host's name resolves to by now; None for any."""


class PinnedAddresses:
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
