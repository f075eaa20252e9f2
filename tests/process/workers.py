"""Several workers on one crawl, as real processes on a real Redis, with the accidents that workers have."""

from __future__ import annotations

import signal
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tests.crawl.auditing import audited
from webcrawl.storage.redis.frontier import SHARDS
from webcrawl.storage.redis.names import ShardNames
from webcrawl.storage.redis.packing import chunk_key, chunk_prefix, unpack_entries, unpack_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redis import Redis

    from tests.crawl.crawling import Crawl
    from tests.redis_server import RedisServer
    from webcrawl.audit.audit import AuditTotals
    from webcrawl.reports.clocks import Violation


class WorkerProcesses:
    """Workers by name; each has a JOBDIR of its own that outlives it."""

    def __init__(
        self, start: Callable[..., Crawl], redis: RedisServer, seeds: list[str], **settings: Any
    ) -> None:
        self._start = start
        self._redis = redis
        self._seeds = seeds
        self._settings = {"REDIS_URL": redis.url, "STATISTICS_INTERVAL_SECONDS": 1, **settings}
        self.workers: dict[str, Crawl] = {}
        self.frozen: set[str] = set()

    def start(self, name: str, **more: Any) -> Crawl:
        """Start a worker, or start it again."""
        before = self.workers.get(name)
        settings = {**self._settings, "WORKER_NAME": name, **more}
        self.workers[name] = self._start(self._seeds, of=before, **settings)
        return self.workers[name]

    def kill(self, name: str) -> None:
        """kill -9."""
        self.frozen.discard(name)
        self.workers[name].kill()

    def freeze(self, name: str) -> None:
        """SIGSTOP."""
        self.workers[name].signal(signal.SIGSTOP)
        self.frozen.add(name)

    def thaw(self, name: str) -> None:
        """SIGCONT; it may be dead."""
        if name in self.frozen:
            self.frozen.discard(name)
            self.workers[name].signal(signal.SIGCONT)

    def leave(self, name: str) -> None:
        """SIGINT, and wait for its end."""
        self.workers[name].signal(signal.SIGINT)
        self.workers[name].wait().assert_ended_well()

    def until_joined(self) -> None:
        """Wait until all that run are at work: one that starts while Redis is away is refused."""
        for name in self.running():
            if name not in self.frozen:
                worker = self.workers[name]
                worker.until(lambda worker=worker: " taken" in worker.stderr)

    def running(self) -> list[str]:
        """Those whose process is there."""
        return [name for name, worker in self.workers.items() if worker.process.poll() is None]

    def wait(self, seconds: float) -> None:
        """Wait until the crawl has ended for all, and well."""
        for name in list(self.frozen):
            self.thaw(name)
        deadline = time.monotonic() + seconds
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not self.running(), f"the crawl did not end within {seconds:g} s:\n{self._left()}"
        for worker in self.workers.values():
            if worker.status is None:
                worker.wait().assert_ended_well()

    def _left(self) -> str:
        """What is still queued, and who holds it."""
        told = [f"{name}: {worker.stderr[-400:]}" for name, worker in self.workers.items()]
        with closing(self._redis.client()) as client:
            told.append(str(client.hgetall("broad:workers")))
            for number in range(SHARDS):
                names = ShardNames("broad", number)
                held = client.hgetall(names.held)
                for key in client.hkeys(names.queues):
                    host = unpack_host(key.decode(), client.hget(names.hosts, key))
                    told.append(f"{key!r} {held.get(key)!r} {host}")
                told.append(f"{number} {client.hgetall(names.totals)} {client.hgetall(names.changed_queues)}")
                told.append(
                    f"{client.zrange(names.idle, 0, -1)} {client.zrange(names.members, 0, -1, withscores=True)}"
                )
        return "\n".join(told)

    # -- what there is ---------------------------------------------------------------------------------------

    def lines(self, kind: str = "page") -> list[dict[str, Any]]:
        """Lines of all fetch logs."""
        return [line for worker in self.workers.values() for line in worker.lines(kind)]

    def logs(self) -> Iterator[str]:
        """What each worker said, also before it was started again."""
        for worker in self.workers.values():
            for path in sorted(worker.path.parent.glob("stderr-*.txt")):
                yield path.read_text(encoding="utf-8", errors="replace")

    def audit(self) -> tuple[list[Violation], AuditTotals]:
        """What is wrong with this crawl by the logs of all workers, and what was looked at."""
        return audited(*(worker.path for worker in self.workers.values()))

    def fetched(self) -> Counter[str]:
        """How often each page has a line, over all workers."""
        return Counter(line["url"] for line in self.lines())

    def queued(self, name: str = "") -> Iterator[str]:
        """URLs in queues: all of them, or those on the hosts that a worker holds."""
        with closing(self._redis.client()) as client:
            for number in range(SHARDS):
                yield from _queued(client, ShardNames("broad", number), name)

    def holders(self, name: str) -> int:
        """How many processes of this worker hold hosts, the dead ones too whose leases have not ended."""
        with closing(self._redis.client()) as client:
            held = [client.hvals(ShardNames("broad", number).held) for number in range(SHARDS)]
        members = {value.split(b" ", 1)[1].decode() for values in held for value in values}
        return sum(member.rpartition("-")[0] == name for member in members)

    def total(self, what: str) -> int:
        """A total over all shards, by the books."""
        with closing(self._redis.client()) as client:
            found = [client.hget(ShardNames("broad", number).totals, what) for number in range(SHARDS)]
        return sum(int(number or 0) for number in found)


def _queued(client: Redis, names: ShardNames, name: str) -> Iterator[str]:
    held = client.hgetall(names.held)
    queues: dict[bytes, bytes] = {}
    for member in client.zrange(names.chunks, 0, -1):
        key = chunk_key(member)
        queues[key] = queues.get(key, b"") + member[len(chunk_prefix(key)) :]
    for key, tail in client.hgetall(names.queues).items():
        queues[key] = queues.get(key, b"") + tail
    for key, entries in queues.items():
        holder = held.get(key, b" ").split(b" ", 1)[1].decode()
        if not name or holder.rpartition("-")[0] == name:
            yield from (entry.url for entry in unpack_entries(entries, key.decode()))
