"""Clocks that politeness keys share: a host, its registrable domain, the address it is at, groups of the operator's.

The clock of a politeness key is in its record (``host_record.py``). A fetch also waits for each clock named here, and
all of them start anew when it has ended. Queues, priorities and limits stay those of the key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from webcrawl.politeness.groups import NO_GROUPS, Groups
from webcrawl.politeness.host_record import Pauses


@dataclass(frozen=True, slots=True)
class SharedClocks:
    """The clocks that a fetch waits for beside its key's. A pause of 0 seconds means that there is no such clock."""

    address_delay: float = 0.0
    domain_delay: float = 0.0
    host_delay: float = 0.0
    groups: Groups = NO_GROUPS
    domain_of: Callable[[str], str] = str
    """The registrable domain of a host."""
    site: bool = False
    """True if crawls share one clock for each site, which rests for the delay of the politeness key."""

    def __bool__(self) -> bool:
        return bool(self.address_delay or self.domain_delay or self.host_delay or self.groups or self.site)

    @property
    def needs_address(self) -> bool:
        """True if the clocks depend on the address at which a host is contacted."""
        return bool(self.address_delay or self.groups.by_address)

    def of(self, host: str, address: str | None, delay: float | None = None) -> Pauses:
        """Return the clocks of a fetch from ``host``, as in a resolved URL, at ``address``, if that is known.

        ``delay``: that of its politeness key; None leaves out the clock of the site, which is named after the
        registrable domain, whatever the key is: crawls whose keys are hosts and domains meet there.
        """
        host = host.rstrip(".").lower() or host
        address = plain_address(address) if address else None
        pauses = {}
        if self.host_delay:
            pauses[f"host {host}"] = self.host_delay
        if self.domain_delay:
            pauses[f"domain {self.domain_of(host)}"] = self.domain_delay
        if self.site and delay is not None:
            pauses[f"site {self.domain_of(host)}"] = delay
        if self.address_delay and address:
            pauses[f"address {address}"] = self.address_delay
        for group in self.groups.of(host, address) if self.groups else ():
            pauses[f"group {group.name}"] = group.delay_seconds
        return pauses


NO_SHARED_CLOCKS = SharedClocks()


def plain_address(text: str) -> str | None:
    """Return one spelling for each address: without a zone, IPv4 as such if IPv6 merely wraps it. None for no
    address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
