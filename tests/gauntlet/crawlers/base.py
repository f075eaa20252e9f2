"""What a crawl is told, and what an adapter of a crawler does."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tests.gauntlet.web.site import NETWORK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[3]
CONTACT = "https://gauntlet.example/about"


@dataclass(frozen=True, slots=True)
class Order:
    """One crawl: where it starts, what bounds it, and where its files go."""

    seeds: tuple[str, ...]
    folder: Path
    delay_seconds: float
    request_seconds: float
    redirects: int
    excluded: tuple[str, ...]
    """Hosts that it must never contact."""
    hosts: tuple[str, ...]
    """The hosts of the web; a crawl has no other in scope."""
    nameserver: str
    """``ADDRESS:PORT`` of the web's name server."""
    subjects: tuple[str, ...] = ()
    requests: int = 0
    """The most requests of a process that are not done at a time; 0 for the crawler's own number."""
    network: str = NETWORK


class Crawler:
    """A crawler; ``start`` may be called again for the same order after it was killed."""

    name: ClassVar[str]
    can: ClassVar[tuple[str, ...]] = ()
    """What it has a documented option for: ``exclusion`` of hosts, a ``nameserver``, ``resume`` after a kill."""

    def version(self) -> str | None:
        """Return its version; None where it is not installed."""
        raise NotImplementedError

    def start(self, order: Order) -> list[subprocess.Popen[bytes]]:
        """Start its processes."""
        raise NotImplementedError

    def jobdirs(self, order: Order) -> list[Path]:
        """Return the folders with the files of webcrawl's contract."""
        return []

    def close(self) -> None:
        """End what it needed beside its processes."""


def spawn(
    words: Sequence[str], folder: Path, name: str = "crawler", environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process of a crawler with its output in files of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.out").open("ab") as out, (folder / f"{name}.err").open("ab") as err:
        return subprocess.Popen(
            list(map(str, words)),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment,
        )
