"""What the state of a crawl takes, measured: real servers and files filled with a crawl of a given size.

``webcrawl/reports/plan.py`` predicts these sizes. ``python -m tests.bench sizes`` prints both, and what its
coefficients would be by what was measured just now.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.redis_server import RedisServer
from webcrawl.frontier.records import State, UrlEntry, UrlRecord
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.robots.answer import RobotsState
from webcrawl.storage.contract import Backend, Batch, Settled
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.leases import ServerClock
from webcrawl.storage.redis.names import RedisOptions
from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host

NOW = 1_700_000_000.0
AT_ONCE = 5000

_WORDS = re.findall(
    r"\w+",
    """
    about archive articles author blog business category comments company contact content culture data details docs
    download event events files forum gallery general health history images index info item items journal library
    list local media members music news notes online opinion page people photos policy politics post posts press
    product products profile projects public read report research review science search section services show site
    society sport stories story study support tag team technology topic travel update user video view weather week
    work world year
    """,
)


@dataclass(frozen=True, slots=True)
class Web:
    """A crawl's size: ``urls`` URLs of ``length`` characters, dealt out evenly to ``hosts`` hosts."""

    urls: int
    hosts: int
    length: int = 60
    robots_bytes: int = 600

    def entries(self) -> Iterator[UrlEntry]:
        """As they are found: of five links four come from a page of the same site, one from another site."""
        chance = random.Random(self.urls)
        for number in range(self.urls):
            url = self.url(number)
            earlier = max(number - self.hosts * chance.randint(1, 50), number % self.hosts)
            other = chance.randrange(number + 1)
            via = self.url(earlier if chance.random() < 0.8 else other)
            host = get_host(url)
            key = host.removeprefix("www.")
            yield UrlEntry(url, key, fingerprint(url), 0, number + 1, 1 + number % 7, via)

    def url(self, number: int) -> str:
        """Words and a number, like many a real one. ``length`` leaves room for the host's name: at least 50."""
        host, mixed = number % self.hosts, number * 0x9E3779B97F4A7C15 & (1 << 64) - 1
        url = f"https://www.{_WORDS[host % len(_WORDS)]}-{host:07}.example/{_WORDS[mixed % len(_WORDS)]}/"
        while len(url) < self.length:
            mixed //= len(_WORDS)
            url += f"{_WORDS[mixed % len(_WORDS)]}-"
        return f"{url[: self.length - 7]}{number:07x}"

    def records(self) -> Iterator[HostRecord]:
        """Every host, as one that was fetched from."""
        keys = {
            get_host(self.url(number)).removeprefix("www.") for number in range(min(self.hosts, self.urls))
        }
        for key in sorted(keys):
            chance = random.Random(key)
            times = [chance.uniform(0.1, 2.0) for _ in range(5)]
            yield HostRecord(key, NOW + chance.random(), 5.0, times, fetches=12, answered=True)

    def robots(self) -> Iterator[RobotsRecord]:
        """An answer of every host."""
        for number in range(min(self.hosts, self.urls)):
            host = get_host(self.url(number))
            chance = random.Random(number)
            text = "User-agent: *\n"
            while len(text) < self.robots_bytes:
                text += (
                    f"Disallow: /{chance.choice(_WORDS)}/{chance.choice(_WORDS)}{chance.randrange(100)}/\n"
                )
            expires = NOW + chance.uniform(0, 86_400)
            yield RobotsRecord(
                f"https://{host}", RobotsState.RULES, NOW, expires, text[: self.robots_bytes], None, 0
            )


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of a crawl when all of it is queued, and when all of it is done."""

    urls: int
    """With their queues: every URL was found, no host was asked yet."""
    hosts: int
    """More with a record of every host."""
    robots: int
    """More with a robots.txt of every host."""
    done: int
    """In all, when every URL is done and the hosts are known."""

    @property
    def queued(self) -> int:
        """In all, when every URL is queued and every host is known."""
        return self.urls + self.hosts + self.robots


@dataclass(frozen=True, slots=True)
class RedisSizes:
    memory: Sizes
    """More than an empty crawl takes."""
    snapshot: Sizes
    empty: int


async def opened_redis(server: RedisServer, **options: Any) -> RedisBackend:
    """A crawl on a server that is empty."""
    backend = RedisBackend(
        {"url": server.url},
        RedisOptions(**options),
        {},
        lambda origin: get_host(f"{origin}/")[4:],
        ServerClock(),
    )
    await backend.open(time.time())
    return backend


async def filled_redis(server: RedisServer, web: Web) -> RedisBackend:
    """A crawl with all of ``web`` queued, on a server that is empty."""
    backend = await opened_redis(server)
    entries = list(web.entries())
    for first in range(0, len(entries), AT_ONCE):
        await backend.commit(Batch(discovered=entries[first : first + AT_ONCE]))
    await _committed(backend, "robots", list(web.robots()))
    return backend


async def redis_sizes(server: RedisServer, web: Web, **options: Any) -> RedisSizes:
    """Fill a server that is empty. ``options``: of the crawl."""
    backend = await opened_redis(server, **options)
    empty = _used(server)

    async def measured() -> tuple[int, int]:
        return _used(server) - empty, _snapshot(server)

    found = await _filled(backend, web, measured)
    await backend.close()
    memory, snapshot = zip(*found, strict=True)
    return RedisSizes(Sizes(*_steps(memory)), Sizes(*_steps(snapshot)), empty)


async def sqlite_sizes(folder: Path, web: Web) -> Sizes:
    """Fill ``frontier.db`` in ``folder``. What is done leaves its place free there: that is not counted."""
    backend = SqliteBackend(folder, SqliteOptions(), {})
    await backend.open(NOW)

    async def measured() -> int:
        connection = backend._connection
        asked = ("page_count", "freelist_count", "page_size")
        pages, free, size = (connection.execute(f"PRAGMA {one}").fetchone()[0] for one in asked)
        return int((pages - free) * size)

    found = await _filled(backend, web, measured)
    await backend.close()
    return Sizes(*_steps(found))


def _steps(found: Sequence[int]) -> tuple[int, int, int, int]:
    urls, hosts, robots, done = found
    return urls, hosts - urls, robots - hosts, done


async def _filled(backend: Backend, web: Web, measured: Callable[[], Awaitable[Any]]) -> list[Any]:
    """What ``measured`` says after each step."""
    entries = list(web.entries())
    found = []
    for first in range(0, len(entries), AT_ONCE):
        await backend.commit(Batch(discovered=entries[first : first + AT_ONCE]))
    found.append(await measured())
    await _committed(backend, "hosts", list(web.records()))
    found.append(await measured())
    await _committed(backend, "robots", list(web.robots()))
    found.append(await measured())
    for first in range(0, len(entries), AT_ONCE):
        settled = [
            Settled(entry, UrlRecord(State.DONE, status=200)) for entry in entries[first : first + AT_ONCE]
        ]
        await backend.commit(Batch(settled=settled))
    found.append(await measured())
    return found


async def _committed(backend: Backend, what: str, things: Sequence[Any]) -> None:
    for first in range(0, len(things), AT_ONCE):
        batch = Batch()
        setattr(batch, what, list(things[first : first + AT_ONCE]))
        await backend.commit(batch)


def _used(server: RedisServer) -> int:
    """What is kept: less what is only on its way, to the file or to clients."""
    info = server.call("INFO", "memory")
    under_way = ("mem_not_counted_for_evict", "mem_clients_normal")
    return int(info["used_memory"]) - sum(int(info.get(name, 0)) for name in under_way)


def _snapshot(server: RedisServer) -> int:
    """Bytes on the disk of all that is there, written anew."""
    server.call("SAVE")
    return (server.folder / "dump.rdb").stat().st_size
