"""Groups of sites that share a server, by the operator's list: each group has one clock beside those of its sites.

A line names a group, the pause in seconds that is owed to it, and its members: a domain stands for all hosts below
it, an address or a network for all hosts that have an address in it::

    oldserver  10   shop.example museum.example
    oldserver  10   192.0.2.17
    campus     2.5  198.51.100.0/24 2001:db8::/48

A group may have several lines, each with the same pause.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.urls.lists import WrongLine, hostname, printable, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PAUSE_MAX_SECONDS = 86_400.0

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_FORM = "a line is NAME SECONDS and one or more domains, addresses or networks"


class GroupsError(ValueError):
    """A file of groups cannot be read or has wrong lines; the message names the file and each of them."""


class Group(NamedTuple):
    """Sites that share a clock. ``domains`` are in lower case and without a final dot."""

    name: str
    delay_seconds: float
    domains: frozenset[str]
    networks: tuple[IPv4Network | IPv6Network, ...]


class Groups:
    """The groups of a list file, with the lookup of a host's groups."""

    def __init__(self, groups: Iterable[Group] = ()) -> None:
        self.groups = tuple(groups)
        self._by_domain: dict[str, list[Group]] = {}
        for group in self.groups:
            for domain in group.domains:
                self._by_domain.setdefault(domain, []).append(group)
        self.by_address = tuple(group for group in self.groups if group.networks)
        """Groups whose members depend on a host's address."""

    def __bool__(self) -> bool:
        return bool(self.groups)

    def of(self, host: str, address: str | None) -> list[Group]:
        """Return the groups of a host (lower case, no final dot), each once; ``address`` is the one it is contacted
        at."""
        groups = {group.name: group for group in self._named(host)}
        if address and self.by_address:
            ip = ip_address(address)
            for group in self.by_address:
                if any(ip.version == network.version and ip in network for network in group.networks):
                    groups[group.name] = group
        return list(groups.values())

    def _named(self, host: str) -> Iterable[Group]:
        name = host
        while name:
            yield from self._by_domain.get(name, ())
            name = name.partition(".")[2]


NO_GROUPS = Groups()


def load_groups(path: Path) -> Groups:
    """Read the groups of a list file. :raises GroupsError: with every line that is wrong"""
    groups: dict[str, Group] = {}
    wrong = []
    try:
        with path.open("rb") as stream:
            for number, text, _ in read_lines(stream):
                group = _group(text)
                if isinstance(group, Group):
                    group = _joined(groups.get(group.name), group)
                if isinstance(group, Group):
                    groups[group.name] = group
                else:
                    wrong.append(str(WrongLine(number, printable(text), group)))
    except OSError as error:
        raise GroupsError(f"{path} cannot be read: {error.strerror or error}") from error
    if wrong:
        raise GroupsError("\n".join(f"{path}: {line}" for line in wrong))
    return Groups(groups.values())


def _joined(known: Group | None, more: Group) -> Group | str:
    if known is None:
        return more
    if known.delay_seconds != more.delay_seconds:
        return f"{known.name} has a pause of {known.delay_seconds:g} s already, a group has one"
    return known._replace(domains=known.domains | more.domains, networks=known.networks + more.networks)


def _group(text: str) -> Group | str:
    """Return the group in a line, or the error in it."""
    name, *rest = text.split()
    if _NAME.fullmatch(name) is None:
        return "the name of a group is made of letters, digits, dots, hyphens and underscores"
    if len(rest) < 2:
        return _FORM
    try:
        seconds = float(rest[0])
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= PAUSE_MAX_SECONDS:
        return f"{rest[0]!r} is no pause: seconds, more than 0 and at most {PAUSE_MAX_SECONDS:g}; {_FORM}"
    domains, networks = set(), []
    for part in rest[1:]:
        network = _network(part)
        if network is not None:
            networks.append(network)
        elif "/" not in part and (domain := hostname(part.removeprefix("*."))) is not None:
            domains.add(domain)
        else:
            return f"{part!r} is neither a domain nor an address nor a network"
    return Group(name, seconds, frozenset(domains), tuple(networks))


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text.removeprefix("[").removesuffix("]"), strict=False)
    except ValueError:
        return None
