"""The subjects of the gauntlet: each a site, the limits of a crawl of it, and a judge.

A subject's name is, with underscores, that of its modules: one in ``web/`` with ``build``, one in ``judges/`` with
``judge``.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from tests.gauntlet import software
from tests.gauntlet.web import memory, resume, traps_real

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.gauntlet.evidence import Evidence
    from tests.gauntlet.scorecard import Judged
    from tests.gauntlet.web.site import Site


@dataclass(frozen=True, slots=True)
class Subject:
    """What is judged in one crawl, and what that crawl is told."""

    name: str
    number: int
    """The third byte of its site's addresses."""
    delay_seconds: float = 0.25
    request_seconds: float = 8.0
    """The longest time for one request."""
    redirects: int = 3
    limit_seconds: float = 600.0
    """After this time the crawl is stopped. It ends by itself long before, also on a busy machine."""
    requests: int = 0
    """The most requests of a process that are not done at a time; 0 for the crawler's own number."""
    enough: int = 0
    """After so many requests the crawl is stopped; 0: it is to end by itself."""
    kills: tuple[int, ...] = ()
    """After so many requests it is killed, and started again."""

    @property
    def module(self) -> str:
        """The name of its modules."""
        return self.name.replace("-", "_")

    @property
    def section(self) -> str:
        """The title of its rows."""
        title: str = import_module(f"tests.gauntlet.judges.{self.module}").SECTION
        return title

    def is_possible(self) -> bool:
        """Whether what its site needs could be installed."""
        return self.name != "traps-real" or software.install()

    def site(self) -> Site:
        """Return its site."""
        site: Site = import_module(f"tests.gauntlet.web.{self.module}").build(self.number)
        return site

    def judge(self, evidence: Evidence) -> Iterator[Judged]:
        """Yield its judgements."""
        rows: Iterator[Judged] = import_module(f"tests.gauntlet.judges.{self.module}").judge(evidence)
        return rows


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("coverage", 1),
        Subject("politeness", 2),
        Subject("robots", 3),
        Subject("redirects", 4),
        Subject("duplicates", 5),
        Subject("charsets", 6),
        Subject("sitemaps", 7),
        Subject("schemes", 8),
        Subject("ssrf", 9),
        Subject("keepalive", 10),
        Subject("slow", 11),
        Subject("traps", 12, delay_seconds=0.0),
        Subject("bombs", 13),
        Subject("resume", 14, delay_seconds=0.1, requests=resume.REQUESTS, kills=resume.KILLS),
        Subject("memory", 15, delay_seconds=0.3, request_seconds=20.0, enough=memory.PAGES),
        Subject("traps-real", 16, delay_seconds=0.0, request_seconds=20.0, limit_seconds=traps_real.SECONDS),
    )
}

TOGETHER = (
    "coverage",
    "politeness",
    "robots",
    "redirects",
    "duplicates",
    "charsets",
    "sitemaps",
    "schemes",
    "ssrf",
    "keepalive",
    "slow",
)
"""Subjects whose sites one crawl can take all at once: each host has its own clock."""
