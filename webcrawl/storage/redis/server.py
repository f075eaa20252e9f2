"""The connection to Redis: operations are sent together, and errors are translated into the crawl's own.

A server that has started knows no script and answers so. The first call after a start notices a restart by this, or
another server in its place, and calls ``recover`` before anything else can be done.

The module also has the Lua operations of ``lua/`` with the parts that they use, and the checks on connecting: whether
a server can keep a crawl, and when it is ready.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, cast

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.driver_info import DriverInfo
from redis.exceptions import BusyLoadingError

from webcrawl.errors import StartRefused, StorageAway, StorageFull, StorageLost
from webcrawl.storage.redis.cluster import Nodes
from webcrawl.storage.redis.names import FilterSizes
from webcrawl.storage.redis.packing import encoded

_USES = "-- uses: "


@dataclass(frozen=True, slots=True)
class Script:
    """One operation: its text and the name by which a server knows it."""

    name: str
    text: str
    sha: str


@cache
def script(name: str, crawl: str = "", filters: FilterSizes | None = None) -> Script:
    """Return the operation in ``lua/<name>.lua``; a line ``-- uses: a b`` in it puts ``a.lua`` and ``b.lua`` before
    it.

    Called without keys it does nothing. Each ``crawl`` (letters and digits) has an operation of its own, so that it
    does not become known to a server by the calls of another crawl. With ``filters`` the seen test is that of
    ``filters.lua``.
    """
    text = _read(name)
    uses = next((line for line in text.splitlines() if line.startswith(_USES)), _USES)
    parts = [_read(part) for part in ("preamble", *uses.removeprefix(_USES).split()) if part != "seen"]
    if "seen" in uses.split():
        parts.append(_read("seen") if filters is None else filters.lua + _read("filters"))
    whole = "\n".join([*parts, text, f"-- of the crawl {crawl}\n"])
    return Script(name, whole, hashlib.sha1(whole.encode(), usedforsecurity=False).hexdigest())


@cache
def _read(name: str) -> str:
    return resources.files(__package__).joinpath("lua", f"{name}.lua").read_text("utf-8")


OLDEST = (6, 2)

LOADING_POLL_SECONDS = 0.5
"""The interval at which a server that is loading its data is checked."""

Info = Mapping[str, Any]
"""The answer of INFO."""

logger = logging.getLogger(__name__)


def refuse_unfit(info: Info, address: str) -> None:
    """:raises StartRefused: a crawl cannot be kept on this server"""
    version = tuple(int(part) for part in str(info["redis_version"]).split(".")[:2])
    if version < OLDEST:
        raise StartRefused(f"Redis at {address} is version {info['redis_version']}; it must be 6.2 or newer")
    if info.get("maxmemory") and str(info.get("maxmemory_policy")).startswith("allkeys"):
        raise StartRefused(
            f"Redis at {address} drops keys when it is full (maxmemory-policy {info['maxmemory_policy']}), and with "
            "them the crawl; it must have maxmemory-policy noeviction"
        )


async def until_loaded(address: str, get_info: Callable[[], Awaitable[Sequence[Info]]]) -> None:
    """Wait until no server is loading its data any more, and log a warning once.

    A server that has just started refuses everything but INFO until it has read its append-only file, which takes
    minutes with a large crawl. ``get_info`` returns the INFO of each server.
    """
    is_logged = False
    while True:
        try:
            reading = [info for info in await get_info() if int(info.get("loading", 0))]
        except BusyLoadingError:
            reading = [{}]
        if not reading:
            return
        if not is_logged:
            is_logged = True
            logger.warning(
                "Redis at %s is reading its data%s: waiting for it", address, _progress(reading[0])
            )
        await asyncio.sleep(LOADING_POLL_SECONDS)


def _progress(info: Info) -> str:
    share, seconds = info.get("loading_loaded_perc"), info.get("loading_eta_seconds")
    if share is None or seconds is None:
        return ""
    return f" ({float(share):.0f} % so far, some {max(float(seconds), 0):,.0f} s to go)"


Call = tuple[Sequence[bytes], Sequence[Any]]
"""KEYS and ARGV of one call of a script."""

OPERATIONS = (
    "acquire",
    "add_seeded",
    "claim_clocks",
    "end_robots_wait",
    "heartbeat",
    "join",
    "lease",
    "leave",
    "load",
    "lock",
    "move",
    "push",
    "queue_excess",
    "read_seed_list",
    "ready",
    "release",
    "return_clocks",
    "revive",
    "robots",
    "settle",
    "share_bandwidth",
    "start_urls_done",
    "table_put",
    "table_rows",
    "table_swap",
    "table_update",
    "take_start_urls",
    "url_state",
)
AT_ONCE = 32
"""Calls under way; each has a connection, and a pool of a hundred fails when none is left."""

LOADED_LATER = 3
"""Number of retries of a call that a server did not know: the server may start again in between."""
_SCANNED = 1000
"""Number of keys that a server visits in one step of a scan."""

_AWAY = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.BusyLoadingError,
    exceptions.ReadOnlyError,
    exceptions.ClusterError,
    exceptions.RedisClusterException,
    exceptions.TryAgainError,
    exceptions.MovedError,
    OSError,
    asyncio.TimeoutError,
)
_AWAY_WORDS = ("LOADING", "MASTERDOWN", "CLUSTERDOWN", "READONLY", "TRYAGAIN", "BUSY", "UNKILLABLE")
_FULL_WORDS = ("OOM", "MISCONF")
_DENIED = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError)


@dataclass(frozen=True, slots=True)
class ServerMemory:
    """The memory use of one server, as it counts when it decides if there is room, and its limit; 0 for none."""

    server: str
    used_bytes: int
    max_bytes: int


class RedisServer:
    """One Redis, or one Redis Cluster. Every method may raise StorageAway, StorageFull or StorageLost."""

    def __init__(self, params: Mapping[str, Any], recover: Callable[[], Sequence[Call]]) -> None:
        """``params``: those of ``redis.Redis``, with ``url`` in place of host, port and db if one is given.
        ``recover()``: the calls of ``recover`` for every shard."""
        self._params = _own(params)
        self._recover_calls = recover
        self._recovering = asyncio.Lock()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._client: Redis | None = None
        self._cluster: Nodes | None = None
        self.crawl = ""
        """Distinguishes this crawl from others on the same server; letters and digits."""
        self.filters: FilterSizes | None = None
        """The Bloom filters of the crawl; None for the exact seen test."""

    @property
    def address(self) -> str:
        """The address for messages, without a password."""
        url = str(self._params.get("url", ""))
        if not url:
            return f"{self._params.get('host', 'localhost')}:{self._params.get('port', 6379)}"
        return url.split("://", 1)[-1].rsplit("@", 1)[-1]

    @property
    def is_cluster(self) -> bool:
        """True if it is a cluster; known once it is connected."""
        return self._cluster is not None

    async def connect(self) -> None:
        """Connect, and return when the server is ready; one that has just started may have to be waited for.

        :raises StartRefused: it cannot be reached, or is no Redis for this
        """
        try:
            await self._connect()
        except BaseException as error:
            await self.close()
            if isinstance(error, _DENIED):
                raise StartRefused(f"Redis at {self.address} does not let us in: {error}") from error
            if isinstance(error, (*_AWAY, exceptions.RedisError, ValueError)):
                raise StartRefused(f"Redis at {self.address} cannot be reached: {error}") from error
            raise

    async def _connect(self) -> None:
        self._client = _client(self._params)
        info = dict(await self._client.info())
        refuse_unfit(info, self.address)
        if info.get("redis_mode") == "cluster" or info.get("cluster_enabled"):
            await self._client.aclose()
            self._client = None
            self._cluster = Nodes(self._params)
        await until_loaded(self.address, self._persistence)

    async def _persistence(self) -> list[dict[str, Any]]:
        """Return the persistence section of each server's INFO."""
        if self._client is not None:
            return [dict(await self._client.info("persistence"))]
        assert self._cluster is not None
        return [await self._cluster.info("persistence", name) for name in await self._cluster.names()]

    async def close(self) -> None:
        with suppress(*_AWAY, exceptions.RedisError):
            for client in (self._client, self._cluster):
                if client is not None:
                    await client.aclose()
        self._client = self._cluster = None

    async def call(
        self, name: str, calls: Sequence[Call], *, then: tuple[Any, ...] | None = None
    ) -> list[Any]:
        """Call one operation with each of ``calls``. Returns the answers in their order. ``then``: a command that is
        carried out after them; its answer comes last."""
        answers = await self.send([self.calling(name, call) for call in calls], then=then)
        raise_first(answers)
        return answers

    def calling(self, name: str, call: Call) -> tuple[Any, ...]:
        """Return the command that calls an operation; for ``send``."""
        keys, args = call
        return ("EVALSHA", script(name, self.crawl, self.filters).sha, len(keys), *keys, *args)

    async def lock(self, key: str, holder: str | bytes, seconds: float) -> bool:
        """Return whether ``holder`` has the lock ``key`` for ``seconds`` from now: it is free, or was held by
        ``holder``, for which it is renewed."""
        name = encoded(holder) if isinstance(holder, str) else holder
        [taken] = await self.call("lock", [([encoded(key)], [name, max(int(seconds * 1000), 1)])])
        return bool(taken)

    async def send(
        self, commands: Sequence[tuple[Any, ...]], *, then: tuple[Any, ...] | None = None
    ) -> list[Any]:
        """Send commands together, calls of operations among them. Returns the answers in their order, errors of
        single commands among them. ``then``: as for ``call``."""
        together = [*commands, then] if then is not None and self._cluster is None else commands
        answers = await self.commands(together, failing=False)
        for _ in range(LOADED_LATER):
            unknown = [
                at for at, answer in enumerate(answers) if isinstance(answer, exceptions.NoScriptError)
            ]
            if not unknown:
                break
            await self._recover()
            again = await self.commands([commands[at] for at in unknown], failing=False)
            for at, answer in zip(unknown, again, strict=True):
                answers[at] = answer
            del answers[len(commands) :]
        if then is not None and len(answers) == len(commands):
            # In a cluster another node may carry it out, so it waits for the answers.
            answers += await self.commands([then], failing=False)
        return answers

    async def commands(self, commands: Sequence[tuple[Any, ...]], *, failing: bool = True) -> list[Any]:
        """Send commands together, each of which names its key; errors of single ones are raised if ``failing``."""
        try:
            async with self._turns:
                answers = await self._sent(commands)
        except (*_AWAY, exceptions.RedisError) as error:
            if self._client is not None:
                # The other connections of the pool are dead too, and each would be an error of its own later.
                await self._client.connection_pool.disconnect(inuse_connections=False)
            raise translate(error) from error
        if failing:
            raise_first(answers)
        return answers

    async def _sent(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if self._cluster is not None:
            return await self._cluster.send(commands)
        if self._client is None:
            raise StorageLost("Redis was closed")
        async with self._client.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            return list(await pipeline.execute(raise_on_error=False))

    async def memory(self, keys: Sequence[bytes]) -> list[ServerMemory]:
        """Return for each key the memory use of the server that has it."""
        if self._cluster is None:
            [info] = await self.commands([("INFO", "memory")])
            return [_memory("", info)] * len(keys)
        memory: dict[str, ServerMemory] = {}
        try:
            names = [await self._cluster.node_name(key) for key in keys]
            for name in names:
                if name not in memory:
                    memory[name] = _memory(name, await self._cluster.info("memory", name))
        except (*_AWAY, exceptions.RedisError) as error:
            raise translate(error) from error
        return [memory[name] for name in names]

    async def scan(self, pattern: bytes) -> AsyncIterator[list[bytes]]:
        """Yield the names of all keys that match a glob pattern, some at a time; one may come twice."""
        for name in await self._names():
            cursor = 0
            while True:
                cursor, keys = await self._scan_on(name, cursor, pattern)
                yield keys
                if not cursor:
                    break

    async def _names(self) -> list[str]:
        """Return the nodes of a cluster that have keys."""
        try:
            return [""] if self._cluster is None else await self._cluster.names()
        except (*_AWAY, exceptions.RedisError) as error:
            raise translate(error) from error

    async def _scan_on(self, name: str, cursor: int, pattern: bytes) -> tuple[int, list[bytes]]:
        try:
            if self._cluster is not None:
                return await self._cluster.scan(name, cursor, pattern, _SCANNED)
            if self._client is None:
                raise StorageLost("Redis was closed")
            cursor, keys = await cast("Awaitable[Any]", self._client.scan(cursor, pattern, _SCANNED))
        except (*_AWAY, exceptions.RedisError) as error:
            raise translate(error) from error
        return int(cursor), keys

    async def _recover(self) -> None:
        """Recover a server that does not know our scripts, since it has started: first secure the leases, then load
        the scripts."""
        text = script("recover").text
        first = [("EVAL", text, len(keys), *keys, *args) for keys, args in self._recover_calls()]
        known = [("EVAL", script(name, self.crawl, self.filters).text, 0) for name in OPERATIONS]
        async with self._recovering:
            try:
                # On one connection, that is to one server: another one may take its place at any moment.
                if self._cluster is not None:
                    answers = await self._cluster.send(first, known)
                else:
                    answers = await self._sent([*first, *known])
            except (*_AWAY, exceptions.RedisError) as error:
                raise translate(error) from error
            raise_first(answers)


def _memory(server: str, info: Mapping[str, Any]) -> ServerMemory:
    # Buffers for the append-only file and for replicas do not count against maxmemory.
    used = int(info["used_memory"]) - int(info.get("mem_not_counted_for_evict", 0))
    return ServerMemory(server, used, int(info.get("maxmemory", 0)))


def translate(error: BaseException) -> Exception:
    """Return the crawl's own exception for one of redis-py's."""
    word = str(error).split(" ", 1)[0]
    if isinstance(error, StorageFull | StorageLost):
        return error
    if isinstance(error, exceptions.OutOfMemoryError) or word in _FULL_WORDS or "-OOM" in str(error):
        full = StorageFull(f"Redis has no room: {error}")
        full.shown = "Redis full"
        return full
    if isinstance(error, _DENIED):
        return StorageLost(f"Redis does not let us in any more: {error}")
    if isinstance(error, _AWAY) or word in _AWAY_WORDS:
        return StorageAway(f"Redis is away: {error}")
    return StorageLost(f"Redis answers with an error: {error}")


def raise_first(answers: Sequence[Any]) -> None:
    """Raise the crawl's own exception for the first error among answers."""
    for answer in answers:
        if isinstance(answer, BaseException):
            raise translate(answer) from answer


@cache
def _driver() -> DriverInfo:
    """The name and version that redis-py gives a server. Read from its files, once and not for each connection."""
    return DriverInfo()


def _own(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given parameters that decide the connection, with those that are fixed here."""
    own = {name: value for name, value in params.items() if name not in ("redis_cls", "retry_on_timeout")}
    # The crawl itself repeats a failed step, since it knows its meaning; bytes are never decoded by guess.
    own.update(decode_responses=False, retry=Retry(NoBackoff(), 0), health_check_interval=0)
    if own.keys().isdisjoint(("lib_name", "lib_version")):
        own.setdefault("driver_info", _driver())
    return own


def _client(params: Mapping[str, Any]) -> Redis:
    rest = {name: value for name, value in params.items() if name != "url"}
    return Redis.from_url(params["url"], **rest) if params.get("url") else Redis(**rest)
