"""The hosts that the operator named, by seeds and pushed URLs. They may have private addresses and unusual ports."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from webcrawl.crawl.repeated_warning import RepeatedWarning
from webcrawl.errors import JobdirUnusable
from webcrawl.fetching.private_addresses import FirstAddresses
from webcrawl.scope.scope import Candidate
from webcrawl.storage.contract import Backend, SharedBackend
from webcrawl.urls.politeness_key import get_host, get_port

if TYPE_CHECKING:
    from webcrawl.fetching.private_addresses import SeedAddresses
    from webcrawl.scope.port import BadPortRule

logger = logging.getLogger(__name__)

REMEMBERED = 10_000
"""Hosts of seeds that may have a private address without looking like it."""
NAME = "seed_addresses.jsonl"
"""The file in the JOBDIR."""

_WITH_PORT = re.compile(r"(?P<host>.+):(?P<port>\d+)").fullmatch

_T = TypeVar("_T")


class WithRetry(Protocol):
    """Repeats a step that finds its storage away."""

    async def __call__(self, step: Callable[[], Awaitable[_T]], /) -> _T: ...


class SeededHosts:
    """Gives the rules of scope the hosts and ports that seeds allow, and keeps those that other processes need to
    know.

    Of very many hosts only those are stored that are known to be private without a lookup.
    """

    def __init__(self, addresses: SeedAddresses, ports: BadPortRule, *, allows: bool = True) -> None:
        """``allows``: False if a seed allows nothing that a link may not have."""
        self._allows = allows
        self.addresses = addresses
        self.ports = ports
        self._names: set[str] = set()
        self._news: list[str] = []
        self._memory: SeedMemory | None = None

    def __len__(self) -> int:
        return len(self._names)

    def allow(self, url: str) -> None:
        """Allow the host and port of a URL that the operator named here. It is resolved."""
        if not self._allows:
            return
        host = get_host(url)
        if host not in self._names and (
            len(self._names) < REMEMBERED or self.addresses.rule.refuses(Candidate("", host, ""))
        ):
            self._name(host)
        if self.ports.is_bad(url) and (place := f"{host}:{get_port(url)}") not in self._names:
            self._name(place)

    def learn(self, name: str) -> None:
        """Allow a host, or a host and its port, that the operator named to another process."""
        if name not in self._names:
            self._names.add(name)
            if with_port := _WITH_PORT(name):
                self.ports.allow_seed(with_port["host"], int(with_port["port"]))
            else:
                self.addresses.rule.allow_seed(name)

    def remember_in(self, memory: SeedMemory) -> None:
        """Store named hosts in ``memory``; without one they count in this process alone."""
        self._memory = memory
        self.addresses.remember_in(memory)

    async def recall(self) -> None:
        """Learn the hosts that were named before. :raises JobdirUnusable: they cannot be read"""
        if self._memory is None:
            return
        for name, addresses in (await self._memory.recall()).items():
            self.learn(name)
            if addresses:
                self.addresses.rule.seed_resolved(name, addresses)

    async def tell(self) -> None:
        """Store the hosts that were named here since the last call, before their URLs are queued."""
        news, self._news = self._news, []
        if news and self._memory is not None:
            await self._memory.tell(news)

    def _name(self, name: str) -> None:
        self.learn(name)
        self._news.append(name)


class SeedMemory(FirstAddresses, Protocol):
    """Stores the hosts and ports that seeds allow, where the crawl's state is kept."""

    async def tell(self, names: Sequence[str]) -> None:
        """Store hosts, or hosts and ports, that were named."""

    async def recall(self) -> Mapping[str, Sequence[str]]:
        """Return names that were stored before and that no other part supplies, each with its first addresses, if
        known."""


def remember_seeds(seeded: SeededHosts, backend: Backend, folder: Path | None, with_retry: WithRetry) -> None:
    """Store the seeds' hosts with the crawl's state. ``folder`` is the JOBDIR; None for a crawl in memory."""
    if isinstance(backend, SharedBackend):
        seeded.remember_in(SharedSeeds(backend, with_retry))
    elif folder is not None:
        seeded.remember_in(KeptSeeds(folder))


class SharedSeeds:
    """A memory in the storage that several processes share. The backend itself gives new names to each of them."""

    def __init__(self, backend: SharedBackend, with_retry: WithRetry) -> None:
        self._backend = backend
        self._with_retry = with_retry

    async def first(self, name: str, addresses: Sequence[str]) -> Sequence[str]:
        return await self._with_retry(lambda: self._backend.first_addresses(name, addresses))

    async def tell(self, names: Sequence[str]) -> None:
        await self._with_retry(lambda: self._backend.allow_hosts(names))

    async def recall(self) -> Mapping[str, Sequence[str]]:
        return {}


class KeptSeeds:
    """A memory in the JOBDIR: a line for each name, and another one with its first addresses."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._known: dict[str, Sequence[str]] = {}
        self._unwritten = ""
        self._writing = asyncio.Lock()
        self._unwritable = RepeatedWarning(logger)

    async def recall(self) -> Mapping[str, Sequence[str]]:
        try:
            self._known = await asyncio.to_thread(read_kept, self._path)
        except OSError as error:
            raise JobdirUnusable(f"{self._path} cannot be read: {error.strerror or error}") from error
        return self._known

    async def tell(self, names: Sequence[str]) -> None:
        if new := [name for name in names if name not in self._known]:
            self._known.update(dict.fromkeys(new, ()))
            await self._write("".join(f"{json.dumps([name])}\n" for name in new))

    async def first(self, name: str, addresses: Sequence[str]) -> Sequence[str]:
        if addresses and not self._known.get(name):
            self._known[name] = addresses
            await self._write(f"{json.dumps([name, list(addresses)])}\n")
        return self._known.get(name, ())

    async def _write(self, lines: str) -> None:
        async with self._writing:
            self._unwritten += lines
            try:
                await asyncio.to_thread(_append, self._path, self._unwritten)
            except OSError as error:
                # The name is allowed here all the same, and is written with the next one.
                self._unwritable.due(f"{self._path} cannot be written: {error.strerror or error}")
            else:
                self._unwritten = ""
                self._unwritable.over(f"{self._path} is written again")


def read_kept(path: Path) -> dict[str, Sequence[str]]:
    """Return the names with their first addresses, empty if these are not known; of a torn file the whole lines."""
    known: dict[str, Sequence[str]] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return known
    for line in lines:
        try:
            name, *resolved = json.loads(line)
            addresses = [str(address) for address in (resolved[0] if resolved else ())]
        except (ValueError, TypeError):
            continue
        if isinstance(name, str) and not known.get(name):
            known[name] = addresses
    return known


def _append(path: Path, lines: str) -> None:
    with path.open("ab") as file:
        # A line that a crash has torn stays a line of its own.
        file.write(b"\n" * (file.tell() > 0 and not _ends_whole(path)) + lines.encode())


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() == b"\n"
