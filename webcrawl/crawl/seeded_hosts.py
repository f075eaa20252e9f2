"""The hosts that the operator named, by seeds and pushed URLs. They may have private addresses and unusual ports."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from webcrawl.errors import JobdirUnusable
from webcrawl.fetching.addresses import FirstAddresses
from webcrawl.scope.scope import Candidate
from webcrawl.storage.contract import SharedBackend
from webcrawl.urls.politeness_key import host_of, port_of

if TYPE_CHECKING:
    from webcrawl.crawl.context import CrawlContext
    from webcrawl.fetching.addresses import SeedAddresses
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
    """Tells the rules of scope what seeds allow, and keeps what other processes have to be told.

    Of very many hosts only those are remembered that are seen to be private without being looked up.
    """

    def __init__(self, addresses: SeedAddresses, ports: BadPortRule) -> None:
        self.addresses = addresses
        self.ports = ports
        self._names: set[str] = set()
        self._news: list[str] = []
        self._memory: SeedMemory | None = None

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

    def remember_in(self, memory: SeedMemory) -> None:
        """Without a memory what is named counts in this process alone."""
        self._memory = memory
        self.addresses.remember_in(memory)

    async def recall(self) -> None:
        """Learn what was named before. :raises JobdirUnusable: that cannot be read"""
        if self._memory is None:
            return
        for name, addresses in (await self._memory.recall()).items():
            self.learn(name)
            if addresses:
                self.addresses.rule.seed_resolved(name, addresses)

    async def tell(self) -> None:
        """Have remembered what was named here since the last call, before its URLs are queued."""
        news, self._news = self._news, []
        if news and self._memory is not None:
            await self._memory.tell(news)

    def _name(self, name: str) -> None:
        self.learn(name)
        self._news.append(name)


class SeedMemory(FirstAddresses, Protocol):
    """Remembers what seeds are allowed, where the crawl's state is kept."""

    async def tell(self, names: Sequence[str]) -> None:
        """These hosts, or hosts and ports, were named."""

    async def recall(self) -> Mapping[str, Sequence[str]]:
        """What was named before and nobody else tells, with what it resolved to at first, if that is known."""


def remember_seeds(context: CrawlContext, with_retry: WithRetry) -> None:
    """Have the seeds' hosts remembered where the crawl's state is kept."""
    if isinstance(context.backend, SharedBackend):
        context.seeded.remember_in(SharedSeeds(context.backend, with_retry))
    elif context.jobdir is not None:
        context.seeded.remember_in(KeptSeeds(context.jobdir.path))


class SharedSeeds:
    """In the storage that several processes share. What was named the backend tells each of them itself."""

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
    """In the JOBDIR: a line for each name, and another one with what it resolved to at first."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._known: dict[str, Sequence[str]] = {}
        self._unwritten = ""
        self._writing = asyncio.Lock()

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
                # It counts here all the same, and is written with the next one.
                logger.warning("%s cannot be written: %s", self._path, error.strerror or error)
            else:
                self._unwritten = ""


def read_kept(path: Path) -> dict[str, Sequence[str]]:
    """The names, with what they resolved to at first, empty where that is not known; of a torn file what is whole."""
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
        # A line that a crash has torn stays one of its own.
        file.write(b"\n" * (file.tell() > 0 and not _ends_whole(path)) + lines.encode())


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() == b"\n"
