"""Lists of URLs by their states, and seeds for the next crawl: of each site the best page to start from.

The states of URLs are in the frontier. It has the texts of queued URLs only, and of all others a fingerprint; the
texts of these are in the fetch log if they were fetched or redirected to. Those of URLs that were refused without a
request are in the link log. Without a frontier the state is that of the last line of a URL.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from webcrawl.export.safe import one_line
from webcrawl.export.tree import NO_HOST, host_domain, host_in
from webcrawl.external_sort import Gathered
from webcrawl.frontier.records import QUEUED, State, UrlRecord
from webcrawl.urls.canonical import canonical_all
from webcrawl.urls.fingerprint import fingerprint_all
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from webcrawl.storage.inspection import UrlStateReader
    from webcrawl.urls.canonical import CanonicalRules


AT_ONCE = 500
"""The number of URLs of a key that are looked up in the frontier at a time."""
_BETWEEN = "\0"
"""A separator that no key and no URL contains."""

LoggedFacts = tuple[float, int, str, int, str, str, bool]
"""The facts about a URL in the logs: end of its last request (``_TARGET``: it was only redirected to, ``_LINK``:
linked to), status (0 for none), error, depth (negative: unknown), via, its spelling if it is another one, and
whether it is left out, since it may not be used.
"""
_TARGET, _LINK = -1.0, -2.0
MARK_BITS = 27
"""The number of bits of a fingerprint that a ``FingerprintFilter`` stores."""


@dataclass(frozen=True, slots=True)
class UrlState:
    """A URL with its known facts; None is unknown."""

    url: str
    record: UrlRecord
    key: str
    ended_at: float | None = None
    """End of its last request in epoch seconds."""
    depth: int | None = None
    via: str | None = None
    level: int | None = None
    """The level of a queued URL."""
    attempts: int | None = None
    """Failed fetches of a queued URL."""

    def columns(self) -> dict[str, Any]:
        """Return its known facts by their names in the list."""
        facts = asdict(self)
        del facts["record"]
        facts = {"url": facts.pop("url"), **self.record.facts(), **facts}
        return {name: value for name, value in facts.items() if value is not None}


class FingerprintFilter:
    """A set of fingerprints in 16 MB, whatever their number: it has no false negatives, and few false positives."""

    def __init__(self) -> None:
        self._bits = bytearray(1 << (MARK_BITS - 3))

    def add(self, fingerprints: Iterable[int]) -> None:
        bits = self._bits
        for mark in fingerprints:
            bits[mark >> 3 & _LAST] |= 1 << (mark & 7)

    def among(self, fingerprints: Iterable[int]) -> list[int]:
        """Return the positions of those that are probably in the set."""
        bits = self._bits
        return [place for place, mark in enumerate(fingerprints) if bits[mark >> 3 & _LAST] >> (mark & 7) & 1]


_LAST = (1 << (MARK_BITS - 3)) - 1


class FetchedUrls:
    """Every URL of the logs once, with its outcome."""

    def __init__(
        self,
        rules: CanonicalRules,
        get_key: Callable[[str], str],
        admits: Callable[[Mapping[str, Any]], bool] = lambda line: True,
    ) -> None:
        """``rules``: those under which the crawl compares URLs. ``get_key`` returns the politeness key of a URL.
        ``admits`` returns False for the line of a page that is left out, unless a later line is not."""
        self._admits = admits
        self.left_out = 0
        """The number of URLs that were left out."""
        self._rules = rules
        self._get_key = get_key
        self._facts: Gathered[LoggedFacts] = Gathered(max)

    def add(self, line: Mapping[str, Any]) -> None:
        """Take a line of the log; robots.txt files have no state, and are skipped."""
        url, key = line.get("url"), line.get("key")
        if not isinstance(url, str) or not isinstance(key, str) or line.get("kind") == "robots":
            return
        status, end, depth = line.get("status"), line.get("end"), line.get("depth")
        facts = (
            float(end) if isinstance(end, int | float) else 0.0,
            status if isinstance(status, int) else 0,
            str(line.get("error") or ""),
            depth if isinstance(depth, int) else 0,
            str(line.get("via") or ""),
            "",
            not self._admits(line),
        )
        self._take(key, url, facts)
        location = line.get("location")
        target = resolve(location, url) if isinstance(location, str) else None
        if target is not None:
            self._take(self._get_key(target), target, (_TARGET, 0, "", facts[3], url, "", False))

    def add_links(self, page: str, links: Sequence[tuple[str, str]], sought: FingerprintFilter) -> None:
        """Take those of a page's links that are probably in ``sought``. ``links``: as linked, and in canonical
        form.
        """
        marks = fingerprint_all([form for _, form in links])
        for place in sought.among(marks):
            url, form = links[place]
            self._take(self._get_key(url), form, (_LINK, 0, "", -1, page, url, False))

    def states(self, reader: UrlStateReader | None) -> Iterator[UrlState]:
        """Yield each URL in its state, key by key; those whose state is unknown are left out."""
        for key, urls in self._by_key():
            known = self._known(reader, key, [url for url, _ in urls])
            for (url, facts), record in zip(urls, known, strict=True):
                if (state := _state(url, key, facts, record)) is None:
                    continue
                if facts[6]:
                    self.left_out += 1
                else:
                    yield state

    def _take(self, key: str, url: str, facts: LoggedFacts) -> None:
        self._facts.add(f"{key}{_BETWEEN}{url}", facts, len(facts[4]) + len(facts[5]))

    def _by_key(self) -> Iterator[tuple[str, list[tuple[str, LoggedFacts]]]]:
        """Yield a few hundred URLs of one key at a time."""
        some: list[tuple[str, LoggedFacts]] = []
        last = ""
        for place, facts in self._facts:
            key, _, url = place.partition(_BETWEEN)
            if some and (key != last or len(some) == AT_ONCE):
                yield last, some
                some = []
            last = key
            some.append((url, facts))
        if some:
            yield last, some

    def _known(self, reader: UrlStateReader | None, key: str, urls: list[str]) -> list[UrlRecord | None]:
        if reader is None or not reader.states_kept:
            return [None] * len(urls)
        marks = fingerprint_all(canonical_all(urls, self._rules))
        known = reader.known(key, marks)
        return [known.get(mark) for mark in marks]


def queued(reader: UrlStateReader) -> Iterator[UrlState]:
    """Yield the queued URLs of the frontier."""
    for entry in reader.queued():
        record = QUEUED
        if entry.attempts and reader.states_kept:
            # Others were never answered. The crawl may have settled this one by now.
            known = reader.known(entry.key, [entry.fingerprint]).get(entry.fingerprint, QUEUED)
            record = QUEUED._replace(status=known.status)
        yield UrlState(
            entry.url,
            record,
            entry.key,
            depth=entry.depth,
            via=entry.via,
            level=entry.level,
            attempts=entry.attempts,
        )


def as_text(states: Iterable[UrlState]) -> Iterator[str]:
    """Yield a URL per line, usable as the seeds of a crawl."""
    for state in states:
        yield one_line(state.url) + "\n"


def as_json(states: Iterable[UrlState]) -> Iterator[str]:
    """Yield an object per line, without unknown fields."""
    for state in states:
        yield json.dumps(state.columns()) + "\n"


def _state(url: str, key: str, facts: LoggedFacts, known: UrlRecord | None) -> UrlState | None:
    end, status, error, depth, via, spelling, _ = facts
    if known is None and end < 0:
        return None
    record = known or UrlRecord(State.DONE if status else State.FAILED)
    if record.state is State.FAILED and not record.rule:
        record = record._replace(rule=error or None)
    if record.status is None:
        record = record._replace(status=status or None)
    return UrlState(
        spelling or url,
        record,
        key,
        ended_at=end if end >= 0 else None,
        depth=depth if depth >= 0 else None,
        via=via or None,
    )


_LARGEST = 10**18

Entrance = tuple[int, int, str, int]
"""Links from a seed, characters, URL; and the number of pages of its site."""


def select_seeds(lines: Iterable[Mapping[str, Any]], *, by_domain: bool = False) -> Iterator[str]:
    """Yield one URL for each host that answered with a page, of those with the most pages first.

    It is the page with the fewest links from a seed of this crawl, and of these the shortest; only pages with a
    status of 200 to 299 count. ``by_domain``: one for each registrable domain.
    """
    sites: Gathered[Entrance] = Gathered(_nearer)
    for line in lines:
        url, status, depth = line.get("url"), line.get("status"), line.get("depth")
        good = isinstance(status, int) and 200 <= status < 300 and line.get("kind") == "page"
        if not good or not isinstance(url, str) or (host := host_in(url)) == NO_HOST:
            continue
        site = host_domain(host) if by_domain else host
        sites.add(site, (depth if isinstance(depth, int) else 0, len(url), url, 1), len(url))
    largest: Gathered[str] = Gathered(min)
    for site, (_, _, url, pages) in sites:
        largest.add(f"{_LARGEST - pages:019d}{site}", url, len(url))
    for _, url in largest:
        yield one_line(url) + "\n"


def _nearer(one: Entrance, other: Entrance) -> Entrance:
    nearest = min(one, other)
    return (*nearest[:3], one[3] + other[3])
