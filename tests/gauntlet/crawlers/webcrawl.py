"""webcrawl: one process on SQLite, and two workers on Redis."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, ClassVar

from tests.gauntlet.crawlers.base import CONTACT, ROOT, Crawler, Order, spawn
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from pathlib import Path


class WebcrawlOnSqlite(Crawler):
    """``scrapy crawl broad`` with its files in a JOBDIR."""

    name: ClassVar[str] = "webcrawl"
    can: ClassVar[tuple[str, ...]] = ("exclusion", "nameserver", "resume")

    def version(self) -> str | None:
        """Return the version of the package."""
        code = "import webcrawl; print(webcrawl.__version__)"
        return subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    def start(self, order: Order) -> list[subprocess.Popen[bytes]]:
        """Start the crawl, or start it again."""
        return [self._worker(order, "job", {})]

    def jobdirs(self, order: Order) -> list[Path]:
        """Return the JOBDIR."""
        return [order.folder / "job"]

    def _worker(self, order: Order, name: str, more: dict[str, object]) -> subprocess.Popen[bytes]:
        order.folder.mkdir(parents=True, exist_ok=True)
        (order.folder / "seeds.txt").write_text("".join(f"{seed}\n" for seed in order.seeds))
        (order.folder / "excluded.txt").write_text("".join(f"{host}\n" for host in order.excluded))
        settings: dict[str, object] = {
            "JOBDIR": order.folder / name,
            "WORKER_NAME": name,
            "CRAWLER_CONTACT": CONTACT,
            "POLITENESS_MIN_DELAY": order.delay_seconds,
            "POLITENESS_FACTOR": 0,
            "DOWNLOAD_TIMEOUT": order.request_seconds,
            "REDIRECT_MAX_TIMES": order.redirects,
            "EXCLUSION_FILE": order.folder / "excluded.txt",
            "DNS_NAMESERVERS": order.nameserver,
            # Seeds open nothing but their own address; the other hosts of the web are in this network.
            "FETCH_PRIVATE_ADDRESSES": order.network,
            # Hosts of the web that are parked for longer have shown all that there is to see.
            "FRONTIER_PATIENCE_SECONDS": 15,
            **({"CONCURRENT_REQUESTS": order.requests} if order.requests else {}),
            **more,
        }
        words = [
            sys.executable,
            "-m",
            "scrapy",
            "crawl",
            "broad",
            "-a",
            f"seeds={order.folder / 'seeds.txt'}",
        ]
        words += [word for key, value in settings.items() for word in ("-s", f"{key}={value}")]
        environment = {
            **os.environ,
            "SCRAPY_SETTINGS_MODULE": "webcrawl.settings",
            "PYTHONPATH": str(ROOT),
            "TERM": "dumb",
        }
        return spawn(words, order.folder, name, environment)


class WebcrawlOnRedis(WebcrawlOnSqlite):
    """Two workers with one frontier on a Redis server of their own."""

    name: ClassVar[str] = "webcrawl-redis"

    def __init__(self) -> None:
        self._server: RedisServer | None = None

    def start(self, order: Order) -> list[subprocess.Popen[bytes]]:
        """Start both workers, and the server the first time."""
        if self._server is None:
            self._server = RedisServer(order.folder / "redis").start()
        # A lease that expires soon: the hosts of a worker that was killed are free again.
        more: dict[str, object] = {
            "REDIS_URL": self._server.url,
            "FRONTIER_BACKEND": "redis",
            "LEASE_SECONDS": 5,
        }
        return [self._worker(order, name, more) for name in ("worker1", "worker2")]

    def jobdirs(self, order: Order) -> list[Path]:
        """Return the JOBDIR of each worker."""
        return [order.folder / name for name in ("worker1", "worker2")]

    def close(self) -> None:
        """Stop the server."""
        if self._server is not None:
            self._server.stop()
            self._server = None
