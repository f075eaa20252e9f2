"""The fetch log boiled down to figures, in memory that does not grow with the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from webcrawl.reports.freshness import Freshness
from webcrawl.reports.gaps import Gaps, Turn, turn_of
from webcrawl.reports.gathered import Gathered
from webcrawl.reports.harvest import Harvest
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
ALIKE_MAX = 20_000
"""So many different lines, by what is counted of them by value, are counted together."""
EXTENSION_MAX = 10
"""Characters; what is longer is no extension."""
USELESS_FROM = 10
"""So many pages tell that an extension is never that of a text."""
ADDRESS, NO_DOMAIN = "(address)", "(none)"
"""What stands for the top-level domain of an IP address, and of a name without dots."""
Alike = tuple[Any, ...]
"""The fields of ``_ALIKE``, top-level domain and extension of a page."""
_ALIKE = ("kind", "status", "error", "worker", "mime", "depth", "language", "changed", "truncated")
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
    cut: int = 0
    """Pages of which there was more than was read."""
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
    freshness: Freshness = field(default_factory=Freshness)
    """Of a crawl that goes on."""
    harvest: Harvest = field(default_factory=Harvest)
    """Of a crawl that looks for certain pages."""
    texts: HeavyHitters[str] = field(default_factory=_names)
    """Extensions of the paths of pages with status 200 that were text or XHTML, or did not say what they were."""
    others: HeavyHitters[str] = field(default_factory=_names)
    """Extensions of the other ones."""
    skipped: dict[str, float] = field(default_factory=dict)
    """Origins that ask for a longer Crawl-delay than is obeyed, and which (seconds); not more than ``SKIPPED``."""
    time_line: TimeLine = field(default_factory=lambda: TimeLine(3))
    """Pages, bytes, failed requests."""
    _alike: dict[Alike, int] = field(default_factory=dict)
    """How many lines have the same in all that is counted by value."""

    def useless_extensions(self, number: int) -> list[tuple[str, int]]:
        """Extensions that never were that of a text, with how many pages they had, the most first."""
        texts = {extension for extension, _ in self.texts.most(len(self.texts))}
        found = [one for one in self.others.most(len(self.others)) if one[0] not in texts]
        return [one for one in found if one[1] >= USELESS_FROM][:number]

    def add(self, line: Mapping[str, Any]) -> Turn | None:
        """Count one line of the fetch log but for its gap, and give what that is measured by. Fields that are missing
        or of another type count as nothing. What lines have in common is not counted before ``settle``."""
        get = line.get
        size, status, kind, url = get("bytes"), get("status"), get("kind"), get("url")
        if type(size) is not int or not 0 <= size < _LARGEST:
            size = int(_number(size))
        host = _host(url)
        page = kind == "page" and status is not None
        self.requests += 1
        self.bytes += size
        self.hosts.add(host, pages=int(page), size=size)
        extension = ""
        if page:
            self.page_bytes += size
            if "duplicate_of" in line:
                self._add_duplicate(line, size)
            if "cut" in line:
                self.cut += 1
            if "relevance" in line:
                self.harvest.add(line, host)
            if status == 200:
                self.sizes.add(size)
                extension = _extension(str(url))
        elif kind == "robots":
            self._add_robots(line)
        if "revisit" in line:
            self.freshness.add(line)
        if status is None:
            self.hosts.add_failure(str(get("key")), str(get("error")))
        alike: Alike = (*map(get, _ALIKE), _top_level(host) if page else "", extension)
        try:
            self._alike[alike] = self._alike.get(alike, 0) + 1
        except TypeError:  # a list where none belongs
            self._count(alike, 1)
        if len(self._alike) > ALIKE_MAX:
            self.settle()
        return self._when(line, int(page), size, int(status is None))

    def settle(self) -> None:
        """Count what lines had in common."""
        for alike, number in self._alike.items():
            self._count(alike, number)
        self._alike.clear()

    def counted(self, lines: Iterable[Mapping[str, Any]]) -> Iterator[Turn]:
        """Count lines, and give on what their gaps are measured by."""
        for line in lines:
            if (turn := self.add(line)) is not None:
                yield turn

    def _when(self, line: Mapping[str, Any], page: int, size: int, failed: int) -> Turn | None:
        start, end = _number(line.get("start")), _number(line.get("end"))
        if not (0 < start < _FOREVER and 0 < end < _FOREVER):
            return None
        if self.started_at is None or start < self.started_at:
            self.started_at = start
        if self.ended_at is None or end > self.ended_at:
            self.ended_at = end
        self.time_line.add(end, page, size, failed)
        return turn_of(line, start, end)

    def _count(self, alike: Alike, number: int) -> None:
        kind, status, error, worker, mime, depth, language, changed, truncated, domain, extension = alike
        self.kinds.add(str(kind), number)
        self.workers.add(str(worker), number)
        if truncated:
            self.truncated += number
        if status is None:
            self.failed += number
            self.errors.add(str(error), number)
        elif kind == "page":
            self.pages += number
            self.statuses.add(str(status), number)
            self.domains.add(domain, number)
            self.depths.add(str(depth), number)
            if isinstance(language, str):
                self.languages.add(language, number)
            if isinstance(changed, bool):
                self.refetched.add("changed" if changed else "unchanged", number)
            if status == 200:
                mime = str(mime or "")
                self.mimes.add(mime or "none given", number)
                if extension:
                    (self.texts if _is_text(mime) else self.others).add(extension, number)

    def _add_duplicate(self, line: Mapping[str, Any], size: int) -> None:
        if isinstance(original := line["duplicate_of"], str):
            self.duplicates += 1
            self.duplicate_bytes += size
            self.originals.add(original)

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
    for turn in InOrder(turns, window_seconds, start=itemgetter(0), end=itemgetter(1)):
        figures.gaps.take(turn)
    figures.settle()
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
    path = url[: url.find("?")] if "?" in url else url
    path = path[: path.find("#")] if "#" in path else path
    begins = path.rfind(".") + 1
    if begins <= path.rfind("/") or url.count("/") <= 2:
        return ""
    extension = path[begins:].lower()
    return extension if extension.isalnum() and len(extension) <= EXTENSION_MAX else ""


def _is_text(mime: str) -> bool:
    return not mime or mime.startswith("text/") or mime == "application/xhtml+xml"


def _number(value: object) -> float:
    """0 for what is none, or none that can be."""
    if type(value) is float and -_LARGEST < value < _LARGEST:
        return value
    return float(value) if isinstance(value, int | float) and -_LARGEST < value < _LARGEST else 0.0
