"""The hosts that the operator named, by seeds and pushed URLs. They may have private addresses and unusual ports."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.frontier.backend import SharedBackend
from webcrawl.scope.candidate import Candidate
from webcrawl.urls.politeness_key import host_of, port_of

if TYPE_CHECKING:
    from webcrawl.downloadhandlers.addresses import SeedAddresses
    from webcrawl.machine import Machine
    from webcrawl.scope.port import BadPortRule

logger = logging.getLogger(__name__)

REMEMBERED = 10_000
"""Hosts of seeds that may have a private address without looking like it."""
NAME = "seed_addresses.jsonl"
"""The file in the JOBDIR."""

_WITH_PORT = re.compile(r"(?P<host>.+):(?P<port>\d+)").fullmatch

Insist = Callable[[Callable[[], Awaitable[Sequence[str]]]], Awaitable[Sequence[str]]]


class SeededHosts:
    """Tells the rules of scope what seeds allow, and keeps what other processes have to be told.

    Of very many hosts only those are remembered that are seen to be private without being looked up.
    """

    def __init__(self, addresses: SeedAddresses, ports: BadPortRule) -> None:
        self.addresses = addresses
        self.ports = ports
        self._names: set[str] = set()
        self._news: list[str] = []

    def __len__(self) -> int:
        return len(self._names)

    def allow(self, url: str) -> None:
        """The operator named this URL here. It is resolved."""
        host = host_of(url)
        if host not in self._names and (
            len(self._names) < REMEMBERED or self.addresses.rule.refuses(Candidate("", host, ""))
        ):
            self._name(host)
        if self.ports.is_bad(url) and (place := f"{host}:{port_of(url)}") not in self._names:
            self._name(place)

    def learn(self, name: str) -> None:
        """The operator named this to another process: a host, or a host and its port."""
        if name not in self._names:
            self._names.add(name)
            if with_port := _WITH_PORT(name):
                self.ports.allow_seed(with_port["host"], int(with_port["port"]))
            else:
                self.addresses.rule.allow_seed(name)

    def take_news(self) -> list[str]:
        """What was named here since the last call."""
        news, self._news = self._news, []
        return news

    def _name(self, name: str) -> None:
        self.learn(name)
        self._news.append(name)


def remember_addresses(machine: Machine, insist: Insist) -> None:
    """Have remembered what seeds resolve to at first, where the crawl's state is kept."""
    if isinstance(machine.backend, SharedBackend):
        machine.seeded.addresses.remember_in(SharedAddresses(machine.backend, insist))
    elif machine.jobdir is not None:
        machine.seeded.addresses.remember_in(KeptAddresses(machine.jobdir.path))


class SharedAddresses:
    """What seeds resolved to at first, for all processes of a crawl."""

    def __init__(self, backend: SharedBackend, insist: Insist) -> None:
        self._backend = backend
        self._insist = insist

    async def first(self, name: str, addresses: Sequence[str]) -> Sequence[str]:
        return await self._insist(lambda: self._backend.first_addresses(name, addresses))


class KeptAddresses:
    """What seeds resolved to at first, in the JOBDIR: a line for each name."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._known: dict[str, Sequence[str]] | None = None
        self._unwritten = ""
        self._writing = asyncio.Lock()

    async def first(self, name: str, addresses: Sequence[str]) -> Sequence[str]:
        async with self._writing:
            if self._known is None:
                self._known = await asyncio.to_thread(read_kept, self._path)
            if name not in self._known and addresses:
                self._known[name] = addresses
                self._unwritten += f"{json.dumps([name, list(addresses)])}\n"
                try:
                    await asyncio.to_thread(_append, self._path, self._unwritten)
                    self._unwritten = ""
                except OSError as error:
                    # It counts here all the same, and is written with the next one.
                    logger.warning("%s cannot be written: %s", self._path, error.strerror or error)
            return self._known.get(name, ())


def read_kept(path: Path) -> dict[str, Sequence[str]]:
    """What names resolved to at first; of a torn file what is whole."""
    known: dict[str, Sequence[str]] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return known
    for line in lines:
        try:
            name, addresses = json.loads(line)
            known.setdefault(str(name), [str(address) for address in addresses])
        except (ValueError, TypeError):
            continue
    return known


def _append(path: Path, lines: str) -> None:
    with path.open("ab") as file:
        # A line that a crash has torn stays one of its own.
        file.write(b"\n" * (file.tell() > 0 and not _ends_whole(path)) + lines.encode())


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() == b"\n"
