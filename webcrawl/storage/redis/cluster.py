"""The nodes of a Redis Cluster: which node has which key, and how to find the nodes again after a failure.

The client of redis-py finds the node of each key and follows keys that move. Its behaviour after a failure is not
used: it would send again commands that may have been carried out, and commands that are under way at the same time
close each other's connections. So nothing is sent twice here, and after a failure a new client replaces the old one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from redis import exceptions
from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

EXCHANGE_SECONDS = 10.0
"""The most time that a whole exchange may take; a node that is frozen answers nothing."""
NODE_SECONDS = 4.0
"""The most time to wait for one node, whatever ``socket_timeout`` is: another node may know more."""

_OWN = ("url", "db", "retry", "health_check_interval", "socket_timeout", "socket_connect_timeout")

_GONE = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ClusterError, OSError)
_FAILED = (*_GONE, exceptions.RedisClusterException)


class Nodes:
    """A Redis Cluster. Methods raise the exceptions of redis-py."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """``params``: those of ``redis.Redis``, with ``url`` in place of host, port and db if one is given."""
        self._params = params
        self._known: list[tuple[str, int]] = []
        self._client = self._build_client()

    async def aclose(self) -> None:
        await self._client.aclose()

    async def send(
        self, commands: Sequence[tuple[Any, ...]], everywhere: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """Send commands, each of which names its key, and then others to every node with keys, in this order and on
        one connection of each. Returns the answers in their order, errors among them."""
        async with self._connected() as client:
            await client.initialize()
            async with client.pipeline() as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                for node in client.get_primaries():
                    for command in everywhere:
                        pipeline.execute_command(*command, target_nodes=node)
                answers: list[Any] = await pipeline.execute(raise_on_error=False)
            for answer in answers:
                if isinstance(answer, (*_GONE, AttributeError)):
                    raise answer
        return answers

    async def node_name(self, key: bytes) -> str:
        """Return the node that has ``key``."""
        async with self._connected() as client:
            await client.initialize()
            node = client.get_node_from_key(key.decode())
            if node is None:
                raise exceptions.ClusterDownError("a slot has no server")
            return str(node.name)

    async def names(self) -> list[str]:
        """Return the nodes that have keys."""
        async with self._connected() as client:
            await client.initialize()
            return [str(node.name) for node in client.get_primaries()]

    async def info(self, section: str, name: str) -> dict[str, Any]:
        """Return the INFO of a node."""
        async with self._connected() as client:
            await client.initialize()
            answer = await client.info(section, target_nodes=_node(client, name))
            return dict(answer)

    async def scan(self, name: str, cursor: int, pattern: bytes, count: int) -> tuple[int, list[bytes]]:
        """Do a step of SCAN on one node."""
        async with self._connected() as client:
            await client.initialize()
            sent: Any = client.scan(cursor, pattern, count, target_nodes=_node(client, name))
            cursors, keys = await sent
            return int(cursors[name]), keys

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[RedisCluster]:
        client = self._client
        try:
            async with asyncio.timeout(EXCHANGE_SECONDS):
                yield client
        except _FAILED:
            await self._reconnect(client)
            raise
        except AttributeError as error:
            # redis-py raises this for a connection that was closed under it.
            await self._reconnect(client)
            raise exceptions.ConnectionError(f"the connection to a node was closed ({error})") from error

    async def _reconnect(self, client: RedisCluster) -> None:
        """Connect anew: any node that was ever known may be the one that is left."""
        if client is self._client:
            self._known = [(str(node.host), int(node.port)) for node in client.get_nodes()] or self._known
            self._client = self._build_client()
        with suppress(*_FAILED, exceptions.RedisError, AttributeError):
            await client.aclose()

    def _build_client(self) -> RedisCluster:
        rest = {name: value for name, value in self._params.items() if name not in _OWN}
        for name in ("socket_timeout", "socket_connect_timeout"):
            rest[name] = min(self._params.get(name) or NODE_SECONDS, NODE_SECONDS)
        rest["retry"] = Retry(NoBackoff(), 0)
        rest["startup_nodes"] = [ClusterNode(host, port) for host, port in self._known]
        if url := self._params.get("url"):
            return RedisCluster.from_url(url, **rest)
        return RedisCluster(**rest)


def _node(client: RedisCluster, name: str) -> ClusterNode:
    node = client.get_node(node_name=name)
    if node is None:
        raise exceptions.ClusterDownError("a node has left the cluster")
    return node
