"""Other crawlers, each with its documented options for a polite crawl of the same seeds with the same limits.

All crawl broadly, as webcrawl does: no list of hosts is in scope. ``install`` puts them into a folder of their own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tests.gauntlet.crawlers.base import CONTACT, ROOT, Crawler, Order, spawn
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Sequence

HOME = ROOT / ".venv" / "peers"
PACKAGES = ("scrapy", "scrapy-redis", "crawlee[parsel]")
SYSTEM_PACKAGES = ("wget2", "httrack")
AGENT = f"gauntlet-peer/1.0 (+{CONTACT})"
SCRIPTS = Path(__file__).parent / "scripts"


def install() -> None:
    """Install what is missing: packages of Python into HOME, programs by apt where that is allowed."""
    if not (HOME / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True)
    if not (HOME / "bin" / "scrapy").exists() or _distribution("crawlee") is None:
        subprocess.run([HOME / "bin" / "python", "-m", "pip", "install", "-q", *PACKAGES], check=False)
    missing = [name for name in SYSTEM_PACKAGES if shutil.which(name) is None]
    if missing and shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "-q", *missing], check=False, stdout=subprocess.DEVNULL)


def _distribution(name: str) -> str | None:
    """Return the version of a package in HOME; None where it is not installed."""
    if not (HOME / "bin" / "python").exists():
        return None
    code = f"from importlib.metadata import version; print(version({name!r}))"
    done = subprocess.run([HOME / "bin" / "python", "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _program(name: str, *words: str) -> str | None:
    """Return the version that a program prints; None where it is not installed."""
    if shutil.which(name) is None:
        return None
    done = subprocess.run([name, *words], capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+[\w.-]*", done.stdout + done.stderr)
    return found[0] if found else "unknown version"


class Scrapy(Crawler):
    """A project of ``scrapy startproject`` with a spider like ``genspider -t crawl`` makes it."""

    name: ClassVar[str] = "scrapy"
    can: ClassVar[tuple[str, ...]] = ("exclusion", "resume")
    script: ClassVar[str] = "scrapy_spider.py"

    def version(self) -> str | None:
        """Return the version of Scrapy."""
        return _distribution("scrapy")

    def start(self, order: Order) -> list[subprocess.Popen[bytes]]:
        """Make the project the first time, and crawl."""
        return [self._crawl(order, "scrapy", {"JOBDIR": order.folder / "job"})]

    def _crawl(self, order: Order, name: str, more: dict[str, object]) -> subprocess.Popen[bytes]:
        project = order.folder / "project"
        scrapy = HOME / "bin" / "scrapy"
        if not project.exists():
            order.folder.mkdir(parents=True, exist_ok=True)
            command = [str(scrapy), "startproject", "gauntlet", str(project)]
            subprocess.run(command, cwd=order.folder, check=True, stdout=subprocess.DEVNULL)
            shutil.copy(SCRIPTS / self.script, project / "gauntlet" / "spiders" / "spider.py")
        settings: dict[str, object] = {
            "DOWNLOAD_DELAY": order.delay_seconds,
            # The delay is what was asked for, not half of it at random.
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "DOWNLOAD_TIMEOUT": order.request_seconds,
            "REDIRECT_MAX_TIMES": order.redirects,
            "USER_AGENT": AGENT,
            "LOG_LEVEL": "INFO",
            **more,
        }
        words = [str(scrapy), "crawl", "gauntlet"]
        words += [word for key, value in settings.items() for word in ("-s", f"{key}={value}")]
        return spawn(words, project, name, {**os.environ, "GAUNTLET_ORDER": order_as_json(order)})


class ScrapyRedis(Scrapy):
    """The same project on scrapy-redis, with two processes."""

    name: ClassVar[str] = "scrapy-redis"
    script: ClassVar[str] = "scrapy_redis_spider.py"

    def __init__(self) -> None:
        self._server: RedisServer | None = None

    def version(self) -> str | None:
        """Return the version of scrapy-redis."""
        return _distribution("scrapy-redis")

    def start(self, order: Order) -> list[subprocess.Popen[bytes]]:
        """Push the seeds the first time, and start both processes."""
        if self._server is None:
            self._server = RedisServer(order.folder / "redis").start()
            for seed in order.seeds:
                self._server.call("LPUSH", "gauntlet:start_urls", seed)
        more: dict[str, object] = {
            "REDIS_URL": self._server.url,
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
            "MAX_IDLE_TIME_BEFORE_CLOSE": 5,
        }
        return [self._crawl(order, name, more) for name in ("worker1", "worker2")]

    def close(self) -> None:
        """Stop the server."""
        if self._server is not None:
            self._server.stop()
            self._server = None


class Crawlee(Crawler):
    """Crawlee for Python: a ParselCrawler that respects robots.txt."""

    name: ClassVar[str] = "crawlee"
    can: ClassVar[tuple[str, ...]] = ("exclusion", "resume")

    def version(self) -> str | None:
        """Return the version of Crawlee."""
        return _distribution("crawlee")

    def start(self, order: Order) -> list[subprocess.Popen[bytes]]:
        """Crawl."""
        environment = {
            **os.environ,
            "GAUNTLET_ORDER": order_as_json(order),
            "CRAWLEE_STORAGE_DIR": str(order.folder / "storage"),
            "CRAWLEE_PURGE_ON_START": "0",
        }
        return [
            spawn(
                [str(HOME / "bin" / "python"), str(SCRIPTS / "crawlee_crawl.py")],
                order.folder,
                "crawlee",
                environment,
            )
        ]


class Wget2(Crawler):
    """wget2, recursively over all hosts."""

    name: ClassVar[str] = "wget2"
    can: ClassVar[tuple[str, ...]] = ("exclusion", "resume")

    def version(self) -> str | None:
        """Return the version of wget2."""
        return _program("wget2", "--version")

    def start(self, order: Order) -> list[subprocess.Popen[bytes]]:
        """Crawl; files that are there are not fetched again."""
        words = ["wget2", "--recursive", "--level=inf", "--span-hosts", "--no-clobber", "--no-verbose"]
        # One thread: with more, a host may have several requests open.
        words += [
            "--max-threads=1",
            f"--wait={order.delay_seconds:g}",
            f"--timeout={order.request_seconds:g}",
        ]
        words += [f"--max-redirect={order.redirects}", "--tries=3", f"--user-agent={AGENT}"]
        words += [f"--exclude-domains={','.join(order.excluded)}"] if order.excluded else []
        return [
            spawn(
                [*words, f"--directory-prefix={order.folder / 'files'}", *order.seeds], order.folder, "wget2"
            )
        ]


class Httrack(Crawler):
    """HTTrack, over all hosts."""

    name: ClassVar[str] = "httrack"
    can: ClassVar[tuple[str, ...]] = ("exclusion", "resume")

    def version(self) -> str | None:
        """Return the version of HTTrack."""
        return _program("httrack", "--version")

    def start(self, order: Order) -> list[subprocess.Popen[bytes]]:
        """Crawl, or go on with what was interrupted."""
        again = (order.folder / "files" / "hts-cache").exists()
        words = ["httrack", *order.seeds, "-O", str(order.folder / "files"), "--quiet"]
        words += ["--continue"] if again else ["--mirror"]
        words += ["--can-go-up-and-down", "--go-everywhere", "--robots=2", "--depth=1000", "--sockets=1"]
        rate = 1 / order.delay_seconds if order.delay_seconds else 5
        words += [f"--connection-per-second={rate:g}", f"--timeout={max(1, round(order.request_seconds))}"]
        words += ["--retries=2", "--user-agent", AGENT, "--display=0"]
        words += [f"-{host}*" for host in order.excluded]
        return [spawn(words, order.folder, "httrack")]


PEERS: tuple[type[Crawler], ...] = (Scrapy, ScrapyRedis, Crawlee, Wget2, Httrack)


def order_as_json(order: Order) -> str:
    """Return what the scripts of the peers read."""
    fields: dict[str, float | Sequence[str]] = {
        "seeds": order.seeds,
        "excluded": order.excluded,
        "subjects": order.subjects,
        "delay_seconds": order.delay_seconds,
        "request_seconds": order.request_seconds,
    }
    return json.dumps(fields)
