"""The figures of a report, computed from the fetch log in bounded memory.

They cover hosts and failing hosts (exact for each, however many there are), the pauses between requests to one
politeness key compared with the pauses that were owed, and the relevant pages of a focused crawl.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappush, heappushpop, nlargest
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.external_sort import Gathered
from webcrawl.reports.clocks import NOTHING_SENT
from webcrawl.reports.counting import (
    LARGEST,
    SECONDS_EDGES,
    SIZE_EDGES,
    HeavyHitters,
    Histogram,
    TimeLine,
    number_in,
)
from webcrawl.reports.fetch_logs import LogMerger
from webcrawl.robots.purposes import NO, PURPOSES, YES
from webcrawl.urls.politeness_key import get_host, is_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from webcrawl.reports.freshness import Freshness


STEP = math.log(1.02)
"""The logarithm of the step in which bytes of hosts are counted, 2 %."""
_BETWEEN = "\0"
_EXAMPLE_MAX = 2_000
"""The number of characters of an example that are kept."""
EXAMPLES = 3
"""The number of URLs that are kept for each error."""


class Failing(NamedTuple):
    """A politeness key with requests that failed."""

    number: int
    key: str
    errors: tuple[tuple[str, int], ...]
    """The kinds of failures with their counts; the most frequent first."""
    example: str
    """One of the URLs that failed."""


@dataclass(slots=True)
class HostsDigest:
    """Pages and bytes of each host."""

    _hosts: Gathered[tuple[int, int]] = field(default_factory=lambda: Gathered(_both))
    """Pages and bytes by host."""
    _failures: Gathered[tuple[int, str]] = field(default_factory=lambda: Gathered(_with_example))
    """The number of failures and a URL by politeness key and error."""

    def add(self, host: str, *, pages: int, size: int) -> None:
        self._hosts.add(host, (pages, size))

    def add_failure(self, key: str, error: str, url: str) -> None:
        place = f"{key.replace(_BETWEEN, '')}{_BETWEEN}{error.replace(_BETWEEN, '')}"
        self._failures.add(place, (1, url[:_EXAMPLE_MAX]), len(url))

    def ranked(self, number: int) -> Ranks:
        """Return the figures of the hosts; ``number`` of them by name."""
        ranks = Ranks()
        for host, (pages, size) in self._hosts:
            ranks.hosts += 1
            if pages:
                ranks.pages[pages] += 1
                _keep(ranks.most_pages, (pages, host), number)
            if size > 0:
                ranks.bytes[math.floor(math.log(size) / STEP)] += 1
                _keep(ranks.most_bytes, (size, host), number)
        for most in (ranks.most_pages, ranks.most_bytes):
            most.sort(key=lambda item: (-item[0], item[1]))
        return ranks

    def failing(self, number: int) -> list[Failing]:
        """Return the politeness keys with the most failed requests."""

        return nlargest(number, self._by_key(), key=attrgetter("number"))

    def _by_key(self) -> Iterator[Failing]:
        failures = ((place.partition(_BETWEEN), count, url) for place, (count, url) in self._failures)
        for key, group in groupby(failures, key=lambda failure: failure[0][0]):
            errors = sorted(((place[2], count, url) for place, count, url in group), key=_most_first)
            counts = tuple((error, count) for error, count, _ in errors)
            yield Failing(sum(count for _, count in counts), key, counts, errors[0][2])


@dataclass(slots=True)
class Ranks:
    """Hosts ranked by pages and bytes."""

    hosts: int = 0
    pages: Counter[int] = field(default_factory=Counter)
    """The number of hosts by their pages."""
    bytes: Counter[int] = field(default_factory=Counter)
    """The number of hosts by their approximate bytes, as a logarithm in ``STEP``."""
    most_pages: list[tuple[int, str]] = field(default_factory=list)
    most_bytes: list[tuple[int, str]] = field(default_factory=list)

    def curve_of_pages(self) -> list[tuple[int, float]]:
        """Return rank and pages; hosts with the same number of pages are one step with its first and last rank."""
        return _curve(sorted(self.pages.items(), reverse=True), float)

    def curve_of_bytes(self) -> list[tuple[int, float]]:
        """Return rank and bytes, to 2 %."""
        return _curve(sorted(self.bytes.items(), reverse=True), lambda step: math.exp((step + 0.5) * STEP))


def _with_example(first: tuple[int, str], second: tuple[int, str]) -> tuple[int, str]:
    return first[0] + second[0], min(first[1], second[1])


def _most_first(error: tuple[str, int, str]) -> tuple[int, str]:
    return -error[1], error[0]


def _both(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    return first[0] + second[0], first[1] + second[1]


def _curve(steps: list[tuple[int, int]], value_of: Callable[[int], float]) -> list[tuple[int, float]]:
    points: list[tuple[int, float]] = []
    rank = 1
    for step, hosts in steps:
        value = value_of(step)
        points.append((rank, value))
        if hosts > 1:
            points.append((rank + hosts - 1, value))
        rank += hosts
    return points


def _keep(most: list[tuple[int, str]], item: tuple[int, str], number: int) -> None:
    """Keep the largest items in a heap."""
    if len(most) < number:
        heappush(most, item)
    elif item > most[0]:
        heappushpop(most, item)


KEYS_MAX = 300_000
"""The number of keys whose last request is remembered, in some 100 MB; the least recently used ones are forgotten."""
TOLERANCE_SECONDS = 0.01
"""The difference between clocks that is tolerated before a pause counts as short, as in an audit."""


Turn = tuple[float, float, str, float | None]
"""The times of a request: when it started; when it ended, or its worker lost the key and it was aborted (epoch
seconds); its key; the pause owed afterwards, None if the log does not have it. A plain tuple: there is one for each
line of a log, and the garbage collector stops tracking tuples of numbers.
"""


def find_turn(line: Mapping[str, Any], start: float, end: float) -> Turn | None:
    """Return the turn of a line with these times; None if it lacks a key, or if no request was sent."""
    key, delay = line.get("key"), line.get("delay")
    if not isinstance(key, str) or (delay is None and line.get("cached") is True):
        return None
    if "lost_at" in line and isinstance(lost := line["lost_at"], int | float):
        if line.get("error") == NOTHING_SENT:
            return None
        end = min(end, lost)
    return start, max(start, end), key, float(delay) if isinstance(delay, int | float) else None


class Gaps:
    """Measures the gaps between turns, which are added in the order of their starts.

    A gap runs from the end of a request to the start of the next to the same key; the owed pause is the delay after
    the request that ended last. The time beyond it is unused: the key could have been requested, if it had URLs.
    """

    def __init__(self, keys_max: int = KEYS_MAX) -> None:
        self._keys_max = keys_max
        self._last: dict[str, tuple[float, float, float | None, float, float, float | None]] = {}
        """The start, end and delay by key, of the turn that ends last, and of the turn that was added last. Plain
        numbers, which the garbage collector does not track.
        """
        self.measured = 0
        self.unknown = 0
        """Gaps after requests whose owed pause is not in the log."""
        self.forgotten = 0
        """Keys that were forgotten: at most so many gaps are not counted."""
        self.short = 0
        """Gaps shorter than the owed pause."""
        self.owed_seconds = 0.0
        self.waited_seconds = 0.0
        self.unused_seconds = 0.0
        self.would_fit = 0.0
        """Requests that would have fitted into the unused time."""
        self.unused = Histogram(SECONDS_EDGES)
        self.grid: dict[tuple[int, int], int] = {}
        """The number of gaps by the bins of the owed pause and of their own length, as in ``unused``."""

    def take(self, turn: Turn) -> None:
        start, end, key, delay = turn
        last = self._last
        known = last.pop(key, None)
        if known is None:
            last[key] = start, end, delay, start, end, delay
            if len(last) > self._keys_max:
                del last[next(iter(last))]
                self.forgotten += 1
            return
        before_start, before_end, owed, latest_start, latest_end, latest_delay = known
        if latest_start == start and latest_end == end and latest_delay == delay:  # in a copy of the log
            last[key] = known
            return
        self._measure(start - before_end, owed, before_end - before_start)
        if end < before_end:
            last[key] = before_start, before_end, owed, start, end, delay
        else:
            last[key] = start, end, delay, start, end, delay

    def _measure(self, gap: float, owed: float | None, took: float) -> None:
        """``took``: duration of the request before, in seconds."""
        if owed is None:
            self.unknown += 1
            return
        self.measured += 1
        self.short += gap < owed - TOLERANCE_SECONDS
        unused = gap - owed if gap > owed else 0.0
        self.owed_seconds += owed
        if gap > 0:
            self.waited_seconds += gap
        self.unused_seconds += unused
        if (each := owed + took) > 0:
            self.would_fit += unused / each
        self.unused.add(unused)
        place = self.unused.bin_index(owed), self.unused.bin_index(gap)
        self.grid[place] = self.grid.get(place, 0) + 1


TENTHS = 10
HOSTS = 2_000
"""The number of hosts that are counted exactly."""


@dataclass(slots=True)
class Harvest:
    """Figures of pages whose lines have a relevance; pages that count as found say ``relevant``."""

    scored: int = 0
    relevant: int = 0
    total: float = 0.0
    """The sum of all relevances."""
    tenths: list[int] = field(default_factory=lambda: [0] * TENTHS)
    """Pages by tenths of their relevance; 1 is in the last tenth."""
    hosts: HeavyHitters[str] = field(default_factory=lambda: HeavyHitters(HOSTS))
    """Hosts by their relevant pages."""
    time_line: TimeLine = field(default_factory=lambda: TimeLine(2))
    """Pages that were scored, and pages that are relevant."""

    def add(self, line: Mapping[str, Any], host: str) -> None:
        """Count a page. A value that is no relevance is ignored."""
        relevance = line["relevance"]
        if type(relevance) not in (int, float) or not 0 <= relevance <= 1:
            return
        is_relevant = line.get("relevant") is True
        self.scored += 1
        self.relevant += is_relevant
        self.total += relevance
        self.tenths[min(int(relevance * TENTHS), TENTHS - 1)] += 1
        if is_relevant:
            self.hosts.add(host)
        if type(ended := line.get("end")) is float and 0 < ended < 1e11:
            self.time_line.add(ended, 1, int(is_relevant))

    @property
    def rate(self) -> float:
        """The share of relevant pages."""
        return self.relevant / self.scored if self.scored else 0.0


WINDOW_SECONDS = 180.0
"""Seconds by which the lines of a log may be out of order, with the default download timeout."""
SKIPPED = 20_000
"""The number of skipped origins that are listed."""
NAMES = 2_000
"""The number of statuses, errors, MIME types, ... that are counted exactly: servers invent some."""
ALIKE_MAX = 20_000
"""The number of different lines, by the fields of ``_ALIKE``, that are counted together."""
EXTENSION_MAX = 10
"""The longest extension in characters."""
USELESS_FROM = 10
"""The number of pages after which an extension counts as never that of a text."""
ADDRESS, NO_DOMAIN = "(address)", "(none)"
"""Placeholders for the top-level domain of an IP address, and of a name without dots."""
Alike = tuple[Any, ...]
"""The fields of ``_ALIKE``, whether it is an error, top-level domain and extension of a page."""
_ALIKE = ("kind", "status", "error", "worker", "mime", "depth", "language", "changed", "truncated")
_FOREVER = 1e11
_VERDICTS = (YES, NO)


def _names() -> HeavyHitters[str]:
    return HeavyHitters(NAMES)


def is_error(line: Mapping[str, Any]) -> bool:
    """Return True for a line of the fetch log that is an error: a request that ended without a response.

    One that was lost with a kept connection and sent again at once is none: its second sending has a line of its own.
    """
    return line.get("status") is None and line.get("resent") is not True


@dataclass(slots=True)
class Digest:
    """Figures of a crawl, over all its runs and workers. A page is a request for one that got a response."""

    requests: int = 0
    pages: int = 0
    bytes: int = 0
    page_bytes: int = 0
    failed: int = 0
    """Errors; see ``is_error``."""
    truncated: int = 0
    cut: int = 0
    links_dropped: int = 0
    pages_with_dropped: int = 0
    """Pages that were longer than the part that was read."""
    duplicates: int = 0
    """Pages with the same bytes as another URL before."""
    duplicate_bytes: int = 0
    started_at: float | None = None
    ended_at: float | None = None
    kinds: HeavyHitters[str] = field(default_factory=_names)
    workers: HeavyHitters[str] = field(default_factory=_names)
    statuses: HeavyHitters[str] = field(default_factory=_names)
    """Statuses of pages."""
    errors: HeavyHitters[str] = field(default_factory=_names)
    """Errors of all requests."""
    examples: dict[str, list[str]] = field(default_factory=dict)
    """The first URLs of each error."""
    mimes: HeavyHitters[str] = field(default_factory=_names)
    """MIME types of pages with status 200."""
    domains: HeavyHitters[str] = field(default_factory=_names)
    """Top-level domains, by pages."""
    depths: HeavyHitters[str] = field(default_factory=_names)
    """Depths of pages: links from a seed."""
    languages: HeavyHitters[str] = field(default_factory=_names)
    """Languages of pages, if the log has them."""
    usage: dict[tuple[str, str], int] = field(default_factory=dict)
    """Pages by purpose and what is said about the use for it, ``yes`` or ``no``."""
    usage_recorded: int = 0
    """Pages with a record of what they may be used for."""
    usage_stated: int = 0
    """Those of them of which anything is said."""
    usage_withheld: int = 0
    originals: HeavyHitters[str] = field(default_factory=_names)
    """URLs by the number of later pages with the same bytes."""
    refetched: HeavyHitters[str] = field(default_factory=_names)
    """Pages that were fetched before, by whether they had changed."""
    robots: HeavyHitters[str] = field(default_factory=_names)
    """Requests for a robots.txt, by their outcome."""
    origins: Gathered[tuple[float, str]] = field(default_factory=lambda: Gathered(max))
    """The last outcome of each origin's robots.txt, and its time."""
    sizes: Histogram = field(default_factory=lambda: Histogram(SIZE_EDGES))
    """Bytes of pages with status 200."""
    hosts: HostsDigest = field(default_factory=HostsDigest)
    gaps: Gaps = field(default_factory=Gaps)
    _freshness: Freshness | None = None
    harvest: Harvest = field(default_factory=Harvest)
    """Figures of a focused crawl."""
    refusals: HeavyHitters[str] = field(default_factory=_names)
    """Responses by which sites refused, by kind."""
    refusing: HeavyHitters[str] = field(default_factory=_names)
    """The same by politeness key, kind, and the network or software that refused."""
    texts: HeavyHitters[str] = field(default_factory=_names)
    """Extensions of the paths of pages with status 200 that were text or XHTML, or had no Content-Type."""
    others: HeavyHitters[str] = field(default_factory=_names)
    """Extensions of the other pages with status 200."""
    skipped: dict[str, float] = field(default_factory=dict)
    """Origins that ask for a longer Crawl-delay than is obeyed, with that delay in seconds; at most ``SKIPPED``."""
    time_line: TimeLine = field(default_factory=lambda: TimeLine(3))
    """Pages, bytes, failed requests."""
    _alike: dict[Alike, int] = field(default_factory=dict)
    """The number of lines by the fields that are counted by value."""

    def refusing_hosts(self, number: int) -> list[tuple[str, str, str, int]]:
        """Return politeness keys by number of refusals, the most first, each with their kind and who refused."""
        rows = []
        for place, count in self.refusing.most(number):
            key, kind, by = place.split(_BETWEEN, 2)
            rows.append((key, kind, by, count))
        return rows

    def useless_extensions(self, number: int) -> list[tuple[str, int]]:
        """Return extensions that never were that of a text, with their numbers of pages, the most first."""
        texts = {extension for extension, _ in self.texts.most(len(self.texts))}
        extensions = [
            extension for extension in self.others.most(len(self.others)) if extension[0] not in texts
        ]
        return [extension for extension in extensions if extension[1] >= USELESS_FROM][:number]

    @property
    def freshness(self) -> Freshness:
        """Figures of a crawl that revisits pages."""
        if self._freshness is None:
            # The report of another crawl does not import this.
            from webcrawl.reports.freshness import Freshness

            self._freshness = Freshness()
        return self._freshness

    @property
    def has_revisits(self) -> bool:
        """True if a page was revisited."""
        return self._freshness is not None

    def add(self, line: Mapping[str, Any]) -> Turn | None:
        """Count one line of the fetch log except its gap, and return the turn by which the gap is measured. Fields
        that are missing or of another type are ignored. The fields of ``_ALIKE`` are counted by ``settle``.
        """
        get = line.get
        size, status, kind, url = get("bytes"), get("status"), get("kind"), get("url")
        if type(size) is not int or not 0 <= size < LARGEST:
            size = int(number_in(size) or 0.0)
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
            self._add_unread(line)
            if "relevance" in line:
                self.harvest.add(line, host)
            if "usage" in line:
                self._add_usage(line)
            if status == 200:
                self.sizes.add(size)
                extension = _extension(str(url))
        elif kind == "robots" and line.get("resent") is not True:
            self._add_robots(line)
        self._add_rare(line)
        failed = is_error(line)
        if failed:
            self._add_failure(str(get("key")), str(get("error")), url)
        alike: Alike = (*map(get, _ALIKE), failed, _top_level(host) if page else "", extension)
        try:
            self._alike[alike] = self._alike.get(alike, 0) + 1
        except TypeError:  # a list in place of a plain value
            self._count(alike, 1)
        if len(self._alike) > ALIKE_MAX:
            self.settle()
        return self._when(line, int(page), size, int(failed))

    def _add_usage(self, line: Mapping[str, Any]) -> None:
        usage = line["usage"]
        if not isinstance(usage, dict):
            return
        self.usage_recorded += 1
        self.usage_stated += bool(usage)
        self.usage_withheld += line.get("withheld") is True
        for purpose in PURPOSES:
            if (verdict := usage.get(purpose)) in _VERDICTS:
                place = purpose, verdict
                self.usage[place] = self.usage.get(place, 0) + 1

    def _add_rare(self, line: Mapping[str, Any]) -> None:
        """Count what few lines have: a revisit, or a refusal of the site."""
        if "revisit" in line:
            self.freshness.add(line)
        if "refusal" in line:
            self.refusals.add(str(line["refusal"]))
            names = (line.get("key"), line["refusal"], line.get("refusal_by") or "")
            self.refusing.add(_BETWEEN.join(str(name).replace(_BETWEEN, "") for name in names))

    def _add_failure(self, key: str, error: str, url: object) -> None:
        url = url[:_EXAMPLE_MAX] if isinstance(url, str) else ""
        self.hosts.add_failure(key, error, url)
        if error not in self.examples and len(self.examples) >= NAMES:
            return
        examples = self.examples.setdefault(error, [])
        if len(examples) < EXAMPLES and url and url not in examples:
            examples.append(url)

    def settle(self) -> None:
        """Count the fields that lines have in common."""
        for alike, number in self._alike.items():
            self._count(alike, number)
        self._alike.clear()

    def counted(self, lines: Iterable[Mapping[str, Any]]) -> Iterator[Turn]:
        """Count lines, and yield the turns by which their gaps are measured."""
        for line in lines:
            if (turn := self.add(line)) is not None:
                yield turn

    def _when(self, line: Mapping[str, Any], page: int, size: int, failed: int) -> Turn | None:
        start, end = number_in(line.get("start")), number_in(line.get("end"))
        if not (start and end and 0 < start < _FOREVER and 0 < end < _FOREVER):
            return None
        if self.started_at is None or start < self.started_at:
            self.started_at = start
        if self.ended_at is None or end > self.ended_at:
            self.ended_at = end
        self.time_line.add(end, page, size, failed)
        return find_turn(line, start, end)

    def _count(self, alike: Alike, number: int) -> None:
        kind, status, error, worker, mime, depth, language, changed, truncated, failed, domain, extension = (
            alike
        )
        self.kinds.add(str(kind), number)
        self.workers.add(str(worker), number)
        if truncated:
            self.truncated += number
        if failed:
            self.failed += number
            self.errors.add(str(error), number)
        elif status is not None and kind == "page":
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

    def _add_unread(self, line: Mapping[str, Any]) -> None:
        """Count what is not known of a page: its end, or some of its links."""
        if "cut" in line:
            self.cut += 1
        if (dropped := number_in(line.get("links_dropped"), 1)) is not None:
            self.links_dropped += int(dropped)
            self.pages_with_dropped += 1

    def _add_robots(self, line: Mapping[str, Any]) -> None:
        state, origin = line.get("robots"), line.get("origin")
        self.robots.add(state if isinstance(state, str) else "not recorded")
        if not isinstance(state, str) or not isinstance(origin, str):
            return
        self.origins.add(origin, (number_in(line.get("end")) or 0.0, state))
        if state != "rules":
            return
        # Only the last outcome of an origin counts.
        if not line.get("skipped"):
            self.skipped.pop(origin, None)
        elif len(self.skipped) < SKIPPED:
            self.skipped[origin] = number_in(line.get("crawl_delay")) or 0.0


def digest(
    *logs: Iterable[Mapping[str, Any]], window_seconds: float = WINDOW_SECONDS, gaps: Gaps | None = None
) -> Digest:
    """Return the figures of whole logs, one of each worker. ``window_seconds``: as for ``LogMerger``."""
    figures = Digest() if gaps is None else Digest(gaps=gaps)
    turns: Sequence[Iterable[Turn]] = [figures.counted(log) for log in logs]
    for turn in LogMerger(turns, window_seconds, start=itemgetter(0), end=itemgetter(1)):
        figures.gaps.take(turn)
    figures.settle()
    return figures


def _host(url: object) -> str:
    try:
        return get_host(url) if isinstance(url, str) and "://" in url else ""
    except ValueError:
        return ""


@lru_cache(65_536)
def _top_level(host: str) -> str:
    if not host or is_address(host):
        return ADDRESS if host else NO_DOMAIN
    return host.rstrip(".").rpartition(".")[2] if "." in host.rstrip(".") else NO_DOMAIN


def _extension(url: str) -> str:
    """Return the text after the last dot of a path's last segment, in lower case; empty if there is none."""
    path = url[: url.find("?")] if "?" in url else url
    path = path[: path.find("#")] if "#" in path else path
    begins = path.rfind(".") + 1
    if begins <= path.rfind("/") or url.count("/") <= 2:
        return ""
    extension = path[begins:].lower()
    return extension if extension.isalnum() and len(extension) <= EXTENSION_MAX else ""


def _is_text(mime: str) -> bool:
    return not mime or mime.startswith("text/") or mime == "application/xhtml+xml"
