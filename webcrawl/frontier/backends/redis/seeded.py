"""Hosts that the operator named to one process, known to all of them before they fetch from one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webcrawl.frontier.backends.redis.names import CrawlNames
from webcrawl.frontier.backends.redis.server import Server

_AT_ONCE = 1000


class SeededNames:
    """``<spider>:seeded``: a ZSET from host, or host and port, to its number, that only grows.
    ``<spider>:seed_addresses``: a HASH from the name of a seed to what it resolved to at first, with spaces between.

    A host is written before the first of its URLs is queued, and what is new is read after URLs were loaded: whoever
    has a URL knows its host.
    """

    def __init__(self, server: Server, names: CrawlNames, learnt: Callable[[str], None]) -> None:
        """``learnt`` is called with each host once, or more often."""
        self._server = server
        self._key = names.seeded.encode()
        self._addresses_key = names.seed_addresses.encode()
        self._learnt = learnt
        self._known = 0
        self._told: dict[str, None] = {}
        self._resolved: dict[bytes, bytes] = {}
        """What was resolved here at first."""

    async def tell(self, hosts: Sequence[str]) -> None:
        """Write hosts that were named here."""
        self._told.update(dict.fromkeys(hosts))
        for first in range(0, len(hosts), _AT_ONCE):
            names = [host.encode("utf-8", "surrogatepass") for host in hosts[first : first + _AT_ONCE]]
            await self._server.call("allow", [([self._key], names)])

    async def first(self, name: str, addresses: Sequence[str]) -> list[str]:
        """What ``name`` resolved to at first; ``addresses``, if nothing is known and they are some."""
        field, given = name.encode("utf-8", "surrogatepass"), " ".join(addresses).encode()
        commands: list[tuple[Any, ...]] = [("HGET", self._addresses_key, field)]
        if given:
            commands.insert(0, ("HSETNX", self._addresses_key, field, given))
        *new, known = await self._server.commands(commands)
        if new == [1]:
            self._resolved[field] = given
        return (known or b"").decode().split()

    def question(self) -> tuple[Any, ...]:
        """The command that asks for what is new; its answer goes to ``answer``, with it."""
        return ("ZRANGE", self._key, self._known, -1)

    def answer(self, question: tuple[Any, ...], hosts: Sequence[bytes]) -> None:
        first = question[2]
        if first > self._known:
            # The server forgot meanwhile, and everything is asked for again.
            return
        for host in hosts:
            self._learnt(host.decode("utf-8", "surrogatepass"))
        self._known = max(self._known, first + len(hosts))

    async def learn(self, *, forgotten: bool = False) -> None:
        """Ask for what is new. ``forgotten``: the server may not know any more what it was told last."""
        if forgotten:
            self._known = 0
            await self.tell(list(self._told))
            if told := [("HSETNX", self._addresses_key, *item) for item in self._resolved.items()]:
                await self._server.commands(told)
        question = self.question()
        [hosts] = await self._server.commands([question])
        self.answer(question, hosts)
