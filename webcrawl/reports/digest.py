"""The fetch log boiled down to figures, in memory that does not grow with the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from webcrawl.reports.gaps import Gaps, Turn, turn_of
from webcrawl.reports.gathered import Gathered
from webcrawl.reports.heavy import HeavyHitters
from webcrawl.reports.histogram import SIZE_EDGES, Histogram
from webcrawl.reports.hosts_digest import HostsDigest
from webcrawl.reports.in_order import InOrder
from webcrawl.reports.time_line import TimeLine
from webcrawl.urls.politeness_key import host_of
from webcrawl.urls.registrable import is_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

WINDOW_SECONDS = 180.0
"""How far out of order the lines of a log are, with the timeout that a download has unless it is set."""
SKIPPED = 20_000
"""So many skipped origins are listed."""
NAMES = 2_000
"""So many statuses, errors, MIME types, ... are counted exactly: servers invent some."""
EXTENSION_MAX = 10
"""Characters; what is longer is no extension."""
USELESS_FROM = 10
"""So many pages tell that an extension is never that of a text."""
ADDRESS, NO_DOMAIN = "(address)", "(none)"
"""What stands for the top-level domain of an IP address, and of a name without dots."""
_FOREVER = 1e11
_LARGEST = 1e18


def _names() -> HeavyHitters[str]:
    return HeavyHitters(NAMES)


@dataclass(slots=True)
class Digest:
    """Figures of a crawl, over all its runs and workers. A page is a request for one that got a response."""

    requests: int = 0
    pages: int = 0
    bytes: int = 0
    page_bytes: int = 0
    failed: int = 0
    truncated: int = 0
    duplicates: int = 0
    """Pages whose bytes came before under another URL."""
    duplicate_bytes: int = 0
    started_at: float | None = None
    ended_at: float | None = None
    kinds: HeavyHitters[str] = field(default_factory=_names)
    workers: HeavyHitters[str] = field(default_factory=_names)
    statuses: HeavyHitters[str] = field(default_factory=_names)
    """Of pages."""
    errors: HeavyHitters[str] = field(default_factory=_names)
    """Of all requests."""
    mimes: HeavyHitters[str] = field(default_factory=_names)
    """Of pages with status 200."""
    domains: HeavyHitters[str] = field(default_factory=_names)
    """Top-level domains, by pages."""
    depths: HeavyHitters[str] = field(default_factory=_names)
    """Of pages: links from a seed."""
    languages: HeavyHitters[str] = field(default_factory=_names)
    """Of pages, where the log has them."""
    originals: HeavyHitters[str] = field(default_factory=_names)
    """URLs, by pages that had the same bytes later."""
    refetched: HeavyHitters[str] = field(default_factory=_names)
    """Pages that were fetched before, by whether they had changed."""
    robots: HeavyHitters[str] = field(default_factory=_names)
    """Requests for a robots.txt, by what they came to."""
    origins: Gathered[tuple[float, str]] = field(default_factory=lambda: Gathered(max))
    """Of each origin the last word of its robots.txt, and when it came."""
    sizes: Histogram = field(default_factory=lambda: Histogram(SIZE_EDGES))
    """Bytes of pages with status 200."""
    hosts: HostsDigest = field(default_factory=HostsDigest)
    gaps: Gaps = field(default_factory=Gaps)
    texts: HeavyHitters[str] = field(default_factory=_names)
    """Extensions of the paths of pages with status 200 that were text or XHTML, or did not say what they were."""
    others: HeavyHitters[str] = field(default_factory=_names)
    """Extensions of the other ones."""
    skipped: dict[str, float] = field(default_factory=dict)
    """Origins that ask for a longer Crawl-delay than is obeyed, and which (seconds); not more than ``SKIPPED``."""
    time_line: TimeLine = field(default_factory=lambda: TimeLine(3))
    """Pages, bytes, failed requests."""

    def useless_extensions(self, number: int) -> list[tuple[str, int]]:
        """Extensions that never were that of a text, with how many pages they had, the most first."""
        texts = {extension for extension, _ in self.texts.most(len(self.texts))}
        found = [one for one in self.others.most(len(self.others)) if one[0] not in texts]
        return [one for one in found if one[1] >= USELESS_FROM][:number]

    def add(self, line: Mapping[str, Any]) -> None:
        """Count one line of the fetch log, but for its gap. Fields that are missing or of another type count as
        nothing."""
        size, status, kind = int(_number(line.get("bytes"))), line.get("status"), str(line.get("kind"))
        host = _host(line.get("url"))
        page = kind == "page" and status is not None
        self.requests += 1
        self.bytes += size
        self.kinds.add(kind)
        self.workers.add(str(line.get("worker")))
        self.truncated += bool(line.get("truncated"))
        self.hosts.add(host, pages=int(page), size=size)
        if status is None:
            self.failed += 1
            self.errors.add(str(line.get("error")))
            self.hosts.add_failure(str(line.get("key")), str(line.get("error")))
        if page:
            self._add_page(line, host, size, status)
        if kind == "robots":
            self._add_robots(line)
        start, end = _number(line.get("start")), _number(line.get("end"))
        if 0 < start < _FOREVER and 0 < end < _FOREVER:
            self.started_at = start if self.started_at is None else min(start, self.started_at)
            self.ended_at = end if self.ended_at is None else max(end, self.ended_at)
            self.time_line.add(end, int(page), size, int(status is None))

    def counted(self, lines: Iterable[Mapping[str, Any]]) -> Iterator[Turn]:
        """Count lines, and give on what their gaps are measured by."""
        for line in lines:
            self.add(line)
            if (turn := turn_of(line)) is not None:
                yield turn

    def _add_page(self, line: Mapping[str, Any], host: str, size: int, status: object) -> None:
        self.pages += 1
        self.page_bytes += size
        self.statuses.add(str(status))
        self.domains.add(_top_level(host))
        self.depths.add(str(line.get("depth")))
        if isinstance(language := line.get("language"), str):
            self.languages.add(language)
        if isinstance(original := line.get("duplicate_of"), str):
            self.duplicates += 1
            self.duplicate_bytes += size
            self.originals.add(original)
        if isinstance(changed := line.get("changed"), bool):
            self.refetched.add("changed" if changed else "unchanged")
        if status == 200:
            mime = str(line.get("mime") or "")
            self.sizes.add(size)
            self.mimes.add(mime or "none given")
            if extension := _extension(str(line.get("url"))):
                (self.texts if _is_text(mime) else self.others).add(extension)

    def _add_robots(self, line: Mapping[str, Any]) -> None:
        state, origin = line.get("robots"), line.get("origin")
        self.robots.add(state if isinstance(state, str) else "not told")
        if not isinstance(state, str) or not isinstance(origin, str):
            return
        self.origins.add(origin, (_number(line.get("end")), state))
        if state != "rules":
            return
        # The last word of an origin counts.
        if not line.get("skipped"):
            self.skipped.pop(origin, None)
        elif len(self.skipped) < SKIPPED:
            self.skipped[origin] = _number(line.get("crawl_delay"))


def digest(
    *logs: Iterable[Mapping[str, Any]], window_seconds: float = WINDOW_SECONDS, gaps: Gaps | None = None
) -> Digest:
    """The figures of whole logs, one of each worker. ``window_seconds``: as for ``InOrder``."""
    figures = Digest() if gaps is None else Digest(gaps=gaps)
    turns: Sequence[Iterable[Turn]] = [figures.counted(log) for log in logs]
    for turn in InOrder(turns, window_seconds):
        figures.gaps.take(turn)
    return figures


def _host(url: object) -> str:
    try:
        return host_of(url) if isinstance(url, str) and url.startswith(("http://", "https://")) else ""
    except ValueError:
        return ""


@lru_cache(65_536)
def _top_level(host: str) -> str:
    if not host or is_address(host):
        return ADDRESS if host else NO_DOMAIN
    return host.rstrip(".").rpartition(".")[2] if "." in host.rstrip(".") else NO_DOMAIN


def _extension(url: str) -> str:
    """What stands behind the last dot of a path's last segment, in lower case; empty without anything like it."""
    name = url.partition("?")[0].partition("#")[0].rpartition("/")[2]
    extension = name.rpartition(".")[2].lower() if "." in name and url.count("/") > 2 else ""
    return extension if extension.isalnum() and len(extension) <= EXTENSION_MAX else ""


def _is_text(mime: str) -> bool:
    return not mime or mime.startswith("text/") or mime == "application/xhtml+xml"


def _number(value: object) -> float:
    """0 for what is none, or none that can be."""
    return float(value) if isinstance(value, int | float) and -_LARGEST < value < _LARGEST else 0.0
