"""An asynchronous resolver of host names: answers are cached for their TTL, failures for a short while."""

from __future__ import annotations

import asyncio
import re
import socket
from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING

import aiodns
import pycares
from aiohttp.abc import AbstractResolver, ResolveResult

from webcrawl.fetching.shortage import lack_of_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SETTING = "DNS_NAMESERVERS"
MIN_TTL_SECONDS = 5.0
"""The shortest time in seconds that an answer is cached; a page's redirect to its own host needs no second
look-up.
"""
MAX_TTL_SECONDS = 3600.0
NEGATIVE_TTL_SECONDS = 60.0
"""Seconds for which names that do not exist are cached."""
TROUBLE_TTL_SECONDS = 5.0
"""Seconds for which failures of name servers are cached."""

_LOOPBACK = (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6))
_DEFINITE = frozenset((aiodns.error.ARES_ENODATA, aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_EBADNAME))
_SERVER = re.compile(r"\[?(?P<host>[0-9A-Fa-f:.]+?(?:%\w+)?)\]?(?::(?P<port>\d{1,5}))?")
_BARE_V6 = re.compile(r"[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*")


def parse_nameservers(values: Iterable[str]) -> list[str]:
    """Read the setting: addresses, with or without a port (``192.0.2.1:5353``, ``[2001:db8::1]:5353``,
    ``::1``).

    Raises ValueError that names the setting and the value.
    """
    servers = []
    for value in map(str.strip, values):
        host, port = value, "53"
        if not _BARE_V6.fullmatch(value):
            found = _SERVER.fullmatch(value)
            host, port = (found["host"], found["port"] or "53") if found else ("", "")
        try:
            address = ip_address(host)
            if not 0 < int(port) < 65536:
                raise ValueError("no such port")
        except ValueError as error:
            raise ValueError(f"{SETTING}: {value!r} is no address of a name server ({error})") from error
        servers.append(f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}")
    return servers


@dataclass(slots=True, frozen=True)
class _Answer:
    expires_at: float
    addresses: tuple[tuple[str, int], ...]
    """Address and family; empty for a failure."""
    failure: str = ""


class Resolver(AbstractResolver):
    """The resolver of aiohttp's connector. Without name servers the system's are used; /etc/hosts counts in both
    cases.

    ``timeout_seconds`` bounds one look-up; ``cache_size`` is in names. Errors are OSError without a number, which
    aiohttp takes for a failed look-up; with a number if this machine had no socket left for the query.
    """

    def __init__(
        self,
        nameservers: Iterable[str] = (),
        *,
        timeout_seconds: float = 60.0,
        cache_size: int = 10_000,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._dns = aiodns.DNSResolver(
            nameservers=parse_nameservers(nameservers) or None,
            # No search list: the host name of a URL is complete.
            flags=pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS,
        )
        self._timeout_seconds = timeout_seconds
        self._cache: OrderedDict[str, _Answer] = OrderedDict()
        self._cache_size = cache_size
        self._clock = clock
        self.hits = self.misses = 0
        """The numbers of names whose answer was cached, and of those that were looked up."""

    @property
    def size(self) -> int:
        """The largest number of cached names."""
        return self._cache_size

    def __len__(self) -> int:
        """The number of cached names."""
        return len(self._cache)

    def __contains__(self, name: str) -> bool:
        """Return True if a name is cached; its answer may have expired."""
        return name in self._cache

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of ``host``, in the order in which they should be tried."""
        answer = await self._cached_or_new(host.lower().rstrip("."))
        results = [
            ResolveResult(
                hostname=host, host=ip, port=port, family=kind, proto=0, flags=socket.AI_NUMERICHOST
            )
            for ip, kind in answer.addresses
            if family in (socket.AF_UNSPEC, kind)
        ]
        if not results:
            raise OSError(None, answer.failure or f"{host} has no address of that family")
        return results

    async def close(self) -> None:
        """Cancel the look-ups that are under way."""
        await self._dns.close()

    async def _cached_or_new(self, name: str) -> _Answer:
        if name == "localhost" or name.endswith(".localhost"):
            # RFC 6761, section 6.3: always loopback, never looked up.
            return _Answer(0.0, _LOOPBACK)
        known = self._cache.get(name)
        if known is not None and known.expires_at > self._clock():
            self._cache.move_to_end(name)
            self.hits += 1
            return known
        self.misses += 1
        answer = await self._look_up(name)
        self._cache[name] = answer
        self._cache.move_to_end(name)
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        return answer

    async def _look_up(self, name: str) -> _Answer:
        _need_files()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                found = await self._dns.getaddrinfo(name, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM)
        except TimeoutError:
            _need_files()
            return self._failed(TROUBLE_TTL_SECONDS, f"{name}: no answer in {self._timeout_seconds:g} s")
        except aiodns.error.DNSError as error:
            definite = error.args[0] in _DEFINITE
            if not definite:
                _need_files()
            return self._failed(
                NEGATIVE_TTL_SECONDS if definite else TROUBLE_TTL_SECONDS, f"{name}: {error.args[1]}"
            )
        except UnicodeError as error:
            return self._failed(NEGATIVE_TTL_SECONDS, f"{name}: {error}")
        addresses = tuple((node.addr[0].decode("ascii"), node.family) for node in found.nodes)
        if not addresses:
            return self._failed(NEGATIVE_TTL_SECONDS, f"{name}: no address")
        ttl = min(max(min(node.ttl for node in found.nodes), MIN_TTL_SECONDS), MAX_TTL_SECONDS)
        return _Answer(self._clock() + ttl, addresses)

    def _failed(self, ttl_seconds: float, reason: str) -> _Answer:
        return _Answer(self._clock() + ttl_seconds, (), reason)


def _need_files() -> None:
    """Raise if no file can be opened: c-ares would report that no name server answered, and would not read
    /etc/hosts.
    """
    if (lack := lack_of_files()) is not None:
        raise lack
