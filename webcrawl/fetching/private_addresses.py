"""The setting FETCH_PRIVATE_ADDRESSES, checked before a socket is connected, and the addresses that seeds allow.

The rule is applied to the address itself, so it also refuses a name that resolves to a private address, a second
answer of its name server (DNS rebinding), and a URL with an address in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webcrawl.scope.private import PrivateAddressRule, kind_of_address

SETTING = "FETCH_PRIVATE_ADDRESSES"

_EVERYTHING = ("0.0.0.0/0", "::/0")
_YES = frozenset(("true", "1", "yes"))
_NO = frozenset(("false", "0", "no", "none", ""))


def address_rule(value: object) -> PrivateAddressRule:
    """Read the setting: True, False, or the networks and hosts that are allowed, as a list or with commas between.

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


class FirstAddresses(Protocol):
    """Stores the first addresses of the names of seeds, across restarts and for all processes of a crawl."""

    async def first(self, name: str, addresses: Sequence[str]) -> Sequence[str]:
        """Return the stored addresses of ``name``. If there are none, store and return ``addresses``, unless that is
        empty.
        """


class SeedAddresses:
    """Fixes the addresses for which a seed lifts the rule: those of the first answer to its name.

    The name is resolved when its host is first contacted. A later answer, after a restart or in another process,
    changes nothing: a public seed whose name resolves to the private network one day (DNS rebinding) is refused.
    """

    def __init__(self, rule: PrivateAddressRule) -> None:
        self.rule = rule
        self._memory: FirstAddresses | None = None

    def remember_in(self, memory: FirstAddresses) -> None:
        """Use a store of first addresses. Without one the first answers in this process count."""
        self._memory = memory

    async def resolved(self, host: str, addresses: Sequence[str]) -> None:
        """Take the addresses of the name ``host``; must be called before a connection is made."""
        plain = [address.partition("%")[0] for address in addresses]
        public = next((address for address in plain if kind_of_address(address) is None), None)
        # One address of a public host is enough to record that it was public.
        found = plain if public is None else [public]
        for name in self.rule.seeds_above(host):
            own = found if name == host.lower().rstrip(".") else ()
            if not own and public is not None:
                # There is nothing to lift at this level, so the addresses need not be recorded.
                continue
            first = own if self._memory is None else await self._memory.first(name, own)
            if first:
                self.rule.seed_resolved(name, first)
